"""Exact nearest neighbors of tensors where they lie: candidates in half precision with a proved margin, settled in double.

1. Rows are centered, scaled by a power of two and rounded to half precision. How far each row moved is measured, so the
   distance between two rounded rows is off by at most the sum of what both moved, whatever the numbers are.
2. A sample of the rows gives every row a first radius: its k-th nearest in the sample. Products of the rounded rows then leave
   the pairs that lie within the radius plus the margin (`_pairs_by_triton`, which keeps all products in registers, or
   `_pairs_by_blocks`).
3. What is left gets its distance as the search on the CPU computes it, to the last bit: eight partial sums in a fixed order in
   double precision, without fused multiply-add. It alone decides, by (distance, index).

A row whose candidates overflow is compared with all rows instead, and so are the few that lie far from all others, which would
spoil the margins of the rest.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from ._optional import needed

torch = needed("torch", "spadework.torch", "torch")

try:
    import triton
    import triton.language as tl
except ImportError:  # PyTorch for CPUs comes without it.
    triton = None

#: Partial sums of the distance that decides, as in `neighbors/distance.rs`.
_LANES = 8
#: Rows that give the first radius.
_SAMPLE = 8192
#: Rows of a block of products where Triton is not there.
_BLOCK = 4096
#: Pairs that are settled at a time.
_PAIRS = 1 << 22
#: Rows that are converted at a time.
_PART = 1 << 15
#: Numbers of a row that a tile of products takes at a time.
_TILE_K = 64
#: Error of one addition in the accumulators of tensor cores, which cut digits off where others round.
_ACCUMULATED = 2.0**-22
#: Error of an operation in single precision.
_SINGLE = 2.0**-24
#: A row whose distance from the mean is this many times the median lies far from all others.
_FAR = 16
#: Most rows that are taken for such.
_FEW = 64
#: Rows whose candidates overflow, as a part of all, above which there is no structure that helps.
_HOPELESS = 0.05


class TooManyTies(Exception):
    """Most rows have more rows within the margin of their radius than there is room for."""


class _Rounded(NamedTuple):
    """Rows in half precision, in a random order and without the far ones, with what is known about their errors."""

    #: The rows, of shape (n, d padded to whole tiles).
    rows: Any
    #: Their squared norms, in double precision.
    squares: Any
    #: Distance from each row to what it was, in the units of the rounded rows.
    moved: Any
    #: The row of the samples that each one is.
    order: Any
    #: Bound of the error of a computed product of each row with any other, and of the sum that it stands in.
    error: Any
    #: Rows of the samples that are far.
    far: Any


def nearest(samples: Any, neighbors: int) -> tuple[Any, Any]:
    """The nearest other samples of every sample: indices and squared distances, each of shape (n, k), nearest first."""
    rounded = _rounded(samples)
    blocks = 1
    while True:
        try:
            return _nearest_in_blocks(samples, rounded, neighbors, blocks)
        except torch.cuda.OutOfMemoryError:
            if blocks >= len(samples):
                raise
            torch.cuda.empty_cache()
            blocks *= 4


def _rounded(samples: Any) -> _Rounded:
    dim = samples.shape[1]
    device = samples.device
    mean = sum(part.double().sum(0) for part in samples.split(_PART)) / len(samples)
    distances = torch.cat([(part.double() - mean).norm(dim=1) for part in samples.split(_PART)])
    far = (distances > _FAR * distances.median()).nonzero().flatten()
    if len(far) > _FEW:
        far = far[:0]
    order = torch.randperm(len(samples), generator=torch.Generator().manual_seed(0)).to(device)
    order = order[~torch.isin(order, far)]
    largest = max(float((samples[part].double() - mean).abs().max()) for part in order.split(_PART))
    # A power of two changes no digit; the largest number becomes 1 to 2, far from either end of half precision.
    scale = 2.0 ** -math.floor(math.log2(largest)) if largest > 0 else 1.0
    rows = torch.zeros(len(order), -(-dim // _TILE_K) * _TILE_K, dtype=torch.float16, device=device)
    squares = torch.empty(len(order), dtype=torch.float64, device=device)
    moved = torch.empty(len(order), dtype=torch.float64, device=device)
    for begin in range(0, len(order), _PART):
        part = (samples[order[begin : begin + _PART]].double() - mean) * scale
        here = slice(begin, begin + len(part))
        rows[here, :dim] = part.half()
        kept = rows[here, :dim].double()
        squares[here] = kept.square().sum(1)
        # Centering and these sums are rounded in double precision, which the factor covers many times over.
        moved[here] = (part - kept).norm(dim=1) * (1 + 1e-6) + 1e-12 * (part.norm(dim=1) + scale * mean.norm())
    norms = squares.sqrt()
    widest = float(norms.max())
    error = 2 * (dim + 16) * _ACCUMULATED * norms * widest + 8 * _SINGLE * (widest**2 + 2 * norms * widest)
    return _Rounded(rows, squares, moved, order, error, far)


def _limits(rounded: _Rounded, near: Any, begin: int) -> Any:
    """Largest value of ‖y‖² − 2x·y, computed in single precision, that a true neighbor of each row can have.

    ``near`` is such a value below which the row has k others. Their true distance is at most √(near + ‖x‖² + error) plus what
    both rows moved; and so is that of the neighbors, which moved too.
    """
    rows = slice(begin, begin + len(near))
    squares, error = rounded.squares[rows], rounded.error[rows]
    both = rounded.moved[rows] + rounded.moved.max()
    farthest = ((near.double() + squares + error).clamp(min=0).sqrt() + 2 * both) ** 2
    limit = farthest * (1 + 1e-12) + error - squares
    # Rounded up.
    return torch.nextafter(limit.float(), torch.full_like(limit, math.inf, dtype=torch.float32))


def _kth_in_sample(rounded: _Rounded, begin: int, end: int, neighbors: int) -> Any:
    """A value of ‖y‖² − 2x·y below which each row has k others: the (k+1)-th of a sample, which may hold the row itself."""
    sample = rounded.rows[: max(_SAMPLE, 2 * (neighbors + 1))].float()
    squares = rounded.squares[: len(sample)].float()
    near = torch.empty(end - begin, dtype=torch.float32, device=rounded.rows.device)
    for first in range(begin, end, _BLOCK):
        last = min(first + _BLOCK, end)
        values = squares - 2 * _product(rounded.rows[first:last].float(), sample)
        near[first - begin : last - begin] = values.topk(neighbors + 1, largest=False, sorted=True).values[:, -1]
    return near


def _product(a: Any, b: Any) -> Any:
    """a·bᵀ of numbers that half precision holds: their products are exact in single precision, with tensor cores too."""
    before = torch.backends.cuda.matmul.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = True
    try:
        return a @ b.T
    finally:
        torch.backends.cuda.matmul.allow_tf32 = before


def _nearest_in_blocks(samples: Any, rounded: _Rounded, neighbors: int, blocks: int) -> tuple[Any, Any]:
    indices = torch.empty(len(samples), neighbors, dtype=torch.int64, device=samples.device)
    distances = torch.empty(len(samples), neighbors, dtype=torch.float64, device=samples.device)
    overflows = 0
    count = len(rounded.order)
    size = -(-count // blocks)
    for begin in range(0, count, size):
        end = min(begin + size, count)
        (rows, columns), overflowed = _candidates(rounded, begin, end, neighbors)
        own = rounded.order[begin:end]
        overflows += int(overflowed.sum())
        if overflows > max(_HOPELESS * count, _FEW):
            raise TooManyTies
        near_ones = own[~overflowed]
        rows = torch.cat([own[rows], near_ones.repeat_interleave(len(rounded.far))])
        columns = torch.cat([rounded.order[columns], rounded.far.repeat(len(near_ones))])
        _settle(samples, rows, columns, (indices, distances))
        _compare_with_all(samples, own[overflowed], (indices, distances))
    _compare_with_all(samples, rounded.far, (indices, distances))
    return indices, distances


def _compare_with_all(samples: Any, rows: Any, found: tuple[Any, Any]) -> None:
    """The nearest of a few rows, without any bound."""
    everything = torch.arange(len(samples), device=samples.device)
    for row in rows.tolist():
        others = everything[everything != row]
        _settle(samples, torch.full_like(others, row), others, found)


def _candidates(rounded: _Rounded, begin: int, end: int, neighbors: int) -> tuple[tuple[Any, Any], Any]:
    """Pairs that hold every true neighbor of the rows from ``begin`` to ``end``, by their places in the random order, and which
    of these rows have too many; such a row has no pairs."""
    count = len(rounded.rows)
    near = _kth_in_sample(rounded, begin, end, neighbors)
    # The nearest within an eighth of the rows narrow the radius before most of the work is done.
    eighth = count // 8
    if eighth > 4 * _SAMPLE:
        room = _room(neighbors, eighth, _SAMPLE)
        values, _, _ = _pairs(rounded, begin, end, eighth, _limits(rounded, near, begin), room)
        near = torch.minimum(near, values.topk(neighbors, largest=False, sorted=True).values[:, -1])
        room = _room(neighbors, count, eighth)
        del values
    else:
        room = _room(neighbors, count, min(count, _SAMPLE))
    values, columns, counts = _pairs(rounded, begin, end, count, _limits(rounded, near, begin), room)
    overflowed = counts > room
    kth = values.topk(neighbors, largest=False, sorted=True).values[:, -1]
    kept = (values <= _limits(rounded, kth, begin)[:, None]) & ~overflowed[:, None]
    rows, places = kept.nonzero(as_tuple=True)
    return (rows, columns[rows, places].long()), overflowed


def _room(neighbors: int, rows: int, seen: int) -> int:
    """Candidates to expect for each row where radii come from ``seen`` of the rows, four times over."""
    expected = 4 * (neighbors + 1) * -(-rows // seen) + 32
    return min(-(-expected // 32) * 32, rows)


def _pairs(rounded: _Rounded, begin: int, end: int, columns: int, limits: Any, room: int) -> tuple[Any, Any, Any]:
    """The first ``columns`` rows that lie within the limit of each row: values and places, of shape (rows, room), filled up with
    infinity, and how many there are; more than ``room`` are counted and not kept."""
    device = rounded.rows.device
    values = torch.full((end - begin, room), math.inf, dtype=torch.float32, device=device)
    places = torch.zeros((end - begin, room), dtype=torch.int32, device=device)
    counts = torch.zeros(end - begin, dtype=torch.int32, device=device)
    find = _pairs_by_triton if triton is not None and device.type == "cuda" else _pairs_by_blocks
    find(rounded, begin, end, columns, limits, (values, places, counts))
    return values, places, counts


def _pairs_by_blocks(rounded: _Rounded, begin: int, end: int, columns: int, limits: Any, found: tuple[Any, Any, Any]) -> None:
    values, places, counts = found
    room = values.shape[1]
    squares = rounded.squares[:columns].float()
    for left in range(0, columns, 1 << 16):
        right = min(left + (1 << 16), columns)
        others = rounded.rows[left:right].float()
        for first in range(begin, end, _BLOCK):
            last = min(first + _BLOCK, end)
            near = squares[left:right] - 2 * _product(rounded.rows[first:last].float(), others)
            own = torch.arange(max(first, left), min(last, right), device=near.device)
            near[own - first, own - left] = math.inf
            rows, hits = (near <= limits[first - begin : last - begin, None]).nonzero(as_tuple=True)
            # Hits come row by row: the place of each is its place among all, less where its row begins.
            per_row = torch.bincount(rows, minlength=last - first)
            starts = per_row.cumsum(0) - per_row
            slots = torch.arange(len(rows), device=near.device) - starts[rows] + counts[rows + (first - begin)]
            fits = slots < room
            at = (rows[fits] + (first - begin), slots[fits])
            values[at] = near[rows[fits], hits[fits]]
            places[at] = (hits[fits] + left).int()
            counts[first - begin : last - begin] += per_row.int()


if triton is not None:

    @triton.jit
    def _near_tile(
        rows_at, squares_at, limits_at, values_at, places_at, counts_at,
        begin, end, columns, room,
        width: tl.constexpr, tile_m: tl.constexpr, tile_n: tl.constexpr, tile_k: tl.constexpr, group: tl.constexpr,
    ):  # fmt: skip
        """One tile of products; those within the limits of their rows are written, the others never leave the registers."""
        program = tl.program_id(0)
        # Tiles of a group of rows run side by side, so that they share columns in the cache.
        across = tl.cdiv(columns, tile_n)
        down = tl.cdiv(end - begin, tile_m)
        in_group = group * across
        first = (program // in_group) * group
        height = min(down - first, group)
        m = begin + (first + (program % in_group) % height) * tile_m + tl.arange(0, tile_m)
        n = ((program % in_group) // height) * tile_n + tl.arange(0, tile_n)
        m_in = tl.minimum(m, end - 1)
        n_in = tl.minimum(n, columns - 1)
        k = tl.arange(0, tile_k)
        left = rows_at + m_in.to(tl.int64)[:, None] * width + k[None, :]
        right = rows_at + n_in.to(tl.int64)[None, :] * width + k[:, None]
        products = tl.zeros((tile_m, tile_n), dtype=tl.float32)
        for _ in range(0, width, tile_k):
            products = tl.dot(tl.load(left), tl.load(right), products)
            left += tile_k
            right += tile_k
        near = tl.load(squares_at + n_in)[None, :] - 2.0 * products
        limits = tl.load(limits_at + (m_in - begin))
        hit = (near <= limits[:, None]) & (m < end)[:, None] & (n < columns)[None, :] & (m[:, None] != n[None, :])
        row = tl.broadcast_to((m_in - begin)[:, None], (tile_m, tile_n))
        slot = tl.atomic_add(counts_at + row, 1, mask=hit, sem="relaxed")
        fits = hit & (slot < room)
        at = row.to(tl.int64) * room + slot
        tl.store(values_at + at, near, mask=fits)
        tl.store(places_at + at, tl.broadcast_to(n[None, :], (tile_m, tile_n)), mask=fits)


def _pairs_by_triton(rounded: _Rounded, begin: int, end: int, columns: int, limits: Any, found: tuple[Any, Any, Any]) -> None:
    values, places, counts = found
    tile_m, tile_n = 128, 128
    grid = (triton.cdiv(end - begin, tile_m) * triton.cdiv(columns, tile_n),)
    with torch.cuda.device(rounded.rows.device):
        _near_tile[grid](
            rounded.rows, rounded.squares.float(), limits, values, places, counts,
            begin, end, columns, values.shape[1],
            width=rounded.rows.shape[1], tile_m=tile_m, tile_n=tile_n, tile_k=_TILE_K, group=16, num_warps=8, num_stages=3,
        )  # fmt: skip


def _settle(samples: Any, rows: Any, columns: Any, found: tuple[Any, Any]) -> None:
    """The k nearest of every row among its candidates, by (distance, index)."""
    if len(rows) == 0:
        return
    indices, distances = found
    exact = torch.cat(
        [
            _squared_distances(samples, some_rows, some_columns)
            for some_rows, some_columns in zip(rows.split(_PAIRS), columns.split(_PAIRS), strict=True)
        ]
    )
    by_column = columns.sort(stable=True).indices
    by_distance = by_column[exact[by_column].sort(stable=True).indices]
    by_row = by_distance[rows[by_distance].sort(stable=True).indices]
    rows, columns, exact = rows[by_row], columns[by_row], exact[by_row]
    starts = torch.searchsorted(rows, rows, side="left")
    rank = torch.arange(len(rows), device=rows.device) - starts
    nearest_ones = rank < indices.shape[1]
    at = (rows[nearest_ones], rank[nearest_ones])
    indices[at] = columns[nearest_ones]
    distances[at] = exact[nearest_ones]


def _squared_distances(samples: Any, rows: Any, columns: Any) -> Any:
    """As `squared_distance` in `neighbors/distance.rs`, to the last bit: products and sums are operations of their own here, so
    that nothing fuses them."""
    lanes = torch.zeros(len(rows), _LANES, dtype=torch.float64, device=samples.device)
    for begin in range(0, samples.shape[1], _LANES):
        chunk = samples[:, begin : begin + _LANES]
        difference = chunk[rows].double() - chunk[columns].double()
        lanes[:, : chunk.shape[1]] += difference * difference
    s0, s1, s2, s3, s4, s5, s6, s7 = lanes.unbind(1)
    return ((s0 + s4) + (s2 + s6)) + ((s1 + s5) + (s3 + s7))
