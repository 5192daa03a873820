"""Make the reference distances the core crate is tested against. They come from NumPy and SciPy alone.

The graphs are those of `make_oracle_fixtures.py` (run it first), once with unit weights and otherwise with weights that a
formula gives. Everything is dense: `scipy.linalg.pinvh` for resistances, `scipy.linalg.eigh` for spectra,
`scipy.sparse.csgraph.shortest_path` for hops. No number is taken from our own results.

usage: python scripts/make_distance_fixtures.py

Fields (one JSON file a case, in crates/spadework/tests/fixtures/distances)
---------------------------------------------------------------------------
name, samples
input_edges, output_edges       rows [p, q, weight], p < q, sorted
sources                         some nodes
input_hops, output_hops         one row a source: hops to every node; weights do not count
input_resistances, output_resistances   of every input edge, in each graph
full_scores                     of every input edge: e' L_Y^+ L_X L_Y^+ e
largest_distortion              [p, q, R_Y / R_X], the largest over all pairs of nodes
eigenvalues                     the ten largest of L_X v = lambda L_Y v
riemannian_all, riemannian_ten  sqrt(sum of log^2 lambda) over all, over the ten largest
reverse_score                   lambda_max(L_X^+ L_Y)
input_modes, output_modes       the three smallest positive eigenvalues of each Laplacian
input_mode, output_mode         u/sqrt(sigma) of the first of them, mean zero, entry of largest magnitude positive
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import scipy.linalg
from scipy.sparse import csr_array
from scipy.sparse.csgraph import shortest_path

Array = np.ndarray
FIXTURES = Path(__file__).resolve().parent.parent / "crates" / "spadework" / "tests" / "fixtures"
CASES = [("swiss_roll_linear", False), ("clusters_tanh", True), ("disconnected_bridge", True)]
SOURCES = 5


def weighted_edges(edges: list[list[int]], weighted: bool, shift: int) -> list[list[float]]:
    """Weights from 1/4 to 4 in no order, exact in binary; another shift gives other ones."""
    weights = [0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0]
    of = lambda p, q: weights[(7 * p + 13 * q + shift) % len(weights)] if weighted else 1.0  # noqa: E731
    return [[p, q, of(p, q)] for p, q in edges]


def adjacency(n: int, edges: list[list[float]]) -> Array:
    matrix = np.zeros((n, n))
    for p, q, weight in edges:
        matrix[p, q] = matrix[q, p] = weight
    return matrix


def laplacian(matrix: Array) -> Array:
    return np.diag(matrix.sum(axis=1)) - matrix


def hops(matrix: Array, sources: list[int]) -> list[list[int]]:
    return shortest_path(csr_array(matrix), unweighted=True, indices=sources).astype(int).tolist()


def all_resistances(inverse: Array) -> Array:
    diagonal = np.diag(inverse)
    return diagonal[:, None] + diagonal[None, :] - 2 * inverse


def modes(matrix: Array) -> tuple[list[float], list[float]]:
    values, vectors = scipy.linalg.eigh(matrix)
    vector = vectors[:, 1] - vectors[:, 1].mean()
    vector *= np.sign(vector[np.argmax(np.abs(vector))]) / np.sqrt(values[1])
    return values[1:4].tolist(), vector.tolist()


def reference(name: str, weighted: bool) -> dict:
    source = json.loads((FIXTURES / f"{name}.json").read_text())
    n = source["samples"]
    x_edges = weighted_edges(source["input_edges"], weighted, 0)
    y_edges = weighted_edges(source["output_edges"], weighted, 3)
    a_x, a_y = adjacency(n, x_edges), adjacency(n, y_edges)
    l_x, l_y = laplacian(a_x), laplacian(a_y)
    inverse_y = scipy.linalg.pinvh(l_y)
    r_x, r_y = all_resistances(scipy.linalg.pinvh(l_x)), all_resistances(inverse_y)
    p, q = np.array([edge[:2] for edge in x_edges]).T
    form = inverse_y @ l_x @ inverse_y
    values = scipy.linalg.eigh(l_x[:-1, :-1], l_y[:-1, :-1], eigvals_only=True)[::-1]
    ratio = np.divide(r_y, r_x, out=np.zeros_like(r_y), where=~np.eye(n, dtype=bool))
    worst = np.unravel_index(np.argmax(np.triu(ratio)), ratio.shape)
    sources = list(range(0, n, n // SOURCES))[:SOURCES]
    x_modes, x_mode = modes(l_x)
    y_modes, y_mode = modes(l_y)
    logs = np.log(values) ** 2
    return {
        "name": name + ("_weighted" if weighted else ""),
        "samples": n,
        "input_edges": x_edges,
        "output_edges": y_edges,
        "sources": sources,
        "input_hops": hops(a_x, sources),
        "output_hops": hops(a_y, sources),
        "input_resistances": r_x[p, q].tolist(),
        "output_resistances": r_y[p, q].tolist(),
        "full_scores": (form[p, p] + form[q, q] - 2 * form[p, q]).tolist(),
        "largest_distortion": [int(worst[0]), int(worst[1]), float(ratio[worst])],
        "eigenvalues": values[:10].tolist(),
        "riemannian_all": float(np.sqrt(logs.sum())),
        "riemannian_ten": float(np.sqrt(logs[:10].sum())),
        "reverse_score": float(1 / values[-1]),
        "input_modes": x_modes,
        "output_modes": y_modes,
        "input_mode": x_mode,
        "output_mode": y_mode,
    }


def main() -> None:
    folder = FIXTURES / "distances"
    folder.mkdir(exist_ok=True)
    for name, weighted in CASES:
        case = reference(name, weighted)
        (folder / f"{case['name']}.json").write_text(json.dumps(case) + "\n")
        print(case["name"], case["samples"], case["largest_distortion"], case["eigenvalues"][:2], case["input_modes"])


if __name__ == "__main__":
    main()
