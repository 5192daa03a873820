"""Accuracy under PGD of the networks of a folder, as a file that scripts/measure_validity.py reads.

usage: python scripts/attack_networks.py FOLDER OUT.csv [IMAGES]

FOLDER holds mnist/, cifar10/ and nets/nets.csv, as scripts/measure_validity.py has it. OUT.csv has the same lines with the
columns pgd_small, pgd_mid and pgd_large computed again: the share of the first IMAGES test images (500) that are right and stay right
under L∞ attacks of 0.1, 0.2 and 0.3 (MNIST), or of 2/255 and 8/255 (CIFAR-10). Two starts at random points, one with the margin
and one with the cross-entropy as the loss, 60 steps each, of 0.25, 0.1 and 0.03 times the size for a third of them. Networks
that were not attacked before are attacked too, with one start of 20 steps. Needs PyTorch and onnx.
"""

from __future__ import annotations

import csv
import gzip
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import torch
import torch.nn.functional as F
from onnx import numpy_helper

SIZES = {
    "mnist": {"pgd_small": 0.1, "pgd_mid": 0.2, "pgd_large": 0.3},
    "cifar10": {"pgd_small": 2 / 255, "pgd_large": 8 / 255},
}
Network = Callable[[torch.Tensor], torch.Tensor]


def images(folder: Path, data: str, count: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Test images between 0 and 1, and their labels."""
    if data == "mnist":
        pixels = np.frombuffer(gzip.open(folder / "mnist/t10k-images-idx3-ubyte.gz").read(), np.uint8, offset=16)
        labels = np.frombuffer(gzip.open(folder / "mnist/t10k-labels-idx1-ubyte.gz").read(), np.uint8, offset=8)
        pixels = pixels.reshape(-1, 1, 28, 28)
    else:
        rows = np.fromfile(folder / "cifar10/test_batch.bin", np.uint8).reshape(-1, 3073)
        labels, pixels = rows[:, 0], rows[:, 1:].reshape(-1, 3, 32, 32)
    return torch.tensor(pixels[:count] / np.float32(255)), torch.tensor(labels[:count].astype(np.int64))


def network(path: Path) -> Network:
    """The network in a file, with the operators that these networks have."""
    graph = onnx.load(path).graph
    constants = {tensor.name: torch.tensor(numpy_helper.to_array(tensor)) for tensor in graph.initializer}
    nodes = []
    for node in graph.node:
        said = {attribute.name: onnx.helper.get_attribute_value(attribute) for attribute in node.attribute}
        if node.op_type == "Constant":
            constants[node.output[0]] = torch.tensor(numpy_helper.to_array(said["value"]))
        else:
            nodes.append((OPERATORS[node.op_type], list(node.input), node.output[0], said))
    source = next(value.name for value in graph.input if value.name not in constants)

    def run(x: torch.Tensor) -> torch.Tensor:
        values = {**constants, source: x}
        for operator, inputs, output, said in nodes:
            values[output] = operator(said, *[values[name] for name in inputs])
        return values[graph.output[0].name]

    return run


def conv(said: dict, x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None = None) -> torch.Tensor:
    top, left, bottom, right = said.get("pads", [0, 0, 0, 0])
    return F.conv2d(F.pad(x, (left, right, top, bottom)), weight, bias, stride=tuple(said.get("strides", [1, 1])))


def cut(_: dict, x: torch.Tensor, starts, ends, axes, steps) -> torch.Tensor:
    where = [slice(None)] * x.dim()
    for start, end, axis, step in zip(starts.tolist(), ends.tolist(), axes.tolist(), steps.tolist()):
        where[axis] = slice(start, min(end, x.shape[axis]), step)
    return x[tuple(where)]


def pad(_: dict, x: torch.Tensor, pads: torch.Tensor, *value: torch.Tensor) -> torch.Tensor:
    before, after = pads.reshape(2, -1).tolist()
    return F.pad(x, [extent for pair in reversed(list(zip(before, after))) for extent in pair])


OPERATORS = {
    "Add": lambda said, a, b: a + b,
    "Conv": conv,
    "Div": lambda said, a, b: a / b,
    "Flatten": lambda said, x: torch.flatten(x, 1),
    "Gemm": lambda said, x, weight, bias: x @ (weight.T if said.get("transB") else weight) + bias,
    "GlobalAveragePool": lambda said, x: x.mean((2, 3), keepdim=True),
    "MaxPool": lambda said, x: F.max_pool2d(x, tuple(said["kernel_shape"]), tuple(said["strides"])),
    "Pad": pad,
    "Relu": lambda said, x: F.relu(x),
    "Slice": cut,
    "Sub": lambda said, a, b: a - b,
}


def margins(outputs: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """By how much the output of the label leads."""
    others = outputs.scatter(1, labels[:, None], -torch.inf)
    return outputs.gather(1, labels[:, None])[:, 0] - others.max(1)[0]


def accuracy_under_attack(run: Network, x: torch.Tensor, labels: torch.Tensor, size: float, steps: int, starts: int) -> float:
    """The part of the images that no point on the way of any start makes wrong."""
    draw = torch.Generator().manual_seed(0)
    with torch.no_grad():
        left = torch.arange(len(x))[margins(run(x), labels) > 0]
    for start in range(starts):
        if len(left) == 0:
            break
        images, truth = x[left], labels[left]
        moved = (images + size * (2 * torch.rand(images.shape, generator=draw) - 1)).clamp(0, 1)
        lost = torch.zeros(len(left), dtype=torch.bool)
        for step in range(steps):
            moved = moved.detach().requires_grad_(True)
            outputs = run(moved)
            leads = margins(outputs, truth)
            lost |= (leads <= 0).detach()
            loss = -leads.sum() if start % 2 == 0 else F.cross_entropy(outputs, truth, reduction="sum")
            (slope,) = torch.autograd.grad(loss, moved)
            far = size * (0.25, 0.1, 0.03)[3 * step // steps]
            moved = moved.detach() + far * slope.sign()
            moved = torch.minimum(torch.maximum(moved, images - size), images + size).clamp(0, 1)
        with torch.no_grad():
            lost |= margins(run(moved), truth) <= 0
        left = left[~lost]
    return len(left) / len(x)


def main() -> None:
    folder, out = Path(sys.argv[1]), Path(sys.argv[2])
    count = int(sys.argv[3]) if len(sys.argv) > 3 else 500
    with open(folder / "nets" / "nets.csv", newline="") as lines:
        rows = list(csv.DictReader(lines))
    for row in rows:
        x, labels = images(folder, row["data"], count)
        run = network(folder / "nets" / row["file"])
        steps, starts = (60, 2) if row["pgd_small"] else (20, 1)
        for name, size in SIZES[row["data"]].items():
            row[name] = f"{accuracy_under_attack(run, x, labels, size, steps, starts):.3f}"
        print(row["file"], *(row[name] for name in SIZES[row["data"]]), flush=True)
    with open(out, "w", newline="") as lines:
        writer = csv.DictWriter(lines, rows[0].keys())
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    main()
