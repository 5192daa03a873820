"""Does the neighborhood overlap of items predict what retrieval loses when they are embedded again?

Items and queries are MNIST's test images, embedded by their 128 principal components; every other embedder is made from that one. Overlap is
the share of the pairs of neighbors among the items (k = 10, cosine) that are neighbors in the new embedding. Recall@10 is the share of the
ten items nearest to a query, which is no item, that are among its ten nearest in the new embedding.

usage: python scripts/measure_retrieval.py MNIST_FOLDER
"""

from __future__ import annotations

import gzip
import sys
from pathlib import Path

import numpy as np
import scipy.stats
import spadework
from sklearn.decomposition import PCA
from sklearn.neighbors import NearestNeighbors

ITEMS, QUERIES, DIMENSIONS, NEIGHBORS = 4000, 500, 128, 10
Array = np.ndarray


def embedders(old: Array) -> dict[str, Array]:
    rng = np.random.default_rng(0)
    scale = np.abs(old).max(axis=0)
    found = {f"truncated to {dim}": old[:, :dim] for dim in (64, 32, 16, 8)}
    for dim in (64, 32, 16):
        found[f"random projection to {dim}"] = old @ rng.normal(size=(DIMENSIONS, dim))
    for part in (0.1, 0.3, 1.0):
        found[f"noise of {part} deviations"] = old + part * old.std() * rng.normal(size=old.shape)
    found["int8"] = np.round(old / scale * 127) * scale
    found["4 bits"] = np.round(old / scale * 7) * scale
    found["binary"] = np.sign(old) + 1e-9
    found["whitened"] = old / old.std(axis=0)
    return found


def nearest(rows: Array) -> Array:
    search = NearestNeighbors(n_neighbors=NEIGHBORS, metric="cosine", algorithm="brute").fit(rows[:ITEMS])
    return search.kneighbors(rows[ITEMS:], return_distance=False)


def main(folder: str) -> None:
    pixels = np.frombuffer(gzip.open(Path(folder) / "t10k-images-idx3-ubyte.gz").read(), np.uint8, offset=16)
    images = pixels.reshape(10000, 784)[: ITEMS + QUERIES] / 255
    old = PCA(DIMENSIONS, random_state=0).fit_transform(images)
    graph, true = spadework.knn_graph(old[:ITEMS], neighbors=NEIGHBORS, metric="cosine"), nearest(old)
    overlaps, recalls = [], []
    for name, new in embedders(old).items():
        others = spadework.knn_graph(new[:ITEMS], neighbors=NEIGHBORS, metric="cosine")
        overlap = graph.multiply(others).nnz / graph.nnz
        recall = np.mean([len(set(a) & set(b)) / NEIGHBORS for a, b in zip(true, nearest(new))])
        overlaps.append(overlap)
        recalls.append(recall)
        print(f"{name:28} overlap {overlap:.3f}  recall@10 {recall:.3f}")
    print(f"{len(overlaps)} pairs: Spearman's rho {scipy.stats.spearmanr(overlaps, recalls).statistic:.3f}")


if __name__ == "__main__":
    main(sys.argv[1])
