"""What `spadework score` costs on embeddings that form clusters, and what becomes of its numbers when the clusters are connected.

Items lie around topics, as embeddings of sentences do: topic + spread · noise, both standard normal, in single precision. The new embedder is
a random projection to a third of the dimensions, and 40 items are moved: each is embedded as an item of another topic. Distances are cosine
on both sides, k = 10.

usage: python scripts/measure_embeddings.py PATH-OF-SPADEWORK clusters [TOPICS ITEMS DIMENSIONS]     grow and bridge, 200 × 250 × 384
       python scripts/measure_embeddings.py PATH-OF-SPADEWORK speed [DIMENSIONS …]                  50,000 items of overlapping topics
       python scripts/measure_embeddings.py PATH-OF-SPADEWORK pairs                                 manhattan and chebyshev compared with SciPy

Prints a table in Markdown; times are CPU seconds of the whole command, and by the clock. Needs NumPy; `pairs` also SciPy.
"""

from __future__ import annotations

import csv
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

NEIGHBORS, MOVED = 10, 40
COSINE = ["--input-metric", "cosine", "--output-metric", "cosine", "-k", str(NEIGHBORS)]


def embeddings(topics: int, items: int, dimensions: int, spread: float, rng: np.random.Generator) -> np.ndarray:
    """Rows of items of each topic, one topic after the other."""
    centers = rng.standard_normal(size=(topics, dimensions), dtype=np.float32)
    rows = np.repeat(centers, items, axis=0)
    # In place and in parts: 50,000 × 4,096 numbers are 0.8 GB.
    for part in np.array_split(rows, max(1, rows.size // 10**7)):
        part += spread * rng.standard_normal(size=part.shape, dtype=np.float32)
    return rows


def overlapping(items: int, dimensions: int, rng: np.random.Generator) -> np.ndarray:
    """Items of 200 topics that touch, in 64 directions, and noise in all."""
    topics = rng.standard_normal(size=(200, 64), dtype=np.float32)
    places = topics[rng.integers(200, size=items)] + rng.standard_normal(size=(items, 64), dtype=np.float32)
    rows = places @ rng.standard_normal(size=(64, dimensions), dtype=np.float32)
    for part in np.array_split(rows, max(1, rows.size // 10**7)):
        part += 0.3 * rng.standard_normal(size=part.shape, dtype=np.float32)
    return rows


def projected(rows: np.ndarray, dimensions: int, rng: np.random.Generator) -> np.ndarray:
    """Another embedder of the same items."""
    return rows @ (rng.standard_normal(size=(rows.shape[1], dimensions), dtype=np.float32) / np.float32(np.sqrt(dimensions)))


def timed(call: list[str]) -> tuple[str, float, float]:
    """What a command prints, its CPU seconds, and seconds by the clock."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.time()
    printed = subprocess.run(call, stdout=subprocess.PIPE, text=True, check=True).stdout
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return printed, cpu, time.time() - began


def clusters(spadework: str, folder: Path, topics: int, items: int, dimensions: int) -> None:
    """Connected by more neighbors or by bridges."""
    rng = np.random.default_rng(0)
    old = embeddings(topics, items, dimensions, 0.3, rng)
    new = projected(old, dimensions // 3, rng)
    moved = rng.choice(len(old), MOVED, replace=False)
    new[moved] = new[(moved + items * rng.integers(1, topics, size=MOVED)) % len(old)]
    np.save(folder / "old.npy", old)
    np.save(folder / "new.npy", new)
    print(f"{topics} topics of {items} items, {dimensions} dimensions, projected to {dimensions // 3}; {MOVED} items moved\n")
    print("| connectivity | k used | overlap | SPADE score | CPU s | clock s | moved items among the first 40 by node score | by overlap |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for policy in ("grow", "bridge"):
        call = [spadework, "score", "--inputs", str(folder / "old.npy"), "--outputs", str(folder / "new.npy"), *COSINE]
        options = ["--connectivity", policy, "--task", "embedding", "--out", str(folder / policy), "--json", "-q"]
        printed, cpu, clock = timed([*call, *options])
        result = json.loads(printed)
        with open(folder / policy / "nodes.csv", newline="") as lines:
            nodes = list(csv.DictReader(lines))
        by_node = sorted(range(len(nodes)), key=lambda at: -float(nodes[at]["score"]))[:MOVED]
        by_overlap = sorted(range(len(nodes)), key=lambda at: float(nodes[at]["overlap"]))[:MOVED]
        found = [len(set(moved) & set(first)) for first in (by_node, by_overlap)]
        numbers = f"{result['neighbors']['used']} | {result['overlap']:.3f} | {result['model_score']:.4g}"
        print(f"| {policy} | {numbers} | {cpu:.1f} | {clock:.1f} | {found[0]} | {found[1]} |", flush=True)


def speed(spadework: str, folder: Path, sizes: list[int]) -> None:
    """50,000 items, a whole score."""
    print("| dimensions | k used | CPU s | clock s | neighbors of inputs and outputs, clock s |\n| ---: | ---: | ---: | ---: | ---: |")
    for dimensions in sizes:
        rng = np.random.default_rng(0)
        old = overlapping(50_000, dimensions, rng)
        old /= np.linalg.norm(old, axis=1, keepdims=True)
        np.save(folder / "old.npy", old)
        np.save(folder / "new.npy", projected(old, 128, rng))
        del old
        call = [spadework, "score", "--inputs", str(folder / "old.npy"), "--outputs", str(folder / "new.npy"), *COSINE]
        printed, cpu, clock = timed([*call, "--task", "embedding", "--json", "-q"])
        result = json.loads(printed)
        search = sum(result["timings"][f"neighbors_{side}_s"] for side in ("input", "output"))
        print(f"| {dimensions:,} | {result['neighbors']['used']} | {cpu:.1f} | {clock:.1f} | {search:.1f} |", flush=True)


def brute_force(rows: np.ndarray, metric: str) -> float:
    """CPU seconds of all distances by SciPy, block by block, and of the smallest of each row."""
    from scipy.spatial.distance import cdist

    began = time.process_time()
    for first in range(0, len(rows), 500):
        distances = cdist(rows[first : first + 500], rows, {"manhattan": "cityblock"}.get(metric, metric))
        np.argpartition(distances, NEIGHBORS + 1, axis=1)[:, : NEIGHBORS + 1]
    return time.process_time() - began


def pairs(spadework: str, folder: Path) -> None:
    """The metrics that have no products."""
    print("| metric | data | Spadework, CPU s | SciPy, CPU s | ratio |\n| --- | --- | ---: | ---: | ---: |")
    for items, dimensions in ((3000, 96), (10_000, 32), (10_000, 768)):
        rows = overlapping(items, dimensions, np.random.default_rng(0))
        for kind in (np.float32, np.float64):
            np.save(folder / "x.npy", rows.astype(kind))
            for metric in ("manhattan", "chebyshev"):
                # One side: the outputs are a few columns, whose search is measured and subtracted.
                np.save(folder / "y.npy", rows[:, :2].astype(kind))
                call = [spadework, "graph", "--outputs", str(folder / "y.npy"), "-k", str(NEIGHBORS), "-q", "--threads", "1", "--connectivity", "bridge"]
                ours = []
                for inputs in ("x.npy", "y.npy"):
                    with tempfile.TemporaryDirectory(dir=folder) as out:
                        chosen = metric if inputs == "x.npy" else "euclidean"
                        ours.append(timed([*call, "--inputs", str(folder / inputs), "--input-metric", chosen, "--out", f"{out}/g"])[1])
                own, theirs = ours[0] - ours[1], brute_force(rows.astype(np.float64), metric)
                name = np.dtype(kind).name
                print(f"| {metric} | {items:,} × {dimensions}, {name} | {own:.2f} | {theirs:.2f} | {own / theirs:.2f} |", flush=True)


def main() -> None:
    spadework, what, rest = sys.argv[1], sys.argv[2], [int(word) for word in sys.argv[3:]]
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as place:
        folder = Path(place)
        if what == "clusters":
            clusters(spadework, folder, *(rest or [200, 250, 384]))
        elif what == "speed":
            speed(spadework, folder, rest or [384, 768, 4096])
        else:
            pairs(spadework, folder)


if __name__ == "__main__":
    main()
