"""Exact neighbor graphs on a Dask cluster, with one task per pair of blocks of samples.

Needs Dask: ``pip install 'spadework[dask]'``. The workers need the package too.

>>> import dask.array as da, spadework.dask                                          # doctest: +SKIP
>>> graph = spadework.dask.knn_graph(da.from_zarr("x.zarr"), neighbors=10)            # doctest: +SKIP
>>> scipy.sparse.save_npz("input_graph.npz", graph)                                   # doctest: +SKIP

``spadework graph --input-graph input_graph.npz …`` takes it from there.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from os import PathLike, fspath
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from . import _native
from ._arrays import as_rows, as_samples
from ._optional import needed
from ._report import matrix
from ._settings import Metric, standardize_word

needed("dask.array", "spadework.dask", "dask")

__all__ = ["knn_graph"]

#: Bytes of the columns that one task of a robust standardization holds.
_COLUMN_BYTES = 1 << 27


class Block(NamedTuple):
    """Consecutive samples: a task that gives them, and which they are."""

    task: Any
    first: int
    samples: int


class Nearest(NamedTuple):
    """The nearest of every sample of a block so far, nearest first, ties to the lower index."""

    squared_distances: npt.NDArray[np.float64]
    #: Index among all samples; -1 where fewer samples than neighbors were seen, at an infinite distance.
    indices: npt.NDArray[np.int64]


def knn_graph(
    samples: Any,
    *,
    neighbors: int = 10,
    metric: Metric = "euclidean",
    standardize: bool | Literal["robust"] = False,
    threads_per_task: int = 1,
) -> Any:
    """The neighbor graph of samples that need not fit on one machine. It equals that of `spadework.knn_graph` with
    ``search="exact"`` and the same ``metric`` and ``standardize``, bit by bit.

    With B blocks there are B² tasks, each with two blocks and one list of neighbors in memory, and as many merges of two lists.
    If a worker is lost, the tasks whose results were on it are repeated. A worker with T threads runs T tasks at once. The calling
    process collects the lists of all samples (16 bytes per neighbor) and the graph.

    Parameters
    ----------
    samples : dask.array.Array of shape (n, ...), or sequence of paths
        The samples, in blocks of rows. A path is a ``.npy`` or ``.parquet`` file of some rows, or a ``.zarr`` array; the
        workers open it by the same name.
    neighbors : int, default=10
        Neighbors per sample, k.
    metric : {"euclidean", "cosine", "manhattan", "chebyshev"}, default="euclidean"
        The distance between samples.
    standardize : bool or "robust", default=False
        Subtract the mean of each column and divide by its standard deviation, or its median and interquartile range. Means are
        summed block by block; "robust" loads some columns of all samples into the memory of one worker at a time.
    threads_per_task : int, default=1
        Threads of one task; a worker runs one task per thread.

    Returns
    -------
    scipy.sparse.csr_array of shape (n, n)
        Symmetric, without a diagonal.
    """
    dask = needed("dask", "spadework.dask", "dask")
    blocks = _blocks(samples)
    total = sum(block.samples for block in blocks)
    if not 0 < neighbors < total:
        raise ValueError(
            f"`neighbors` must be at least 1 and smaller than the number of samples ({total}), got {neighbors}"
        )
    blocks = _standardized(blocks, total, standardize_word(standardize))
    nearest, merge = dask.delayed(_nearest, pure=True), dask.delayed(_merge, pure=True)
    lists = []
    for queries in blocks:
        places = [(queries.first, base.first) for base in blocks]
        found = [
            nearest(queries.task, base.task, place, neighbors, metric, threads_per_task)
            for base, place in zip(blocks, places)
        ]
        while len(found) > 1:
            pairs = [merge(found[at], found[at + 1]) for at in range(0, len(found) - 1, 2)]
            found = pairs + found[len(pairs) * 2 :]
        lists.append(found[0])
    return _union([found.indices for found in dask.compute(*lists)])


class Columns(NamedTuple):
    """What is taken off every column, and what it is divided by then."""

    centers: npt.NDArray[np.float64]
    scales: npt.NDArray[np.float64]


def _standardized(blocks: list[Block], total: int, how: str) -> list[Block]:
    """The blocks with their columns on one scale, by the same operations in the same order as on one machine."""
    if how == "none":
        return blocks
    dask = needed("dask", "spadework.dask", "dask")
    if how == "standard":
        extremes = dask.delayed(_extremes)([dask.delayed(_extremes_of)(block.task) for block in blocks])
        centers: Any = None
        for block in blocks:
            centers = dask.delayed(_add_parts)(centers, block.task, None, total)
        variances: Any = None
        for block in blocks:
            variances = dask.delayed(_add_parts)(variances, block.task, centers, total)
        columns = dask.delayed(_standard)(extremes, centers, variances)
    else:
        width = dask.compute(dask.delayed(_width)(blocks[0].task))[0]
        together = max(1, _COLUMN_BYTES // (8 * total))
        some = [slice(first, first + together) for first in range(0, width, together)]
        parts = [dask.delayed(_robust)([dask.delayed(_columns_of)(block.task, part) for block in blocks], part) for part in some]
        columns = dask.delayed(_side_by_side)(parts)
    place = dask.delayed(_place, pure=True)
    return [block._replace(task=place(block.task, columns)) for block in blocks]


def _numbers(block: Any) -> npt.NDArray[np.float64]:
    return as_rows(block, "samples").astype(np.float64)


def _width(block: Any) -> int:
    return int(as_rows(block, "samples").shape[1])


def _extremes_of(block: Any) -> npt.NDArray[np.float64]:
    rows = _numbers(block)
    return np.stack([rows.min(axis=0), rows.max(axis=0)])


def _extremes(blocks: Sequence[npt.NDArray[np.float64]]) -> npt.NDArray[np.float64]:
    found = np.stack(blocks)
    return np.stack([found[:, 0].min(axis=0), found[:, 1].max(axis=0)])


def _add_parts(
    before: npt.NDArray[np.float64] | None, block: Any, centers: npt.NDArray[np.float64] | None, total: int
) -> npt.NDArray[np.float64]:
    """The sum of value/n, or of (value - center)^2/n, after so many rows more: one row after the other."""
    rows = _numbers(block)
    parts = rows / total if centers is None else (rows - centers) ** 2 / total
    start = np.zeros((1, rows.shape[1])) if before is None else before[None]
    summed: npt.NDArray[np.float64] = np.add.accumulate(np.concatenate([start, parts]), axis=0)[-1]
    return summed


def _standard(
    extremes: npt.NDArray[np.float64], centers: npt.NDArray[np.float64], variances: npt.NDArray[np.float64]
) -> Columns:
    """A constant column becomes 0."""
    is_constant = (extremes[0] == extremes[1]) | (variances == 0)
    return Columns(np.where(is_constant, 0, centers), np.where(is_constant, np.inf, np.sqrt(variances)))


def _columns_of(block: Any, part: slice) -> npt.NDArray[np.float64]:
    return _numbers(block)[:, part]


def _robust(blocks: Sequence[npt.NDArray[np.float64]], part: slice) -> Columns:
    ascending = np.sort(np.concatenate(blocks), axis=0)
    low, middle, high = (_quantile(ascending, share) for share in (0.25, 0.5, 0.75))
    scales = high - low
    is_constant = ascending[0] == ascending[-1]
    without = np.flatnonzero((scales == 0) & ~is_constant)
    if len(without):
        raise ValueError(
            "robust standardization divides by the range of the middle half, which is 0 in column "
            f"{part.start + without[0]} (counted from 0) though it is not constant; use standardize=True, or remove it"
        )
    return Columns(np.where(is_constant, 0, middle), np.where(is_constant, np.inf, scales))


def _quantile(ascending: npt.NDArray[np.float64], share: float) -> npt.NDArray[np.float64]:
    place = share * (len(ascending) - 1)
    low, high = ascending[math.floor(place)], ascending[math.ceil(place)]
    return np.asarray(low + (high - low) * (place - math.floor(place)))


def _side_by_side(parts: Sequence[Columns]) -> Columns:
    return Columns(np.concatenate([part.centers for part in parts]), np.concatenate([part.scales for part in parts]))


def _place(block: Any, columns: Columns) -> npt.NDArray[np.float64]:
    rows = _numbers(block)
    if rows.shape[1] != len(columns.centers):
        raise ValueError(f"samples: every block must have {len(columns.centers)} numbers per sample, got {rows.shape[1]}")
    return np.asarray((rows - columns.centers) / columns.scales)


def _blocks(samples: Any) -> list[Block]:
    if hasattr(samples, "to_delayed") and hasattr(samples, "chunks"):
        tasks, counts = _of_array(samples)
    elif isinstance(samples, Sequence) and samples and all(isinstance(part, (str, PathLike)) for part in samples):
        parts = [_of_path(fspath(part)) for part in samples]
        tasks = [task for some, _ in parts for task in some]
        counts = [count for _, some in parts for count in some]
    else:
        raise ValueError(f"samples: expected a dask.array or a list of paths, got {type(samples).__name__}")
    firsts = np.cumsum([0, *counts])
    return [Block(task, int(first), count) for task, first, count in zip(tasks, firsts, counts)]


def _of_array(array: Any) -> tuple[list[Any], list[int]]:
    """Blocks of whole rows."""
    if any(np.isnan(extent) for extent in array.shape):
        array = array.compute_chunk_sizes()
    array = array.rechunk({axis: -1 for axis in range(1, array.ndim)})
    return list(array.to_delayed().ravel()), [int(count) for count in array.chunks[0]]


def _of_path(path: str) -> tuple[list[Any], list[int]]:
    """The blocks of one file, and how many rows each has. Only its head is read here."""
    dask = needed("dask", "spadework.dask", "dask")
    if path.endswith(".zarr"):
        needed("zarr", "a Zarr array", "dask")
        return _of_array(needed("dask.array", "spadework.dask", "dask").from_zarr(path))
    if path.endswith(".parquet"):
        parquet = needed("pyarrow.parquet", "a Parquet file", "dask")
        return [dask.delayed(_read_parquet)(path)], [int(parquet.ParquetFile(path).metadata.num_rows)]
    if path.endswith(".npy"):
        shape = np.load(path, mmap_mode="r").shape
        if not shape:
            raise ValueError(f"{path}: an array must have at least one dimension, got a scalar")
        return [dask.delayed(np.load)(path)], [int(shape[0])]
    raise ValueError(f"{path}: expected a .npy, .parquet or .zarr file")


def _read_parquet(path: str) -> Any:
    table = needed("pyarrow.parquet", "a Parquet file", "dask").read_table(path)
    return np.column_stack([column.to_numpy() for column in table.columns])


def _nearest(
    queries: Any, base: Any, first: tuple[int, int], neighbors: int, metric: Metric, threads: int
) -> Nearest:
    """The nearest of every query among the samples of one block; no sample is its own neighbor. `first` has the first
    sample of the queries and of the block."""
    rows, others = as_samples(queries, "samples"), as_samples(base, "samples")
    if rows.shape[1] != others.shape[1]:
        raise ValueError(
            f"samples: every block must have {rows.shape[1]} numbers per sample like the one of sample {first[0]}, got "
            f"{others.shape[1]} from sample {first[1]} on"
        )
    if metric == "cosine":
        _check_directions(rows, first[0])
        _check_directions(others, first[1])
    if rows.dtype != others.dtype:
        # Distances are sums in double precision, which holds every number of a narrower type.
        rows, others = _numbers(queries), _numbers(base)
    distances, indices = _native.nearest_between(rows, others, first[0] - first[1], neighbors, metric, threads)
    return Nearest(distances, np.where(indices < 0, indices, indices + first[1]))


def _check_directions(rows: npt.NDArray[Any], first: int) -> None:
    """Zero rows by their numbers among all samples: a block only knows its own."""
    # Of the bits of bfloat16, the first is the sign.
    sizes = rows << 1 if rows.dtype == np.uint16 else rows
    zero = np.flatnonzero(~sizes.any(axis=1))
    if len(zero):
        raise ValueError(f"cosine distances need rows that are not zero, but row {zero[0] + first} is (counted from 0)")


def _merge(a: Nearest, b: Nearest) -> Nearest:
    """The nearest of both; -1 comes last, since its distance is infinite."""
    neighbors = a.indices.shape[1]
    distances = np.concatenate([a.squared_distances, b.squared_distances], axis=1)
    indices = np.concatenate([a.indices, b.indices], axis=1)
    order = np.lexsort((indices, distances), axis=1)[:, :neighbors]
    return Nearest(np.take_along_axis(distances, order, axis=1), np.take_along_axis(indices, order, axis=1))


def _union(lists: Sequence[npt.NDArray[np.int64]]) -> Any:
    """The graph with an edge wherever either has the other among its nearest."""
    nearest = np.concatenate(lists)
    total, neighbors = nearest.shape
    rows = np.repeat(np.arange(total), neighbors)
    low, high = np.minimum(rows, nearest.ravel()), np.maximum(rows, nearest.ravel())
    codes = np.unique(low * total + high)
    return matrix(total, np.column_stack([codes // total, codes % total]), None)
