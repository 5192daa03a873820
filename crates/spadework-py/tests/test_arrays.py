"""Anything array-like goes in, is not modified, and gives the same scores."""

from __future__ import annotations

import numpy as np
import pandas
import pytest
import spadework
from spadework._arrays import as_labels, as_rows, as_samples

INPUTS = np.arange(24, dtype=np.float32).reshape(4, 2, 3)


def test_single_precision_in_c_order_is_used_as_it_is():
    rows = as_rows(INPUTS, "inputs")
    assert rows.shape == (4, 6) and np.shares_memory(rows, INPUTS)
    double = INPUTS.astype(np.float64)
    assert np.shares_memory(as_rows(double, "inputs"), double)


@pytest.mark.parametrize(
    ("dtype", "expected"),
    [
        ("?", np.float32),
        ("i1", np.float32),
        ("i2", np.float32),
        ("u2", np.float32),
        ("f2", np.float32),
        (">f4", np.float32),
        ("f4", np.float32),
        ("i4", np.float64),
        ("u4", np.float64),
        ("i8", np.float64),
        ("u8", np.float64),
        ("f8", np.float64),
        (">f8", np.float64),
        ("g", np.float64),
    ],
)
@pytest.mark.parametrize("order", ["C", "F"])
def test_every_type_and_order_keeps_its_values(dtype, expected, order):
    array = np.asarray(INPUTS % 2 if dtype == "?" else INPUTS, dtype=dtype, order=order)
    rows = as_rows(array, "inputs")
    assert rows.dtype == expected and rows.dtype.isnative and rows.flags.c_contiguous
    assert np.array_equal(rows, array.reshape(4, 6).astype(np.float64))


def test_bytes_are_pixels():
    pixels = np.arange(256, dtype=np.uint8).reshape(64, 4)
    rows = as_rows(pixels, "inputs")
    assert rows.dtype == np.float32
    assert np.array_equal(rows, pixels.astype(np.float32) / np.float32(255))


@pytest.mark.filterwarnings("ignore")  # notes on random outputs
def test_bytes_stay_bytes_where_they_are_searched():
    rng = np.random.default_rng(7)
    pixels, outputs = rng.integers(0, 256, (60, 5, 5), dtype=np.uint8), rng.normal(size=(60, 3))
    rows = as_samples(pixels, "inputs")
    assert rows.dtype == np.uint8 and rows.shape == (60, 25) and np.shares_memory(rows, pixels)
    copy = as_rows(pixels, "inputs")
    assert (spadework.knn_graph(pixels, neighbors=4) != spadework.knn_graph(copy, neighbors=4)).nnz == 0
    scored, expected = (spadework.score(inputs, outputs, neighbors=4) for inputs in (pixels, copy))
    assert scored.model_score == expected.model_score and np.array_equal(scored.node_scores, expected.node_scores)
    assert as_samples(pixels[:, ::2], "inputs").flags.c_contiguous
    assert as_samples(INPUTS, "inputs").dtype == as_rows(INPUTS, "inputs").dtype
    with pytest.raises(ValueError, match="at least one dimension"):
        as_samples(np.uint8(3), "inputs")


def test_views_slices_and_read_only_arrays():
    every_other = np.arange(40.0).reshape(10, 4)[::2, ::-1]
    assert np.array_equal(as_rows(every_other, "inputs"), every_other)
    frozen = INPUTS.copy()
    frozen.flags.writeable = False
    assert np.shares_memory(as_rows(frozen, "inputs"), frozen)
    unaligned = np.zeros(97, np.uint8)[1:].view(np.float32).reshape(6, 4)
    assert as_rows(unaligned, "inputs").flags.aligned
    assert as_rows([1, 2, 3], "inputs").shape == (3, 1)
    assert as_rows([[1, 2.5], [3, 4]], "inputs").dtype == np.float64


def test_frames():
    frame = pandas.DataFrame({"a": [1.0, 2.0, 3.0], "b": [4, 5, 6], "c": [True, False, True]})
    assert np.array_equal(as_rows(frame, "inputs"), [[1, 4, 1], [2, 5, 0], [3, 6, 1]])
    # A frame of bytes is an image; a byte beside other numbers is not.
    assert as_rows(pandas.DataFrame({"a": np.uint8([0, 255])}), "inputs")[1, 0] == 1
    mixed = pandas.DataFrame({"a": np.uint8([0, 255]), "b": np.float32([0, 1])})
    assert as_rows(mixed, "inputs")[1, 0] == 255
    nullable = pandas.DataFrame({"a": pandas.array([1, 2, None], dtype="Int64")})
    assert np.isnan(as_rows(nullable, "inputs")[2, 0])
    with pytest.raises(ValueError, match="inputs: column `word` must hold numbers"):
        as_rows(pandas.DataFrame({"a": [1.0], "word": ["x"]}), "inputs")
    series = pandas.Series([1.5, 2.5], index=[7, 9])
    assert np.array_equal(as_rows(series, "inputs"), [[1.5], [2.5]])


def test_polars_frames():
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"a": [1.0, 2.0], "b": [4, 5]})
    assert np.array_equal(as_rows(frame, "inputs"), [[1, 4], [2, 5]])


def test_jax_arrays(digits):
    jax = pytest.importorskip("jax")
    inputs = jax.numpy.asarray(digits["inputs"])
    report = spadework.score(inputs, jax.numpy.asarray(digits["standard"]))
    assert report.model_score == spadework.score(digits["inputs"], digits["standard"]).model_score
    half = jax.numpy.asarray([[1.5], [2.5]], dtype=jax.numpy.bfloat16)
    assert np.array_equal(as_rows(half, "inputs"), np.float32([[1.5], [2.5]]))


class OnAGpu:
    """What PyTorch, CuPy and JAX arrays on a GPU have in common."""

    def __dlpack_device__(self):
        return (2, 1)

    def __array__(self, dtype=None, copy=None):
        raise AssertionError("an array on a GPU must not be copied in silence")


def test_an_array_on_a_gpu_is_refused_with_advice():
    with pytest.raises(ValueError, match=r"outputs: .* CUDA device 1: copy it first, e.g. with .cpu\(\)"):
        spadework.score(INPUTS, OnAGpu())


def test_objects_with_an_array_inside():
    class Wrapped:
        def __array__(self, dtype=None, copy=None):
            return INPUTS

    assert np.array_equal(as_rows(Wrapped(), "inputs"), INPUTS.reshape(4, 6))


def test_nothing_is_modified(digits):
    inputs, outputs, labels = (digits[name].copy() for name in ("inputs", "standard", "labels"))
    spadework.score(inputs, outputs, labels=labels, eigenpairs="all")
    assert np.array_equal(inputs, digits["inputs"])
    assert np.array_equal(outputs, digits["standard"])
    assert np.array_equal(labels, digits["labels"])


def test_precision_of_the_array_is_kept(digits):
    # Sixteenths are exact in every type, so the graphs are the same.
    scores = {
        spadework.score(digits["inputs"].astype(dtype), digits["standard"]).model_score
        for dtype in (np.float16, np.float32, np.float64, np.longdouble)
    }
    assert len(scores) == 1


def test_labels():
    assert as_labels([2, 0, 1], 3).ids.tolist() == [2, 0, 1]
    assert as_labels(np.uint8([[2], [0]]), 2).ids.tolist() == [2, 0]
    words = as_labels(pandas.Series(["dog", "cat", "dog"]), 3)
    assert words.ids.tolist() == [1, 0, 1] and words.names == ["cat", "dog"]
    assert as_labels(pandas.Series(["b", "a"], dtype="category"), 2).names == ["a", "b"]
    assert as_labels([True, False], 2).ids.tolist() == [1, 0]


@pytest.mark.parametrize("dtype", [np.int64, np.uint64])
def test_whole_numbers_that_doubles_do_not_hold_are_refused(dtype):
    whole = np.arange(6, dtype=dtype).reshape(3, 2)
    whole[0, 0] = 2**53 - 1
    assert as_rows(whole, "inputs")[0, 0] == 2**53 - 1
    whole[2, 0] = 2**53 + 1
    message = r"inputs: whole numbers must be below 2\^53 in size, .*got 9007199254740993 \(value 4"
    with pytest.raises(ValueError, match=message):
        as_rows(whole, "inputs")
    with pytest.raises(ValueError, match=r"got 9007199254740993 \(value 2"):
        as_rows(pandas.DataFrame({"a": [0.5, 1.5, 2.5], "b": whole[:, 0]}), "inputs")
    if dtype is np.int64:
        with pytest.raises(ValueError, match="got -9007199254740992"):
            as_rows(np.array([[0, 1], [-(2**53), 3]]), "inputs")


def narrow_arrays():
    """Rows of every narrow type, and the numbers that they stand for."""
    rng = np.random.default_rng(11)
    numbers = rng.normal(size=(90, 4, 5))
    arrays = {
        "int8": rng.integers(-128, 128, (90, 4, 5)).astype(np.int8),
        "int16": rng.integers(-(1 << 15), 1 << 15, (90, 4, 5)).astype(np.int16),
        "float16": numbers.astype(np.float16),
        "big-endian int16": rng.integers(-(1 << 15), 1 << 15, (90, 4, 5)).astype(">i2"),
    }
    cases = {name: (array, array.astype(np.float32)) for name, array in arrays.items()}
    try:
        import ml_dtypes
    except ImportError:
        return cases
    brain = numbers.astype(ml_dtypes.bfloat16)
    return {**cases, "bfloat16": (brain, brain.astype(np.float32))}


@pytest.mark.filterwarnings("ignore")  # notes on random outputs
@pytest.mark.parametrize("name", narrow_arrays())
def test_narrow_numbers_are_searched_without_a_copy_in_single_precision(name):
    array, copy = narrow_arrays()[name]
    rows = as_samples(array, "inputs")
    assert rows.dtype.itemsize == array.dtype.itemsize and rows.shape == (90, 20)
    assert np.shares_memory(rows, array) == array.dtype.isnative
    assert as_rows(array, "inputs").dtype == np.float32
    for metric in ["euclidean", "cosine", "manhattan", "chebyshev"]:
        found, expected = (spadework.knn_graph(one, neighbors=4, metric=metric) for one in (array, copy))
        assert (found != expected).nnz == 0
    outputs = np.random.default_rng(7).normal(size=(90, 3))
    # As inputs, and as outputs of one model and of several.
    scored = spadework.score(array, outputs, neighbors=4), spadework.score(outputs, array, neighbors=4)
    expected = spadework.score(copy, outputs, neighbors=4), spadework.score(outputs, copy, neighbors=4)
    for one, other in zip(scored, expected):
        assert one.model_score == other.model_score and np.array_equal(one.node_scores, other.node_scores)
        assert np.array_equal(one.edges, other.edges)
    both = spadework.compare(outputs, {"a": array, "b": outputs}, neighbors=4)
    single = spadework.compare(outputs, {"a": copy, "b": outputs}, neighbors=4)
    assert both["a"].model_score == single["a"].model_score
    one, other = (spadework.sweep(outputs, some, neighbors=[3, 5]) for some in (array, copy))
    assert np.array_equal(one.model_scores, other.model_scores)


def test_narrow_numbers_that_are_not_finite_are_named():
    array = np.ones((9, 3), np.float16)
    array[4, 1] = np.inf
    with pytest.raises(ValueError, match="row 4"):
        spadework.knn_graph(array, neighbors=2)
    # Not taken for the bits of anything.
    wide = np.arange(27, dtype=np.uint16).reshape(9, 3)
    assert as_samples(wide, "inputs").dtype == np.float32
    assert as_samples(np.zeros((0, 3), np.float16), "inputs").shape == (0, 3)
