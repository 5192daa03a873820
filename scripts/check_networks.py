#!/usr/bin/env python3
"""Checks `spadework attack`, `clever` and the ONNX files of `train` against others' code, on the same weights and images.

    scripts/check_networks.py target/release/spadework DATA [--images 1000] [--only attack|auto|clever|nets|onnx|transformers]

DATA is the folder of SPADEWORK_DATA. Needs jax, foolbox, adversarial-robustness-toolbox, torch, torchattacks, onnx2torch, onnx,
onnxscript, onnxruntime, numpy and scipy, as far as a part uses them; `scripts/test-extended` makes the environment. The networks run in JAX or
PyTorch from the ONNX files, or in onnxruntime; nothing of ours computes there.
"""

import argparse
import csv
import gzip
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import numpy_helper

# Robust accuracies may differ by their random starts: one point, as the project asks.
POINT = 0.01


def mnist(data, count):
    images = gzip.open(data / "mnist/t10k-images-idx3-ubyte.gz").read()
    labels = gzip.open(data / "mnist/t10k-labels-idx1-ubyte.gz").read()
    x = np.frombuffer(images, np.uint8, offset=16).reshape(-1, 1, 28, 28)[:count].astype(np.float32) / 255
    return x, np.frombuffer(labels, np.uint8, offset=8)[:count].astype(np.int64)


def cifar10(data, count):
    records = np.frombuffer((data / "cifar10/test_batch.bin").read_bytes(), np.uint8).reshape(-1, 3073)[:count]
    return records[:, 1:].reshape(-1, 3, 32, 32).astype(np.float32) / 255, records[:, 0].astype(np.int64)


def in_jax(path):
    """The network of an ONNX file as a function in JAX: convolutions, pooling, rectifiers, linear layers."""
    import jax
    import jax.numpy as jnp
    from jax import lax

    graph = onnx.load(str(path)).graph
    weights = {w.name: jnp.asarray(numpy_helper.to_array(w)) for w in graph.initializer}

    def forward(x):
        values = dict(weights)
        values[graph.input[0].name] = x
        for node in graph.node:
            args = [values[name] for name in node.input]
            at = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
            if node.op_type == "Conv":
                p = at["pads"]
                y = lax.conv_general_dilated(args[0], args[1], at["strides"], [(p[0], p[2]), (p[1], p[3])])
                y = y + args[2][None, :, None, None]
            elif node.op_type == "MaxPool":
                k, s = at["kernel_shape"], at["strides"]
                y = lax.reduce_window(args[0], -jnp.inf, lax.max, (1, 1, *k), (1, 1, *s), "VALID")
            elif node.op_type == "Relu":
                y = jnp.maximum(args[0], 0)
            elif node.op_type == "Flatten":
                y = args[0].reshape(args[0].shape[0], -1)
            elif node.op_type == "Gemm":
                y = args[0] @ args[1].T + args[2]
            else:
                sys.exit(f"{path}: {node.op_type} is not known here")
            values[node.output[0]] = y
        return values[graph.output[0].name]

    return jax.jit(forward)


def ours(binary, *arguments):
    return json.loads(subprocess.run([binary, *map(str, arguments), "--json", "--quiet"], check=True, stdout=subprocess.PIPE).stdout)


def remembering_its_way(attack):
    """An attack of Foolbox that keeps the points that it took gradients at."""

    class Remembering(attack):
        def value_and_grad(self, loss_fn, x):
            self.way.append(x.raw)
            return super().value_and_grad(loss_fn, x)

    return Remembering


def check_attacks(args):
    import eagerpy as ep
    import foolbox
    import jax.numpy as jnp

    binary, data, count = args.binary, args.data, args.images
    x, y = mnist(data, count)
    bad = []
    cases = [("linf", "0.0", 0.1), ("linf", "0.0", 0.2), ("linf", "0.3", 0.3), ("l2", "0.0", 1.5), ("l2", "0.3", 1.5)]
    for norm, level, eps in cases:
        path = data / f"models/lenet5_eps{level}.onnx"
        forward = in_jax(path)
        model = foolbox.JAXModel(forward, bounds=(0, 1))
        kind = remembering_its_way(foolbox.attacks.LinfPGD if norm == "linf" else foolbox.attacks.L2PGD)
        at_the_end, all_the_way = [], []
        for at in range(0, count, 250):
            images, labels = jnp.asarray(x[at:at + 250]), y[at:at + 250]
            attack = kind(steps=40, abs_stepsize=2.5 * eps / 40)
            attack.way = [images]
            _, last, success = attack(model, *ep.astensors(images, jnp.asarray(labels)), epsilons=eps)
            held = [np.asarray(forward(points).argmax(1)) == labels for points in [*attack.way, last.raw]]
            at_the_end.append(~np.asarray(success.raw))
            all_the_way.append(np.all(held, axis=0))
        at_the_end, all_the_way = (float(np.concatenate(held).mean()) for held in (at_the_end, all_the_way))
        mine = ours(binary, "attack", "--model", path, "--inputs", f"mnist:{data}/mnist:test", "--limit", count,
                    "--norm", norm, "--eps", eps, "--steps", 40)["robust_accuracy"]
        # Ours judges every point of the way, so that is what is compared; Foolbox itself judges the last one only, which
        # ours may fall below by more, but not exceed.
        verdict = "ok" if abs(mine - all_the_way) <= POINT and mine - at_the_end <= POINT else "DIFFERENT"
        print(f"{norm} {eps} lenet5_eps{level}: spadework {mine:.4f}, foolbox {all_the_way:.4f}, "
              f"by its last point {at_the_end:.4f} {verdict}", flush=True)
        bad += [] if verdict == "ok" else [f"{path.name} {norm} {eps}"]
    return bad


def endpoint_by_scipy(maxima):
    """The endpoint of SciPy's most likely fit with a shape above 1, from several starts; the largest where there is none.

    Shapes below 1 have a pole at the largest value, and where the likelihood only falls from there, or rises for ever with
    the endpoint, SciPy's search ends anywhere: a maximum is more likely than fits whose endpoint is nearer or farther. With a
    shape above 1,000 the distribution is Gumbel's, which has no endpoint. A fit that the maxima are not like is set aside.
    """
    from scipy.stats import kstest, weibull_max

    def likelihood(fit):
        return weibull_max.logpdf(maxima, *fit).sum()

    largest, spread = maxima.max(), np.ptp(maxima)
    fits = [weibull_max.fit(maxima, shape, loc=largest + beyond * spread, scale=spread)
            for shape, beyond in ((1.5, 0.05), (2.5, 0.3), (4.0, 1.0), (20.0, 5.0))]
    likely = max(fits, key=lambda fit: likelihood(fit) if fit[0] > 1 else -np.inf)
    shape, endpoint, scale = likely
    beside = [weibull_max.fit(maxima, shape, floc=largest + factor * (endpoint - largest), scale=scale) for factor in (0.7, 1.4)]
    is_maximum = 1 < shape < 1000 and all(likelihood(fit) < likelihood(likely) for fit in beside)
    return endpoint if is_maximum and kstest(maxima, weibull_max(*likely).cdf).pvalue >= 0.001 else largest


def art_network(forward):
    """What ART needs of a classifier: predictions, and gradients by class."""
    import jax
    import jax.numpy as jnp
    from art.estimators import BaseEstimator
    from art.estimators.classification import ClassGradientsMixin, ClassifierMixin

    # ART asks for one class at a time, and would wait for ten.
    of_class = jax.jit(jax.vmap(jax.grad(lambda image, label: forward(image[None])[0][label]), in_axes=(0, None)))

    class Network(ClassGradientsMixin, ClassifierMixin, BaseEstimator):
        estimator_params = []
        _clip_values = np.array([0.0, 1.0], dtype=np.float32)
        clip_values = property(lambda self: self._clip_values)
        input_shape = (1, 28, 28)

        def predict(self, x, **_):
            return np.asarray(forward(jnp.asarray(x)))

        def class_gradient(self, x, label=None, **_):
            return np.asarray(of_class(jnp.asarray(x), int(label)))[:, None]

        def fit(self, *_, **__):
            raise NotImplementedError

    network = Network(model=None, clip_values=(0, 1))
    network.nb_classes = 10
    return network


class RememberingFits:
    """In the place of SciPy's distribution within ART: the same fits, and the maxima that they were made to."""

    def __init__(self, distribution):
        self.distribution, self.maxima = distribution, []

    def fit(self, negated, *arguments, **options):
        self.maxima.append(-negated)
        return self.distribution.fit(negated, *arguments, **options)


def scores_by_art(network, image, seed, batches, samples, pool, radius, order):
    """ART's untargeted score by the largest norms, with SciPy's better fits to the same maxima, and as it is."""
    from art.metrics import clever_u, metrics

    np.random.seed(seed)
    original = metrics.weibull_min
    metrics.weibull_min = remembering = RememberingFits(original)
    try:
        as_it_is = clever_u(network, image, batches, samples, radius, order, pool_factor=pool, verbose=False)
    finally:
        metrics.weibull_min = original
    [outputs] = network.predict(image[None])
    leads = outputs.max() - np.delete(outputs, outputs.argmax())

    def untargeted(endpoint):
        return min(min(lead / endpoint(maxima), radius) for lead, maxima in zip(leads, remembering.maxima, strict=True))

    return untargeted(np.max), untargeted(endpoint_by_scipy), as_it_is


def our_scores(args, path, index, norm, radius, settings):
    """Our untargeted score by the largest norms, and as it is."""
    options = [word for name, value in settings.items() for word in (f"--{name}", value)]

    def score(*target):
        [found] = ours(args.binary, "clever", "--model", path, "--inputs", f"mnist:{args.data}/mnist:test", "--ids", index,
                       "--norm", norm, "--radius", radius, *options, *target)["scores"]
        return found

    untargeted = score()
    targeted = [score("--target", target) for target in range(10) if target != untargeted["class"]]
    return min(min(found["margin"] / found["largest"], radius) for found in targeted), untargeted["score"]


def check_clever(args):
    data = args.data
    x, _ = mnist(data, 50)
    # Small batches from a large pool: with large ones from a small pool many batches have the same maximum, and what is fitted to
    # them varies more from seed to seed than anything that could be wrong.
    settings = {"batches": 100, "samples": 16, "pool": 80}
    bad = []
    for level in ("0.0", "0.3"):
        path = data / f"models/lenet5_eps{level}.onnx"
        network = art_network(in_jax(path))
        for norm, order, radius in (("l2", 2, 2.0), ("linf", np.inf, 0.2)):
            for index in (0, 3, 7):
                theirs = [scores_by_art(network, x[index], seed, **settings, radius=radius, order=order) for seed in range(4)]
                mine = [our_scores(args, path, index, norm, radius, {**settings, "seed": seed}) for seed in range(4)]
                # ART's fit is one search by SciPy from a shape of 1. It ends at the largest norm, where the likelihood has a
                # pole, or anywhere; ours is the maximum within. So the largest norms are compared, which are sampling and
                # gradients, and whole scores with SciPy's better fits to ART's maxima; what ART itself says is shown.
                *judged, as_it_is = zip(*theirs)
                names = "by the largest norm", f"whole (ART as it is {np.mean(as_it_is):.4f} ± {np.ptp(as_it_is) / 2:.4f})"
                for name, here, there in zip(names, zip(*mine), judged):
                    gap, spread = abs(np.mean(there) - np.mean(here)), max(np.ptp(there), np.ptp(here))
                    verdict = "ok" if gap <= spread + 1e-3 * abs(np.mean(there)) else "DIFFERENT"
                    print(f"{norm} lenet5_eps{level} image {index} {name}: spadework {np.mean(here):.4f} ± {np.ptp(here) / 2:.4f}, "
                          f"ART {np.mean(there):.4f} ± {np.ptp(there) / 2:.4f} {verdict}", flush=True)
                    bad += [] if verdict == "ok" else [f"{path.name} {norm} {index} {name.split(' (')[0]}"]
    return bad


def margins(outputs, labels):
    """By how much the output of the true class leads the largest other."""
    rows = np.arange(len(labels))
    others = outputs.copy()
    others[rows, labels] = -np.inf
    return outputs[rows, labels] - others.max(1)


def check_onnx(args):
    """Every architecture, trained for a moment, runs in onnxruntime as it does here, and loads back from its files."""
    import onnxruntime

    binary, data = args.binary, args.data
    bad = []
    digits, pictures = (mnist(data, 1000), "mnist"), (cifar10(data, 200), "cifar10")
    cases = [("lenet5", digits, 1024), ("conv2", digits, 1024), ("mlp", digits, 1024), ("cnn7", digits, 1024),
             ("resnet18", pictures, 128), ("resnet20", pictures, 256)]
    for model, ((x, y), name), limit in cases:
        with tempfile.TemporaryDirectory() as place:
            place = pathlib.Path(place)
            np.save(place / "x.npy", x)
            np.save(place / "y.npy", y)
            out = place / "run"
            result = ours(binary, "train", "--model", model, "--data", f"{name}:{data}/{name}:train", "--limit", limit, "--epochs", 1,
                          "--test", place / "x.npy", "--test-labels", place / "y.npy", "--normalize", "--out", out)
            path = str(out / "model.onnx")
            onnx.checker.check_model(path, full_check=True)
            session = onnxruntime.InferenceSession(path)
            outputs = np.concatenate([session.run(None, {session.get_inputs()[0].name: x[at:at + 100]})[0] for at in range(0, len(x), 100)])
            theirs, mine = float((outputs.argmax(1) == y).mean()), result["epochs"][-1]["test_accuracy"]
            gaps = []
            for saved in (path, out):
                # An attack that may move nothing says the margins of the samples as they are.
                ours(binary, "attack", "--model", saved, "--inputs", place / "x.npy", "--labels", place / "y.npy", "--eps", 0,
                     "--attack", "fgsm", "--out", place / "margins")
                with open(place / "margins/samples.csv", newline="") as table:
                    got = np.array([float(row["margin"]) for row in csv.DictReader(table)])
                gaps.append(float(np.abs(got - margins(outputs, y)).max() / np.abs(outputs).max()))
            # Sums of single precision in another order, through up to 20 layers.
            verdict = "ok" if theirs == mine and max(gaps) <= 1e-5 else "DIFFERENT"
            print(f"{model}: spadework {mine:.4f}, onnxruntime {theirs:.4f}; margins, read back from .onnx and .safetensors, "
                  f"to {gaps[0]:.1e} and {gaps[1]:.1e} of the largest output {verdict}", flush=True)
            bad += [] if verdict == "ok" else [model]
    return bad


def session_of(path):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(path), options)
    return lambda x: session.run(None, {session.get_inputs()[0].name: x})[0]


def shared_networks(data):
    """File and data set of each line of nets/nets.csv."""
    with open(data / "nets/nets.csv", newline="") as table:
        return [((data / "nets" / row["file"]).resolve(), row["data"]) for row in csv.DictReader(table)]


def outcomes(args, path, images, labels, *options):
    """The lines of samples.csv of an attack."""
    with tempfile.TemporaryDirectory() as place:
        place = pathlib.Path(place)
        np.save(place / "x.npy", images)
        np.save(place / "y.npy", labels)
        ours(args.binary, "attack", "--model", path, "--inputs", place / "x.npy", "--labels", place / "y.npy", *options, "--out", place / "out")
        with open(place / "out/samples.csv", newline="") as table:
            return list(csv.DictReader(table))


def check_nets(args):
    """Every shared network gives the margins that onnxruntime gives."""
    bad, reached = [], 0.0
    images = {"mnist": mnist(args.data, 50), "cifar10": cifar10(args.data, 50)}
    networks = shared_networks(args.data)
    for path, name in networks:
        x, y = images[name]
        outputs = session_of(path)(x)
        got = np.array([float(row["margin"]) for row in outcomes(args, path, x, y, "--eps", 0, "--attack", "fgsm")])
        gap = float(np.abs(got - margins(outputs, y)).max() / np.abs(outputs).max())
        reached = max(reached, gap)
        # Sums of single precision in another order, through up to 56 layers.
        if gap > 1e-5:
            print(f"{path.name}: margins differ by {gap:.1e} of the largest output DIFFERENT", flush=True)
            bad.append(path.name)
    print(f"{len(networks)} networks: margins to {reached:.1e} of the largest output", flush=True)
    return bad


def vision_transformer(torch):
    """A small one with random weights: patches, a class token, two encoder layers of four heads."""

    class Transformer(torch.nn.Module):
        def __init__(self, width=32):
            super().__init__()
            self.patches = torch.nn.Conv2d(1, width, 7, 7)
            self.token = torch.nn.Parameter(0.02 * torch.randn(1, 1, width))
            self.places = torch.nn.Parameter(0.02 * torch.randn(1, 17, width))
            layer = torch.nn.TransformerEncoderLayer(width, 4, 64, 0.0, "gelu", batch_first=True, norm_first=True)
            self.encoder = torch.nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
            self.norm, self.head = torch.nn.LayerNorm(width), torch.nn.Linear(width, 10)

        def forward(self, x):
            patches = self.patches(x).flatten(2).transpose(1, 2)
            rows = torch.cat([self.token.expand(patches.shape[0], -1, -1), patches], 1) + self.places
            return self.head(self.norm(self.encoder(rows))[:, 0])

    torch.manual_seed(0)
    return Transformer().eval()


def check_transformers(args):
    """Exports of a vision transformer by both exporters of PyTorch: margins of onnxruntime, and the step of FGSM by PyTorch's gradients."""
    import torch

    model, eps, bad = vision_transformer(torch), 0.02, []
    x, _ = mnist(args.data, 50)
    images = torch.tensor(x, requires_grad=True)
    outputs = model(images)
    y = outputs.argmax(1)
    torch.nn.functional.cross_entropy(outputs, y, reduction="sum").backward()
    with torch.no_grad():
        stepped = model((images + eps * images.grad.sign()).clamp(0, 1)).numpy()
    labels, largest = y.numpy(), float(outputs.detach().abs().max())
    exporters = {
        "older": dict(dynamo=False, dynamic_axes={"x": {0: "n"}}),
        "newer": dict(dynamo=True, dynamic_shapes={"x": {0: torch.export.Dim("n", min=2)}}),
    }
    for name, options in exporters.items():
        with tempfile.TemporaryDirectory() as place:
            path = pathlib.Path(place) / "net.onnx"
            torch.onnx.export(model, (torch.tensor(x[:2]),), str(path), input_names=["x"], output_names=["y"], **options)
            clean = margins(session_of(path)(x), labels)
            none = np.array([float(row["margin"]) for row in outcomes(args, path, x, labels, "--eps", 0, "--attack", "fgsm")])
            step = np.array([float(row["margin"]) for row in outcomes(args, path, x, labels, "--eps", eps, "--attack", "fgsm")])
        gaps = [float(np.abs(none - clean).max()) / largest, float(np.abs(step - np.minimum(clean, margins(stepped, labels))).max()) / largest]
        # A gradient near zero may have another sign, which moves one number by 2 eps.
        verdict = "ok" if gaps[0] <= 1e-5 and gaps[1] <= 1e-3 else "DIFFERENT"
        print(f"transformer by the {name} exporter: margins to {gaps[0]:.1e}, after a step to {gaps[1]:.1e} of the largest output {verdict}", flush=True)
        if verdict != "ok":
            bad.append(f"transformer, {name} exporter")
    return bad


# Network, norm, epsilon: plain, trained against attacks and provably trained ones, with transposes and sigmoids.
ATTACKED = [
    ("salman__mnist_MLP_9_100_ADV", "linf", 0.1), ("salman__mnist_MLP_9_100_LPD", "l2", 1.0), ("eran__mnist_relu_5_100", "linf", 0.1),
    ("eran__mnist_relu_5_100", "l2", 1.0), ("vnncomp20__logsig_200_100_50", "linf", 0.05), ("eran__mnist_convSmall_PGDK", "linf", 0.2),
    ("abcrown__cifar_conv_small_sigmoid", "linf", 2 / 255), ("abcrown__oval_cifar_base", "l2", 0.25),
]


def check_auto(args):
    """APGD, its targeted form and Square leave the samples that torchattacks leaves, each alone."""
    import onnx2torch
    import torch
    import torchattacks

    torch.set_num_threads(1)
    bad = []
    for name, norm, eps in ATTACKED:
        path = args.data / f"nets/{name}.onnx"
        count = min(args.images, 200)
        images, labels = (cifar10 if "cifar" in name else mnist)(args.data, count)
        model = onnx2torch.convert(str(path)).eval()
        x, y = torch.tensor(images), torch.tensor(labels)
        settings = {"norm": "Linf" if norm == "linf" else "L2", "eps": eps, "seed": 0, "n_restarts": 1}
        theirs = {
            "apgd": torchattacks.APGD(model, steps=50, loss="ce", **settings),
            "apgd-dlr": torchattacks.APGD(model, steps=50, loss="dlr", **settings),
            "apgd-t": torchattacks.APGDT(model, steps=30, n_classes=10, **settings),
            "square": torchattacks.Square(model, n_queries=500, loss="margin", **settings),
        }
        options = {
            "apgd": ["--attack", "apgd", "--steps", 50],
            "apgd-dlr": ["--attack", "apgd", "--loss", "dlr", "--steps", 50],
            "apgd-t": ["--attack", "apgd-t", "--steps", 30],
            "square": ["--attack", "square", "--queries", 500],
        }
        for kind, attack in theirs.items():
            moved = attack(x, y)
            with torch.no_grad():
                left = ((model(x).argmax(1) == y) & (model(moved).argmax(1) == y)).numpy()
            rows = outcomes(args, path, images, labels, "--norm", norm, "--eps", eps, *options[kind])
            mine = np.array([row["robust"] == "true" for row in rows])
            only_mine, only_theirs = int((left & ~mine).sum()), int((mine & ~left).sum())
            # Starts and moves are random, so each breaks some that the other leaves: a point, or twice the standard deviation of the
            # difference of two counts.
            allowed = max(POINT * count, 2 * (only_mine + only_theirs) ** 0.5)
            verdict = "ok" if only_theirs - only_mine <= allowed else "WEAKER"
            print(f"{name} {norm} {eps:.4g} {kind}: spadework {mine.mean():.3f}, torchattacks {left.mean():.3f}; broken by one only: "
                  f"{only_mine} and {only_theirs} of {count} {verdict}", flush=True)
            bad += [] if verdict == "ok" else [f"{name} {norm} {kind}"]
    return bad


# Each part, and what it needs of the data.
PARTS = {
    "nets": (check_nets, ["mnist", "cifar10", "nets"]),
    "transformers": (check_transformers, ["mnist"]),
    "auto": (check_auto, ["mnist", "cifar10", "nets"]),
    "onnx": (check_onnx, ["mnist", "cifar10"]),
    "attack": (check_attacks, ["mnist", "models"]),
    "clever": (check_clever, ["mnist", "models"]),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary", help="a spadework that was built with networks")
    parser.add_argument("data", type=pathlib.Path, help="a folder with mnist, cifar10 and models")
    parser.add_argument("--images", type=int, default=1000, help="how many are attacked")
    parser.add_argument("--only", choices=PARTS, help="one part of it")
    args = parser.parse_args()
    bad = []
    for name in [args.only] if args.only else PARTS:
        check, needed = PARTS[name]
        missing = [folder for folder in needed if not (args.data / folder).is_dir()]
        if missing:
            print(f"skipped {name}: {args.data} has no {' and no '.join(missing)}", file=sys.stderr)
            continue
        bad += check(args)
    sys.exit(f"different: {', '.join(bad)}" if bad else 0)


if __name__ == "__main__":
    main()
