"""How the exponents of the fragility were chosen, and what the choice is worth on networks that had no part in it.

usage: python scripts/choose_fragility.py PATH-OF-SPADEWORK FOLDER [--images 1000] [--attacker PATH-OF-SPADEWORK]

Arguments and truth are those of `measure_fragility.py`. For every network and every pair of exponents (a, b) the area under the curve of

    min_j (y_c - y_j) / (s_cj^a l_p^b)

computed here in NumPy; (0, 0) is the margin. Taken are the exponents with the largest mean over networks among those that are
below the margin on none. Leaving out one network at a time, and one source at a time, the choice is made without it and measured on it.
"""

from __future__ import annotations

import gzip
import itertools
import subprocess
import tempfile
from pathlib import Path

import numpy as np
from measure_fragility import SIZES, area, arguments, attacked, column, networks, tells

GRID = list(itertools.product((0, 0.25, 0.5, 0.75, 1), (0, 0.25, 0.5)))
MARGIN = (0, 0)


def images(folder: Path, data: str) -> np.ndarray:
    """The test images, one row each."""
    if data == "mnist":
        raw = gzip.open(folder / "mnist" / "t10k-images-idx3-ubyte.gz").read()
        return np.frombuffer(raw, np.uint8, offset=16).reshape(10000, -1) / 255
    raw = (folder / "cifar10" / "test_batch.bin").read_bytes()
    return np.frombuffer(raw, np.uint8).reshape(-1, 3073)[:, 1:] / 255


def lengths_of(inputs: np.ndarray, p: np.ndarray, q: np.ndarray) -> np.ndarray:
    """In parts, so that the differences fit into memory."""
    parts = np.array_split(np.arange(len(p)), 50)
    return np.concatenate([np.linalg.norm(inputs[p[part]] - inputs[q[part]], axis=1) for part in parts])


def reaches(outputs: np.ndarray, p: np.ndarray, q: np.ndarray, lengths: np.ndarray, first: int) -> dict[tuple, np.ndarray]:
    """The reach of the first samples by every pair of exponents."""
    change = (outputs[p] - outputs[q]) / lengths[:, None]
    slopes = np.stack([np.abs(change[:, [c]] - change).mean(axis=0) for c in range(outputs.shape[1])])
    steep = np.linalg.norm(change, axis=1)
    count = np.bincount(p, minlength=len(outputs)) + np.bincount(q, minlength=len(outputs))
    local = (np.bincount(p, steep, len(outputs)) + np.bincount(q, steep, len(outputs))) / np.maximum(count, 1)
    rows, classes = np.arange(first), outputs[:first].argmax(axis=1)
    leads = outputs[rows, classes][:, None] - outputs[:first]
    leads[rows, classes] = np.inf
    slopes[np.diag_indices_from(slopes)] = 1
    return {(a, b): (leads / slopes[classes] ** a).min(axis=1) / local[:first] ** b for a, b in GRID}


def areas(args, model: Path, data: str, inputs: np.ndarray) -> dict[tuple, float]:
    """The mean area over sizes, by exponents."""
    name = f"{data}:{args.folder / data}:test"
    with tempfile.TemporaryDirectory() as work:
        quiet = {"check": True, "stdout": subprocess.DEVNULL}
        score = [args.spadework, "score", "--model", str(model), "--inputs", name, "--out", f"{work}/scored", "--quiet"]
        subprocess.run(score, **quiet)
        predict = [args.spadework, "predict", "--model", str(model), "--inputs", name, "--out", f"{work}/y.npy", "--quiet"]
        subprocess.run(predict, **quiet)
        p, q = (column(Path(work, "scored", "edges.csv"), end).astype(int) for end in "pq")
        lengths = lengths_of(inputs, p, q)
        apart = lengths > 0
        outputs = np.load(f"{work}/y.npy").astype(float)
        found = reaches(outputs, p[apart], q[apart], lengths[apart], args.images)
        attacks = [attacked(args, model, name, size, work) for size in SIZES[data]]
    attacks = [(right, broken) for right, broken in attacks if tells(broken)]
    if not attacks:
        return {}
    return {key: float(np.mean([area(-reach[right], broken) for right, broken in attacks])) for key, reach in found.items()}


def chosen(table: dict[str, dict[tuple, float]]) -> tuple:
    """The exponents with the largest mean among those that are below the margin on no network."""
    safe = [key for key in GRID if all(areas[key] >= areas[MARGIN] for areas in table.values())]
    return max(safe, key=lambda key: np.mean([areas[key] for areas in table.values()]))


def leave_out(table: dict[str, dict[tuple, float]], groups: dict[str, list[str]]) -> None:
    print("\n| left out | chosen without it | margin | fragility |\n| --- | --- | ---: | ---: |")
    for name, left in groups.items():
        key = chosen({network: areas for network, areas in table.items() if network not in left})
        means = [np.mean([table[network][of] for network in left]) for of in (MARGIN, key)]
        print(f"| {name} | {key[0]}, {key[1]} | {means[0]:.3f} | {means[1]:.3f} |")


def main() -> None:
    args = arguments(__doc__)
    inputs = {data: images(args.folder, data) for data in SIZES}
    table = {}
    for model, data in networks(args.folder):
        try:
            found = areas(args, model, data, inputs[data])
        except subprocess.CalledProcessError:
            continue
        if found:
            table[model.stem] = found
    print("| exponents | mean | below the margin on |\n| --- | ---: | ---: |")
    for key in GRID:
        below = sum(areas[key] < areas[MARGIN] for areas in table.values())
        print(f"| {key[0]}, {key[1]} | {np.mean([areas[key] for areas in table.values()]):.3f} | {below} of {len(table)} |")
    print("\nchosen:", *chosen(table))
    leave_out(table, {name: [name] for name in table})
    # Files of one source begin alike: lenet5, abcrown__eran, abcrown__oval, ...
    source = {name: "_".join(name.split("_")[:3]) if "__" in name else name.split("_")[0] for name in table}
    leave_out(table, {one: [name for name in table if source[name] == one] for one in sorted(set(source.values()))})


if __name__ == "__main__":
    main()
