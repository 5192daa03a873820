#!/usr/bin/env python3
"""Compares the numbers of two builds of the Python package on the same data; scripts/compare_editions.py does so for the command.

Usage: PYTHONPATH=FIRST  python compare_python_editions.py write first.npz DATA
       PYTHONPATH=SECOND python compare_python_editions.py write second.npz DATA
       python compare_python_editions.py compare first.npz second.npz

FIRST and SECOND are folders with a package `spadework`; DATA is the folder of `SPADEWORK_DATA`. The calls are score, compare, sweep and
select, on the digits of scikit-learn, MNIST and CIFAR-10. For every array, says whether it is equal to the last bit, or how far it is off.
"""

import gzip
import sys
from pathlib import Path

import numpy as np

OF_REPORT = ("eigenvalues", "edges", "edge_scores", "node_scores", "accuracy", "margins")


def unpacked(folder, name, header):
    """The bytes of an IDX file behind its header."""
    packed = folder / f"{name}.gz"
    return np.frombuffer(gzip.decompress(packed.read_bytes()) if packed.exists() else (folder / name).read_bytes(), np.uint8, offset=header)


def data_sets(data):
    """Inputs, labels and outputs by the name of the data set."""
    from sklearn.datasets import load_digits

    digits = load_digits()
    weights = np.random.default_rng(5).standard_normal((64, 10))
    linear = digits.data / 16 @ weights
    yield "digits", digits.data / 16, digits.target, {"linear": linear, "bent": np.tanh(linear / 3) @ weights[:10]}
    images, labels = unpacked(data / "mnist", "t10k-images-idx3-ubyte", 16), unpacked(data / "mnist", "t10k-labels-idx1-ubyte", 8)
    lenets = np.load(data / "logits/mnist_test_lenet5.npz")
    yield "MNIST", images.reshape(10_000, 784), labels.astype(np.int64), {name: lenets[name] for name in lenets.files[:3]}
    batch = np.fromfile(next(data.glob("cifar10/**/test_batch.bin")), np.uint8).reshape(10_000, 3073)
    resnets = np.load(data / "logits/cifar10_test_resnet18.npz")
    yield "CIFAR-10", batch[:, 1:].copy(), batch[:, 0].astype(np.int64), {name: resnets[name] for name in resnets.files}


def write(file, data):
    import spadework

    found = {}
    for name, inputs, labels, outputs in data_sets(Path(data)):
        first = next(iter(outputs.values()))
        report = spadework.score(inputs, first, labels=labels)
        found.update({f"{name}, score: {field}": getattr(report, field) for field in OF_REPORT})
        for model in spadework.compare(inputs, outputs, labels=labels).document["models"]:
            found[f"{name}, compare: eigenvalues of {model['name']}"] = model["eigenvalues"]
        for point in spadework.sweep(inputs, outputs, neighbors=[10, 20]).document["points"]:
            for model in point["scores"]:
                found[f"{name}, sweep: eigenvalues of {model['name']} at k = {point['neighbors']}"] = model["eigenvalues"]
        for by in ("node", "fragility"):
            found[f"{name}, select by {by}: indices"] = spadework.select(inputs, first, top=100, labels=labels, by=by)
    np.savez(file, **{place: np.asarray(numbers) for place, numbers in found.items()})


def compare(first, second):
    first, second = np.load(first), np.load(second)
    for place in first.files:
        one, other = first[place], second[place]
        if np.array_equal(one, other):
            print(f"{place}: {one.size} equal to the last bit")
        else:
            apart = np.abs(one - other) / np.maximum(np.maximum(np.abs(one), np.abs(other)), 1e-300)
            print(f"{place}: {(one != other).sum()} of {one.size} differ, by {apart.max():.1e} at most (relative)")


if __name__ == "__main__":
    if len(sys.argv) != 4 or sys.argv[1] not in ("write", "compare"):
        raise SystemExit(__doc__)
    (write if sys.argv[1] == "write" else compare)(*sys.argv[2:])
