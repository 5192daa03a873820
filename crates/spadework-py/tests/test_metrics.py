"""Metrics and scales, compared with scikit-learn and with arrays that were placed beforehand."""

from __future__ import annotations

import numpy as np
import pytest
import spadework
from sklearn.neighbors import kneighbors_graph
from sklearn.preprocessing import RobustScaler, StandardScaler

METRICS = ["euclidean", "cosine", "manhattan", "chebyshev"]


@pytest.fixture(scope="module")
def table():
    """Columns of very different scales, one of them constant, and outputs that follow them."""
    rng = np.random.default_rng(3)
    inputs = rng.standard_normal((300, 5)) * [1, 100, 0.01, 5, 0] + [3, 0, 0, 0, 2]
    outputs = np.column_stack([np.tanh(inputs[:, 0]), inputs[:, 1] / 100 + inputs[:, 3]])
    return inputs, outputs


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_graphs_are_those_of_scikit_learn(table, metric, dtype):
    rows = table[0].astype(dtype)
    theirs = kneighbors_graph(rows.astype(np.float64), 7, metric=metric)
    expected = ((theirs + theirs.T) > 0).astype(float)
    assert (spadework.knn_graph(rows, neighbors=7, metric=metric) != expected).nnz == 0


@pytest.mark.parametrize(("standardize", "scaler"), [(True, StandardScaler()), ("robust", RobustScaler())])
def test_columns_are_scaled_as_scikit_learn_does(table, standardize, scaler):
    inputs, outputs = table
    found = spadework.score(inputs, outputs, standardize=standardize, neighbors=8)
    expected = spadework.score(scaler.fit_transform(inputs), outputs, neighbors=8)
    assert found.model_score == pytest.approx(expected.model_score, rel=1e-9)
    np.testing.assert_array_equal(found.edges, expected.edges)
    assert found.document["request"]["standardize"] == ("robust" if standardize == "robust" else "standard")


def test_cosine_is_euclidean_on_unit_rows(table):
    inputs, outputs = table
    unit = [side / np.linalg.norm(side, axis=1, keepdims=True) for side in table]
    # Unit rows have columns of unequal spreads, which a note would tell.
    options = {"neighbors": 8, "verbose": False}
    metrics = {"input_metric": "cosine", "output_metric": "cosine"}
    found = spadework.score(inputs, outputs, **options, **metrics)
    assert found.model_score == pytest.approx(spadework.score(*unit, **options).model_score, rel=1e-9)
    compared = spadework.compare(inputs, {"a": outputs, "b": outputs[:, ::-1]}, **options, **metrics)
    assert compared["a"].model_score == pytest.approx(found.model_score, rel=1e-9)
    swept = spadework.sweep(inputs, outputs, neighbors=[8], verbose=False, **metrics)
    assert swept.document["points"][0]["scores"][0]["model_score"] == pytest.approx(found.model_score, rel=1e-6)


@pytest.mark.parametrize("metric", METRICS)
def test_the_estimator_places_new_samples_as_the_old(table, metric):
    inputs, outputs = table
    spade = spadework.Spade(8, input_metric=metric, output_metric=metric, standardize=True, verbose=False).fit(inputs, outputs)
    new = spade.score_samples(inputs[:20], outputs[:20])
    np.testing.assert_allclose(new, spade.node_scores_[:20], rtol=1e-3)


def test_bad_input_is_named(table):
    inputs, outputs = table
    zero = inputs.copy()
    zero[[4, 9]] = 0
    with pytest.raises(ValueError, match="2 of the inputs are .row 4, 9, counted from 0"):
        spadework.score(zero, outputs, input_metric="cosine")
    with pytest.raises(ValueError, match="`input_metric` must be euclidean, cosine"):
        spadework.score(inputs, outputs, input_metric="hamming")
    with pytest.raises(ValueError, match='`standardize` must be True, False or "robust"'):
        spadework.score(inputs, outputs, standardize="twice")
    mostly = inputs.copy()
    mostly[:290, 0] = 1
    with pytest.raises(ValueError, match="column 0"):
        spadework.score(mostly, outputs, standardize="robust")
    graph = spadework.knn_graph(inputs)
    with pytest.raises(ValueError, match="`input_graph` is given"):
        spadework.score(outputs=outputs, input_graph=graph, standardize=True)
