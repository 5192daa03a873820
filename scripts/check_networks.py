#!/usr/bin/env python3
"""Checks `spadework attack`, `clever` and the ONNX files of `train` against others' code, on the same weights and images.

    scripts/check_networks.py target/release/spadework DATA [--images 1000] [--only attack|clever|onnx]

DATA is the folder of SPADEWORK_DATA. Needs jax, foolbox, adversarial-robustness-toolbox, onnx, onnxruntime, numpy and scipy;
`scripts/test-extended` makes the environment. The networks run in JAX from the ONNX files; nothing of ours computes there.
"""

import argparse
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


def check_attacks(binary, data, count):
    import eagerpy as ep
    import foolbox
    import jax.numpy as jnp

    x, y = mnist(data, count)
    bad = []
    cases = [("linf", "0.0", 0.1), ("linf", "0.0", 0.2), ("linf", "0.3", 0.3), ("l2", "0.0", 1.5), ("l2", "0.3", 1.5)]
    for norm, level, eps in cases:
        path = data / f"models/lenet5_eps{level}.onnx"
        model = foolbox.JAXModel(in_jax(path), bounds=(0, 1))
        attack = (foolbox.attacks.LinfPGD if norm == "linf" else foolbox.attacks.L2PGD)(steps=40, abs_stepsize=2.5 * eps / 40)
        held = []
        for at in range(0, count, 250):
            images, labels = ep.astensors(jnp.asarray(x[at:at + 250]), jnp.asarray(y[at:at + 250]))
            _, _, success = attack(model, images, labels, epsilons=eps)
            held.append(1 - np.asarray(success.raw, dtype=float))
        theirs = float(np.concatenate(held).mean())
        mine = ours(binary, "attack", "--model", path, "--inputs", f"mnist:{data}/mnist:test", "--limit", count,
                    "--norm", norm, "--eps", eps, "--steps", 40)["robust_accuracy"]
        # Ours judges every point of the way, Foolbox the last one only, so ours may be lower by more.
        verdict = "ok" if mine - theirs <= POINT and theirs - mine <= 3 * POINT else "DIFFERENT"
        print(f"{norm} {eps} lenet5_eps{level}: spadework {mine:.4f}, foolbox {theirs:.4f} {verdict}", flush=True)
        bad += [] if verdict == "ok" else [path.name]
    return bad


def check_clever(binary, data):
    import jax
    import jax.numpy as jnp
    from art.estimators.classification import ClassifierMixin, ClassGradientsMixin
    from art.estimators import BaseEstimator
    from art.metrics import clever_u

    x, _ = mnist(data, 50)
    settings = {"radius": 2.0, "batches": 40, "samples": 128, "pool": 10}
    bad = []
    for level in ("0.0", "0.3"):
        path = data / f"models/lenet5_eps{level}.onnx"
        forward = in_jax(path)
        jacobian = jax.jit(jax.vmap(jax.jacrev(lambda image: forward(image[None])[0])))
        # ART asks for one class at a time, and would wait for ten.
        of_class = jax.jit(jax.vmap(jax.grad(lambda image, label: forward(image[None])[0][label]), in_axes=(0, None)))

        class Network(ClassGradientsMixin, ClassifierMixin, BaseEstimator):
            """What ART needs of a classifier: predictions and gradients by class."""

            estimator_params = []
            _clip_values = np.array([0.0, 1.0], dtype=np.float32)
            clip_values = property(lambda self: self._clip_values)
            input_shape = (1, 28, 28)

            def predict(self, x, **_):
                return np.asarray(forward(jnp.asarray(x)))

            def class_gradient(self, x, label=None, **_):
                if label is None:
                    return np.asarray(jacobian(jnp.asarray(x)))
                return np.asarray(of_class(jnp.asarray(x), int(label)))[:, None]

            def fit(self, *_, **__):
                raise NotImplementedError

        network = Network(model=None, clip_values=(0, 1))
        network.nb_classes = 10
        for norm, order in (("l2", 2), ("linf", np.inf)):
            radius = settings["radius"] if norm == "l2" else 0.2
            for index in (0, 3, 7):
                theirs, mine = [], []
                for seed in range(4):
                    np.random.seed(seed)
                    theirs.append(clever_u(network, x[index], settings["batches"], settings["samples"], radius, order,
                                           pool_factor=settings["pool"], verbose=False))
                    [found] = ours(binary, "clever", "--model", path, "--inputs", f"mnist:{data}/mnist:test",
                                     "--ids", index, "--norm", norm, "--radius", radius, "--batches", settings["batches"],
                                     "--samples", settings["samples"], "--pool", settings["pool"], "--seed", seed)["scores"]
                    # ART's fit starts at a shape of 1 and ends at the largest norm, where the likelihood has a pole; ours
                    # goes on to the maximum within (SciPy's weibull_max is its judge, on the same maxima, in the tests).
                    # So what is compared is the score by the largest norm: the sampling and the gradients.
                    mine.append(min(found["lead"] / found["largest"], radius))
                gap = abs(np.mean(theirs) - np.mean(mine))
                spread = max(np.ptp(theirs), np.ptp(mine))
                verdict = "ok" if gap <= spread + 1e-3 * abs(np.mean(theirs)) else "DIFFERENT"
                print(f"{norm} lenet5_eps{level} image {index}: spadework {np.mean(mine):.4f} ± {np.ptp(mine) / 2:.4f}, "
                      f"ART {np.mean(theirs):.4f} ± {np.ptp(theirs) / 2:.4f} {verdict}", flush=True)
                bad += [] if verdict == "ok" else [f"{path.name} {norm} {index}"]
    return bad


def check_onnx(binary, data):
    """Every architecture, trained for a moment, runs in onnxruntime to the accuracy that we report."""
    import onnxruntime

    bad = []
    for model in ("lenet5", "conv2", "mlp", "cnn7", "resnet20"):
        with tempfile.TemporaryDirectory() as place:
            out = pathlib.Path(place) / "run"
            limit = 256 if model == "resnet20" else 1024
            result = ours(binary, "train", "--model", model, "--data", f"mnist:{data}/mnist:train", "--test", f"mnist:{data}/mnist:test",
                          "--limit", limit, "--epochs", 1, "--normalize", "--out", out)
            path = str(out / "model.onnx")
            onnx.checker.check_model(path, full_check=True)
            session = onnxruntime.InferenceSession(path)
            x, y = mnist(data, 10_000)
            logits = np.concatenate([session.run(None, {session.get_inputs()[0].name: x[at:at + 500]})[0] for at in range(0, 10_000, 500)])
            theirs, mine = float((logits.argmax(1) == y).mean()), result["epochs"][-1]["test_accuracy"]
            # Ties and rounding may move a few of 10,000.
            verdict = "ok" if abs(theirs - mine) <= 5e-4 else "DIFFERENT"
            print(f"{model}: spadework {mine:.4f}, onnxruntime {theirs:.4f} {verdict}", flush=True)
            bad += [] if verdict == "ok" else [model]
    return bad


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("binary")
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("--images", type=int, default=1000)
    parser.add_argument("--only", choices=["attack", "clever", "onnx"])
    args = parser.parse_args()
    bad = []
    if args.only in (None, "onnx"):
        bad += check_onnx(args.binary, args.data)
    if args.only in (None, "attack"):
        bad += check_attacks(args.binary, args.data, args.images)
    if args.only in (None, "clever"):
        bad += check_clever(args.binary, args.data)
    sys.exit(f"different: {', '.join(bad)}" if bad else 0)


if __name__ == "__main__":
    main()
