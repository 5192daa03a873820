"""Bad input: one clear message, the exception that belongs to it, and its numbers."""

from __future__ import annotations

import pickle
import re

import numpy as np
import pandas
import pytest
import scipy.sparse
import spadework
from conftest import ROOT

GOOD = np.random.default_rng(0).normal(size=(50, 3))
APART = np.concatenate([GOOD[:25], GOOD[25:] + 1e3])


def with_value(value, row=7, column=2):
    bad = GOOD.copy()
    bad[row, column] = value
    return bad


@pytest.mark.parametrize(
    ("inputs", "outputs", "message"),
    [
        (with_value(np.nan), GOOD, "inputs: every value must be finite, got NaN at row 7, column 2"),
        (GOOD, with_value(np.inf), "outputs: every value must be finite, got inf at row 7, column 2"),
        (with_value(1e200), GOOD, "inputs: values must be small enough"),
        (GOOD[:40], GOOD, "inputs and outputs must have the same number of rows, got 40 inputs and 50 outputs"),
        (GOOD[:0], GOOD, "inputs: an array must have at least one row and one column, got 0 × 3"),
        (np.empty((50, 0)), GOOD, "inputs: an array must have at least one row and one column, got 50 × 0"),
        (GOOD[:1], GOOD[:1], "inputs: at least 2 samples are needed, got 1"),
        (3.0, GOOD, "inputs: an array must have at least one dimension, got a scalar"),
        ([[1, 2], [3]], GOOD, "inputs: rows must be numbers of equal shape"),
        (["a", "b"], GOOD, "inputs: elements must be real numbers"),
        (np.array([object()] * 3), GOOD, "inputs: elements must be real numbers"),
        (GOOD.astype(complex), GOOD, "inputs: elements must be real numbers, got complex128"),
        (np.zeros(50, "M8[s]"), GOOD, "inputs: elements must be real numbers"),
        (np.ma.masked_greater(GOOD, 0), GOOD, "inputs: every value must be present"),
        (GOOD, scipy.sparse.csr_array(GOOD), "outputs: samples must be dense here, got a sparse matrix"),
        (None, GOOD, "exactly one of `inputs` and `input_graph` must be given"),
    ],
)
def test_bad_arrays(inputs, outputs, message):
    with pytest.raises(ValueError) as caught:
        spadework.score(inputs, outputs)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"neighbors": 0}, "`neighbors` must be at least 1, got 0"),
        ({"neighbors": -3}, "`neighbors` must be at least 1, got -3"),
        ({"neighbors": 50}, "`neighbors` must be smaller than the number of samples (50), got 50"),
        ({"neighbors": 2.5}, "`neighbors` must be a whole number, got 2.5"),
        ({"neighbors": True}, "`neighbors` must be a whole number, got True"),
        ({"eigenpairs": 0}, "`eigenpairs` must be at least 1, got 0"),
        ({"eigenpairs": 50}, "`eigenpairs` must be smaller than the number of samples (50), got 50"),
        ({"eigenpairs": "some"}, '`eigenpairs` must be a whole number or "all", got \'some\''),
        ({"eigenpairs": "all", "sketch_error": 5}, "the relative error of a sketch must lie between"),
        ({"tolerance": 1.0}, "`tolerance` must lie between"),
        ({"tolerance": "x"}, "`tolerance` must be a number, got 'x'"),
        ({"seed": -1}, "`seed` must be at least 0, got -1"),
        ({"seed": 2**64}, "`seed` must be at most 18446744073709551615"),
        ({"threads": 0}, "`threads` must be at least 1, got 0"),
        ({"threads": 10**6}, "`threads` must be at most 1024"),
        ({"connectivity": "glue"}, '`connectivity` must be grow, bridge or error, got "glue"'),
        ({"search": "hnsw"}, '`search` must be auto, exact or approximate, got "hnsw"'),
        ({"solver": "magic"}, '`solver` must be davidson or power, got "magic"'),
        ({"graph": "pca"}, "`graph` must be pca: with a number of dimensions"),
        ({"graph": 3}, "`graph` must be a word, got 3"),
        ({"graph": "pca:100"}, "`pca` must keep at most 3 dimensions"),
        ({"weights": "heat"}, '`weights` must be unit or gaussian, got "heat"'),
        ({"labels": [1, 2, 3]}, "labels must have one entry per sample (50), got 3"),
        ({"labels": np.zeros(50)}, "labels must be integers or words, got elements of type float64"),
        ({"labels": np.zeros((50, 2), int)}, "labels must be one per sample (shape [n] or [n, 1]), got shape [50, 2]"),
        ({"labels": np.full(50, 2**63, np.uint64)}, "labels must be words or integers below 2^63"),
        ({"interval": True, "neighbors": 30}, "an interval draws half of the samples"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(ValueError) as caught:
        spadework.score(GOOD, GOOD @ np.ones((3, 2)), **options)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        (GOOD, "input_graph must be a SciPy sparse matrix (e.g. scipy.sparse.csr_array), got ndarray"),
        (scipy.sparse.csr_array(GOOD), "input_graph: the matrix of a graph must be square, got 50 × 3"),
        (scipy.sparse.csr_array((50, 50)), "input_graph: a graph must have at least one edge, got none"),
        (scipy.sparse.csr_array(-np.ones((50, 50))), "input_graph: row 0, column 0: a weight must be positive and finite"),
        (scipy.sparse.csr_array(np.ones((40, 40))), "must have the same number of rows, got 40 inputs and 50 outputs"),
    ],
)
def test_bad_graphs(graph, message):
    with pytest.raises(ValueError) as caught:
        spadework.score(input_graph=graph, outputs=GOOD, verbose=False)
    assert message in str(caught.value)


def test_senseless_combinations():
    graph = spadework.knn_graph(GOOD)
    with pytest.raises(ValueError, match="projects the inputs"):
        spadework.score(input_graph=graph, outputs=GOOD, graph="pca:2")
    with pytest.raises(ValueError, match="needs the samples of both sides"):
        spadework.score(input_graph=graph, outputs=GOOD, interval=True)
    with pytest.raises(ValueError, match="exactly one of `inputs` and `input_graph`"):
        spadework.score(GOOD, GOOD, input_graph=graph)
    with pytest.raises(ValueError, match="at most 1 here"):
        spadework.knn_graph(GOOD, graph="cknn:1.5")
    with pytest.raises(ValueError, match="`top` must be at most the number of samples"):
        spadework.select(GOOD, GOOD, top=51)


def test_a_disconnected_graph_tells_its_numbers():
    with pytest.raises(spadework.DisconnectedGraphError) as caught:
        spadework.score(GOOD, APART, connectivity="error", neighbors=8)
    error = caught.value
    assert (error.side, error.components, error.largest, error.samples, error.neighbors) == ("output", 2, 25, 50, 8)
    assert isinstance(error, spadework.SpadeworkError) and not isinstance(error, ValueError)
    assert 'try connectivity="grow" or "bridge"' in str(error)
    again = pickle.loads(pickle.dumps(error))
    assert str(again) == str(error) and again.components == 2


def test_a_given_graph_that_falls_apart():
    graph = spadework.knn_graph(APART, neighbors=8)
    with pytest.raises(spadework.DisconnectedGraphError) as caught:
        spadework.score(GOOD, output_graph=graph)
    assert caught.value.components == 2 and caught.value.neighbors is None


def test_not_converging_tells_the_residuals():
    # A cut that is one weak edge: the power iteration needs far more steps than it has.
    line = np.linspace(0, 1, 3000)[:, None]
    shuffled = np.random.default_rng(3).permutation(line)
    with pytest.raises(spadework.ConvergenceError) as caught:
        spadework.score(line, np.hstack([line, 1e-3 * shuffled]), neighbors=2, solver="power", tolerance=1e-11)
    error = caught.value
    assert error.iterations > 0 and len(error.residuals) >= 1 and error.tolerance == 1e-11
    assert max(error.residuals) > 1e-11 and "power iteration" in error.what


def test_a_side_without_shape_has_no_answer():
    with pytest.raises(spadework.SpadeworkError, match="the outputs must differ between samples"):
        spadework.score(GOOD, np.ones((50, 2)))


def test_errors_name_the_model():
    models = {"good": GOOD, "bad": with_value(np.nan)}
    with pytest.raises(ValueError, match="outputs of model `bad`: every value must be finite"):
        spadework.compare(GOOD, models)
    with pytest.raises(spadework.DisconnectedGraphError, match="model `apart`") as caught:
        spadework.compare(GOOD, {"good": GOOD, "apart": APART}, connectivity="error", neighbors=8)
    assert caught.value.model == "apart"
    with pytest.raises(ValueError, match="at least 2 models are needed, got 1"):
        spadework.compare(GOOD, {"good": GOOD})
    with pytest.raises(ValueError, match="outputs must be a dictionary"):
        spadework.compare(GOOD, GOOD)


@pytest.mark.parametrize("neighbors", [[], [5, 5], [8, 5], [0], [2.5], [60]])
def test_bad_sweeps(neighbors):
    with pytest.raises(ValueError, match="neighbors"):
        spadework.sweep(GOOD, GOOD, neighbors=neighbors)


@pytest.mark.parametrize(
    "options", [{"top": 5}, {"top": -1}, {"top": 1.5}, {"large": -0.1}, {"large": np.nan}, {"small": "x"}]
)
def test_bad_budgets(options):
    with pytest.raises(ValueError):
        spadework.perturbation_budget([1.0, 2.0], **{"top": 1, "large": 0.4, "small": 0.2, **options})


def test_weights_and_data_far_from_one_are_right_or_refused():
    ring = scipy.sparse.diags_array([np.ones(39), np.ones(39)], offsets=[-1, 1]).tolil()
    line = ring.copy()
    ring[0, 39] = ring[39, 0] = 1
    large = spadework.score(input_graph=1e200 * ring.tocsr(), output_graph=line.tocsr(), eigenpairs=1, verbose=False)
    assert large.model_score == pytest.approx(4e201, rel=1e-9)
    with pytest.raises(spadework.SpadeworkError, match="within the range of double precision"):
        spadework.score(input_graph=1e200 * ring.tocsr(), output_graph=1e-200 * line.tocsr(), verbose=False)
    outputs = np.sin(3 * GOOD)
    usual = spadework.score(GOOD, outputs, neighbors=5, verbose=False)
    tiny = spadework.score(GOOD * 2.0**-664, outputs * 2.0**-664, neighbors=5, verbose=False)
    assert tiny.model_score == usual.model_score


@pytest.mark.parametrize("in_worker", [False, True], ids=["calling thread", "worker"])
def test_panics_are_exceptions_that_can_be_caught(in_worker):
    with pytest.raises(RuntimeError, match="internal error in spadework: on purpose; please report it"):
        spadework._native.panic_on_purpose(in_worker)


def test_every_native_function_catches_panics():
    """A panic that reaches pyo3 becomes an exception that `except Exception` does not catch."""
    sources = {path.name: path.read_text(encoding="utf-8") for path in (ROOT / "crates/spadework-py/src").rglob("*.rs")}
    # What follows the attribute of a function, up to the brace of its body, and the first word in that.
    functions = re.compile(r"#\[pyfunction[^\n]*\](?:\s*#\[[^\n]*\])*\s*pub\(crate\) fn (\w+)[^{]*\{\s*(\w+)")
    found = {match[1]: match[2] for source in sources.values() for match in functions.finditer(source)}
    assert len(found) == sum(source.count("#[pyfunction") for source in sources.values()) >= 17
    assert {name for name in dir(spadework._native) if callable(getattr(spadework._native, name))} == {*found, "ProbeFolder"}
    assert set(found.values()) == {"without_panics"}, found
    methods = re.search(r"#\[pymethods\].*?^}", sources["probe_folder.rs"], re.DOTALL | re.MULTILINE)[0]
    bodies = re.findall(r"    fn (\w+)[^{]*\{\s*(\w+)", methods)
    assert {name for name, _ in bodies} == {"new", "recognize", "stored", "is_due", "keep"}
    assert {first for _, first in bodies} == {"guarded"}, bodies


def test_no_neighbors_are_refused():
    with pytest.raises(ValueError):
        spadework._native.nearest_between(GOOD, GOOD, 0, 0, "euclidean", None)


def test_lone_surrogates_are_named():
    labels = ["cat"] * 49 + ["\ud800"]
    with pytest.raises(ValueError, match=r"labels: row 49: text must be valid Unicode, got '\\ud800'"):
        spadework.score(GOOD, GOOD, labels=labels, neighbors=5, verbose=False)
    with pytest.raises(ValueError, match="the name of a model: text must be valid Unicode"):
        spadework.compare(GOOD, {"a": GOOD, "\udfff": GOOD}, neighbors=5, verbose=False)
    with pytest.raises(ValueError, match="`model`: text must be valid Unicode"):
        spadework.probe("a\ud800b.onnx", GOOD, "linf:0.1", verbose=False)
    with pytest.raises(ValueError, match="`probe`: text must be valid Unicode"):
        spadework.probe(lambda x: x, GOOD, "linf:\ud800", verbose=False)


def strict_norm(x):
    """A sample by itself has no deviation."""
    with np.errstate(invalid="ignore"):
        return (x - x.mean(axis=0)) / x.std(axis=0)


@pytest.mark.parametrize(
    "mixing",
    [
        lambda x: np.cumsum(x, axis=0),
        lambda x: x - x.mean(axis=0),
        lambda x: x / (x.std(axis=0) + 1e-3),
        strict_norm,
        lambda x: x[::-1].copy(),
        lambda x: x + np.random.default_rng().normal(size=x.shape),
    ],
    ids=["running sum", "mean", "batch norm in training", "without epsilon", "reversed", "random"],
)
def test_functions_that_mix_a_batch_are_refused(mixing):
    said = "depend on that sample alone, but sample 1 .* has another output when it is run by itself"
    with pytest.raises(ValueError, match=f"outputs: .*{said}"):
        spadework.score(GOOD, mixing, verbose=False)
    with pytest.raises(ValueError, match=said):
        spadework.compare(GOOD, {"a": lambda x: 2 * x, "b": mixing}, verbose=False)
    with pytest.raises(ValueError, match=said):
        spadework.probe(mixing, GOOD, "linf:0.1:pixel", verbose=False)
    with pytest.raises(ValueError, match=said):
        spadework.probe(mixing, GOOD, perturb=shifted, verbose=False)
    with pytest.raises(ValueError, match=said):
        spadework.probe(lambda x: mixing(x)[:, 0], GOOD, perturb=shifted, tolerance=0.1, verbose=False)
    with pytest.raises(ValueError, match=said):
        spadework.score_table(mixing, GOOD, verbose=False)
    # In a table of pandas, too.
    with pytest.raises(ValueError, match=said):
        spadework.score_table(lambda table: mixing(table.to_numpy()), pandas.DataFrame(GOOD), verbose=False)


def shifted(batch, variant, rng):
    return batch + 0.01 * rng.normal(size=batch.shape)


@pytest.mark.parametrize("words", [False, True])
def test_functions_that_mix_a_batch_are_refused_where_they_only_return_classes(words):
    names = np.array(["first", "second"]) if words else np.arange(2)

    def above_the_mean(x):
        # By itself, no sample is above the mean.
        return names[(x[:, 0] - x[:, 0].mean() > 0).astype(int)]

    inputs = np.vstack([GOOD, GOOD])
    inputs[1, 0] = 9
    with pytest.raises(ValueError, match="depend on that sample alone, but sample 1 "):
        spadework.probe(above_the_mean, inputs, perturb=shifted, verbose=False)

    def above_a_half(x):
        return names[(x[:, 0] > 0.5).astype(int)]

    assert spadework.probe(above_a_half, inputs, perturb=shifted, probes=3, verbose=False).variants == 3


@pytest.mark.parametrize("few", [[1], [1, 25], [49]])
def test_an_output_close_to_zero_is_rounded_like_the_others(few):
    """What is added to the sum of a batch in single precision depends on its size."""
    outputs = 1 + GOOD[:, :1]
    outputs[few] = 1e-6

    def rounded(x):
        return np.array([outputs[np.argmin(np.abs(GOOD - row).sum(1))] for row in x]) + 1e-8 * len(x)

    assert spadework.score(GOOD, rounded, verbose=False).model_score > 0


def test_functions_that_drop_the_axis_of_one_sample_are_run_on_a_batch_of_it():
    def squeezed(x):
        return np.squeeze(x @ np.arange(9.0).reshape(3, 3))

    assert squeezed(GOOD[:1]).shape == (3,)
    assert spadework.score(GOOD, squeezed, verbose=False).model_score > 0
    with pytest.raises(ValueError, match="depend on that sample alone"):
        spadework.score(GOOD, lambda x: squeezed(x - x.mean(axis=0)), verbose=False)


def test_half_precision_is_rounded_more():
    """What a batch of another size may change, by 1 % of the largest output."""

    def half(x):
        return ((x @ np.arange(6.0).reshape(3, 2)) * (1 + 0.01 * (len(x) == 1))).astype(np.float16)

    assert spadework.probe(half, GOOD, "linf:0.1:pixel", verbose=False).inputs == len(GOOD)
    with pytest.raises(ValueError, match="depend on that sample alone"):
        spadework.probe(lambda x: half(x).astype(np.float32), GOOD, "linf:0.1:pixel", verbose=False)


def test_functions_that_take_only_their_own_batch_size_are_not_refused_for_it():
    def of_fifty(x):
        if len(x) != 50:
            raise RuntimeError("expected 50 rows")
        return x @ np.arange(6.0).reshape(3, 2)

    assert spadework.score(GOOD, of_fifty, verbose=False).model_score > 0

    def mixing(x):
        return of_fifty(x) - x.mean()

    with pytest.raises(ValueError, match="depend on that sample alone"):
        spadework.score(GOOD, mixing, verbose=False)
