"""Make the reference indices the core crate is tested against. They come from NumPy, SciPy and scikit-learn alone.

Trustworthiness is `sklearn.manifold.trustworthiness`, continuity the same with the sides exchanged; the mean eigenvalue is a
trace with `scipy.linalg.pinvh`, distortions are ratios of `scipy.sparse.csgraph.shortest_path` and of resistances by that
inverse, over all edges of the input graph. No number is taken from our own results.

usage: python scripts/make_index_fixtures.py

Fields (crates/spadework/tests/fixtures/indices/spiral.json)
------------------------------------------------------------
inputs, outputs, neighbors        samples, exact in single precision; k
trustworthiness, continuity       over all samples
mean_eigenvalue                   tr(L_Y^+ L_X) / (n - 1)
edges                             edges of the input graph
geodesic, resistance              of their distortions: mean, 0, 5, 25, 50, 75, 95 and 100 % by `numpy.quantile`

Fields (crates/spadework-probe/tests/fixtures/smoothness.json)
--------------------------------------------------------------
inputs, outputs, neighbors        samples and three outputs each, exact in single precision; k
agreement                         share of input edges with the same `argmax` at both ends
roughness                         quadratic form of SciPy's Laplacian of the edges within a class, per edge, in units of the mean square,
                                  of the residuals of a least squares fit of the row-centered outputs to indicators of the classes
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import scipy.linalg
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components, laplacian as graph_laplacian, shortest_path
from scipy.spatial.distance import cdist
from sklearn.manifold import trustworthiness

Array = np.ndarray
CRATES = Path(__file__).resolve().parent.parent / "crates"
FILE = CRATES / "spadework/tests/fixtures/indices/spiral.json"
SMOOTHNESS_FILE = CRATES / "spadework-probe/tests/fixtures/smoothness.json"
SAMPLES, NEIGHBORS = 60, 5


def spiral() -> tuple[Array, Array]:
    """Points on a spiral in space, and what a map that folds and stretches makes of them."""
    t = np.arange(SAMPLES) / SAMPLES
    wiggle = np.sin(37 * np.arange(SAMPLES)) / 8
    inputs = np.column_stack([t * np.cos(9 * t), t * np.sin(9 * t), t * t + wiggle])
    outputs = np.column_stack([inputs[:, 0] ** 2 - inputs[:, 1], inputs[:, 2] + wiggle**2 + 0.5 * np.cos(5 * t)])
    return tuple(np.round(side * 1024) / 1024 for side in (inputs, outputs))


def knn_graph(points: Array) -> Array:
    """Joined if either is among the nearest of the other."""
    distances = cdist(points, points)
    np.fill_diagonal(distances, np.inf)
    matrix = np.zeros_like(distances)
    for p, row in enumerate(np.argsort(distances, axis=1, kind="stable")[:, :NEIGHBORS]):
        matrix[p, row] = matrix[row, p] = 1.0
    assert connected_components(csr_array(matrix))[0] == 1, "choose points whose graphs are connected"
    return matrix


def resistances(matrix: Array) -> Array:
    inverse = scipy.linalg.pinvh(np.diag(matrix.sum(axis=1)) - matrix)
    return np.diag(inverse)[:, None] + np.diag(inverse)[None, :] - 2 * inverse


def spread(values: Array) -> list[float]:
    return [float(values.mean()), *np.quantile(values, [0, 0.05, 0.25, 0.5, 0.75, 0.95, 1]).tolist()]


def smoothness() -> dict[str, object]:
    """Three classes over the spiral, whose outputs grow along it."""
    inputs, folded = spiral()
    turns = 9 * np.arange(SAMPLES) / SAMPLES
    waves = np.column_stack([np.cos(turns), np.cos(turns + 2.1), np.cos(turns - 2.1)]) * (1 + folded[:, :1])
    outputs = np.round((waves + folded[:, 1:] ** 2) * 1024) / 1024
    edges = np.triu(knn_graph(inputs))
    classes = outputs.argmax(axis=1)
    same = classes[:, None] == classes[None, :]
    indicators = np.eye(3)[classes]
    centered = outputs - outputs.mean(axis=1, keepdims=True)
    residuals = centered - indicators @ np.linalg.lstsq(indicators, centered, rcond=None)[0]
    within = edges * same
    energy = np.trace(residuals.T @ graph_laplacian(within + within.T) @ residuals) / within.sum()
    return {
        "inputs": inputs.tolist(),
        "outputs": outputs.tolist(),
        "neighbors": NEIGHBORS,
        "agreement": float(within.sum() / edges.sum()),
        "roughness": float(energy / (residuals**2).sum(axis=1).mean()),
    }


def main() -> None:
    inputs, outputs = spiral()
    one, other = knn_graph(inputs), knn_graph(outputs)
    p, q = np.nonzero(np.triu(one))
    inverse = scipy.linalg.pinvh(np.diag(other.sum(axis=1)) - other)
    laplacian = np.diag(one.sum(axis=1)) - one
    case = {
        "inputs": inputs.tolist(),
        "outputs": outputs.tolist(),
        "neighbors": NEIGHBORS,
        "trustworthiness": trustworthiness(inputs, outputs, n_neighbors=NEIGHBORS),
        "continuity": trustworthiness(outputs, inputs, n_neighbors=NEIGHBORS),
        "mean_eigenvalue": float(np.trace(inverse @ laplacian)) / (SAMPLES - 1),
        "edges": len(p),
        "geodesic": spread(shortest_path(csr_array(other), unweighted=True)[p, q]),
        "resistance": spread(resistances(other)[p, q] / resistances(one)[p, q]),
    }
    FILE.parent.mkdir(exist_ok=True)
    FILE.write_text(json.dumps(case) + "\n")
    SMOOTHNESS_FILE.parent.mkdir(exist_ok=True)
    SMOOTHNESS_FILE.write_text(json.dumps(smoothness()) + "\n")


if __name__ == "__main__":
    main()
