#!/usr/bin/env python3
"""How much scores of forests depend on the order of the rows, with ties by index and by inputs (docs/how-to/tables.md).

usage: measure_ties.py PATH-OF-SPADEWORK [order|cost]

`order` scores held-out halves of scikit-learn's digits and breast cancer in 20 random orders. `cost` makes the graphs of 50,000 samples with 10
different outputs, and of as many that all differ. Needs scikit-learn and SciPy.
"""

from __future__ import annotations

import csv
import json
import resource
import subprocess
import sys
import tempfile
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import spearmanr
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.ensemble import RandomForestClassifier

Array = np.ndarray[Any, Any]
ORDERS, TOP = 20, 50


def run(
    spadework: str, command: str, inputs: Array, outputs: Array, *options: str, code: int = 0
) -> tuple[dict[str, Any], Array, float]:
    """The document of a call, its node scores if it has some, and its CPU seconds."""
    with tempfile.TemporaryDirectory() as folder:
        for name, rows in (("x", inputs), ("y", outputs)):
            np.save(f"{folder}/{name}.npy", rows)
        sides = ["--inputs", f"{folder}/x.npy", "--outputs", f"{folder}/y.npy", "--out", f"{folder}/out"]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        called = subprocess.run([spadework, command, *sides, "-q", "--json", *options], capture_output=True, text=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        table, nodes = Path(folder, "out", "nodes.csv"), []
        if table.exists():
            with table.open() as lines:
                nodes = [float(row["score"]) for row in csv.DictReader(lines)]
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    if called.returncode != code:
        raise SystemExit(called.stderr)
    return json.loads(called.stdout or "{}"), np.array(nodes), seconds


def order(spadework: str, name: str, data: Any, trees: int, *options: str) -> None:
    """What 20 orders of the rows make of the scores."""
    known = np.arange(len(data.data)) % 2 == 0
    forest = RandomForestClassifier(trees, random_state=0).fit(data.data[known], data.target[known])
    inputs, outputs = data.data[~known], forest.predict_proba(data.data[~known])
    for ties in ("index", "inputs"):
        scores, nodes = [], []
        for seed in range(ORDERS):
            rows = np.random.default_rng(seed).permutation(len(inputs))
            found, moved, _ = run(spadework, "score", inputs[rows], outputs[rows], "--ties", ties, *options)
            scores.append(found["model_score"])
            nodes.append(moved[np.argsort(rows)])
        pairs = list(combinations(nodes, 2))
        agreement = [float(spearmanr(a, b)[0]) for a, b in pairs]
        shared = [len(set(np.argsort(-a)[:TOP]) & set(np.argsort(-b)[:TOP])) for a, b in pairs]
        print(
            f"{name}, {trees} trees, {len(np.unique(outputs, axis=0))} different outputs of {len(outputs)}, {ties}: score "
            f"{min(scores):.6g} to {max(scores):.6g}, rho of node scores at least {min(agreement):.4f}, "
            f"mean {np.mean(agreement):.4f}, {np.mean(shared):.1f} of the first {TOP} the same"
        )


def cost(spadework: str) -> None:
    """CPU seconds of a run that ends after both searches, because the inputs are ten pieces."""
    rng = np.random.default_rng(0)
    label = rng.integers(0, 10, 50_000)
    centers, axes = rng.normal(size=(10, 64)), rng.normal(size=(10, 12, 64)) / 2
    inputs = centers[label] + np.einsum("pk,pkd->pd", rng.normal(size=(50_000, 12)), axes[label])
    different = rng.normal(size=(50_000, 10))
    for name, outputs in (("10 different outputs", np.eye(10)[label]), ("all different", different)):
        for ties in ("index", "inputs"):
            options = ("--connectivity", "error", "--threads", "1", "--ties", ties)
            _, _, seconds = run(spadework, "graph", inputs, outputs, *options, code=3)
            print(f"{name}, {ties}: {seconds:.1f} s of CPU time for both searches")


if __name__ == "__main__":
    command, what = sys.argv[1], (sys.argv[2:] or ["order"])[0]
    if what == "cost":
        cost(command)
    else:
        order(command, "digits", load_digits(), 10)
        order(command, "digits", load_digits(), 100)
        order(command, "breast cancer", load_breast_cancer(), 100, "--standardize")
