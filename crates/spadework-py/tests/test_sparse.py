"""Sparse rows, compared with scikit-learn and with the same rows made dense."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse
import spadework
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.neighbors import NearestNeighbors

#: Distances that differ by less are ties: scikit-learn rounds otherwise.
ROUNDING = 1e-12


@pytest.fixture(scope="module")
def tfidf():
    """Texts of words that are drawn as unevenly as those of a language, with copies."""
    rng = np.random.default_rng(4)
    words = np.array([f"w{at}" for at in range(2000)])
    likely = 1 / np.arange(1, 2001)
    texts = [" ".join(rng.choice(words, rng.integers(3, 40), p=likely / likely.sum())) for _ in range(500)]
    return TfidfVectorizer().fit_transform([*texts, *texts[:20]])


def same(found, expected):
    return all(np.array_equal(getattr(found, part), getattr(expected, part)) for part in ("indptr", "indices", "data"))


@pytest.mark.parametrize("metric", ["cosine", "euclidean"])
@pytest.mark.parametrize("neighbors", [1, 10])
def test_neighbors_are_those_of_scikit_learn_where_ties_allow(tfidf, metric, neighbors):
    total = tfidf.shape[0]
    search = NearestNeighbors(n_neighbors=neighbors + 1, metric=metric, algorithm="brute").fit(tfidf)
    distances, order = search.kneighbors()
    # A row is decided where the next neighbor is further away than rounding.
    gaps = distances[:, neighbors] - distances[:, neighbors - 1]
    decided = gaps > (ROUNDING if metric == "cosine" else np.sqrt(ROUNDING))
    expected = np.zeros((total, total), dtype=bool)
    expected[np.repeat(np.arange(total), neighbors), order[:, :neighbors].ravel()] = True
    expected |= expected.T
    found = spadework.knn_graph(tfidf, neighbors=neighbors, metric=metric).toarray() > 0
    both = np.outer(decided, decided)
    assert decided.mean() > 0.5
    np.testing.assert_array_equal(found[both], expected[both])


@pytest.mark.parametrize("metric", ["cosine", "euclidean"])
@pytest.mark.parametrize("form", [scipy.sparse.csr_array, scipy.sparse.csc_matrix, scipy.sparse.coo_array])
def test_graphs_are_those_of_dense_rows_to_the_last_bit(tfidf, metric, form):
    expected = spadework.knn_graph(tfidf.toarray(), neighbors=7, metric=metric, search="exact")
    assert same(spadework.knn_graph(form(tfidf), neighbors=7, metric=metric), expected)
    single = spadework.knn_graph(tfidf.astype(np.float32).toarray().astype(np.float64), neighbors=7, metric=metric, search="exact")
    assert same(spadework.knn_graph(form(tfidf.astype(np.float32)), neighbors=7, metric=metric), single)


def test_scores_are_those_of_dense_rows(tfidf):
    weights = np.random.default_rng(0).normal(size=(tfidf.shape[1], 3))
    outputs = tfidf @ weights
    options = {"input_metric": "cosine", "neighbors": 12, "verbose": False}
    found = spadework.score(tfidf, outputs, **options)
    graph = spadework.knn_graph(tfidf.toarray(), neighbors=12, metric="cosine", search="exact")
    expected = spadework.score(outputs=outputs, input_graph=graph, neighbors=12, verbose=False)
    assert found.model_score == expected.model_score
    np.testing.assert_array_equal(found.edges, expected.edges)
    assert found.document["request"]["input_metric"] == "cosine"
    note = "are connected to their 12 nearest by cosine distance; connectivity applies only to the outputs"
    assert any(note in found_note for found_note in found.notes)
    compared = spadework.compare(tfidf, {"a": outputs, "b": -outputs[:, ::-1]}, **options)
    assert compared["a"].model_score == pytest.approx(found.model_score, rel=1e-9)
    assert found.model_score == spadework.score(tfidf, lambda rows: rows @ weights, **options).model_score


def test_the_command_reads_what_scipy_saves(tfidf, tmp_path):
    outputs = np.random.default_rng(0).normal(size=(tfidf.shape[0], 3))
    scipy.sparse.save_npz(tmp_path / "csr.npz", tfidf)
    scipy.sparse.save_npz(tmp_path / "csc.npz", scipy.sparse.csc_array(tfidf), compressed=False)
    np.save(tmp_path / "y.npy", outputs)
    score = spadework.score(tfidf, outputs, input_metric="cosine", verbose=False).model_score
    for name in ("csr.npz", "csc.npz"):
        call = [sys.executable, "-m", "spadework", "score", "--inputs", name, "--outputs", "y.npy", "--input-metric", "cosine", "--json", "--quiet"]
        done = subprocess.run(call, capture_output=True, text=True, cwd=tmp_path, check=True)
        assert f'"model_score": {score!r}' in done.stdout


def test_columns_without_numbers_take_no_room():
    rng = np.random.default_rng(1)
    row, column = np.repeat(np.arange(3000), 20), rng.integers(2**31 - 1, size=60000)
    rows = scipy.sparse.coo_array((rng.random(60000), (row, column)), shape=(3000, 2**31 - 1))
    graph = spadework.knn_graph(rows, neighbors=5, metric="cosine")
    assert graph.shape == (3000, 3000)


def test_bad_input_is_named(tfidf):
    outputs = np.random.default_rng(0).normal(size=(tfidf.shape[0], 3))
    zero = scipy.sparse.lil_array(tfidf)
    zero[7] = 0
    with pytest.raises(ValueError, match="row 7, counted from 0"):
        spadework.score(scipy.sparse.csr_array(zero), outputs, input_metric="cosine")
    wrong = scipy.sparse.csr_array(tfidf, copy=True)
    wrong.data[0] = np.nan
    with pytest.raises(ValueError, match="row 0"):
        spadework.score(wrong, outputs)
    with pytest.raises(ValueError, match="euclidean or the cosine"):
        spadework.score(tfidf, outputs, input_metric="manhattan")
    for options in ({"standardize": True}, {"graph": "mutual"}, {"weights": "gaussian"}):
        with pytest.raises(ValueError, match=f"`{next(iter(options))}` needs dense rows"):
            spadework.score(tfidf, outputs, **options)
    with pytest.raises(ValueError, match="`interval` needs dense rows"):
        spadework.score(tfidf, outputs, interval=True)
    with pytest.raises(ValueError, match="inputs: samples must be dense here"):
        spadework.sweep(tfidf, outputs, neighbors=[5])
    with pytest.raises(ValueError, match="outputs: samples must be dense here"):
        spadework.score(outputs, tfidf)
    with pytest.raises(ValueError, match="real numbers"):
        spadework.knn_graph(tfidf.astype(complex))
