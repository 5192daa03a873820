"""Make the reference neighbors for every metric. They come from NumPy and scikit-learn alone.

Lists are those of `sklearn.neighbors.NearestNeighbors` by brute force, all other samples sorted by (distance, index); columns are
standardized by `sklearn.preprocessing.StandardScaler` and `RobustScaler`. No number is taken from our own results.

usage: python scripts/make_metric_fixtures.py

Fields (crates/spadework/tests/fixtures/metrics/neighbors.json): a list of cases
-------------------------------------------------------------------------------
name, metric, standardize         as in `Metric` and `Standardize`
samples, new                      rows, exact in single precision; `new` are looked up among `samples`
exact                             whether every distance is exact in double precision, so that bits must agree
neighbors, distances              of every sample among the others
new_neighbors, new_distances      of every new row among the samples; cosine distances are 1 - cos
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from sklearn.neighbors import NearestNeighbors
from sklearn.preprocessing import RobustScaler, StandardScaler

Array = np.ndarray
FILE = Path(__file__).resolve().parent.parent / "crates/spadework/tests/fixtures/metrics/neighbors.json"
NEIGHBORS = 6


def table() -> Array:
    """Columns of very different scales, an outlier, and a constant column; multiples of 1/1024."""
    rng = np.random.default_rng(24)
    rows = rng.standard_normal((90, 7)) * [1, 50, 0.25, 8, 1, 3, 0] + [0, 100, 0, -4, 2, 0, 5]
    rows[3, 1] = 4000
    return np.round(rows * 1024) / 1024


def grid() -> Array:
    """Whole numbers, so that most distances are those of many other pairs too."""
    return np.random.default_rng(7).integers(1, 5, (90, 4)).astype(float)


def sorted_lists(distances: Array, indices: Array) -> tuple[Array, Array]:
    order = np.lexsort((indices, distances), axis=1)[:, :NEIGHBORS]
    return np.take_along_axis(distances, order, axis=1), np.take_along_axis(indices, order, axis=1)


def case(name: str, rows: Array, metric: str, standardize: str, exact: bool) -> dict[str, object]:
    samples, new = rows[:80], rows[80:]
    scaler = {"standard": StandardScaler(), "robust": RobustScaler()}.get(standardize)
    placed, placed_new = samples, new
    if scaler is not None:
        placed = scaler.fit_transform(samples)
        placed_new = scaler.transform(new)
    search = NearestNeighbors(n_neighbors=len(samples) - 1, metric=metric, algorithm="brute").fit(placed)
    distances, neighbors = sorted_lists(*search.kneighbors())
    new_distances, new_neighbors = sorted_lists(*search.kneighbors(placed_new))
    if not exact:
        for found in (distances, new_distances):
            assert np.all(np.diff(found, axis=1) > 1e-9), f"{name}: choose rows without ties"
    return {
        "name": name,
        "metric": metric,
        "standardize": standardize,
        "exact": exact,
        "samples": samples.tolist(),
        "new": new.tolist(),
        "neighbors": neighbors.tolist(),
        "distances": distances.tolist(),
        "new_neighbors": new_neighbors.tolist(),
        "new_distances": new_distances.tolist(),
    }


def main() -> None:
    cases = []
    for metric in ("euclidean", "cosine", "manhattan", "chebyshev"):
        for standardize in ("none", "standard", "robust"):
            exact = standardize == "none" and metric in ("manhattan", "chebyshev")
            cases.append(case(f"table {metric} {standardize}", table(), metric, standardize, exact))
    for metric in ("manhattan", "chebyshev"):
        cases.append(case(f"grid {metric}", grid(), metric, "none", exact=True))
    FILE.parent.mkdir(parents=True, exist_ok=True)
    FILE.write_text(json.dumps(cases, indent=None, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
