"""What `spadework score` costs on embeddings that form clusters, and what becomes of its numbers when the clusters are connected.

Items lie around topics, as embeddings of sentences do: topic + spread · noise, both standard normal, in single precision. The new embedder is
a random projection to a third of the dimensions, and 40 items are moved: each is embedded as an item of another topic. Distances are cosine
on both sides, k = 10.

usage: python scripts/measure_embeddings.py PATH-OF-SPADEWORK clusters [TOPICS ITEMS DIMENSIONS]     grow and bridge, 200 × 250 × 384
       python scripts/measure_embeddings.py PATH-OF-SPADEWORK speed [DIMENSIONS …]                  50,000 items of overlapping topics
       python scripts/measure_embeddings.py PATH-OF-SPADEWORK pairs                                 manhattan and chebyshev compared with brute force
       python scripts/measure_embeddings.py PATH-OF-SPADEWORK policies                              grow and bridge over 39 pairs of embedders

Prints a table in Markdown; times are CPU seconds of the whole command, and by the clock. Needs NumPy; `pairs` also SciPy and
scikit-learn, `policies` SciPy.
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
from collections.abc import Callable
from pathlib import Path

import numpy as np

NEIGHBORS, MOVED = 10, 40
Embedder = Callable[[np.ndarray], np.ndarray]
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
    print("| connectivity | k used | overlap | SPADE score | CPU s | clock s | moved items among the first 40 by node score | by overlap | by `--task embedding` |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for policy in ("grow", "bridge"):
        call = [spadework, "score", "--inputs", str(folder / "old.npy"), "--outputs", str(folder / "new.npy"), *COSINE]
        options = ["--connectivity", policy, "--task", "embedding", "--out", str(folder / policy), "--json", "-q"]
        printed, cpu, clock = timed([*call, *options])
        result = json.loads(printed)
        with open(folder / policy / "nodes.csv", newline="") as lines:
            nodes = list(csv.DictReader(lines))
        by_node = sorted(range(len(nodes)), key=lambda at: -float(nodes[at]["score"]))[:MOVED]
        by_overlap = sorted(range(len(nodes)), key=lambda at: float(nodes[at]["overlap"]))[:MOVED]
        by_task = sorted(range(len(nodes)), key=lambda at: -float(nodes[at]["fragility"]))[:MOVED]
        found = [len(set(moved) & set(first)) for first in (by_node, by_overlap, by_task)]
        numbers = f"{result['neighbors']['used']} | {result['overlap']:.3f} | {result['model_score']:.4g}"
        print(f"| {policy} | {numbers} | {cpu:.1f} | {clock:.1f} | {found[0]} | {found[1]} | {found[2]} |", flush=True)


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


def scikit_learn(rows: np.ndarray, metric: str) -> float:
    """CPU seconds of scikit-learn's brute force."""
    from sklearn.neighbors import NearestNeighbors

    began = time.process_time()
    NearestNeighbors(n_neighbors=NEIGHBORS, metric=metric, algorithm="brute").fit(rows).kneighbors()
    return time.process_time() - began


def pairs(spadework: str, folder: Path) -> None:
    """The metrics that have no products."""
    print("| metric | data | Spadework, CPU s | scikit-learn brute, CPU s | SciPy, CPU s | of the faster |")
    print("| --- | --- | ---: | ---: | ---: | ---: |")
    for items, dimensions in ((10_000, 2), (10_000, 16), (10_000, 32), (3000, 96), (4000, 768)):
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
                own = ours[0] - ours[1]
                theirs = [scikit_learn(rows.astype(kind), metric), brute_force(rows.astype(np.float64), metric)]
                data = f"{items:,} × {dimensions}, {np.dtype(kind).name}"
                times = f"{own:.2f} | {theirs[0]:.2f} | {theirs[1]:.2f} | {own / min(theirs):.2f}×"
                print(f"| {metric} | {data} | {times} |", flush=True)


def altered(old: np.ndarray, rng: np.random.Generator) -> dict[str, Embedder]:
    """Embedders that are made from another one: each a function of rows."""
    dimensions = old.shape[1]
    found: dict[str, Embedder] = {}
    for kept in (64, 32, 16, 8):
        directions = rng.normal(size=(dimensions, kept))
        found[f"projected to {kept}"] = lambda rows, directions=directions: rows @ directions
    for part in (0.05, 0.1, 0.2, 0.4):
        found[f"noise of {part}"] = lambda rows, part=part: rows + part * rng.normal(size=rows.shape)
    for steps in (3, 1):
        found[f"{steps} steps per unit"] = lambda rows, steps=steps: np.round(rows * steps) + 1e-6
    found["one bit"] = np.sign
    found["truncated"] = lambda rows: rows[:, : dimensions // 4]
    scales = np.exp(rng.normal(size=dimensions))
    found["columns scaled"] = lambda rows: rows * scales
    return found


def nearest(queries: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """The items nearest to every query by their cosine."""
    units = [side / np.linalg.norm(side, axis=1, keepdims=True) for side in (queries, rows)]
    return np.argsort(-units[0] @ units[1].T, axis=1)[:, :NEIGHBORS]


def policies(spadework: str, folder: Path) -> None:
    """How well scores follow recall, and what ranks moved items first, where every cluster is a component."""
    from scipy.stats import spearmanr

    print("| clusters | connectivity | ρ of SPADE score and recall | ρ of overlap and recall | by node score | by overlap | by `--task embedding` |")
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: |")
    moved_count = 30
    for topics, items, spread in ((20, 60, 0.3), (30, 100, 0.3), (40, 50, 0.6)):
        rng = np.random.default_rng(1)
        centers = rng.normal(size=(topics, 96))
        old = np.repeat(centers, items, axis=0) + spread * rng.normal(size=(topics * items, 96))
        queries = centers[rng.integers(topics, size=200)] + spread * rng.normal(size=(200, 96))
        wanted = nearest(queries, old)
        rows: dict[str, list[list[float]]] = {"grow": [], "bridge": []}
        for embedder in altered(old, rng).values():
            new = embedder(old)
            moved = rng.choice(len(new), moved_count, replace=False)
            new[moved] = new[(moved + items * rng.integers(1, topics, size=moved_count)) % len(new)]
            found = nearest(embedder(queries), new)
            recall = np.mean([len(set(a) & set(b)) / NEIGHBORS for a, b in zip(wanted, found)])
            np.save(folder / "old.npy", old.astype(np.float32))
            np.save(folder / "new.npy", new.astype(np.float32))
            for policy, measured in rows.items():
                measured.append([float(recall), *ranked(spadework, folder, policy, moved)])
        for policy, measured in rows.items():
            recalls, scores, overlaps, *hits = np.array(measured).T
            by = " | ".join(f"{np.mean(each):.1f}" for each in hits)
            rho = f"{spearmanr(scores, recalls)[0]:.2f} | {spearmanr(overlaps, recalls)[0]:.2f}"
            print(f"| {topics} of {items} items | `{policy}` | {rho} | {by} |", flush=True)


def ranked(spadework: str, folder: Path, policy: str, moved: np.ndarray) -> list[float]:
    """The SPADE score, the overlap, and how many moved items are among as many first ones: by node score, by overlap, by the
    order of `--task embedding`."""
    call = [spadework, "score", "--inputs", str(folder / "old.npy"), "--outputs", str(folder / "new.npy"), *COSINE]
    with tempfile.TemporaryDirectory(dir=folder) as out:
        options = ["--connectivity", policy, "--task", "embedding", "--out", f"{out}/r", "--json", "-q"]
        result = json.loads(timed([*call, *options])[0])
        with open(f"{out}/r/nodes.csv", newline="") as lines:
            nodes = list(csv.DictReader(lines))
    scores = np.array([float(node["score"]) for node in nodes])
    overlaps = np.array([float(node["overlap"]) for node in nodes])
    fragility = np.array([float(node["fragility"]) for node in nodes])
    orders = [np.argsort(-scores), np.argsort(overlaps, kind="stable"), np.argsort(-fragility, kind="stable")]
    hits = [float(len(set(order[: len(moved)]) & set(moved))) for order in orders]
    return [result["model_score"], result["overlap"], *hits]


def main() -> None:
    spadework, what, rest = sys.argv[1], sys.argv[2], [int(word) for word in sys.argv[3:]]
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as place:
        folder = Path(place)
        if what == "clusters":
            clusters(spadework, folder, *(rest or [200, 250, 384]))
        elif what == "speed":
            speed(spadework, folder, rest or [384, 768, 4096])
        elif what == "policies":
            policies(spadework, folder)
        else:
            pairs(spadework, folder)


if __name__ == "__main__":
    main()
