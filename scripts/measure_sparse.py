"""How long the neighbors of sparse rows take, compared with scikit-learn's brute force: both exact, by cosine distance, with one thread.

Rows are tf-idf of texts whose words are drawn as unevenly as those of a language (the k-th word with probability proportional to 1/k).

usage: python scripts/measure_sparse.py [TEXTS …]      needs: spadework, scikit-learn

Prints a table in Markdown with CPU seconds.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import numpy as np
import spadework
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.neighbors import NearestNeighbors
from threadpoolctl import threadpool_limits

NEIGHBORS, WORDS, LONGEST = 10, 20_000, 60


def tfidf(texts: int):
    rng = np.random.default_rng(0)
    words = np.array([f"w{at}" for at in range(WORDS)])
    likely = 1 / np.arange(1, WORDS + 1)
    likely /= likely.sum()
    return TfidfVectorizer().fit_transform(" ".join(rng.choice(words, rng.integers(8, LONGEST), p=likely)) for _ in range(texts))


def cpu_seconds(work: Callable[[], object]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began


def main() -> None:
    print("| texts × words | Spadework, CPU s | scikit-learn brute, CPU s |\n| --- | ---: | ---: |")
    for texts in [int(word) for word in sys.argv[1:]] or [1500, 6000, 24_000]:
        rows = tfidf(texts)
        ours = cpu_seconds(lambda: spadework.knn_graph(rows, neighbors=NEIGHBORS, metric="cosine", threads=1, verbose=False))
        with threadpool_limits(1):
            search = NearestNeighbors(n_neighbors=NEIGHBORS, metric="cosine", algorithm="brute").fit(rows)
            theirs = cpu_seconds(search.kneighbors)
        print(f"| {texts:,} × {rows.shape[1]:,} | {ours:.2f} | {theirs:.2f} |", flush=True)


if __name__ == "__main__":
    main()
