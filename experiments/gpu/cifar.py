"""Table 4 at the size of the paper: PreAct-ResNet-18 on CIFAR-10, trained against PGD, with and without guidance.

    python cifar.py --data DATA --out OUT --processes 2

DATA holds data_batch_1.bin ... data_batch_5.bin, test_batch.bin and scores.npz. Files that are missing when a run needs them are waited
for, so runs without scores can begin earlier. See README.md in this folder.
"""

import argparse
import copy
import gzip
import os
import sys
import time
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F

import jobs
from graphs import Compiled, captured, fresh, rewound
from preact import PreActResNet18

PIXEL = 1 / 255
ARMS = {
    "plain": (0, None), "vanilla-8": (8, None), "vanilla-12": (12, None), "vanilla-14": (14, None),
    "random": (14, 12), "spade": (14, 12), "fragility": (14, 12), "margin": (14, 12),
}  # fmt: skip
"""ε in pixels: of all images, or of the chosen and of the rest. `plain` is trained without attacks, and its outputs give the scores."""
GUIDED = ("spade", "fragility", "margin")
SKIP = "-skip"
DEFAULT = ["plain:0", "random:0,1", "vanilla-8:0", "random:2"] + [
    run for seeds in ("0", "1", "2") for run in (f"spade:{seeds}", f"spade-skip:{seeds}")
] + [
    "fragility:0,1", "random-skip:0,1", "fragility:2", "random-skip:2", "vanilla-14:0", "vanilla-8:1,2", "vanilla-12:0", "vanilla-8-skip:0,1,2",
    "fragility-skip:0,1,2", "vanilla-12:1,2", "vanilla-14:1,2", "vanilla-12-skip:0,1,2", "vanilla-14-skip:0,1,2", "plain:1,2",
]  # fmt: skip
ATTACKS = (2, 4, 8)
EASY = ("plain",)
"""Arms that take a fifth of the time of the others."""
RATE, MOMENTUM, DECAY = 0.2, 0.9, 5e-4


def epsilons(arm, count, chosen, scores, seed):
    """How far each training image may be moved. Guided arms give the larger ε to the highest scores."""
    large, small = ARMS[arm]
    if small is None:
        return np.full(count, large * PIXEL, np.float32)
    rng = np.random.default_rng([seed, 27])
    order = rng.permutation(count) if arm == "random" else np.argsort(-scores[arm], kind="stable")
    sizes = np.full(count, small * PIXEL, np.float32)
    sizes[order[:chosen]] = large * PIXEL
    return sizes


class Data:
    def __init__(self, options, device):
        def raw(name):
            rows = np.fromfile(options.data / name, np.uint8).reshape(-1, 3073)
            return rows[:, 1:], rows[:, 0]

        if options.synthetic:
            rng = np.random.default_rng(0)
            self.train = rng.integers(0, 256, (50000, 3072), dtype=np.uint8), rng.integers(0, 10, 50000)
            self.test = self.train[0][:10000], self.train[1][:10000]
        else:
            names = [f"data_batch_{at}.bin" for at in range(1, 6)]
            for name in names:
                jobs.awaited(options.data / name)
            parts = [raw(name) for name in names]
            self.train = np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts])
            self.test = None
        self.train = tuple(part[: 64 if options.smoke else options.train_images] for part in self.train)

        def on_device(part):
            images = torch.from_numpy(np.ascontiguousarray(part[0])).reshape(-1, 3, 32, 32).to(device)
            return images, torch.from_numpy(part[1].astype(np.int64)).to(device)

        def read_test():
            if self.test is None:
                jobs.awaited(options.data / "test_batch.bin")
                self.test = raw("test_batch.bin")
            test = (self.test[0][:32], self.test[1][:32]) if options.smoke else self.test
            return on_device(test)

        self.read_test = read_test
        self.train, self.train_labels = on_device(self.train)


def cropped(images, generator):
    """Random crops of images padded by four, and random mirrors: one for each image, by gathering."""
    n, device = len(images), images.device
    padded = F.pad(images, (4, 4, 4, 4))
    top, left = (torch.randint(0, 9, (n, 1), device=device, generator=generator) for _ in range(2))
    across = torch.arange(32, device=device).reshape(1, -1)
    mirrored = torch.rand(n, 1, device=device, generator=generator) < 0.5
    columns = left + torch.where(mirrored, 31 - across, across)
    rows = top + across
    at = torch.arange(n, device=device).reshape(-1, 1, 1)
    return padded.permute(0, 2, 3, 1)[at, rows[:, :, None], columns[:, None, :]].permute(0, 3, 1, 2)


class Momentum:
    """SGD as PyTorch's, with its rate on the device, so that a recorded step sees it change."""

    def __init__(self, parameters, device):
        self.parameters = parameters
        self.velocities = [torch.zeros_like(parameter) for parameter in parameters]
        self.rate = torch.zeros((), device=device)
        self.state = {0: dict(enumerate(self.velocities))}

    @torch.no_grad()
    def step(self):
        gradients = [parameter.grad for parameter in self.parameters]
        torch._foreach_add_(gradients, self.parameters, alpha=DECAY)
        torch._foreach_mul_(self.velocities, MOMENTUM)
        torch._foreach_add_(self.velocities, gradients)
        torch._foreach_sub_(self.parameters, torch._foreach_mul(self.velocities, self.rate))

    def zero_grad(self):
        for parameter in self.parameters:
            if parameter.grad is not None:
                parameter.grad.zero_()


def for_attacks(model, dtype):
    """The same network for attacks: with weights of its own in `dtype`, and everything of the batch norms in common. Returns it, and
    (copy, original) of its weights."""
    other = copy.deepcopy(model)
    pairs = []
    for mine, theirs in zip(other.modules(), model.modules(), strict=True):
        for name, parameter in theirs.named_parameters(recurse=False):
            if isinstance(theirs, torch.nn.BatchNorm2d):
                setattr(mine, name, torch.nn.Parameter(parameter.data, requires_grad=False))  # the same memory
            else:
                mine_too = torch.nn.Parameter(parameter.detach().to(dtype, copy=True), requires_grad=False)
                setattr(mine, name, mine_too)
                pairs.append((mine_too, parameter))
        for name, buffer in theirs.named_buffers(recurse=False):
            setattr(mine, name, buffer)
    other.dtype = dtype
    return other, pairs


class Training:
    def __init__(self, data, sizes, skip, options, seed, device):
        self.data, self.options, self.skip, self.device = data, options, skip, device
        torch.manual_seed(seed)
        self.generator = torch.Generator().manual_seed(seed)
        self.shapes = torch.Generator(device).manual_seed(seed)
        self.model = PreActResNet18().to(device, memory_format=torch.channels_last).train()
        cuda = device.type == "cuda"
        self.optimizer = Momentum(list(self.model.parameters()), device)
        self.precision = torch.autocast(device.type, torch.bfloat16, enabled=cuda, cache_enabled=False)
        self.network = Compiled(self.model, device)
        self.attacked, self.copies = for_attacks(self.model, torch.bfloat16 if cuda else torch.float32)
        self.attacked = Compiled(self.attacked, device)
        self.sizes = torch.from_numpy(sizes).to(device).reshape(-1, 1, 1, 1)
        self.is_attacked = sizes.max() > 0
        batch = options.batch
        self.per_epoch = len(data.train) // batch
        self.images = torch.zeros(batch, 3, 32, 32, device=device).contiguous(memory_format=torch.channels_last)
        self.labels = torch.zeros(batch, dtype=torch.long, device=device)
        self.size = torch.zeros(batch, 1, 1, 1, device=device)
        self.loss = torch.zeros((), device=device)
        self.right = torch.zeros((), device=device)
        state = [value for value in self.model.state_dict().values() if value is not None]
        self.iterate = rewound(state, self.optimizer, lambda: captured(self._iteration, device))

    def _gradient(self, images):
        """The gradient of the loss at the images."""
        images = images.detach().requires_grad_(True)
        loss = F.cross_entropy(self.attacked(images).float(), self.labels, reduction="sum")
        return torch.autograd.grad(loss, images)[0]

    def _perturbed(self, clean, size):
        with torch.no_grad():  # weights do not change during an attack, so they are rounded once
            torch._foreach_copy_([copy for copy, _ in self.copies], [original for _, original in self.copies])
            if self.skip:  # images that are misclassified as they are stay as they are
                right = self.attacked(clean).argmax(1) == self.labels
                size = size * right.reshape(-1, 1, 1, 1)
        low, high = (clean - size).clamp(min=0), (clean + size).clamp(max=1)
        point = torch.clamp(clean + size * (2 * torch.rand_like(clean) - 1), 0, 1)
        for _ in range(self.options.train_steps):
            gradient = self._gradient(point)
            point = torch.clamp(point + self.options.train_step_size * PIXEL * gradient.sign(), low, high).detach()
        return point

    def _iteration(self):
        point = self._perturbed(self.images, self.size) if self.is_attacked else self.images
        with self.precision:
            out = self.network(point)
        loss = F.cross_entropy(out.float(), self.labels)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        with torch.no_grad():
            self.loss += loss
            self.right += (out.argmax(1) == self.labels).float().mean()

    def epoch(self, number):
        """Trains for one epoch; mean loss and accuracy on the perturbed batches."""
        options = self.options
        order = torch.randperm(len(self.data.train), generator=self.generator).to(self.device)
        self.loss.zero_()
        self.right.zero_()
        for at in range(self.per_epoch):
            done = number + at / self.per_epoch
            rate = float(np.interp(done, [0, 0.4 * options.epochs, options.epochs], [0, RATE, 0]))
            self.optimizer.rate.fill_(rate)
            chosen = order[at * options.batch : (at + 1) * options.batch]
            self.images.copy_(cropped(self.data.train[chosen].float() / 255, self.shapes))
            self.labels.copy_(self.data.train_labels[chosen])
            self.size.copy_(self.sizes[chosen])
            self.iterate()
        return self.loss.item() / self.per_epoch, self.right.item() / self.per_epoch


def judged(model, images, batch=1000):
    """Predictions in single precision."""
    with torch.no_grad():
        return torch.cat([model(part.contiguous(memory_format=torch.channels_last)).argmax(1) for part in images.split(batch)])


class Attack:
    """PGD on a trained network in half precision; points are judged in single precision."""

    def __init__(self, model, batch, device, step_size, dtype=None):
        self.model, self.device, self.step_size = model.eval(), device, step_size
        for parameter in model.parameters():
            parameter.requires_grad_(False)
        copied, _ = for_attacks(model, dtype or (torch.bfloat16 if device.type == "cuda" else torch.float32))
        self.network = Compiled(copied, device)

        def buffer():
            return torch.zeros(batch, 3, 32, 32, device=device).contiguous(memory_format=torch.channels_last)

        self.low, self.high, self.point, self.kept = (buffer() for _ in range(4))
        self.labels = torch.zeros(batch, dtype=torch.long, device=device)
        self.margin = torch.zeros(batch, device=device)
        self.step = captured(self._step, device)

    def _step(self):
        point = self.point.detach().requires_grad_(True)
        out = self.network(point).float()
        gradient = torch.autograd.grad(F.cross_entropy(out, self.labels, reduction="sum"), point)[0]
        with torch.no_grad():
            one_hot = F.one_hot(self.labels, 10)
            margin = (out * one_hot).sum(1) - out.masked_fill(one_hot > 0, float("-inf")).amax(1)
            better = margin < self.margin
            self.kept.copy_(torch.where(better.reshape(-1, 1, 1, 1), self.point, self.kept))
            self.margin.copy_(torch.where(better, margin, self.margin))
            self.point.copy_(torch.clamp(self.point + self.step_size * gradient.sign(), self.low, self.high))

    def run(self, images, labels, epsilon, steps, generator):
        """Flags of images broken at the point reached, and at this or the weakest point of the path."""
        self.low.copy_((images - epsilon).clamp(min=0))
        self.high.copy_((images + epsilon).clamp(max=1))
        noise = torch.rand(images.shape, generator=generator, device=self.device)
        self.point.copy_(torch.clamp(images + epsilon * (2 * noise - 1), 0, 1))
        self.kept.copy_(self.point)
        self.margin.fill_(float("inf"))
        self.labels.copy_(labels)
        for _ in range(steps):
            self.step()
        final = judged(self.model, self.point) != labels
        return final, final | (judged(self.model, self.kept) != labels)


def attacked(attack, images, labels, epsilon, options, generator):
    """(final, any) flags of broken images over all restarts; those broken at a final point are left out of later ones."""
    final, some = (torch.zeros(len(images), dtype=torch.bool, device=images.device) for _ in range(2))
    batch = len(attack.labels)
    for _ in range(options.restarts):
        active = (~final).nonzero().flatten()
        if len(active) == 0:
            break
        for part in active.split(batch):
            filled = part.repeat(-(-batch // len(part)))[:batch]
            found = attack.run(images[filled], labels[filled], epsilon, options.attack_steps, generator)
            final[part] |= found[0][: len(part)]
            some[part] |= found[1][: len(part)]
    return final, some


def split_name(name):
    """Arm, whether misclassified images are skipped, and seed."""
    arm, seed = name.removeprefix("cifar-").rsplit("-seed", 1)
    return arm.removesuffix(SKIP), arm.endswith(SKIP), int(seed)


def outputs_of(model, images, batch=1000):
    """Logits and pooled features, in single precision."""
    found = []
    with torch.no_grad():
        for part in images.split(batch):
            features = model.features((part.float() / 255).contiguous(memory_format=torch.channels_last))
            found.append((model.linear(features).cpu().numpy(), features.cpu().numpy()))
    return (np.concatenate(part) for part in zip(*found, strict=True))


def save_array(path, array):
    """All of it or nothing."""
    beside = path.with_suffix(f".{os.getpid()}.part")
    with gzip.open(beside, "wb", compresslevel=1) if path.suffix == ".gz" else open(beside, "wb") as file:
        np.save(file, array)
    beside.replace(path)


def trained(name, data, sizes, skip, options, seed, device):
    """The network of a run and how its training went; from the file that an interrupted run left."""
    kept = options.out / f"{name}.pt"
    if kept.exists():
        state = torch.load(kept, map_location=device, weights_only=False)
        model = PreActResNet18().to(device, memory_format=torch.channels_last)
        model.load_state_dict(state["model"])
        return model, state["curve"], state["timing"]
    begun = time.time()
    training = Training(data, sizes, skip, options, seed, device)
    ready = time.time()
    curve = []
    for epoch in range(options.epochs):
        loss, accuracy = training.epoch(epoch)
        curve.append({"loss": loss, "adversarial_train_accuracy": accuracy})
        if epoch < 2 or epoch % 5 == 4 or epoch + 1 == options.epochs:
            print(f"{name} epoch {epoch + 1}: {curve[-1]}, {time.time() - ready:.0f} s", flush=True)
    timing = {"ready": ready - begun, "trained": time.time() - ready}
    beside = kept.with_suffix(f".{os.getpid()}.part")
    torch.save({"model": training.model.state_dict(), "curve": curve, "timing": timing}, beside)
    beside.replace(kept)
    return training.model, curve, timing


def run_job(name, data, scores, options, device):
    arm, skip, seed = split_name(name)
    guiding = scores() if arm in GUIDED else {}
    sizes = epsilons(arm, len(data.train), round(0.9 * len(data.train)), guiding, seed)
    model, curve, timing = trained(name, data, sizes, skip, options, seed, device)
    begun = time.time()
    model.eval()
    if name == options.scorer:  # what the scores of the training images are made of
        logits, _ = outputs_of(model, data.train)
        save_array(options.out / "train-logits.npy", logits)
    images, labels = data.read_test()
    logits, features = outputs_of(model, images)
    save_array(options.out / f"{name}.logits.npy.gz", logits)
    if seed == 0 and arm in ("plain", "vanilla-8") and not skip:
        save_array(options.out / f"{name}.features.npy.gz", features.astype(np.float16))
    test = images.float() / 255
    right = {"clean": torch.from_numpy(logits.argmax(1)).to(device) == labels}
    most = min(max(options.attack_images), len(test))
    attack = Attack(model, min(options.attack_batch, most), device, 2 * PIXEL)
    for pixels, count in zip(ATTACKS, options.attack_images, strict=True):
        generator = torch.Generator(device).manual_seed(1000 + seed)
        found = attacked(attack, test[:count], labels[:count], pixels * PIXEL, options, generator)
        for way, broken in zip(("final", "any"), found, strict=True):
            right[f"{options.restarts}PGD-{options.attack_steps} at {pixels}/255 {way}"] = right["clean"][:count] & ~broken
    timing["attacked"] = time.time() - begun
    record = {
        "experiment": "guided-cifar", "paper": "Table 4", "arm": arm, "skip_misclassified": skip, "seed": seed,
        "architecture": "preact-resnet18",
        "settings": {
            "epochs": options.epochs, "batch": options.batch, "optimizer": "SGD", "momentum": MOMENTUM, "weight_decay": DECAY,
            "largest_rate": RATE, "schedule": "linear up for 2/5 of the epochs, then down to 0", "train_images": len(data.train),
            "train_steps": options.train_steps if sizes.max() > 0 else 0, "train_step_size": options.train_step_size * PIXEL,
            "epsilon": ARMS[arm][0], "small_epsilon": ARMS[arm][1], "images_at_epsilon": int((sizes == sizes.max()).sum()),
            "batch_norm_in_attacks_of_training": "of the batch", "augmentation": "crops of images padded by 4, mirrors",
            "attack_step_size": 2 * PIXEL,
            "gradients": "bfloat16" if device.type == "cuda" else "float32", "judged_in": "float32",
        },
        "counts": {kind: len(flag) for kind, flag in right.items()},
        "accuracy": {kind: flag.float().mean().item() for kind, flag in right.items()},
        "right": {kind: jobs.packed(flag.cpu().numpy()) for kind, flag in right.items()},
        "curve": curve, "timing": timing,
        "scores": jobs.digest(guiding[arm].tobytes()) if guiding else None,
        "versions": jobs.versions(),
    }  # fmt: skip
    if seed == 0 and not options.smoke:
        record["precision"] = precision(model, test, labels, options, device)
    print(f"{name}: {record['accuracy']} {timing} {record.get('precision')}", flush=True)
    return record


def precision(model, test, labels, options, device):
    """Whether gradients in half precision make the attack weaker: one start of PGD at 8/255 on the first images with either."""
    count = min(1000, len(test))
    found = {"images": count}
    for kind in ("half", "single"):
        attack = Attack(model, count, device, 2 * PIXEL, torch.float32 if kind == "single" else None)
        one = copy.copy(options)
        one.restarts = 1
        broken, _ = attacked(attack, test[:count], labels[:count], 8 * PIXEL, one, torch.Generator(device).manual_seed(7))
        found[kind] = 1 - broken.float().mean().item()
    return found


def measured(data, options, device):
    """Seconds of an epoch and of an attack, with this many processes at once, which begin together."""
    training = Training(data, epsilons("vanilla-8", len(data.train), 1, {}, 0), True, options, 0, device)
    jobs.meet(options.out, options.processes)
    begun, count = time.time(), 0
    while time.time() - begun < options.measure:
        for _ in range(5):
            training.iterate()
        torch.cuda.synchronize()
        count += 5
    seconds = (time.time() - begun) / count
    print(
        f"{options.processes} processes, batch {options.batch}: {1e3 * seconds:.2f} ms an iteration, {seconds * training.per_epoch:.1f} s "
        f"an epoch, {seconds * training.per_epoch * options.epochs / options.processes:.0f} s of the GPU a run", flush=True,
    )  # fmt: skip
    if options.processes == 1:
        attack = Attack(training.model.eval(), options.attack_batch, device, 2 * PIXEL)
        torch.cuda.synchronize()
        begun = time.time()
        for _ in range(50):
            attack.step()
        torch.cuda.synchronize()
        print(f"PGD-50 on {options.attack_batch} images: {time.time() - begun:.2f} s", flush=True)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("."))
    parser.add_argument("--out", required=True, type=Path, help="a JSON file per run")
    parser.add_argument("--archive", type=Path, help="all of them in one .tar.gz, renewed after every run")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--runs", nargs="+", default=DEFAULT, metavar="ARM:SEEDS", help="such as spade-skip:0,1, in their order")
    parser.add_argument("--scorer", default="cifar-plain-seed0", help="the run whose logits of the training images are kept for scores")
    parser.add_argument("--train-images", type=int, default=50000)
    parser.add_argument("--epochs", type=int, default=15)
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--train-steps", type=int, default=7)
    parser.add_argument("--train-step-size", type=float, default=2, help="in pixels")
    parser.add_argument("--restarts", type=int, default=10)
    parser.add_argument("--attack-steps", type=int, default=50)
    parser.add_argument("--attack-images", type=int, nargs=3, default=[2000, 2000, 5000], help="at 2, 4 and 8 pixels")
    parser.add_argument("--attack-batch", type=int, default=1000)
    parser.add_argument("--minutes", type=float, default=1e6, help="take no job that would end later")
    parser.add_argument("--job-seconds", type=float, default=120, help="what a job takes at least, before one is done")
    parser.add_argument("--patience", type=float, default=0, help="seconds to wait for scores before runs that need none go first")
    parser.add_argument("--measure", type=float, default=0, help="measure training for so many seconds, and do no more")
    parser.add_argument("--synthetic", action="store_true", help="random images, to measure time without data")
    parser.add_argument("--smoke", action="store_true", help="a few images, one epoch: shows that everything runs")
    parser.add_argument("--deadline", type=float, help=argparse.SUPPRESS)
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.smoke:
        options.epochs, options.train_steps, options.restarts, options.attack_steps = 1, 1, 1, 2
        options.batch, options.attack_batch, options.job_seconds = 32, 16, 1
    return options


def names_of(runs):
    """Names of runs; an arm that nobody knows is refused."""
    names = []
    for run in runs:
        title, _, seeds = run.partition(":")
        if title.removesuffix(SKIP) not in ARMS or not seeds:
            raise SystemExit(f"--runs expects ARM:SEEDS with one of {', '.join(ARMS)}, got {run}")
        names += [f"cifar-{title}-seed{int(seed)}" for seed in seeds.split(",")]
    return names


def main():
    options = arguments()
    if not options.worker:
        deadline = time.time() + 60 * options.minutes
        raise SystemExit(jobs.spawn(options.processes, [*sys.argv[1:], "--deadline", str(deadline)]))
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    torch.backends.cudnn.benchmark = True
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    data = Data(options, device)
    if options.measure:
        measured(data, options, device)
        return
    path = options.data / "scores.npz"

    def scores():
        return jobs.scores(path, len(data.train))

    def can_begin(name):
        return split_name(name)[0] not in GUIDED or path.exists()

    def run(name):
        fresh()
        return run_job(name, data, scores, options, device)

    jobs.work(
        names_of(options.runs), options.out, options.archive, options.deadline, options.job_seconds, run, can_begin,
        lambda name: 0.2 if split_name(name)[0] in EASY else 1, options.patience,
    )  # fmt: skip


if __name__ == "__main__":
    main()
