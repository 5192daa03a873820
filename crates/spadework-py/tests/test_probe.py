"""Probes: closed forms of linear models, and the same numbers for a function and for a file."""

from __future__ import annotations

import numpy as np
import pytest

import spadework
import spadework.onnx

from conftest import ROOT

FIXTURES = ROOT / "crates" / "spadework-model" / "tests" / "fixtures" / "onnx"
WEIGHTS = np.linspace(0.5, 3, 16) * np.where(np.arange(16) % 3 == 0, -1, 1)


def linear(x):
    """Two outputs, the margin is |x @ WEIGHTS|."""
    lead = x.reshape(len(x), -1).astype(float) @ WEIGHTS
    return np.column_stack([lead, np.zeros(len(lead))])


@pytest.fixture(scope="module")
def samples():
    inputs = np.random.default_rng(5).uniform(-2, 2, (400, 16)).astype(np.float32)
    inputs[0, 0], inputs[1, 0] = -10, 10  # so that no other copy is cut off
    return inputs


def test_random_signs_change_a_linear_margin_by_its_length(samples):
    found = spadework.probe(linear, samples, "linf:0.1:pixel", probes=40, verbose=False)
    # 16,000 squares: their mean is known to a relative 1.1 %.
    length = np.sqrt(np.mean(found.changes[2:] ** 2))
    assert length == pytest.approx(0.1 * np.linalg.norm(WEIGHTS), rel=0.04)
    np.testing.assert_allclose(found.margins, np.abs(samples.astype(float) @ WEIGHTS), rtol=1e-6)
    assert found.evaluations == 400 * 41
    assert found.margin_ratio > 0 and found.kept.shape == (400,)


def test_a_search_takes_all_that_a_linear_model_can_lose(samples):
    # 1 + 2 + 4 + 8 + 16 blocks of 16 numbers, and the first copy.
    found = spadework.probe(linear, samples, "linf:0.1", probes=32, verbose=False)
    bound = found.margins - 0.1 * np.abs(WEIGHTS).sum()
    held = (bound > 0)[2:]
    np.testing.assert_array_equal((found.probe_margins > 0)[2:], held)
    np.testing.assert_allclose(found.probe_margins[2:][held], bound[2:][held], atol=1e-4)
    assert found.changes is None and found.kept is None and found.margin_ratio is None


def test_an_estimate_has_an_interval_and_may_end_early(samples):
    found = spadework.probe(linear, samples, "linf:0.1", verbose=False)
    lower, upper = found.robust_accuracy_interval
    assert 0 <= lower <= found.robust_accuracy <= upper <= 1
    estimate = found.document["estimate"]
    assert (estimate["n"], estimate["queries"]) == (400, found.evaluations / 400)
    early = spadework.probe(linear, samples, "linf:0.1", precision=0.9, verbose=False)
    assert early.evaluations <= 400 * 201 and early.evaluations <= found.evaluations
    with pytest.raises(ValueError, match="precision of a probe must be above 0"):
        spadework.probe(linear, samples, "linf:0.1", precision=2, verbose=False)
    assert spadework.probe(linear, samples, "linf:0.1:pixel", verbose=False).robust_accuracy_interval is None


def test_labels_decide_what_is_held(samples):
    right = (samples.astype(float) @ WEIGHTS <= 0).astype(int)
    call = dict(probe="linf:0.001:pixel", verbose=False)
    assert spadework.probe(linear, samples, labels=right, **call).accuracy == 1
    wrong = spadework.probe(linear, samples, labels=1 - right, **call)
    assert (wrong.accuracy, wrong.survived, wrong.stability) == (0, 0, 0)
    assert spadework.probe(linear, samples, **call).accuracy is None


def test_a_function_sees_samples_in_their_shape(samples):
    seen = set()

    def model(x):
        seen.add((x.dtype, x.shape[1:]))
        return linear(x)

    images = samples.reshape(400, 1, 4, 4)
    found = spadework.probe(model, images, "linf:0.1", probes=10, samples=50, verbose=False)
    assert seen == {(np.dtype(np.float32), (1, 4, 4))}
    assert len(found.indices) == 50 and np.all(np.diff(found.indices) > 0)


def test_a_function_takes_its_batches_by_dlpack(samples):
    def model(x):
        shared = np.from_dlpack(x)  # as torch.from_dlpack: without a copy
        assert np.shares_memory(shared, x) and x.flags.writeable
        return linear(shared)

    call = dict(inputs=samples, probe="linf:0.1", probes=10, samples=50, verbose=False)
    np.testing.assert_array_equal(spadework.probe(model, **call).probe_margins, spadework.probe(linear, **call).probe_margins)


def test_a_function_of_jax_arrays(samples):
    jax = pytest.importorskip("jax")
    weights = WEIGHTS.astype(np.float32)

    def model(x):
        lead = jax.numpy.asarray(jax.dlpack.from_dlpack(x)) @ weights
        return jax.numpy.stack([lead, jax.numpy.zeros_like(lead)], axis=1)

    call = dict(probe="linf:0.1", probes=10, samples=50, verbose=False)
    found = spadework.probe(model, jax.numpy.asarray(samples), **call)
    by_numpy = spadework.probe(lambda x: np.asarray(model(x.copy())), samples, **call)
    np.testing.assert_array_equal(found.probe_margins, by_numpy.probe_margins)
    np.testing.assert_allclose(found.margins, np.abs(samples[found.indices] @ weights), rtol=1e-4)


class OnAGpu:
    """An array on a device, as a library with DLPack and the array API has it: nothing reads its numbers but by a copy."""

    device = "gpu:1"

    def __init__(self, hidden):
        self.hidden = hidden
        self.shape = hidden.shape

    def __len__(self):
        return len(self.hidden)

    def __dlpack_device__(self):
        return (2, 1)

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        assert dl_device == (1, 0) and copy, "only a copy can be in the memory of the CPU"
        return self.hidden.copy().__dlpack__()

    def __array__(self, dtype=None, copy=None):
        raise AssertionError("an array on a GPU must not be copied in silence")

    def __array_namespace__(self):
        return Library


class Library:
    @staticmethod
    def asarray(array, device):
        assert device == OnAGpu.device
        return OnAGpu(array)


@pytest.mark.skipif(np.lib.NumpyVersion(np.__version__) < "2.1.0", reason="np.from_dlpack copies from NumPy 2.1 on")
def test_a_function_of_arrays_on_a_gpu_gets_and_returns_them(samples):
    seen = set()

    def model(x):
        seen.add((type(x), x.hidden.dtype, x.shape[1:]))
        return OnAGpu(linear(x.hidden))

    images, labels = samples.reshape(400, 1, 4, 4), (linear(samples)[:, 0] <= 0).astype(int)
    call = dict(probe="linf:0.1", probes=10, samples=50, verbose=False)
    found = spadework.probe(model, OnAGpu(images), labels=OnAGpu(labels), **call)
    assert seen == {(OnAGpu, np.dtype(np.float32), (1, 4, 4))}
    on_cpu = spadework.probe(linear, images, labels=labels, **call)
    np.testing.assert_array_equal(found.probe_margins, on_cpu.probe_margins)
    assert (found.document, found.accuracy) == (on_cpu.document, 1)


def test_arrays_on_a_gpu_that_cannot_be_used_are_refused_with_a_reason(samples):
    path = FIXTURES / "dynamic.onnx"
    with pytest.raises(ValueError, match="inputs: the array must be in the memory of the CPU, got one on CUDA device 1"):
        spadework.probe(path, OnAGpu(samples), "linf:0.1", verbose=False)
    with pytest.raises(ValueError, match="outputs of the model: the array must be in the memory of the CPU"):
        spadework.probe(lambda x: OnAGpu(linear(x)), samples, "linf:0.1", verbose=False)

    class WithoutLibrary:
        shape = (400, 16)

        def __dlpack_device__(self):
            return (2, 0)

        def get(self):
            return samples

    with pytest.raises(ValueError, match="library has no array API"):
        spadework.probe(linear, WithoutLibrary(), "linf:0.1", verbose=False)


@pytest.mark.parametrize("kind", ["search", "pixel", "block:2", "smooth"])
def test_a_file_and_a_function_of_it_agree(kind):
    path, arrays = FIXTURES / "dynamic.onnx", np.load(FIXTURES / "dynamic.npz")
    call = dict(inputs=arrays["x"], probe=f"linf:0.1:{kind}", probes=12, seed=3, verbose=False)
    by_file = spadework.probe(path, threads=1, **call)
    by_function = spadework.probe(lambda x: spadework.onnx.predict(path, x, verbose=False), threads=2, **call)
    np.testing.assert_array_equal(by_file.probe_margins, by_function.probe_margins)
    assert (by_file.stability, by_file.survived) == (by_function.stability, by_function.survived)


def test_the_caller_gets_his_own_exception(samples):
    def model(x):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        spadework.probe(model, samples, "linf:0.1", verbose=False)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (dict(probe="linf"), "expected linf:RADIUS or l2:RADIUS"),
        (dict(probe=0.1), "`probe` must be a word"),
        (dict(probes=0), "`probes` must be at least 1"),
        (dict(samples=0), "`samples` must be at least 1"),
        (dict(model=3), "a function or the path of an ONNX file"),
        (dict(model="missing.onnx"), "missing.onnx"),
        (dict(model=lambda x: x[:, :1], task="embedding"), "probes need a classifier or a regressor"),
        (dict(task="words"), "auto, classes, embedding or regression"),
        (dict(probe="linf:800"), "the radius of probe is 800, but the inputs only range from -10 to 10"),
        (dict(model=lambda x: x[:, 0], labels=[np.nan] * 400), "labels must be finite numbers, got nan at row 0"),
        (dict(model=lambda x: x[:3]), "same number of rows"),
        (dict(model=lambda x: np.full((len(x), 2), np.nan)), "outputs of the model"),
        (dict(onnx={"before_softmax": True}), "the model is a function"),
        (dict(labels=[1, 2]), "one entry per sample"),
        (dict(labels=np.arange(400) / 2, task="classes"), 'with task="classes", got 0.5 at row 1'),
        (dict(labels=np.arange(400) / 2), "got fractions; for a model that predicts numbers, pass task=\"regression\""),
        (dict(tolerance=0.1), "`tolerance` is for `perturb`"),
    ],
)
def test_what_is_wrong_is_said(samples, call, message):
    call = {"model": linear, "inputs": samples, "probe": "linf:0.1", "verbose": False, **call}
    with pytest.raises(ValueError, match=message):
        spadework.probe(**call)


def test_probed_fragility(samples):
    labels = (linear(samples)[:, 0] <= 0).astype(int)
    found = spadework.probe(linear, samples, "linf:0.1", labels=labels, probes=32, samples=300, verbose=False)
    call = dict(labels=labels, neighbors=10, verbose=False)
    plain = spadework.score(samples, linear(samples), **call)
    report = spadework.score(samples, linear(samples), probed=found, **call)
    assert (plain.fragility_basis, report.fragility_basis) == ("margins and slopes", "margins, slopes and probes")
    assert report.accuracy == 1 and report.document["probe"]["survived"] == found.survived
    assert found.changed == round((1 - found.survived) * 300)
    assert np.array_equal(plain.margins, report.margins)
    # What is lost is more fragile than all that was probed and held.
    lost = np.zeros(400, bool)
    lost[found.indices[found.probe_margins <= 0]] = True
    held = np.zeros(400, bool)
    held[found.indices[found.probe_margins > 0]] = True
    assert lost.any() and held.any()
    assert report.fragility[lost].min() > report.fragility[held].max()
    assert not plain.fragility[lost].min() > plain.fragility[held].max()
    chosen = spadework.select(samples, linear(samples), by="fragility", top=10, probed=found, **call)
    assert np.array_equal(chosen, np.argsort(-report.fragility, kind="stable")[:10])
    with pytest.raises(ValueError, match="`probed` must be for the same samples"):
        spadework.score(samples[:-1], linear(samples)[:-1], neighbors=10, probed=found, verbose=False)
    with pytest.raises(ValueError, match="`probed` must be what `spadework.probe` returns, got dict"):
        spadework.score(samples, linear(samples), probed={}, verbose=False)


def test_softmax_is_told(samples):
    def probabilities(x):
        powers = np.exp(linear(x) / 10)
        return powers / powers.sum(axis=1, keepdims=True)

    with pytest.warns(spadework.SpadeworkWarning, match="look like probabilities") as told:
        found = spadework.probe(probabilities, samples, "linf:0.1:pixel")
    assert len(told) == len(found.notes) == 1
    path, arrays = FIXTURES / "softmax.onnx", np.load(FIXTURES / "softmax.npz")
    with pytest.warns(spadework.SpadeworkWarning, match="ends in a softmax"):
        spadework.probe(path, arrays["x"], "linf:0.1:pixel")
    assert not spadework.probe(path, arrays["x"], "linf:0.1:pixel", onnx={"before_softmax": True}).notes


@pytest.mark.parametrize("later", [2, 4])
@pytest.mark.parametrize("probe", ["linf:0.1", "linf:0.1:pixel"])
def test_a_function_that_changes_its_number_of_outputs_is_refused(samples, later, probe):
    calls = 0

    def fickle(x):
        nonlocal calls
        calls += 1
        # The samples as they are, three of them by themselves, and two batches more.
        return np.tile(np.arange(later if calls > 6 else 3), (len(x), 1)).astype(float)

    with pytest.raises(ValueError, match=f"got {later} in batch 3 .* after 3 in the first"):
        spadework.probe(fickle, samples, probe, verbose=False)


@pytest.mark.parametrize("kind", ["classes", "regression"])
def test_evaluations_are_the_rows_that_went_through_the_model(samples, kind):
    rows = []

    def counted(x):
        rows.append(len(x))
        return linear(x) if kind == "classes" else predicted(x)

    found = spadework.probe(counted, samples, "linf:0.1", task=kind, probes=20, verbose=False)
    # Three samples are run by themselves, to see that the function does not mix the samples of a batch.
    assert sum(rows) == found.evaluations + 3


def predicted(x):
    """One number per sample, which 0.1 in every number moves by 0.1 · Σ|w|."""
    return x.reshape(len(x), -1).astype(float) @ WEIGHTS


def test_a_regressor_is_probed_by_its_change_of_output(samples):
    targets = predicted(samples) + np.random.default_rng(1).normal(size=400)
    found = spadework.probe(predicted, samples, "linf:0.1", labels=targets, probes=200, verbose=False)
    assert isinstance(found, spadework.ProbedRegressor) and (found.unit, found.probes) == ("targets", 200)
    assert found.spread == pytest.approx(np.std(targets))
    # A linear model: all that there is, but for the two samples at the ends of the range.
    np.testing.assert_allclose(found.changes[2:] * found.spread, 0.1 * np.abs(WEIGHTS).sum(), rtol=1e-5)
    assert found.median == pytest.approx(0.1 * np.abs(WEIGHTS).sum() / np.std(targets), rel=1e-5)
    assert np.array_equal(found.indices, np.arange(400)) and found.document["top"]
    unlabeled = spadework.probe(predicted, samples, "linf:0.1", task="regression", probes=40, verbose=False)
    assert (unlabeled.unit, unlabeled.spread) == ("outputs", pytest.approx(np.std(predicted(samples))))
    # Whole numbers are targets too, where the model predicts a single number and they are not two classes.
    whole = spadework.probe(predicted, samples, "linf:0.1", labels=np.round(targets).astype(int), probes=4, verbose=False)
    assert whole.spread == pytest.approx(np.std(np.round(targets)))


def test_one_output_and_two_labels_are_two_classes(samples):
    labels = np.where(predicted(samples) > 0, "yes", "no")
    found = spadework.probe(predicted, samples, "linf:0.1", labels=labels, probes=32, verbose=False)
    both = spadework.probe(lambda x: np.column_stack([-predicted(x), predicted(x)]), samples, "linf:0.1", probes=32, verbose=False)
    assert found.accuracy == 1 and np.array_equal(found.probe_margins, both.probe_margins)


def test_a_score_leads_with_the_change_of_a_regressor(samples):
    found = spadework.probe(predicted, samples, "linf:0.1", labels=predicted(samples), probes=40, verbose=False)
    report = spadework.score(samples, predicted, probed=found, verbose=False)
    assert report.document["output_change"] == found.document
    assert "standard deviations of the targets" in report.verdict and report.verdict in report._repr_html_()
    assert "change of output" in report._repr_html_()
    plain = spadework.score(samples, predicted, verbose=False)
    # The model was run, by the caller: nobody says that it was not.
    assert "No model was run" not in plain._repr_html_() and "probed=spadework.probe(" in plain.verdict


def test_a_file_tells_the_notes_of_the_application():
    path, arrays = FIXTURES / "softmax.onnx", np.load(FIXTURES / "softmax.npz")
    with pytest.warns(spadework.SpadeworkWarning, match="ends in a softmax") as told:
        spadework.onnx.predict(path, arrays["x"])
        found = spadework.probe(path, arrays["x"], "linf:0.1:pixel")
    assert [str(warning.message) for warning in told] == [str(found.notes[0])] * 2
    assert found.notes[0].code == "softmax-output"


def test_columns_have_radii_of_their_own():
    random = np.random.default_rng(3)
    table = np.column_stack([random.normal(0, 1, 200), random.normal(0, 1000, 200), random.integers(0, 2, 200)])
    seen = []

    def model(rows):
        seen.append(np.array(rows))
        return np.column_stack([rows.sum(1), -rows.sum(1)])

    found = spadework.probe(model, table, "linf:0.1sd:pixel", verbose=False)
    assert found.probe == "linf:0.1sd:pixel"
    moved = np.abs(np.concatenate(seen[-8:]) - np.tile(table.astype(np.float32), (8, 1))).max(axis=0)
    np.testing.assert_allclose(moved[:2], 0.1 * table[:, :2].std(axis=0), rtol=1e-3)
    assert moved[2] == 0, "whole numbers are left alone"
    seen.clear()
    by_radii = spadework.probe(model, table, "linf:2:pixel", radii=[0.25, 0, 0.5], verbose=False)
    moved = np.abs(np.concatenate(seen[-8:]) - np.tile(table.astype(np.float32), (8, 1))).max(axis=0)
    np.testing.assert_allclose(moved, [0.5, 0, 1], rtol=1e-3)
    assert by_radii.document["radii"] == [0.25, 0, 0.5]
    regressor = spadework.probe(lambda rows: rows[:, 0], table, "linf:2", radii=[0.25, 0, 0.5], probes=4, verbose=False)
    assert regressor.document["radii"] == [0.25, 0, 0.5] and "categories" not in regressor.document
    with pytest.raises(ValueError, match="one per column of the inputs, got 2"):
        spadework.probe(model, table, "linf:1", radii=[1, 2], verbose=False)
    with pytest.raises(ValueError, match="`radii` must be numbers"):
        spadework.probe(model, table, "linf:1", radii=["a", "b", "c"], verbose=False)


def test_categories_change_as_a_whole():
    pandas = pytest.importorskip("pandas")
    random = np.random.default_rng(4)
    frame = pandas.DataFrame(
        {
            "size": random.normal(size=200),
            "color": random.choice(["red", "green", "blue"], size=200),
            "count": random.integers(0, 9, size=200),
            "kind": random.choice(["a", "b"], size=200),
        }
    )
    encoded = spadework.encode_table(frame, standardize=False)
    assert encoded.categories == [0, 1, 1, 1, 0, 2, 2]
    seen = []

    def model(rows):
        seen.append(np.array(rows))
        return np.column_stack([0.1 + rows[:, 1], rows[:, 2] + rows[:, 5]])

    found = spadework.probe(model, encoded.rows, "linf:0.1sd", categories=encoded.categories, probes=64, verbose=False)
    rows = np.concatenate(seen)
    on = rows[:, [1, 2, 3, 5, 6]] > 0
    assert (on[:, :3].sum(axis=1) == 1).all() and (on[:, 3:].sum(axis=1) == 1).all(), "always one category of each"
    assert set(rows[:, 4]) == set(range(9)), "counts are left alone"
    # The model looks at categories alone: every sample is lost to one of another color or kind.
    assert found.survived == 0
    alone = spadework.probe(model, encoded.rows, "linf:0.1sd", probes=64, verbose=False)
    assert found.document["categories"] == encoded.categories and "categories" not in alone.document
    fixed = [0.1, *[0] * 6]
    held = spadework.probe(model, encoded.rows, "linf:1", categories=encoded.categories, radii=fixed, probes=64, verbose=False)
    assert held.survived == 1
    for wrong, message in (
        ([1, 1], "7 numbers, one per column of the inputs"),
        ([0, 1, 1, 1, 0, 2, 0.5], "got 0.5 for column 6"),
        ([0, 1, 1, 1, 0, -1, 2], "got -1.0 for column 5"),
        (["a"] * 7, "`categories` must be whole numbers"),
        ([0, 1, 1, 1, 0, 1, 1], "category 1 must be one-hot.*row 0, column"),
        ([1, 0, 0, 0, 0, 0, 0], "category 1 must be one-hot"),
    ):
        with pytest.raises(ValueError, match=message):
            spadework.probe(model, encoded.rows, "linf:0.1sd", categories=wrong, verbose=False)
    with pytest.raises(ValueError, match="categories are for linf"):
        spadework.probe(model, encoded.rows, "l2:0.1", categories=encoded.categories, verbose=False)
    with pytest.raises(ValueError, match="`categories` are for `probe`"):
        spadework.probe(model, encoded.rows, perturb=lambda batch, variant, rng: batch, categories=encoded.categories)
