#!/usr/bin/env python3
"""Make the reference cases for the ways of constructing graphs, with NumPy, SciPy and scikit-learn alone.

One set of samples with two exact copies, and for every construction what it must give: the k in use, the edges of both
graphs with their weights, the two largest eigenvalues of L_X v = lambda L_Y v (dense, one node grounded) and the node
scores. Run it again only to add cases: python scripts/make_graph_fixtures.py
"""

import json
from pathlib import Path

import numpy as np
import scipy.linalg
from scipy.sparse.csgraph import connected_components
from scipy.spatial.distance import cdist
from sklearn.decomposition import PCA

OUT = Path(__file__).resolve().parent.parent / "crates" / "spadework" / "tests" / "fixtures" / "graphs" / "constructions.json"
LEAST_WEIGHT = 1e-6
NEIGHBORS = 5


def samples():
    rng = np.random.default_rng(7)
    inputs = np.round(rng.normal(size=(90, 6)) * [3, 2, 1.5, 1, 0.5, 0.25] * 1024) / 1024
    inputs[41], inputs[77] = inputs[40], inputs[3]
    outputs = np.tanh(inputs @ rng.normal(size=(6, 3)) / 2)
    return inputs, np.round(outputs * 4096) / 4096


def neighbors(distances, k):
    """k nearest others, ties to the lower index."""
    order = np.argsort(distances + np.where(np.eye(len(distances)) > 0, np.inf, 0), axis=1, kind="stable")
    return order[:, :k]


def chosen(distances, k):
    matrix = np.zeros(distances.shape, bool)
    np.put_along_axis(matrix, neighbors(distances, k), True, axis=1)
    return matrix


def scales(distances, k):
    nearest = neighbors(distances, k)
    return np.take_along_axis(distances, nearest, axis=1)[:, -1]


def adjacency(kind, distances, k):
    if kind == "mutual":
        return chosen(distances, k) & chosen(distances, k).T
    if kind.startswith("cknn:"):
        scale = scales(distances, k)
        matrix = distances < float(kind[5:]) * np.sqrt(np.outer(scale, scale))
        np.fill_diagonal(matrix, False)
        return matrix
    return chosen(distances, k) | chosen(distances, k).T


def weigh(matrix, weights, distances, k):
    if weights == "unit":
        return matrix.astype(float)
    scale = scales(distances, k)
    assert scale.min() > 0
    return np.where(matrix, np.maximum(np.exp(-(distances**2) / np.outer(scale, scale)), LEAST_WEIGHT), 0.0)


def laplacian(weights):
    return np.diag(weights.sum(axis=1)) - weights


def project(kind, inputs):
    """scikit-learn's components; a share of the variance as its `n_components` below 1."""
    setting = kind[4:]
    pca = PCA(n_components=float(setting) if "." in setting else int(setting), svd_solver="full")
    return pca.fit_transform(inputs), pca


def case(kind, weights, inputs, outputs):
    record = {"graph": kind, "weights": weights}
    if kind.startswith("pca:"):
        inputs, pca = project(kind, inputs)
        record["dimensions"] = int(pca.n_components_)
        record["explained"] = float(pca.explained_variance_ratio_.sum())
    distances = [cdist(inputs, inputs), cdist(outputs, outputs)]
    connected = lambda k: all(connected_components(adjacency(kind, d, k))[0] == 1 for d in distances)
    k = next(k for k in range(NEIGHBORS, len(inputs)) if connected(k))
    graphs = [weigh(adjacency(kind, d, k), weights, d, k) for d in distances]
    input_laplacian, output_laplacian = (laplacian(graph)[:-1, :-1] for graph in graphs)
    values, vectors = scipy.linalg.eigh(input_laplacian, output_laplacian)
    values, vectors = values[::-1][:3], np.vstack([vectors, np.zeros(len(vectors))])[:, ::-1][:, :2]
    assert values[0] - values[1] > 1e-3 * values[0] and values[1] - values[2] > 1e-3 * values[1], (kind, values)
    edge_scores = ((vectors[:, None, :] - vectors[None, :, :]) ** 2) @ values[:2]
    edges = graphs[0] > 0
    record["neighbors_used"] = k
    record["components"] = [int(connected_components(adjacency(kind, d, NEIGHBORS))[0]) for d in distances]
    for side, graph in zip(["input", "output"], graphs):
        rows, columns = np.nonzero(np.triu(graph))
        record[f"{side}_edges"] = [[int(p), int(q), float(graph[p, q])] for p, q in zip(rows, columns)]
    record["eigenvalues"] = values.tolist()
    record["node_scores"] = ((edge_scores * edges).sum(axis=1) / edges.sum(axis=1)).tolist()
    return record


def main():
    inputs, outputs = samples()
    kinds = ["knn", "mutual", "pca:2", "pca:0.9", "cknn:0.9", "cknn:1", "cknn:1.4"]
    cases = [case(kind, weights, inputs, outputs) for kind in kinds for weights in ["unit", "gaussian"]]
    for record in cases:
        print(record["graph"], record["weights"], record["neighbors_used"], record["components"], record["eigenvalues"])
    lines = ",\n".join(json.dumps(record) for record in cases)
    OUT.parent.mkdir(parents=True, exist_ok=True)
    OUT.write_text(
        f'{{"neighbors": {NEIGHBORS}, "inputs": {json.dumps(inputs.tolist())},\n"outputs": {json.dumps(outputs.tolist())},\n'
        f'"cases": [\n{lines}\n]}}\n'
    )


if __name__ == "__main__":
    main()
