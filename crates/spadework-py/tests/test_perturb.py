"""Perturbations of the caller's: closed forms, SciPy's intervals, and what each ready-made one may and may not do."""

from __future__ import annotations

import time

import numpy as np
import pandas
import pytest
import scipy.sparse
import scipy.stats
import spadework
from sklearn.linear_model import LinearRegression, LogisticRegression
from spadework import perturb


def threshold(batch):
    """Two classes by the sign of the first column."""
    first = np.asarray(batch, dtype=float)[:, 0]
    return np.column_stack([first, -first])


@pytest.fixture(scope="module")
def points():
    return np.linspace(-3, 3, 400)[:, None]


def test_flips_are_as_frequent_as_the_normal_distribution_says(points):
    found = spadework.probe(threshold, points, perturb=perturb.column_noise(points, 0.5), probes=400, precision=0)
    likely = scipy.stats.norm.cdf(-np.abs(points[:, 0]) / (0.5 * points.std()))
    deviation = np.sqrt(400 * likely * (1 - likely)) + 1e-9
    assert np.max(np.abs(found.flips - 400 * likely) / (deviation + 0.5)) < 5
    assert found.kept.estimate == pytest.approx(1 - likely.mean(), abs=0.005)
    assert found.evaluations == 400 * 401 and not found.stopped_early
    # The nearest to the boundary come first, and the others never.
    assert np.abs(points[found.ranking[:20], 0]).max() < 0.5
    assert set(found.changed) == set(np.flatnonzero(found.flips))
    np.testing.assert_allclose(found.margins, 2 * np.abs(points[:, 0]))
    assert np.all((found.probe_margins < 0) == (found.flips > 0))
    assert list(found.to_frame()["sample"]) == list(found.ranking)


@pytest.mark.parametrize(("right", "of"), [(0, 7), (7, 7), (30, 100), (999, 1000)])
def test_intervals_are_those_of_scipy(right, of):
    samples = np.where(np.arange(of) < right, 1.0, -1.0)[:, None]
    labels = np.zeros(of, dtype=int)
    found = spadework.probe(threshold, samples, perturb=lambda batch, i, rng: batch, labels=labels, probes=3)
    expected = scipy.stats.binomtest(right, of).proportion_ci(method="wilson")
    assert found.survived.estimate == pytest.approx(right / of) and found.accuracy == pytest.approx(right / of)
    assert found.survived.lower == pytest.approx(expected.low, abs=1e-12)
    assert found.survived.upper == pytest.approx(expected.high, abs=1e-12)
    assert found.survived.n == of and found.document["survived"]["queries"] == 4 * of


@pytest.mark.parametrize("width", [1, 3])
def test_outputs_of_another_width_are_refused(points, width):
    calls = []

    def model(batch):
        calls.append(batch)
        two = threshold(batch)
        # The samples, three of them by themselves, and two variants.
        return two if len(calls) < 7 else np.hstack([two, two])[:, :width]

    said = f"the same number of outputs for every batch, got {width} for variant 2 after 2 for the inputs"
    with pytest.raises(ValueError, match=said):
        spadework.probe(model, points, perturb=lambda batch, i, rng: batch + 0.1, probes=9, precision=0)


def test_a_perturbation_that_changes_its_argument_is_refused(points):
    def in_place(batch, variant, rng):
        batch += 1
        return batch

    with pytest.raises(ValueError, match="`perturb` must return a new batch"):
        spadework.probe(threshold, points.copy(), perturb=in_place)


def test_the_same_seed_gives_the_same_result_and_another_seed_another(points):
    noise = perturb.column_noise(points, 0.5)
    first, again, other = (spadework.probe(threshold, points, perturb=noise, seed=seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first.flips, again.flips)
    assert np.any(first.flips != other.flips)


def test_a_run_ends_early_when_it_knows_enough(points):
    call = dict(perturb=perturb.column_noise(points, 0.1), probes=2000)
    rough = spadework.probe(threshold, points, precision=0.01, **call)
    fine = spadework.probe(threshold, points, precision=0.002, **call)
    assert 10 <= rough.variants < fine.variants < 2000 and rough.stopped_early
    assert abs(rough.kept.estimate - fine.kept.estimate) < 0.02


def test_variants_have_a_progress_bar_where_one_is_asked_for(points, capsys):
    pytest.importorskip("tqdm")

    def slow(batch):
        time.sleep(0.1)
        return threshold(batch)

    call = dict(perturb=perturb.column_noise(points), probes=10, precision=0)
    spadework.probe(slow, points, **call, verbose=True)
    assert "variants" in capsys.readouterr().err
    spadework.probe(slow, points, **call, verbose=False)
    assert capsys.readouterr().err == ""


def test_samples_are_drawn_and_named_by_their_index(points):
    found = spadework.probe(threshold, points, perturb=perturb.column_noise(points, 0.5), samples=50, probes=20)
    assert found.indices.shape == (50,) and np.all(np.diff(found.indices) > 0)
    np.testing.assert_allclose(found.margins, 2 * np.abs(points[found.indices, 0]))


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(1)
    size, color = rng.normal(10, 4, 200), rng.choice(["red", "green", "blue"], 200, p=[0.6, 0.3, 0.1])
    return pandas.DataFrame({"size": size, "color": pandas.Categorical(color), "constant": 1.0})


def test_tables_keep_their_columns_and_categories(frame):
    rng = np.random.default_rng(0)
    noisy = perturb.column_noise(frame, 0.5)(frame, 0, rng)
    assert list(noisy.columns) == list(frame.columns) and (noisy["color"] == frame["color"]).all()
    assert np.std(noisy["size"] - frame["size"]) == pytest.approx(0.5 * frame["size"].std(ddof=0), rel=0.15)
    assert (noisy["constant"] == 1).all()
    swapped = perturb.category_swaps(frame, 0.25)(frame, 0, rng)
    changed = np.mean(swapped["color"].to_numpy() != frame["color"].to_numpy())
    assert changed == pytest.approx(0.25, abs=0.1)
    assert swapped["color"].dtype == frame["color"].dtype and swapped["size"].equals(frame["size"])
    both = perturb.chain(perturb.column_noise(frame, 0.5), perturb.category_swaps(frame, 1.0))(frame, 0, rng)
    assert (both["color"].to_numpy() != frame["color"].to_numpy()).all() and not both["size"].equals(frame["size"])


def test_missing_values_stay_missing_and_spoil_no_others(frame):
    rng = np.random.default_rng(0)
    holes = frame.assign(count=pandas.array([1, None, *range(198)], dtype="Int64"))
    holes.loc[[3, 7], "size"] = np.nan
    holes.loc[[5], "color"] = None
    noisy = perturb.column_noise(holes, 0.5)(holes, 0, rng)
    for name, missing in (("size", [3, 7]), ("count", [1])):
        assert list(np.flatnonzero(noisy[name].isna())) == missing
    size = holes["size"].to_numpy()
    assert np.nanstd(noisy["size"].to_numpy() - size) == pytest.approx(0.5 * np.nanstd(size), rel=0.15)
    array = perturb.column_noise(holes[["size"]].to_numpy(), 0.5)(holes[["size"]].to_numpy(), 0, rng)
    assert list(np.flatnonzero(np.isnan(array[:, 0]))) == [3, 7]
    swapped = perturb.category_swaps(holes, 1.0)(holes, 0, rng)
    assert list(np.flatnonzero(swapped["color"].isna())) == [5]
    assert (swapped["color"].to_numpy() != holes["color"].to_numpy())[swapped["color"].notna()].all()


def test_an_estimator_is_asked_for_probabilities(frame):
    numbers = frame[["size"]].to_numpy()
    classes = np.where(numbers[:, 0] > 10, "large", "small")
    model = LogisticRegression().fit(numbers, classes)
    found = spadework.probe(model, numbers, perturb=perturb.column_noise(numbers, 0.3), labels=model.predict(numbers) == "small")
    assert found.accuracy == 1 and found.margins is not None
    regression = LinearRegression().fit(numbers, 3 * numbers[:, 0])
    moved = spadework.probe(
        regression, numbers, perturb=perturb.column_noise(numbers, 0.3), tolerance=1.0, probes=300, precision=0
    )
    expected = 2 * scipy.stats.norm.sf(1 / (3 * 0.3 * numbers.std()))
    assert 1 - moved.kept.estimate == pytest.approx(expected, abs=0.02)
    with pytest.raises(ValueError, match="`tolerance`"):
        spadework.probe(regression, numbers, perturb=perturb.column_noise(numbers, 0.3))


def test_words_are_left_out_and_mistyped_but_never_invented():
    texts = ["the quick brown fox jumps over the lazy dog", "word", ""] * 50
    rng = np.random.default_rng(0)
    dropped = perturb.word_dropout(0.5)(texts, 0, rng)
    for before, after in zip(texts, dropped):
        words = iter(before.split())
        assert all(word in words for word in after.split()), "in order, none new"
        assert bool(before.split()) == bool(after.split()), "one is kept"
    kept = sum(len(text.split()) for text in dropped[::3]) / (50 * 9)
    assert kept == pytest.approx(0.5, abs=0.1)
    mistyped = perturb.typos(1.0)(texts, 0, rng)
    for before, after in zip(" ".join(texts[::3]).split(), " ".join(mistyped[::3]).split()):
        assert abs(len(before) - len(after)) <= 1 and set(after) <= set(before)


def test_edges_move_and_stay_as_many():
    pytest.importorskip("scipy")
    rng = np.random.default_rng(0)
    half = scipy.sparse.triu(scipy.sparse.random_array((60, 60), density=0.1, rng=rng), 1)
    adjacency = ((half + half.T) > 0).astype(float).tocsr()
    graph = perturb.GraphData(adjacency, np.eye(60))
    flipped = perturb.edge_flips(0.2)(graph, 0, rng)
    assert flipped.adjacency.nnz == adjacency.nnz and abs(flipped.adjacency - flipped.adjacency.T).max() == 0
    moved = (flipped.adjacency - adjacency).multiply(adjacency)
    assert -moved.sum() / adjacency.sum() == pytest.approx(0.2, abs=0.1)
    dropped = perturb.feature_dropout(0.5)(graph, 0, rng)
    assert dropped.features.sum() == pytest.approx(30, abs=15) and dropped.adjacency is adjacency
    sparse = perturb.feature_dropout(0.5)(perturb.GraphData(adjacency, scipy.sparse.eye_array(60).tocsr()), 0, rng)
    assert 10 < sparse.features.sum() < 50

    def degree_class(graph):
        return (np.asarray(graph.adjacency.sum(axis=1)).ravel() > 6).astype(int)

    found = spadework.probe(degree_class, graph, perturb=perturb.edge_flips(0.2), probes=30, samples=20)
    assert found.indices.shape == (20,) and found.margins is None and found.flips.sum() > 0


def test_bad_input_is_named(frame, points):
    noise = perturb.column_noise(points)
    with pytest.raises(ValueError, match="instead of `probe`"):
        spadework.probe(threshold, points, "linf:0.1", perturb=noise)
    for ignored in (dict(task="classes"), dict(task="regression"), dict(threads=1)):
        with pytest.raises(ValueError, match="leave `task` and `threads` out"):
            spadework.probe(threshold, points, perturb=noise, **ignored)
    with pytest.raises(ValueError, match="how to perturb"):
        spadework.probe(threshold, points)
    with pytest.raises(ValueError, match="as many samples as it was given .400., got 399 in variant 0"):
        spadework.probe(threshold, points, perturb=lambda batch, i, rng: batch[1:])
    with pytest.raises(ValueError, match="got NaN or infinity for variant 0"):
        spadework.probe(threshold, points, perturb=lambda batch, i, rng: batch * np.nan)
    with pytest.raises(ValueError, match=r"per sample \(400\), got an array of shape \[3\]"):
        spadework.probe(lambda batch: [1, 2, 3], points, perturb=noise)
    with pytest.raises(ValueError, match="at least one sample"):
        spadework.probe(threshold, points[:0], perturb=noise)
    with pytest.raises(ValueError, match="`rate` must be above 0 and at most 1, got 2"):
        perturb.word_dropout(2)
    with pytest.raises(ValueError, match="columns of the table, got 'weight'"):
        perturb.column_noise(frame, columns=["weight"])
    with pytest.raises(ValueError, match="'color' must be numeric"):
        perturb.column_noise(frame, columns=["color"])
    swap = perturb.category_swaps(frame)
    with pytest.raises(ValueError, match="'color' has a category that `table` does not have: 'violet' in the row with index"):
        swap(frame.assign(color="violet"), 0, np.random.default_rng(0))
    negative = scipy.sparse.csr_array([[0.0, -1.0], [-1.0, 0.0]])
    with pytest.raises(ValueError, match="must not be negative, got -1.0 between nodes 0 and 1"):
        perturb.GraphData(negative, np.eye(2))
    with pytest.raises(ValueError, match="texts must be strings, got int in sample 1"):
        perturb.typos()(["a", 3], 0, np.random.default_rng(0))
