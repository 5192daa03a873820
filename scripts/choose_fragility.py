"""How the exponents of the fragility were chosen, and what the choice is worth on networks that had no part in it.

usage: python scripts/choose_fragility.py PATH-OF-SPADEWORK FOLDER [--nets NETS.csv] [--only REGEX] [--attacker PATH] [OPTIONS OF ATTACK …]

Arguments and truth are those of `measure_fragility.py`. For every network and every pair of exponents (a, b) the area under the curve of

    min_j (y_c - y_j) / (s_cj^a l_p^b)

computed here in NumPy; (0, 0) is the margin. Taken are the exponents with the largest mean over networks among those that are
below the margin on none. Leaving out one network at a time, and one source at a time, the choice is made without it and measured on it.
"""

from __future__ import annotations

import gzip
import itertools
import re
import tempfile
from pathlib import Path

import numpy as np
from measure_estimates import IMAGES
from measure_fragility import Network, area, arguments, columns, run
from measure_validity import SIZES, networks

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


def areas(network: Network, data: str, inputs: np.ndarray) -> list[dict[tuple, float]]:
    """The areas by exponents, of every size at which enough images break and survive."""
    predicted = network.work / "y.npy"
    run(network.spadework, "predict", "--model", network.model, "--inputs", network.inputs, "--output", predicted, "--quiet")
    edges = columns(network.work / "all/edges.csv")
    p, q = (edges[end].astype(int) for end in "pq")
    lengths = lengths_of(inputs, p, q)
    apart = lengths > 0
    found = reaches(np.load(predicted).astype(float), p[apart], q[apart], lengths[apart], IMAGES)
    sizes = filter(None, map(network.broken, SIZES[data].values()))
    return [{key: area(-reach[right], broken) for key, reach in found.items()} for right, broken in sizes]


def chosen(table: dict[str, dict[tuple, float]]) -> tuple:
    """The exponents with the largest mean among those that are below the margin on the fewest networks."""
    below = {key: sum(areas[key] < areas[MARGIN] for areas in table.values()) for key in GRID if key != MARGIN}
    safe = [key for key, count in below.items() if count == min(below.values())]
    return max(safe, key=lambda key: np.mean([areas[key] for areas in table.values()]))


def leave_out(table: dict[str, dict[tuple, float]], groups: dict[str, list[str]]) -> None:
    print("\n| left out | chosen without it | margin | fragility |\n| --- | --- | ---: | ---: |")
    for name, left in groups.items():
        key = chosen({network: areas for network, areas in table.items() if network not in left})
        means = [np.mean([table[network][of] for network in left]) for of in (MARGIN, key)]
        print(f"| {name} | {key[0]}, {key[1]} | {means[0]:.3f} | {means[1]:.3f} |")


def main() -> None:
    asked, options = arguments(__doc__)
    every: dict[str, list[dict[tuple, float]]] = {}
    source = {}
    for data in SIZES:
        rows = [row for row in networks(asked.nets, data) if re.search(asked.only, row["file"])]
        inputs = images(asked.folder, data) if rows else None
        for row in rows:
            with tempfile.TemporaryDirectory() as work:
                found = areas(Network(asked, options, row, data, Path(work)), data, inputs)
            if found:
                every[Path(row["file"]).stem], source[Path(row["file"]).stem] = found, row["source"]
    table = {name: {key: float(np.mean([areas[key] for areas in found])) for key in GRID} for name, found in every.items()}
    pairs = [areas for found in every.values() for areas in found]
    print("| exponents | mean | networks below the margin | pairs above the margin |\n| --- | ---: | ---: | ---: |")
    for key in GRID:
        below = sum(areas[key] < areas[MARGIN] for areas in table.values())
        above = sum(areas[key] > areas[MARGIN] for areas in pairs)
        mean = np.mean([areas[key] for areas in table.values()])
        print(f"| {key[0]}, {key[1]} | {mean:.4f} | {below} of {len(table)} | {above} of {len(pairs)} |")
    print("\nchosen:", *chosen(table))
    leave_out(table, {one: [name for name in table if source[name] == one] for one in sorted(set(source.values()))})


if __name__ == "__main__":
    main()
