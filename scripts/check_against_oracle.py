"""Check a folder written by `spadework score --out DIR` against an independent calculation. NumPy and SciPy alone.

Nothing of ours is imported, and the route is deliberately another one. Neighbors: full distance matrices, with every
near-tie settled in rational arithmetic. Spectrum: with L_X = B B' (B the incidence matrix of the input graph), the
nonzero eigenvalues of L_Y^+ L_X are those of the symmetric matrix B' L_Y^+ B over the *edges*, an ordinary
eigenproblem; if z is a unit eigenvector of it with eigenvalue lambda, then v = L_Y^+ B z / sqrt(lambda) has
v' L_Y v = 1 and v(p) - v(q) = sqrt(lambda) z(pq), so an edge's score is simply sum_i lambda_i^2 z_i(pq)^2.

usage: python scripts/check_against_oracle.py --result DIR --inputs X.npy --outputs Y.npy [-k 10] [-r 2]

Compared: eigenvalues and model score (relative error), neighbors used, the edge list (equality), edge, node and label
scores entry by entry (largest difference, relative to the largest score), node ranks (by descending fragility). Scores
belong to the span of the first r eigenvectors; where lambda_r and lambda_(r+1) nearly coincide they are not defined,
and the table says so. Exit code 0: all agree. 1: something does not. 2: the call or its files are wrong.
"""

from __future__ import annotations

import argparse
import csv
import json
import sys
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import LinearOperator, eigsh, splu

Array = np.ndarray

NEAR_TIE = 1e-12  # relative; well above the rounding of a float64 sum of squares
UNDEFINED_GAP = 1e-8  # relative distance of lambda_r and lambda_(r+1) below which scores mean nothing


@dataclass(frozen=True)
class Expected:
    """What the independent calculation says."""

    k: int
    edges: Array
    eigenvalues: Array
    next_eigenvalue: float
    edge_scores: Array
    node_scores: Array


@dataclass(frozen=True)
class Found:
    """What the folder says."""

    result: dict
    edges: Array
    edge_scores: Array
    node_scores: Array
    ranks: Array
    fragility: Array
    labels: list[str]


@dataclass(frozen=True)
class Row:
    """One line of the table; `ok` is None where there was nothing to compare."""

    what: str
    ok: bool | None
    detail: str


# ---- samples -----------------------------------------------------------------------------------------------------


def load_samples(path: Path) -> Array:
    """One float32 row per sample, as the product reads it (8-bit images become x / 255), held in float64."""
    array = np.load(path)
    if array.dtype == np.uint8:
        array = array.astype(np.float32) / np.float32(255)
    return array.reshape(len(array), -1).astype(np.float32).astype(np.float64)


# ---- neighbors ---------------------------------------------------------------------------------------------------


def exact_squared_distance(a: Array, b: Array) -> Fraction:
    """The true squared distance of two rows of floats."""
    differing = np.flatnonzero(a != b)
    return sum(((Fraction(a[i]) - Fraction(b[i])) ** 2 for i in differing), Fraction(0))


def order_candidates(points: Array, p: int, candidates: Array, k: int, deciding: Array | None) -> Array:
    """The k candidates nearest to p, ties to those nearer among the rows that decide, if there are some, then to the lower index;
    rational arithmetic wherever floats cannot tell."""
    distance = ((points[candidates] - points[p]) ** 2).sum(axis=1)
    order = np.lexsort((candidates, distance))
    candidates, distance = candidates[order], distance[order]
    if len(candidates) == k or distance[k] - distance[k - 1] > NEAR_TIE * distance[k]:
        return candidates[:k]  # who is in is certain, and a graph does not ask in which order
    edge = distance[k - 1]
    doubtful = np.abs(distance - edge) <= NEAR_TIE * edge
    certain = candidates[(distance < edge) & ~doubtful]
    tie = (lambda q: Fraction(0)) if deciding is None else (lambda q: exact_squared_distance(deciding[q], deciding[p]))
    exact = sorted((exact_squared_distance(points[q], points[p]), tie(q), int(q)) for q in candidates[doubtful])
    return np.concatenate([certain, [q for _, _, q in exact[: k - len(certain)]]]).astype(np.int64)


def nearest(points: Array, k: int, deciding: Array | None = None, block: int = 512) -> Array:
    """Exact k nearest others: a matrix product proposes everyone within its own rounding, true distances decide."""
    n, d = points.shape
    squares = (points * points).sum(axis=1)
    slack = 8 * (d + 4) * np.finfo(np.float64).eps * squares.max()
    result = np.empty((n, k), dtype=np.int64)
    for start in range(0, n, block):
        rows = np.arange(start, min(start + block, n))
        rough = squares[rows, None] + squares[None, :] - 2 * points[rows] @ points.T
        rough[np.arange(len(rows)), rows] = np.inf
        limit = np.partition(rough, k - 1, axis=1)[:, k - 1] * (1 + NEAR_TIE) + 2 * slack
        for i, p in enumerate(rows):
            result[p] = order_candidates(points, p, np.flatnonzero(rough[i] <= limit[i]), k, deciding)
    return result


# ---- graphs ------------------------------------------------------------------------------------------------------


def union_edges(neighbors: Array) -> Array:
    """Sorted rows p < q: an edge wherever either has the other."""
    n, k = neighbors.shape
    pairs = np.column_stack([np.repeat(np.arange(n), k), neighbors.ravel()])
    return np.unique(np.sort(pairs, axis=1), axis=0)


def incidence(n: int, edges: Array) -> sparse.csc_array:
    """One column per edge: +1 at p, -1 at q. B B' is the Laplacian D - A."""
    m = len(edges)
    values = np.repeat([1.0, -1.0], m)
    return sparse.csc_array((values, (edges.T.ravel(), np.tile(np.arange(m), 2))), shape=(n, m))


def components(n: int, edges: Array) -> tuple[int, Array]:
    """Number of components and each node's."""
    adjacency = sparse.csr_array((np.ones(len(edges)), (edges[:, 0], edges[:, 1])), shape=(n, n))
    return connected_components(adjacency, directed=False)


def shortest_between(points: Array, a: Array, b: Array) -> tuple[Fraction, int, int]:
    """Shortest pair between two components, then lowest indices."""
    best: list[tuple[float, int, int]] = []
    for p in a:
        distance = ((points[b] - points[p]) ** 2).sum(axis=1)
        close = np.flatnonzero(distance <= distance.min() * (1 + NEAR_TIE))
        best += [(float(distance[i]), *sorted((int(p), int(b[i])))) for i in close]
    limit = min(best)[0] * (1 + NEAR_TIE)
    return min((exact_squared_distance(points[p], points[q]), p, q) for d, p, q in best if d <= limit)


def bridge(points: Array, edges: Array) -> Array:
    """Join components along a minimum spanning tree of the shortest edges between them."""
    count, group = components(len(points), edges)
    members = [np.flatnonzero(group == c) for c in range(count)]
    links = [
        (*shortest_between(points, members[a], members[b]), a, b) for a in range(count) for b in range(a + 1, count)
    ]
    joined, added = np.arange(count), []
    for _, p, q, a, b in sorted(links):
        if joined[a] != joined[b]:
            joined[joined == joined[b]] = joined[a]
            added.append((p, q))
    return np.unique(np.vstack([edges, added]), axis=0) if added else edges


def build_graphs(x: Array, y: Array, k: int, policy: str) -> tuple[int, Array, Array]:
    """Both edge lists under the named policy, and the k they were made with."""
    n = len(x)
    deciding = x if len(np.unique(y, axis=0)) < n else None
    while k < n:
        edges = [union_edges(nearest(x, k)), union_edges(nearest(y, k, deciding))]
        if policy == "bridge":
            return k, bridge(x, edges[0]), bridge(y, edges[1])
        counts = [components(n, e)[0] for e in edges]
        if counts == [1, 1]:
            return k, edges[0], edges[1]
        if policy == "error":
            raise SystemExit(f"not connected at k = {k}: {counts[0]} input and {counts[1]} output components")
        k += 1
    raise SystemExit("no k connects both graphs")


# ---- spectrum and scores -----------------------------------------------------------------------------------------


def edge_spectrum(n: int, input_edges: Array, output_edges: Array, r: int) -> tuple[Array, Array]:
    """Largest r eigenpairs (lambda, z) of B' L_Y^+ B, z a unit vector over the input edges."""
    b, c = incidence(n, input_edges), incidence(n, output_edges)
    l_y = (c @ c.T).tocsc()
    # Columns of B sum to zero, so the first node may be grounded: differences of potentials are those of L_Y^+.
    factor = splu(l_y[1:, 1:], permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True})
    b = b[1:, :]
    bt = b.T.tocsr()
    m = b.shape[1]
    operator = LinearOperator((m, m), matvec=lambda z: bt @ factor.solve(b @ np.ravel(z)), dtype=np.float64)
    start = np.random.default_rng(0).standard_normal(m)
    values, vectors = eigsh(operator, k=r, which="LA", tol=1e-13, v0=start, ncv=min(m, max(4 * r, 24)))
    order = np.argsort(-values)
    return values[order], vectors[:, order]


def mean_over_edges(n: int, edges: Array, scores: Array) -> Array:
    """Each node's mean over the input edges it belongs to."""
    ends = edges.T.ravel()
    return np.bincount(ends, np.tile(scores, 2), n) / np.bincount(ends, minlength=n)


def calculate(x: Array, y: Array, k: int, r: int, policy: str) -> Expected:
    """Everything the folder claims, from the arrays alone."""
    n = len(x)
    used, input_edges, output_edges = build_graphs(x, y, k, policy)
    values, vectors = edge_spectrum(n, input_edges, output_edges, min(r + 1, n - 1))
    edge_scores = (vectors[:, :r] ** 2) @ (values[:r] ** 2)
    following = float(values[r]) if len(values) > r else 0.0
    nodes = mean_over_edges(n, input_edges, edge_scores)
    return Expected(used, input_edges, values[:r], following, edge_scores, nodes)


# ---- the folder --------------------------------------------------------------------------------------------------


def read_rows(path: Path, header: list[str]) -> list[list[str]]:
    """Rows of a CSV file whose header begins with these names; what stands behind them is left out."""
    with path.open(newline="") as file:
        rows = list(csv.reader(file))
    if not rows or [name.strip() for name in rows[0][: len(header)]] != header:
        raise SystemExit(f"{path}: expected a header that begins with {','.join(header)}")
    return [row[: len(header)] for row in rows[1:]]


def read_folder(folder: Path) -> Found:
    """Edges sorted by (p, q) and nodes by index, whatever order they were written in."""
    result = json.loads((folder / "result.json").read_text())
    lines = read_rows(folder / "edges.csv", ["p", "q", "score"])
    edges = sorted((*sorted((int(p), int(q))), float(score)) for p, q, score in lines)
    nodes = read_rows(folder / "nodes.csv", ["index", "label", "score", "rank", "margin", "fragility"])
    nodes.sort(key=lambda row: int(row[0]))
    if [int(row[0]) for row in nodes] != list(range(len(nodes))):
        raise SystemExit(f"{folder / 'nodes.csv'}: indices are not 0..{len(nodes) - 1}, each once")
    return Found(
        result,
        np.array([e[:2] for e in edges], dtype=np.int64).reshape(-1, 2),
        np.array([e[2] for e in edges]),
        np.array([float(row[2]) for row in nodes]),
        np.array([int(row[3]) for row in nodes]),
        np.array([float(row[5]) for row in nodes]),
        [row[1].strip() for row in nodes],
    )


# ---- comparison --------------------------------------------------------------------------------------------------


def compare_values(what: str, got: Array, want: Array, rtol: float) -> Row:
    """Relative error of each value."""
    if len(got) != len(want):
        return Row(what, False, f"{len(got)} values, expected {len(want)}")
    error = float(np.max(np.abs(got - want) / np.abs(want)))
    return Row(what, bool(error <= rtol), f"max relative error {error:.2e}")


def compare_scores(what: str, got: Array, want: Array, rtol: float) -> Row:
    """Largest difference, relative to the largest score: tiny scores carry the rounding of large ones."""
    if len(got) != len(want):
        return Row(what, False, f"{len(got)} scores, expected {len(want)}")
    difference = np.abs(got - want)
    error = float(difference.max() / want.max())
    return Row(what, bool(error <= rtol), f"max error / max score {error:.2e}, at {int(difference.argmax())}")


def compare_edges(got: Array, want: Array) -> Row:
    """Equality, with the first few strangers named."""
    a, b = {tuple(e) for e in got.tolist()}, {tuple(e) for e in want.tolist()}
    if a == b and len(got) == len(want):
        return Row("edge list", True, f"{len(want)} edges")
    detail = f"{len(got)} edges, expected {len(want)}; missing {sorted(b - a)[:3]}, extra {sorted(a - b)[:3]}"
    return Row("edge list", False, detail)


def compare_ranks(found: Found) -> Row:
    """Ranks must order the folder's own fragility downward, counted from 0 or from 1."""
    n = len(found.ranks)
    first = int(found.ranks.min())
    complete = first in (0, 1) and np.array_equal(np.sort(found.ranks), np.arange(first, first + n))
    downward = bool(np.all(np.diff(found.fragility[np.argsort(found.ranks)]) <= 0))
    return Row("node ranks", complete and downward, f"counted from {first}")


def compare_labels(found: Found, want: Expected, rtol: float) -> Row:
    """The result's label scores against means of the expected node scores."""
    claimed = {str(entry["label"]): float(entry["score"]) for entry in found.result.get("label_scores") or []}
    labels = np.array(found.labels)
    present = sorted(set(found.labels) - {""})
    if not present and not claimed:
        return Row("label scores", None, "no labels")
    if set(present) != set(claimed):
        return Row("label scores", False, f"labels {sorted(claimed)} in result.json, {present} in nodes.csv")
    means = np.array([want.node_scores[labels == label].mean() for label in present])
    return compare_scores("label scores", np.array([claimed[label] for label in present]), means, rtol)


def compare(found: Found, want: Expected, rtol: float, score_rtol: float) -> list[Row]:
    """The whole table."""
    eigenvalues = np.array(found.result["eigenvalues"], dtype=np.float64)
    used = (found.result.get("neighbors") or {}).get("used")
    rows = [
        compare_values("eigenvalues", eigenvalues, want.eigenvalues, rtol),
        compare_values("model score", np.array([found.result["model_score"]]), want.eigenvalues[:1], rtol),
        Row("neighbors used", None if used is None else used == want.k, f"{used}, expected {want.k}"),
        compare_edges(found.edges, want.edges),
        compare_ranks(found),
    ]
    gap = 1 - want.next_eigenvalue / want.eigenvalues[-1]
    if gap < UNDEFINED_GAP:
        return [*rows, Row("scores", None, f"not defined: lambda_r and lambda_(r+1) differ by {gap:.1e}")]
    return [
        *rows,
        compare_scores("edge scores", found.edge_scores, want.edge_scores, score_rtol),
        compare_scores("node scores", found.node_scores, want.node_scores, score_rtol),
        compare_labels(found, want, score_rtol),
    ]


def print_table(rows: list[Row], want: Expected) -> None:
    """Expected numbers first, then one verdict a line."""
    values = ", ".join(f"{v:.10g}" for v in want.eigenvalues)
    print(f"expected eigenvalues {values}; the next would be {want.next_eigenvalue:.10g}")
    words = {True: "ok", False: "DIFFERS", None: "-"}
    for row in rows:
        print(f"{row.what:15} {words[row.ok]:8} {row.detail}")


def parse_arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description="Check `spadework score --out DIR` against NumPy and SciPy.")
    parser.add_argument("--result", type=Path, required=True, help="folder with result.json, nodes.csv, edges.csv")
    parser.add_argument("--inputs", type=Path, required=True, help="X.npy")
    parser.add_argument("--outputs", type=Path, required=True, help="Y.npy")
    parser.add_argument("-k", "--neighbors", type=int, default=10)
    parser.add_argument("-r", "--eigenpairs", type=int, default=2)
    parser.add_argument("--connectivity", choices=["grow", "bridge", "error"], help="default: what result.json says")
    parser.add_argument("--rtol", type=float, default=1e-6, help="for eigenvalues")
    parser.add_argument("--score-rtol", type=float, default=1e-5, help="for scores, relative to the largest")
    return parser.parse_args()


def main() -> int:
    """Calculate, compare, print."""
    args = parse_arguments()
    try:
        found = read_folder(args.result)
        x, y = load_samples(args.inputs), load_samples(args.outputs)
        if not len(x) == len(y) == len(found.node_scores):
            raise SystemExit(f"{len(x)} inputs, {len(y)} outputs, {len(found.node_scores)} rows in nodes.csv")
        policy = args.connectivity or found.result.get("connectivity", "grow")
        want = calculate(x, y, args.neighbors, args.eigenpairs, policy)
        rows = compare(found, want, args.rtol, args.score_rtol)
    except (OSError, KeyError, ValueError, SystemExit) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print_table(rows, want)
    return int(any(row.ok is False for row in rows))


if __name__ == "__main__":
    sys.exit(main())
