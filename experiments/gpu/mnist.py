"""Table 3 at the size of the paper: conv2 on MNIST, trained against PGD, with and without guidance.

    python mnist.py --data DATA --out OUT --processes 6

DATA holds MNIST's four files and scores.npz (from mnist_scores.py). See README.md in this folder.
"""

import argparse
import time
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F

import conv2
import jobs
from graphs import Compiled, captured, rewound
from mnist_data import images

ARMS = ("vanilla", "random", "spade", "fragility", "margin", "authors", "random-half")
SUDDEN = "-sudden"
"""Ends the name of an arm whose ε does not grow."""
EPSILON, SMALL_EPSILON = 0.4, 0.2
DEFAULT = [
    *(f"{arm}:{seed}" for seed in range(3) for arm in ("vanilla", "random", "spade")),
    *(f"{arm}:{seed}" for seed in range(3) for arm in ("fragility", "authors", "margin")),
    *(f"{arm}{SUDDEN}:0" for arm in ("vanilla", "random", "spade")),
]
ATTACK_STEP = 0.01
RESTARTS, ATTACK_STEPS = 20, 100
CHUNK = 10  # steps of an attack in one graph; 50 and 100 are multiples


def epsilons(arm, count, chosen, scores, seed):
    """How far each training image may be moved. Guided arms give the larger ε to the highest scores."""
    if arm == "vanilla":
        return np.full(count, EPSILON, np.float32)
    rng = np.random.default_rng([seed, 27])
    if arm == "random-half":  # as the paper's text: each image 0.2 or 0.4 with equal chances, here drawn once
        return np.where(rng.random(count) < 0.5, EPSILON, SMALL_EPSILON).astype(np.float32)
    order = rng.permutation(count) if arm == "random" else np.argsort(-scores[arm], kind="stable")
    sizes = np.full(count, SMALL_EPSILON, np.float32)
    sizes[order[:chosen]] = EPSILON
    return sizes


def moved(adversarial, low, high, one_hot, weights, back, size):
    """One step of PGD, and the logits before it."""
    out, gradient = conv2.input_gradient(weights, back, adversarial.to(weights[0].dtype), one_hot)
    return torch.clamp(adversarial + size * gradient.float().sign(), low, high), out


def moved_and_kept(adversarial, low, high, one_hot, weights, back, size, kept, kept_margin):
    """One step, keeping the point of the path with the smallest margin."""
    following, out = moved(adversarial, low, high, one_hot, weights, back, size)
    right = (out * one_hot).sum(1)
    margin = right - out.masked_fill(one_hot > 0, float("-inf")).amax(1)
    better = margin < kept_margin
    kept = torch.where(better.reshape(-1, 1, 1, 1), adversarial, kept)
    return following, kept, torch.where(better, margin, kept_margin)


class Data:
    def __init__(self, folder, device, smoke):
        def on_device(part, count):
            pixels, labels = images(folder, part)
            pixels, labels = pixels[:count], labels[:count]
            blocks = conv2.to_blocks(torch.from_numpy(pixels.copy()).float().div(255))
            # Rows of memory are images, so that a batch is gathered in one go and is in channels-last order.
            rows = blocks.permute(0, 2, 3, 1).contiguous().to(device)
            return rows, torch.from_numpy(labels.astype(np.int64)).to(device)

        self.train, self.train_labels = on_device("train", 100 if smoke else None)
        self.test, self.test_labels = on_device("t10k", 40 if smoke else None)


def batch_of(rows, chosen):
    return rows[chosen].permute(0, 3, 1, 2)


class Training:
    def __init__(self, data, sizes, growth, options, seed, device):
        self.device, self.options, self.data = device, options, data
        self.dtype = torch.bfloat16 if device.type == "cuda" else torch.float32
        self.generator = torch.Generator().manual_seed(seed)
        if device.type == "cuda":
            torch.cuda.manual_seed(seed)
        torch.manual_seed(seed)
        self.parameters = conv2.initial(self.generator, device)
        cuda = {"fused": True, "capturable": True} if device.type == "cuda" else {}
        self.optimizer = torch.optim.Adam(self.parameters.values(), lr=options.rate, **cuda)
        self.blocks = conv2.Blocks(device)
        self.sizes = torch.from_numpy(sizes).to(device).reshape(-1, 1, 1, 1)
        self.per_epoch = len(data.train) // options.batch
        self.order = torch.zeros(self.per_epoch * options.batch, dtype=torch.long, device=device)
        self.at = torch.arange(options.batch, device=device)
        self.done = torch.zeros((), device=device)
        self.grown = max(growth * self.per_epoch, 1e-9)
        self.loss = torch.zeros((), device=device)
        self.right = torch.zeros((), device=device)
        self.step_of_attack = Compiled(moved, device)
        self.iterate = rewound(
            self.parameters.values(), self.optimizer, lambda: captured(self._iteration, device)
        )
        self.done.zero_()

    def _iteration(self):
        batch = self.order[self.at]
        self.at += self.options.batch
        clean = batch_of(self.data.train, batch)
        labels = self.data.train_labels[batch]
        one_hot = F.one_hot(labels, conv2.CLASSES).float()
        # ε grows to its size, because networks that meet ε = 0.4 at once may end in one answer to everything.
        sizes = self.sizes[batch] * (self.done / self.grown).clamp(max=1)
        self.done += 1
        with torch.no_grad():
            low, high = (clean - sizes).clamp(min=0), (clean + sizes).clamp(max=1)
            adversarial = torch.clamp(clean + sizes * (2 * torch.rand_like(clean) - 1), 0, 1)
            weights = self.blocks.weights(self.parameters, self.dtype)
            back = conv2.turned(weights)
            for _ in range(self.options.train_steps):
                adversarial, _ = self.step_of_attack(
                    adversarial, low, high, one_hot, weights, back, self.options.train_step_size
                )
        out = conv2.logits(self.blocks.weights(self.parameters, self.dtype), adversarial.to(self.dtype)).float()
        loss = F.cross_entropy(out, labels)
        self.optimizer.zero_grad(set_to_none=False)
        loss.backward()
        self.optimizer.step()
        with torch.no_grad():
            self.loss += loss
            self.right += (out.argmax(1) == labels).float().mean()

    def epoch(self):
        """Trains for one epoch; mean loss and accuracy on the perturbed batches."""
        order = torch.randperm(len(self.data.train), generator=self.generator)[: len(self.order)]
        self.order.copy_(order)
        self.at.copy_(torch.arange(self.options.batch))
        self.loss.zero_()
        self.right.zero_()
        for _ in range(self.per_epoch):
            self.iterate()
        return self.loss.item() / self.per_epoch, self.right.item() / self.per_epoch

    def weights(self, dtype):
        return tuple(weight.detach() for weight in self.blocks.weights(self.parameters, dtype))


def is_right(weights, rows, labels, batch=2000):
    """Whether each image is classified as it should be, in single precision."""
    with torch.no_grad():
        found = [conv2.logits(weights, part.permute(0, 3, 1, 2)).argmax(1) for part in rows.split(batch)]
    return torch.cat(found) == labels


class Attack:
    """PGD on a trained network. Gradients are those of `weights`; points are judged by `judge`, in single precision."""

    def __init__(self, weights, judge, batch, device):
        self.weights, self.judge, self.back = weights, judge, conv2.turned(weights)
        shape = (batch, 16, 7, 7)

        def buffer():
            return torch.zeros(shape, device=device).contiguous(memory_format=torch.channels_last)

        self.clean, self.low, self.high, self.point, self.kept = (buffer() for _ in range(5))
        self.margin = torch.zeros(batch, device=device)
        self.one_hot = torch.zeros(batch, conv2.CLASSES, device=device)
        self.step = Compiled(moved_and_kept, device)
        self.device = device
        self.steps = captured(self._steps, device)

    @torch.no_grad()
    def _steps(self):
        point, kept, margin = self.point, self.kept, self.margin
        for _ in range(CHUNK):
            point, kept, margin = self.step(
                point, self.low, self.high, self.one_hot, self.weights, self.back, ATTACK_STEP, kept, margin
            )
        self.point.copy_(point)
        self.kept.copy_(kept)
        self.margin.copy_(margin)

    def _broken(self, labels):
        """By the points reached, and by these or the weakest points of the paths."""

        def wrong(points):
            return conv2.logits(self.judge, points).argmax(1) != labels

        final = wrong(self.point)
        return final, final | wrong(self.kept)

    @torch.no_grad()
    def run(self, clean, labels, check_at, generator):
        """Attacks one batch from random starts; at each number of steps in `check_at`, (final, any) broken flags."""
        self.clean.copy_(clean)
        self.low.copy_((clean - EPSILON).clamp(min=0))
        self.high.copy_((clean + EPSILON).clamp(max=1))
        self.one_hot.copy_(F.one_hot(labels, conv2.CLASSES))
        noise = torch.rand(clean.shape, generator=generator, device=self.device)
        self.point.copy_(torch.clamp(clean + EPSILON * (2 * noise - 1), 0, 1))
        self.kept.copy_(self.point)
        self.margin.fill_(float("inf"))
        found = []
        for taken in range(CHUNK, max(check_at) + 1, CHUNK):
            self.steps()
            if taken in check_at:
                found.append(self._broken(labels))
        return found


def attacked(attack, rows, labels, restarts, steps, seed, device, batch):
    """Flags of images broken by PGD-steps/2 and PGD-steps (the first start), and by all starts together; each by final points
    and by any point. Images broken at a final point are left out of later starts."""
    count = len(rows)
    flags = {
        (name, way): torch.zeros(count, dtype=torch.bool, device=device)
        for name in ("half", "once", "restarts")
        for way in ("final", "any")
    }
    generator = torch.Generator(device).manual_seed(1000 + seed)
    for restart in range(restarts):
        active = (~flags["restarts", "final"]).nonzero().flatten()
        if restart == 0:
            active = torch.arange(count, device=device)
        if len(active) == 0:
            break
        for part in active.split(batch):
            # The last batch is filled up with its own images: graphs have one shape.
            filled = part.repeat(-(-batch // len(part)))[:batch]
            check_at = (steps // 2, steps) if restart == 0 else (steps,)
            found = attack.run(batch_of(rows, filled), labels[filled], check_at, generator)
            for (final, some), name in zip(found[::-1], ("once", "half"), strict=False):
                if restart == 0:
                    flags[name, "final"][part] = final[: len(part)]
                    flags[name, "any"][part] = some[: len(part)]
            final, some = found[-1]
            flags["restarts", "final"][part] |= final[: len(part)]
            flags["restarts", "any"][part] |= some[: len(part)]
    return flags


def run_job(name, data, scores, options, device):
    title, seed = name.removeprefix("mnist-").rsplit("-seed", 1)
    seed = int(seed)
    arm, is_sudden = title.removesuffix(SUDDEN), title.endswith(SUDDEN)
    count = len(data.train)
    chosen = round(45 / 55 * count)
    sizes = epsilons(arm, count, chosen, scores, seed)
    begun = time.time()
    growth = 0 if is_sudden else options.growth
    training = Training(data, sizes, growth, options, seed, device)
    ready = time.time()
    curve = []
    for epoch in range(options.epochs):
        loss, accuracy = training.epoch()
        clean = is_right(training.weights(torch.float32), data.test, data.test_labels).float().mean().item()
        curve.append({"loss": loss, "adversarial_train_accuracy": accuracy, "clean_test_accuracy": clean})
        if epoch in (0, 1, 4, 9, 19) or epoch + 1 == options.epochs:
            print(f"{name} epoch {epoch + 1}: {curve[-1]}, {time.time() - ready:.0f} s", flush=True)
        if options.stop_after and time.time() - ready > options.stop_after:
            break
    trained = time.time()
    weights, judge = training.weights(training.dtype), training.weights(torch.float32)
    clean = is_right(judge, data.test, data.test_labels)
    batch = min(options.attack_batch, len(data.test))
    attack = Attack(weights, judge, batch, device)
    steps, restarts = options.attack_steps, options.restarts
    flags = attacked(attack, data.test, data.test_labels, restarts, steps, seed, device, batch)
    names = {"half": f"PGD-{steps // 2}", "once": f"PGD-{steps}", "restarts": f"{restarts}PGD-{steps}"}
    right = {"clean": clean}
    for (kind, way), broken in flags.items():
        # An image that is wrong as it is counts as broken in both ways of judging.
        right[f"{names[kind]} {way}"] = clean & ~broken
    record = {
        "experiment": "guided-mnist", "paper": "Table 3", "arm": title, "seed": seed, "architecture": "conv2",
        "settings": {
            "epochs": len(curve), "batch": options.batch, "optimizer": "Adam", "rate": options.rate,
            "epochs_of_growing_epsilon": growth, "train_images": count, "train_steps": options.train_steps, "train_step_size": options.train_step_size,
            "epsilon": EPSILON, "small_epsilon": SMALL_EPSILON, "images_at_epsilon": int((sizes == np.float32(EPSILON)).sum()),
            "attack_epsilon": EPSILON, "attack_step_size": ATTACK_STEP, "attack_images": len(data.test),
            "gradients": str(training.dtype).removeprefix("torch."), "judged_in": "float32",
        },
        "accuracy": {kind: flag.float().mean().item() for kind, flag in right.items()},
        "right": {kind: jobs.packed(flag.cpu().numpy()) for kind, flag in right.items()},
        "curve": curve,
        "timing": {"ready": ready - begun, "trained": trained - ready, "attacked": time.time() - trained},
        "scores": jobs.digest(scores[arm].tobytes()) if arm in scores else None,
        "versions": jobs.versions(),
    }  # fmt: skip
    if seed == 0:
        record["precision"] = precision(weights, judge, data, options, device)
    print(f"{name}: {record['accuracy']} {record['timing']} {record.get('precision')}", flush=True)
    return record


def precision(weights, judge, data, options, device):
    """Whether gradients in half precision make the attack weaker: PGD on the first images with either."""
    count = min(2000, len(data.test))
    rows, labels = data.test[:count], data.test_labels[:count]
    found = {"images": count}
    for kind, used in (("half", weights), ("single", judge)):
        attack = Attack(used, judge, count, device)
        flags = attacked(attack, rows, labels, 1, options.attack_steps, 7, device, count)
        found[kind] = 1 - flags["once", "final"].float().mean().item()
    return found


def measured(data, options, device):
    """Seconds of an epoch, from a tenth of one, with this many processes at once."""
    training = Training(data, epsilons("vanilla", len(data.train), 1, {}, 0), 0, options, 0, device)
    if options.profile:
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
            training.iterate()
            torch.cuda.synchronize()
        print(profile.key_averages().table(sort_by="cuda_time_total", row_limit=18, max_name_column_width=70), flush=True)
    for _ in range(20):
        training.iterate()
    torch.cuda.synchronize()
    begun, count = time.time(), 0
    while time.time() - begun < options.measure:
        for _ in range(20):
            training.iterate()
        torch.cuda.synchronize()
        count += 20
    seconds = (time.time() - begun) / count
    print(f"batch {options.batch}: {1e3 * seconds:.2f} ms an iteration, {seconds * training.per_epoch:.2f} s an epoch", flush=True)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", required=True, type=Path)
    parser.add_argument("--out", required=True, type=Path, help="a JSON file per run")
    parser.add_argument("--archive", type=Path, help="all of them in one .tar.gz, renewed after every run")
    parser.add_argument("--processes", type=int, default=6)
    parser.add_argument("--runs", nargs="+", default=DEFAULT, metavar="ARM:SEEDS", help="such as vanilla:0,1,2, in their order")
    parser.add_argument("--epochs", type=int, default=30)
    parser.add_argument("--growth", type=float, default=5, help="epochs in which ε grows to its size")
    parser.add_argument("--batch", type=int, default=200)
    parser.add_argument("--rate", type=float, default=2e-4)
    parser.add_argument("--train-steps", type=int, default=40)
    parser.add_argument("--train-step-size", type=float, default=0.02)
    parser.add_argument("--restarts", type=int, default=RESTARTS)
    parser.add_argument("--attack-steps", type=int, default=ATTACK_STEPS)
    parser.add_argument("--attack-batch", type=int, default=2000)
    parser.add_argument("--minutes", type=float, default=1e6, help="take no job that would end later")
    parser.add_argument("--job-seconds", type=float, default=60, help="what a job takes at least, before one is done")
    parser.add_argument("--measure", type=float, default=0, help="measure training for so many seconds, and do no more")
    parser.add_argument("--profile", action="store_true", help="with --measure: which kernels take the time")
    parser.add_argument("--stop-after", type=float, default=0, help="end training after so many seconds (for trials)")
    parser.add_argument("--smoke", action="store_true", help="a few images, one epoch: shows that everything runs")
    parser.add_argument("--deadline", type=float, help=argparse.SUPPRESS)
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.smoke:
        options.epochs, options.train_steps, options.restarts, options.attack_steps = 1, 2, 2, 20
        options.attack_batch = 30
        options.batch, options.growth = 50, 0.5
        options.runs, options.job_seconds = ["vanilla:0", "spade:0"], 1
    return options


def names_of(runs):
    """Names of jobs; an arm that nobody knows is refused."""
    names = []
    for run in runs:
        title, _, seeds = run.partition(":")
        if title.removesuffix(SUDDEN) not in ARMS or not seeds:
            raise SystemExit(f"--runs expects ARM:SEEDS with one of {', '.join(ARMS)}, got {run}")
        names += [f"mnist-{title}-seed{int(seed)}" for seed in seeds.split(",")]
    return names


def main():
    import sys

    options = arguments()
    if not options.worker:
        deadline = time.time() + 60 * options.minutes
        raise SystemExit(jobs.spawn(options.processes, [*sys.argv[1:], "--deadline", str(deadline)]))
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    torch.backends.cudnn.benchmark = True
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    data = Data(options.data, device, options.smoke)
    if options.measure:
        measured(data, options, device)
        return
    scores = jobs.scores(options.data / "scores.npz", len(data.train))
    jobs.work(
        names_of(options.runs), options.out, options.archive, options.deadline, options.job_seconds,
        lambda name: run_job(name, data, scores, options, device),
    )  # fmt: skip


if __name__ == "__main__":
    main()
