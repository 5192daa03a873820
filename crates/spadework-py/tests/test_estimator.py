"""The estimator: scikit-learn's own checks, and what they do not look at."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pandas
import pytest
import spadework
from sklearn.base import clone
from sklearn.utils.estimator_checks import estimator_checks_generator

OUTPUTS_NEEDED = "score_samples measures inputs together with the outputs of the model, and the check gives inputs alone"
NOT_APPLICABLE = {
    "check_methods_sample_order_invariance": OUTPUTS_NEEDED,
    "check_methods_subset_invariance": OUTPUTS_NEEDED,
    "check_dtype_object": "every wrong argument is a ValueError here; the check wants a TypeError for a dictionary in an array",
}


def checks():
    """Scikit-learn's checks as cases; three neighbors, for some of them fit ten samples."""
    with warnings.catch_warnings():
        # Spade does not inherit from BaseEstimator: scikit-learn need not be installed.
        warnings.simplefilter("ignore", UserWarning)
        for estimator, check in estimator_checks_generator(spadework.Spade(neighbors=3)):
            name = check.func.__name__
            marks = [pytest.mark.xfail(reason=NOT_APPLICABLE[name], strict=True)] if name in NOT_APPLICABLE else []
            yield pytest.param(estimator, check, id=name, marks=marks)


# The checks make outputs of labels, which have many copies; that is told, as it should be.
@pytest.mark.filterwarnings("ignore::spadework.SpadeworkWarning")
@pytest.mark.filterwarnings("ignore:Estimator Spade does not inherit")
@pytest.mark.parametrize(("estimator", "check"), list(checks()))
def test_scikit_learns_checks(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def fitted(digits):
    return spadework.Spade(neighbors=12, eigenpairs=3).fit(digits["inputs"], digits["standard"])


def test_results_are_those_of_score(fitted, digits):
    report = spadework.score(digits["inputs"], digits["standard"], neighbors=12, eigenpairs=3)
    assert fitted.model_score_ == report.model_score
    for name in ("node_scores", "edges", "edge_scores", "eigenvalues", "embedding"):
        assert np.array_equal(getattr(fitted, f"{name}_"), getattr(report, name)), name
    assert (fitted.n_features_in_, fitted.n_outputs_, fitted.neighbors_) == (64, 10, 12)


def test_clones_pickles_and_words(fitted):
    assert repr(fitted) == "Spade(eigenpairs=3, neighbors=12)" and repr(spadework.Spade()) == "Spade()"
    copy = clone(fitted)
    assert copy.get_params() == fitted.get_params() and not hasattr(copy, "report_")
    again = pickle.loads(pickle.dumps(fitted))
    assert np.array_equal(again.node_scores_, fitted.node_scores_)
    assert spadework.Spade().set_params(neighbors=4, seed=3).get_params()["seed"] == 3
    with pytest.raises(ValueError, match="Invalid parameter 'k'"):
        spadework.Spade().set_params(k=4)


def test_samples_that_were_fitted_have_the_score_they_have(fitted, digits):
    again = fitted.score_samples(digits["inputs"][:200], digits["standard"][:200])
    # The row equation holds up to the residual of the eigenpairs, 1e-6 of the largest entries.
    assert again == pytest.approx(fitted.node_scores_[:200], rel=1e-3, abs=1e-4 * fitted.node_scores_.max())


def test_new_samples_are_scored_one_by_one(digits):
    spade = spadework.Spade(neighbors=12).fit(digits["inputs"][:1500], digits["standard"][:1500])
    inputs, outputs = digits["inputs"][1500:], digits["standard"][1500:]
    together = spade.score_samples(inputs, outputs)
    assert together.shape == (297,) and np.all(together >= 0)
    assert np.array_equal(spade.score_samples(inputs[:1], outputs[:1]), together[:1])
    # They know of each other what a score of all says: fragile samples are fragile both ways.
    whole = spadework.score(digits["inputs"], digits["standard"], neighbors=12).node_scores[1500:]
    ranks = [np.argsort(np.argsort(scores)) for scores in (together, whole)]
    assert np.corrcoef(ranks)[0, 1] > 0.7


def test_what_the_eigenvalues_do_not_determine_is_told(ring):
    # The second eigenvalue of an opened ring is close to 1.
    spade = spadework.Spade(neighbors=2, eigenpairs=2).fit(*ring)
    with pytest.warns(spadework.SpadeworkWarning, match="entries of eigenvectors are means") as told:
        spade.score_samples(*ring)
    assert {warning.filename for warning in told} == {__file__}


def test_wrong_new_samples(fitted, digits):
    inputs, outputs = digits["inputs"][:5], digits["standard"][:5]
    with pytest.raises(ValueError, match="X has 63 features, but Spade is expecting 64 features"):
        fitted.score_samples(inputs[:, 1:], outputs)
    with pytest.raises(ValueError, match="got 5 inputs and 4 outputs"):
        fitted.score_samples(inputs, outputs[:4])
    with pytest.raises(ValueError, match="not fitted yet"):
        spadework.Spade().score_samples(inputs, outputs)
    every = spadework.Spade(eigenpairs="all").fit(digits["inputs"], digits["standard"])
    with pytest.raises(ValueError, match="fitted with eigenpairs"):
        every.score_samples(inputs, outputs)
    mutual = spadework.Spade(graph="mutual", connectivity="bridge", verbose=False)
    with pytest.raises(ValueError, match="new samples can only join knn graphs with unit weights"):
        mutual.fit(digits["inputs"], digits["standard"]).score_samples(inputs, outputs)


def test_names_of_columns(digits):
    frame = pandas.DataFrame(digits["inputs"][:300]).add_prefix("pixel")
    spade = spadework.Spade(verbose=False).fit(frame, digits["standard"][:300])
    assert list(spade.feature_names_in_) == list(frame.columns)
    with pytest.raises(ValueError, match="feature names should match"):
        spade.score_samples(frame[frame.columns[::-1]], digits["standard"][:300])


@pytest.mark.parametrize(("n_jobs", "fine"), [(1, True), (2, True), (-1, True), (-2, True), (0, False), (1.5, False)])
def test_jobs(ring, n_jobs, fine):
    spade = spadework.Spade(neighbors=2, n_jobs=n_jobs)
    if fine:
        assert spade.fit(*ring).model_score_ == spadework.score(*ring, neighbors=2).model_score
    else:
        with pytest.raises(ValueError, match="n_jobs"):
            spade.fit(*ring)


def test_score_is_the_overlap_of_held_out_samples():
    from sklearn.model_selection import cross_val_score
    from sklearn.neighbors import NearestNeighbors

    random = np.random.default_rng(5)
    X = random.standard_normal((200, 6))
    Y = np.tanh(X @ random.standard_normal((6, 3)))
    fitted, new = slice(0, 150), slice(150, 200)
    spade = spadework.Spade(neighbors=7, verbose=False).fit(X[fitted], Y[fitted])
    near = [
        NearestNeighbors(n_neighbors=7).fit(side[fitted]).kneighbors(side[new], return_distance=False) for side in (X, Y)
    ]
    expected = np.mean([len(set(given) & set(taken)) for given, taken in zip(*near)]) / 7
    assert spade.score(X[new], Y[new]) == pytest.approx(expected, abs=1e-12)
    # By the distances that the model was fitted with.
    scaled = X * 10.0 ** np.arange(6)
    same = spadework.Spade(neighbors=7, standardize=True, verbose=False).fit(scaled[fitted], Y[fitted])
    unit = (X - X[fitted].mean(axis=0)) / X[fitted].std(axis=0)
    alike = spadework.Spade(neighbors=7, verbose=False).fit(unit[fitted], Y[fitted])
    assert same.score(scaled[new], Y[new]) == pytest.approx(alike.score(unit[new], Y[new]), abs=1e-12)
    # Samples that were fitted are neighbors of themselves on both sides.
    assert spade.score(X[fitted], Y[fitted]) > expected
    scores = cross_val_score(spadework.Spade(neighbors=7, verbose=False), X, Y, cv=4)
    assert scores.shape == (4,) and np.all((0 < scores) & (scores < 1))
    with pytest.raises(ValueError, match="X has 5 features"):
        spade.score(X[:, :5], Y)
