"""A folder with the files that the pages in docs/ speak of, small: every block of the pages runs in it (test_docs.py)."""

from __future__ import annotations

import gzip
import os
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import scipy.sparse
from sklearn.neighbors import kneighbors_graph

from conftest import ASSETS

TRAIN, TEST = 120, 240
COMMAND = Path(sys.executable).parent / "spadework"


def spadework(*arguments: str, cwd: Path) -> None:
    subprocess.run([COMMAND, *arguments], cwd=cwd, check=True, capture_output=True)


def _idx(path: Path, values: np.ndarray) -> None:
    head = struct.pack(f">BBBB{values.ndim}I", 0, 0, 8, values.ndim, *values.shape)
    path.write_bytes(gzip.compress(head + values.astype(np.uint8).tobytes()))


def _images() -> tuple[np.ndarray, np.ndarray]:
    """The embedded digits as images of 28 × 28, like MNIST's."""
    table = np.loadtxt(ASSETS.parents[1] / "spadework-io" / "assets" / "digits.csv.gz", delimiter=",")
    small = table[:, :64].reshape(-1, 8, 8) * (255 / 16)
    large = np.pad(small.repeat(3, axis=1).repeat(3, axis=2), ((0, 0), (2, 2), (2, 2)))
    return large.astype(np.uint8), table[:, 64].astype(np.int64)


def _mnist(folder: Path, images: np.ndarray, labels: np.ndarray) -> None:
    folder.mkdir(parents=True)
    for name, part in [("train", slice(0, TRAIN)), ("t10k", slice(TRAIN, TRAIN + TEST))]:
        _idx(folder / f"{name}-images-idx3-ubyte.gz", images[part])
        _idx(folder / f"{name}-labels-idx1-ubyte.gz", labels[part])


def _cifar(folder: Path) -> None:
    folder.mkdir(parents=True)
    rng = np.random.default_rng(0)
    for name in ["test_batch", *(f"data_batch_{number}" for number in range(1, 6))]:
        rows = rng.integers(0, 256, (60, 3073), dtype=np.uint8)
        rows[:, 0] = np.arange(60) % 10
        (folder / f"{name}.bin").write_bytes(rows.tobytes())


def build(folder: Path) -> Path:
    """Fills the folder, by the command itself where a network is needed."""
    images, labels = _images()
    _mnist(folder / "data" / "mnist", images, labels)
    _cifar(folder / "data" / "cifar10")
    os.symlink(folder / "data" / "mnist", folder / "DIR")
    train = ["train", "--quiet", "--epochs", "3", "--learning-rate", "0.003"]
    for seed, name in enumerate(["net", "net1", "net2"]):
        spadework(*train, "--model", "mlp:16", "--data", "mnist:DIR", "--seed", str(seed), "--out", f"trained-{name}", cwd=folder)
        (folder / f"{name}.onnx").write_bytes((folder / f"trained-{name}" / "model.onnx").read_bytes())
    (folder / "lenet5.onnx").write_bytes((folder / "net.onnx").read_bytes())
    for seed, name in enumerate(["cifar1", "cifar2"]):
        arguments = ["--model", "mlp:16", "--data", "cifar10:data/cifar10", "--seed", str(seed), "--out", f"trained-{name}"]
        spadework("train", "--quiet", "--epochs", "1", "--learning-rate", "0.0001", *arguments, cwd=folder)
        (folder / f"{name}.onnx").write_bytes((folder / f"trained-{name}" / "model.onnx").read_bytes())
    rng = np.random.default_rng(1)
    test = slice(TRAIN, TRAIN + TEST)
    inputs = (images[test].reshape(TEST, -1) / 255).astype(np.float32)
    for number, name in enumerate(["net", "net1"]):
        spadework("predict", "--quiet", "--model", f"{name}.onnx", "--inputs", "mnist:DIR:test", "--output", f"logits-{number}.npy", cwd=folder)
    first, second = np.load(folder / "logits-0.npy"), np.load(folder / "logits-1.npy")
    arrays = {
        "X": inputs, "x": inputs, "table": rng.normal(size=(TEST, 30)), "embeddings": inputs + 0.1, "noisy": inputs,
        "Y": first, "Y1": first, "Y2": second, "logits": first, "noisy_outputs": first, "outputs": first, "predictions": first,
        "old": inputs + 0.1, "new": second, "new_x": inputs[:20] + 0.01, "new_y": first[:20], "new_outputs": first[:20],
        "train_0.0": first, "train_0.4": second, "a": first, "b": second, "int8": first, "pca": second, "test": inputs,
    }
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array)
    np.save(folder / "y.npy", labels[test])
    np.save(folder / "labels.npy", labels[test])
    np.savetxt(folder / "table.csv", arrays["table"], delimiter=",", header=",".join(f"c{i}" for i in range(30)), comments="")
    np.savetxt(folder / "X.csv", arrays["table"], delimiter=",", header=",".join(f"c{i}" for i in range(30)), comments="")
    np.savez(folder / "logits.npz", standard=first, robust=second)
    np.savez(folder / "lenets.npz", **{f"e0.{i}": first + 0.1 * i * rng.normal(size=first.shape).astype(np.float32) for i in range(5)})
    nearest = kneighbors_graph(inputs, 10)
    scipy.sparse.save_npz(folder / "cora_adjacency.npz", scipy.sparse.csr_matrix(nearest.maximum(nearest.T)))
    words = scipy.sparse.random(TEST, 200, density=0.1, random_state=0, format="csr") + scipy.sparse.eye(TEST, 200, k=-5, format="csr")
    scipy.sparse.save_npz(folder / "tfidf.npz", scipy.sparse.csr_matrix(words))
    score = ["score", "--quiet", "--inputs", "X.npy", "--labels", "y.npy"]
    spadework(*score, "--outputs", "Y.npy", "--out", "results", cwd=folder)
    spadework(*score, "--model", "net.onnx", "--probe", "linf:0.1", "--probe-samples", "20", "--out", "results/main", cwd=folder)
    named = ["score", "--quiet", "--inputs", "mnist:data/mnist:test"]
    spadework(*named, "--outputs", "logits.npz:robust", "--out", "accepted", cwd=folder)
    spadework(*named, "--outputs", "logits.npz:standard", "--out", "scored", cwd=folder)
    return folder
