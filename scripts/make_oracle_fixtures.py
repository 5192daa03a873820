"""Make the small reference cases the core crate is tested against. They come from NumPy and SciPy alone.

No Rust runs here and no number is taken from our own results, so agreement means something. Everything is dense and
plain: full distance matrices, `scipy.linalg.eigh` on the grounded pencil (the last node's row and column dropped from
both Laplacians), `scipy.linalg.pinvh` for resistances.

Coordinates are multiples of 1/1024 (or integers), small enough that they are exact in float32. Squared distances are
computed on the integers 1024 * x, so every neighbor, every tie and every bridge is decided without rounding.

usage: python scripts/make_oracle_fixtures.py [--out DIR]

Cases (one JSON file each; the seed is fixed)
---------------------------------------------
clusters_tanh        Gaussian clusters through a random tanh network
swiss_roll_linear    a rolled-up surface with two thin noise directions, through a linear map
grid_ties            integer points with very many equal distances and duplicate rows, on both sides
disconnected_grow    both graphs fall apart at k; k grows until both are connected
disconnected_bridge  the same points; k stays, components are joined by their shortest edges

Fields
------
name, about              what the case is
samples, input_dim, output_dim
neighbors                k as requested
neighbors_used           k of the graphs below (differs from `neighbors` only where the policy made it grow)
connectivity             "grow" or "bridge": the policy that leads to these graphs
eigenpairs               r
inputs, outputs          rows of coordinates
labels                   one integer per sample
input_components, output_components   number of components at the requested k, before any policy
input_neighbors, output_neighbors     `neighbors_used` indices a sample, nearest first, ties to the lower index
input_bridges, output_bridges         edges [p, q] that `bridge` added, in the order added (empty otherwise)
input_edges, output_edges             all edges [p, q], p < q, sorted, bridges included; every weight is 1
eigenvalues              lambda_1 >= ... >= lambda_r of L_X v = lambda L_Y v, L = D - A
next_eigenvalue          lambda_(r+1); every gap up to it exceeds 1e-3, relatively, so the scores are well defined
edge_scores              one per row of input_edges: sum_i lambda_i (v_i(p) - v_i(q))^2 with v_i' L_Y v_i = 1
node_scores              one per sample: mean score of its edges in the input graph
label_scores             rows [label, mean node score, samples], by ascending label
eigenvalue_sum           sum of all n - 1 eigenvalues
resistance_sum           sum over input edges of the effective resistance in the output graph; equals eigenvalue_sum
reverse_score            lambda_max(L_X^+ L_Y) = 1 / lambda_(n-1)
riemannian_distance      sqrt(sum of log^2 lambda_i), over all n - 1 eigenvalues
"""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import scipy.linalg
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

Array = np.ndarray
Edge = tuple[int, int]

FIXTURES = Path(__file__).resolve().parent.parent / "crates" / "spadework" / "tests" / "fixtures"
GRID = 1024
SMALLEST_GAP = 1e-3


@dataclass(frozen=True)
class Case:
    """Points and parameters; coordinates are kept as integers in units of 1/1024."""

    name: str
    about: str
    inputs: Array
    outputs: Array
    labels: Array
    neighbors: int
    eigenpairs: int
    connectivity: str = "grow"


@dataclass
class Side:
    """One of the two graphs, and what was needed to connect it."""

    neighbors: Array
    edges: list[Edge]
    bridges: list[Edge] = field(default_factory=list)


def on_grid(points: Array) -> Array:
    """Round to multiples of 1/1024 and count in them, so that all further arithmetic is exact."""
    return np.rint(points * GRID).astype(np.int64)


def squared_distances(points: Array) -> Array:
    """All pairwise squared distances, exact because the points are integers."""
    difference = points[:, None, :] - points[None, :, :]
    return (difference * difference).sum(axis=2)


def nearest(distances: Array, k: int) -> Array:
    """Nearest k others of every sample; a stable sort over ascending indices gives ties to the lower one."""
    far = distances.copy()
    np.fill_diagonal(far, np.iinfo(np.int64).max)
    return np.argsort(far, axis=1, kind="stable")[:, :k]


def union_edges(neighbors: Array) -> list[Edge]:
    """p-q is an edge if either has the other among its neighbors."""
    return sorted({(min(p, int(q)), max(p, int(q))) for p, row in enumerate(neighbors) for q in row})


def components(n: int, edges: list[Edge]) -> tuple[int, Array]:
    """Number of components, and each node's."""
    p, q = np.array(edges).T
    return connected_components(csr_array((np.ones(len(p)), (p, q)), shape=(n, n)), directed=False)


def shortest_bridges(distances: Array, edges: list[Edge]) -> list[Edge]:
    """Kruskal over all pairs between components, by (squared distance, p, q): a minimum spanning forest of them."""
    count, group = components(len(distances), edges)
    p, q = np.triu_indices(len(distances), 1)
    between = group[p] != group[q]
    p, q = p[between], q[between]
    bridges: list[Edge] = []
    for i in np.lexsort((q, p, distances[p, q])):
        if len(bridges) == count - 1:
            break
        a, b = group[p[i]], group[q[i]]
        if a != b:
            group[group == b] = a
            bridges.append((int(p[i]), int(q[i])))
    return bridges


def knn_side(distances: Array, k: int) -> Side:
    """The plain k-nearest-neighbor graph."""
    neighbors = nearest(distances, k)
    return Side(neighbors, union_edges(neighbors))


def bridged_side(distances: Array, k: int) -> Side:
    """The same with its components joined."""
    side = knn_side(distances, k)
    side.bridges = shortest_bridges(distances, side.edges)
    side.edges = sorted(side.edges + side.bridges)
    return side


def is_connected(side: Side) -> bool:
    """Whether the graph is in one piece."""
    return components(len(side.neighbors), side.edges)[0] == 1


def grown_sides(distances: tuple[Array, Array], k: int) -> tuple[int, Side, Side]:
    """Both graphs at the smallest k' >= k for which both are connected."""
    while True:
        sides = [knn_side(d, k) for d in distances]
        if all(is_connected(s) for s in sides):
            return k, sides[0], sides[1]
        k += 1


def laplacian(n: int, edges: list[Edge]) -> Array:
    """D - A, dense."""
    p, q = np.array(edges).T
    adjacency = np.zeros((n, n))
    adjacency[p, q] = adjacency[q, p] = 1.0
    return np.diag(adjacency.sum(axis=1)) - adjacency


def eigenpairs(l_x: Array, l_y: Array) -> tuple[Array, Array]:
    """All n - 1 eigenpairs, largest first; eigh makes v' L_Y v = 1, and grounding a node does not change that form."""
    values, vectors = scipy.linalg.eigh(l_x[:-1, :-1], l_y[:-1, :-1])
    grounded = np.vstack([vectors, np.zeros(len(values))])
    return values[::-1], grounded[:, ::-1]


def score_edges(edges: list[Edge], values: Array, vectors: Array) -> Array:
    """sum_i lambda_i (v_i(p) - v_i(q))^2; differences do not see which node was grounded."""
    p, q = np.array(edges).T
    return ((vectors[p] - vectors[q]) ** 2) @ values


def score_nodes(n: int, edges: list[Edge], scores: Array) -> Array:
    """Mean score of each node's edges."""
    ends = np.array(edges).T.ravel()
    return np.bincount(ends, np.tile(scores, 2), n) / np.bincount(ends, minlength=n)


def score_labels(labels: Array, scores: Array) -> list[list[float]]:
    """Rows [label, mean, count]."""
    groups = [(int(label), scores[labels == label]) for label in np.unique(labels)]
    return [[label, float(s.mean()), len(s)] for label, s in groups]


def resistance_sum(l_y: Array, edges: list[Edge]) -> float:
    """Effective resistances in the output graph, summed over the input edges."""
    inverse = scipy.linalg.pinvh(l_y)
    p, q = np.array(edges).T
    return float((inverse[p, p] + inverse[q, q] - 2 * inverse[p, q]).sum())


def require_gaps(name: str, values: Array) -> None:
    """Refuse a case whose scores would depend on how nearly equal eigenvalues happen to come out."""
    gaps = (values[:-1] - values[1:]) / values[:-1]
    if gaps.min() <= SMALLEST_GAP:
        raise SystemExit(f"{name}: eigenvalues too close: {values}")


def solve(case: Case) -> dict[str, object]:
    """The fixture of one case: graphs, spectrum, scores."""
    n, r = len(case.inputs), case.eigenpairs
    distances = squared_distances(case.inputs), squared_distances(case.outputs)
    before = [components(n, knn_side(d, case.neighbors).edges)[0] for d in distances]
    if case.connectivity == "grow":
        used, x, y = grown_sides(distances, case.neighbors)
    else:
        used, x, y = case.neighbors, *(bridged_side(d, case.neighbors) for d in distances)

    l_x, l_y = laplacian(n, x.edges), laplacian(n, y.edges)
    values, vectors = eigenpairs(l_x, l_y)
    require_gaps(case.name, values[: r + 1])
    edge_scores = score_edges(x.edges, values[:r], vectors[:, :r])
    node_scores = score_nodes(n, x.edges, edge_scores)
    resistance = resistance_sum(l_y, x.edges)
    if abs(values.sum() / resistance - 1) > 1e-10:
        raise SystemExit(f"{case.name}: eigenvalues and resistances disagree")

    return {
        "name": case.name,
        "about": case.about,
        "samples": n,
        "input_dim": case.inputs.shape[1],
        "output_dim": case.outputs.shape[1],
        "neighbors": case.neighbors,
        "neighbors_used": used,
        "connectivity": case.connectivity,
        "eigenpairs": r,
        "inputs": (case.inputs / GRID).tolist(),
        "outputs": (case.outputs / GRID).tolist(),
        "labels": case.labels.tolist(),
        "input_components": before[0],
        "output_components": before[1],
        "input_neighbors": x.neighbors.tolist(),
        "output_neighbors": y.neighbors.tolist(),
        "input_bridges": x.bridges,
        "output_bridges": y.bridges,
        "input_edges": x.edges,
        "output_edges": y.edges,
        "eigenvalues": values[:r].tolist(),
        "next_eigenvalue": float(values[r]),
        "edge_scores": edge_scores.tolist(),
        "node_scores": node_scores.tolist(),
        "label_scores": score_labels(case.labels, node_scores),
        "eigenvalue_sum": float(values.sum()),
        "resistance_sum": resistance,
        "reverse_score": float(1 / values[-1]),
        "riemannian_distance": float(np.sqrt((np.log(values) ** 2).sum())),
    }


def clusters_tanh(rng: np.random.Generator) -> Case:
    """The everyday shape: labelled clusters that a nonlinear map keeps apart, more or less."""
    n, d, classes = 160, 8, 5
    labels = rng.integers(0, classes, n)
    inputs = on_grid(rng.normal(0, 1.2, (classes, d))[labels] + rng.normal(0, 1, (n, d)))
    hidden = np.tanh(inputs / GRID @ rng.normal(0, 0.6, (d, 16)))
    outputs = on_grid(hidden @ rng.normal(0, 0.5, (16, 3)))
    about = "Gaussian clusters through a random tanh network"
    return Case("clusters_tanh", about, inputs, outputs, labels, neighbors=8, eigenpairs=3)


def swiss_roll_linear(rng: np.random.Generator) -> Case:
    """A curved manifold that a linear map flattens onto itself, so that far sheets become close."""
    n = 280
    turn, height = rng.uniform(1.5 * np.pi, 4.5 * np.pi, n), rng.uniform(0, 12, n)
    roll = np.column_stack([turn * np.cos(turn), height, turn * np.sin(turn)])
    inputs = on_grid(np.column_stack([roll, rng.normal(0, 0.1, (n, 2))]))
    outputs = on_grid(inputs / GRID @ rng.normal(0, 0.4, (5, 2)))
    labels = np.floor((turn - 1.5 * np.pi) / np.pi).astype(np.int64)
    about = "swiss roll with two thin noise directions, through a linear map"
    return Case("swiss_roll_linear", about, inputs, outputs, labels, neighbors=10, eigenpairs=5)


def grid_ties(rng: np.random.Generator) -> Case:
    """Equal distances and duplicate rows everywhere: only the lower-index rule decides."""
    fresh = rng.integers(0, 4, (120, 5))
    points = np.vstack([fresh, fresh[rng.integers(0, 120, 30)]])[rng.permutation(150)]
    outputs = np.column_stack([points[:, 0] + 2 * points[:, 1], points[:, 2] + 2 * points[:, 3] - points[:, 4]])
    labels = points.sum(axis=1) % 3 - 1
    about = "integer points with very many tied distances and duplicate rows on both sides; one label is negative"
    return Case("grid_ties", about, points * GRID, outputs * GRID, labels, neighbors=6, eigenpairs=2)


def disconnected(rng: np.random.Generator) -> tuple[Case, Case]:
    """Islands on both sides, under both policies that can answer."""
    sizes, d_in, d_out = (48, 7, 5), 20, 5
    labels = np.repeat(np.arange(3), sizes)[rng.permutation(sum(sizes))]
    n = len(labels)
    inputs = on_grid(np.where(labels == 2, 6.0, 0.0)[:, None] + rng.normal(0, 1, (n, d_in)))
    centers = np.array([[0, 0, 0, 0, 0], [9, 2, 0, 0, 0], [3, -8, 4, 0, 0]])
    outputs = on_grid(centers[labels] + rng.normal(0, 1, (n, d_out)))
    about = "three islands at the output, two at the input"
    shared = (inputs, outputs, labels, 3, 1)
    return (
        Case("disconnected_grow", about + "; k grows", *shared),
        Case("disconnected_bridge", about + "; shortest edges join them", *shared, "bridge"),
    )


def write(fixture: dict[str, object], folder: Path) -> Path:
    """One field a line: readable differences, and floats as repr, so that they round-trip."""
    lines = [f"{json.dumps(key)}: {json.dumps(value, separators=(',', ':'))}" for key, value in fixture.items()]
    path = folder / f"{fixture['name']}.json"
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    return path


def main() -> None:
    """Solve and write every case."""
    parser = argparse.ArgumentParser(description="Make the core crate's reference cases with SciPy.")
    parser.add_argument("--out", type=Path, default=FIXTURES)
    folder = parser.parse_args().out
    folder.mkdir(parents=True, exist_ok=True)
    makers = [clusters_tanh, swiss_roll_linear, grid_ties]
    cases = [make(np.random.default_rng([2021, i])) for i, make in enumerate(makers)]
    cases += disconnected(np.random.default_rng([2021, len(makers)]))
    for case in cases:
        fixture = solve(case)
        path = write(fixture, folder)
        shown = ", ".join(f"{v:.6f}" for v in [*fixture["eigenvalues"], fixture["next_eigenvalue"]])
        print(
            f"{case.name:20} n {fixture['samples']}, k {case.neighbors} -> {fixture['neighbors_used']}, components "
            f"{fixture['input_components']}/{fixture['output_components']}, lambda {shown}, {path.stat().st_size} bytes"
        )


if __name__ == "__main__":
    main()
