"""Anything array-like as rows of numbers, without a copy where it is that already."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Union

import numpy as np
import numpy.typing as npt

from ._settings import check_text

if TYPE_CHECKING:
    Rows = Union[npt.NDArray[np.float32], npt.NDArray[np.float64]]
    #: uint16 are the bits of bfloat16, for which NumPy has no type of its own; numbers of uint16 become float32.
    Narrow = Union[
        npt.NDArray[np.uint8], npt.NDArray[np.int8], npt.NDArray[np.int16], npt.NDArray[np.float16], npt.NDArray[np.uint16]
    ]
    Samples = Union[Rows, Narrow]

#: DLPack's numbers of devices whose memory the CPU reads: kDLCPU, kDLCUDAHost, kDLROCMHost.
_CPU_DEVICES = (1, 3, 11)
_DEVICE_NAMES = {2: "CUDA", 4: "OpenCL", 7: "Vulkan", 8: "Metal", 10: "ROCm", 13: "CUDA managed", 14: "oneAPI"}
#: Types of one or two bytes that the native module takes as they are.
_NARROW = (np.uint8, np.int8, np.int16, np.float16)
#: Whole numbers from here on are not all doubles.
_WHOLE_LIMIT = 1 << 53


class LabelArray(NamedTuple):
    """The class of each sample as a number, and the names of the classes where they were words."""

    ids: npt.NDArray[np.int64]
    names: list[str] | None


class GraphEntries(NamedTuple):
    """Entries of the matrix of a graph, as the native module takes them."""

    nodes: int
    rows: npt.NDArray[np.uint64]
    columns: npt.NDArray[np.uint64]
    weights: npt.NDArray[np.float64]


def as_rows(values: Any, argument: str) -> Rows:
    """One row of numbers per sample.

    Bytes (uint8) are pixels and become x/255, as on the command line; other numbers keep their value. float32 stays
    float32, narrower types become float32, all others float64.
    """
    array = _numbers(_as_array(values, argument), argument)
    if array.ndim == 0:
        raise ValueError(f"{argument}: an array must have at least one dimension, got a scalar")
    if array.ndim != 2:
        array = array.reshape(array.shape[0], int(np.prod(array.shape[1:], dtype=np.intp)))
    return np.require(array, requirements=["C", "A"])


def as_samples(values: Any, argument: str) -> Samples:
    """The same, but uint8, int8, int16, float16 and bfloat16 stay what they are, for those who take them so: a copy would be two or
    four times as large. They stand for the same numbers. bfloat16 comes as its bits, of type uint16."""
    array = _bits_of_bfloat16(values, argument)
    if array is None:
        array = _as_array(values, argument)
        if array.dtype.type not in _NARROW:
            return as_rows(array, argument)
        array = array.astype(array.dtype.newbyteorder("="), copy=False)
    if array.size == 0 or array.ndim == 0:
        return as_rows(values, argument)
    return np.require(array.reshape(len(array), -1), requirements=["C", "A"])


def _bits_of_bfloat16(values: Any, argument: str) -> npt.NDArray[np.uint16] | None:
    """The bits of a tensor of PyTorch, or of an array of another package, that are of bfloat16; None of anything else."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(values, torch.Tensor):
        if values.dtype != torch.bfloat16 or values.layout is not torch.strided:
            return None
        _refuse_other_devices(values, argument)
        bits: npt.NDArray[np.uint16] = values.detach().view(torch.int16).numpy().view(np.uint16)
        return bits
    if getattr(getattr(values, "dtype", None), "name", None) != "bfloat16" or hasattr(values, "tocsr"):
        return None
    array = _as_array(values, argument)
    return array.view(np.uint16) if array.dtype.itemsize == 2 else None


def as_names(ids: Any) -> list[str] | None:
    """The names of the samples, one per sample."""
    if ids is None:
        return None
    if isinstance(ids, (str, bytes)):
        raise ValueError(f"`ids` must be one name per sample, got {ids!r}")
    return [str(name) for name in ids]


def sample_shape(values: Any) -> list[int]:
    """The shape of one sample, for those who do not take it flattened; one number per sample is a shape too."""
    shape = np.shape(values)
    return [int(extent) for extent in shape[1:]] or [1]


def _as_array(values: Any, argument: str) -> npt.NDArray[Any]:
    """The values as a NumPy array of any type and shape."""
    _refuse_other_devices(values, argument)
    if hasattr(values, "tocsr"):
        raise ValueError(
            f"{argument}: samples must be dense here, got a sparse matrix: use .toarray(), or pass a graph as "
            "input_graph= or output_graph="
        )
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        raise ValueError(f"{argument}: every value must be present, got a masked one")
    if hasattr(values, "columns") and hasattr(values, "to_numpy"):
        return _of_frame(values, argument)
    if hasattr(values, "detach"):
        values = of_tensor(values.detach())
    try:
        return np.asarray(values)
    except ValueError as error:
        raise ValueError(f"{argument}: rows must be numbers of equal shape: {error}") from error


def _dlpack_device(values: Any) -> tuple[int, int] | None:
    """DLPack's kind and number of the device that an array is on; None of what has no DLPack."""
    try:
        kind, number = values.__dlpack_device__()
    except Exception:  # no DLPack, or none for arrays of this kind: what comes next decides
        return None
    return int(kind), int(number)


def is_elsewhere(values: Any) -> bool:
    """Whether an array is on a device whose memory the CPU does not read."""
    device = _dlpack_device(values)
    return device is not None and device[0] not in _CPU_DEVICES


def _refuse_other_devices(values: Any, argument: str) -> None:
    """An array on a GPU is not brought over in silence: it may be large, and its owner should know."""
    device = _dlpack_device(values)
    if device is not None and device[0] not in _CPU_DEVICES:
        kind, number = device
        name = _DEVICE_NAMES.get(kind, f"DLPack kind {kind}")
        raise ValueError(
            f"{argument}: the array must be in the memory of the CPU, got one on {name} device {number}: copy it "
            "first, e.g. with .cpu() (PyTorch) or jax.device_get (JAX)"
        )


def of_tensor(tensor: Any) -> Any:
    """A PyTorch tensor that NumPy has a type for; its bfloat16 goes into float32 exactly."""
    if "bfloat16" in str(getattr(tensor, "dtype", "")):
        return tensor.float()
    return tensor


def _of_frame(frame: Any, argument: str) -> npt.NDArray[Any]:
    """The columns of a pandas or polars frame."""
    count = len(frame.columns)
    series = [frame.iloc[:, at] if hasattr(frame, "iloc") else frame.to_series(at) for at in range(count)]
    columns = []
    for name, values in zip(frame.columns, series):
        column = np.asarray(values)
        if column.dtype == object and str(values.dtype) != "object":
            column = _nullable(values)
        if column.dtype.kind not in "biuf":
            raise ValueError(f"{argument}: column `{name}` must hold numbers, got {values.dtype}")
        columns.append(column)
    types = {column.dtype for column in columns}
    if len(types) == 1:
        # A frame that is one block gives it away without a copy.
        whole: npt.NDArray[Any] = frame.to_numpy()
        return whole if whole.dtype in types else np.column_stack(columns)
    # A byte beside other numbers is no pixel.
    plain = [column.astype(np.int16) if column.dtype == np.uint8 else column for column in columns]
    converted = [_numbers(column, argument) for column in plain]
    return np.column_stack(converted) if converted else np.empty((len(frame), 0), np.float32)


def _nullable(values: Any) -> npt.NDArray[Any]:
    """A column with missing values: they become NaN, which the core refuses by row and column."""
    try:
        column: npt.NDArray[Any] = values.to_numpy(dtype=np.float64, na_value=np.nan)
        return column
    except (TypeError, ValueError):
        return np.asarray(values)


def _numbers(array: npt.NDArray[Any], argument: str) -> npt.NDArray[Any]:
    """The values in single or double precision."""
    kind, size = array.dtype.kind, array.dtype.itemsize
    if kind == "u" and size == 1:
        pixels: npt.NDArray[np.float32] = np.divide(array, np.float32(255), dtype=np.float32)
        return pixels
    if kind in "iu" and size == 8:
        _check_exact(array, argument)
    if kind == "f" or kind in "biu":
        single = size <= 2 or (kind == "f" and size == 4)
        return array.astype(np.float32 if single else np.float64, copy=False)
    # Types that other packages bring (bfloat16, float8) call themselves void; objects may be numbers.
    if kind == "O" or (kind == "V" and array.dtype.names is None):
        try:
            return array.astype(np.float64 if kind == "O" else np.float32)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{argument}: elements must be real numbers: {error}") from error
    if kind == "c":
        raise ValueError(f"{argument}: elements must be real numbers, got {array.dtype}: Complex data not supported")
    raise ValueError(f"{argument}: elements must be real numbers, got {array.dtype}")


def _check_exact(integers: npt.NDArray[Any], argument: str) -> None:
    """Refuses whole numbers that double precision does not hold, as files of them are refused."""
    if integers.size == 0 or (integers.max() < _WHOLE_LIMIT and integers.min() > -_WHOLE_LIMIT):
        return
    at = int(np.argmax((integers >= _WHOLE_LIMIT) | (integers <= -_WHOLE_LIMIT)))
    raise ValueError(
        f"{argument}: whole numbers must be below 2^53 in size, since scores are computed in double precision, got "
        f"{integers.reshape(-1)[at]} (value {at}, counted from 0); identifiers do not belong among the numbers of a sample"
    )


def as_labels(values: Any, samples: int) -> LabelArray | None:
    """One integer or word per sample; words are numbered in alphabetical order."""
    if values is None or isinstance(values, LabelArray):
        return values
    array = _as_array(values, "labels") if not hasattr(values, "columns") else np.asarray(values)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise ValueError(f"labels must be one per sample (shape [n] or [n, 1]), got shape {list(array.shape)}")
    if len(array) != samples:
        raise ValueError(f"labels must have one entry per sample ({samples}), got {len(array)}")
    if array.dtype.kind in "biu":
        too_large = array > np.iinfo(np.int64).max
        if np.any(too_large):
            row = int(np.argmax(too_large))
            raise ValueError(f"labels must be words or integers below 2^63, got {array[row]} at row {row}")
        return LabelArray(np.ascontiguousarray(array, dtype=np.int64), None)
    words = [str(word) for word in array.tolist()] if array.dtype.kind in "OUT" and _all_words(array) else None
    if words is None:
        raise ValueError(f"labels must be integers or words, got elements of type {array.dtype}")
    for row, word in enumerate(words):
        check_text(word, f"labels: row {row}")
    names, ids = np.unique(np.asarray(words, dtype=np.str_), return_inverse=True)
    return LabelArray(ids.reshape(-1).astype(np.int64), [str(name) for name in names])


def as_targets(values: Any, samples: int) -> npt.NDArray[np.float64] | None:
    """One finite number per sample; None of words, which are classes."""
    array = np.asarray(values)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.dtype.kind not in "biuf" or array.ndim != 1 or len(array) != samples:
        # What is wrong with labels is said where they are taken for classes.
        return None
    if not np.all(np.isfinite(array)):
        row = int(np.argmin(np.isfinite(array)))
        raise ValueError(f"labels must be finite numbers, got {array[row]} at row {row}")
    return array.astype(np.float64)


def _all_words(array: npt.NDArray[Any]) -> bool:
    return all(isinstance(word, str) for word in array.tolist())


class SparseEntries(NamedTuple):
    """Sparse rows by their entries."""

    rows: int
    columns: int
    row: npt.NDArray[np.uint32]
    column: npt.NDArray[np.uint32]
    value: npt.NDArray[np.float64]


def is_sparse(values: Any) -> bool:
    """Whether samples are a SciPy sparse matrix."""
    return hasattr(values, "tocoo") and hasattr(values, "tocsr")


def as_sparse_rows(samples: Any, argument: str) -> SparseEntries:
    """The entries of sparse rows."""
    if len(samples.shape) != 2:
        raise ValueError(f"{argument}: a sparse matrix must have rows and columns, got shape {list(samples.shape)}")
    coordinates = samples.tocoo()
    if coordinates.dtype.kind not in "biuf":
        raise ValueError(f"{argument}: elements must be real numbers, got {coordinates.dtype}")
    rows, columns = (int(extent) for extent in coordinates.shape)
    if max(rows, columns) >= 2**32:
        raise ValueError(f"{argument}: a sparse matrix must have fewer than 2^32 rows and columns, got {rows} × {columns}")
    return SparseEntries(
        rows,
        columns,
        np.ascontiguousarray(coordinates.row, dtype=np.uint32),
        np.ascontiguousarray(coordinates.col, dtype=np.uint32),
        np.ascontiguousarray(coordinates.data, dtype=np.float64),
    )


def as_entries(matrix: Any, argument: str) -> GraphEntries:
    """The entries of a SciPy sparse matrix."""
    if not hasattr(matrix, "tocoo"):
        raise ValueError(
            f"{argument} must be a SciPy sparse matrix (e.g. scipy.sparse.csr_array), got {type(matrix).__name__}"
        )
    coordinates = matrix.tocoo()
    rows, columns = coordinates.shape
    if rows != columns:
        raise ValueError(f"{argument}: the matrix of a graph must be square, got {rows} × {columns}")
    if coordinates.dtype.kind not in "biuf":
        raise ValueError(f"{argument}: elements must be real numbers, got {coordinates.dtype}")
    return GraphEntries(
        rows,
        np.ascontiguousarray(coordinates.row, dtype=np.uint64),
        np.ascontiguousarray(coordinates.col, dtype=np.uint64),
        np.ascontiguousarray(coordinates.data, dtype=np.float64),
    )


def as_models(outputs: Any) -> list[tuple[str, Samples]]:
    """The outputs of models by name."""
    pairs: Sequence[tuple[Any, Any]]
    if hasattr(outputs, "items") and not hasattr(outputs, "columns"):
        pairs = list(outputs.items())
    else:
        raise ValueError(
            f"outputs must be a dictionary of arrays by the models' names, got {type(outputs).__name__}"
        )
    for name, _ in pairs:
        check_text(str(name), "outputs: the name of a model")
    return [(str(name), as_samples(values, f"outputs of model `{name}`")) for name, values in pairs]
