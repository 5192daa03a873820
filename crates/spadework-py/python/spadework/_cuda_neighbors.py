"""Exact nearest neighbors of tensors where they lie: candidates in half precision with a proved margin, settled in double.

1. Rows are centered, scaled by a power of two and rounded to half precision. How far each row moved is measured, so the
   distance between two rounded rows is off by at most the sum of what both moved, whatever the numbers are.
2. A sample of the rows gives every row a first radius: its k-th nearest in the sample. Products of the rounded rows then leave
   the pairs that lie within the radius plus the margin (`_pairs_by_triton`, whose products never leave the registers, or
   `_pairs_by_blocks`).
3. What is left gets its distance as the search on the CPU computes it, to the last bit: eight partial sums in a fixed order in
   double precision, without fused multiply-add. It alone decides, by (distance, index).

A row whose candidates overflow is compared with all rows instead, and so are the few that lie far from all others, which would
spoil the margins of the rest.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from ._devices import is_out_of_memory
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
#: Rows that are converted at a time, at most.
_PART = 1 << 15
#: Pairs that are told by bits at a time.
_BITS = 1 << 35
#: Rows and columns of a tile of products.
_TILE = 128
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
    rounded = _in_parts(lambda parts: _rounded(samples, max(_PART // parts, 1)), _PART)
    found: tuple[Any, Any] = _in_parts(lambda parts: _nearest_in_blocks(samples, rounded, neighbors, parts), len(samples))
    return found


def _in_parts(work: Callable[[int], Any], most: int) -> Any:
    """What ``work`` gives in one part, or in as many as the memory asks for, up to ``most``."""
    parts = 1
    while True:
        try:
            return work(parts)
        except RuntimeError as error:
            if parts >= most or not is_out_of_memory(error):
                raise
        # Here and not above, where the error still holds what the work had in memory.
        torch.cuda.empty_cache()
        parts *= 4


def _rounded(samples: Any, together: int) -> _Rounded:
    dim = samples.shape[1]
    device = samples.device
    mean = sum(part.double().sum(0) for part in samples.split(together)) / len(samples)
    distances = torch.cat([(part.double() - mean).norm(dim=1) for part in samples.split(together)])
    far = (distances > _FAR * distances.median()).nonzero().flatten()
    if len(far) > _FEW:
        far = far[:0]
    order = torch.randperm(len(samples), generator=torch.Generator().manual_seed(0)).to(device)
    order = order[~torch.isin(order, far)]
    largest = max(float((samples[part].double() - mean).abs().max()) for part in order.split(together))
    # A power of two changes no digit; the largest number becomes 1 to 2, far from either end of half precision.
    scale = 2.0 ** -math.floor(math.log2(largest)) if largest > 0 else 1.0
    rows = torch.zeros(len(order), -(-dim // _TILE_K) * _TILE_K, dtype=torch.float16, device=device)
    squares = torch.empty(len(order), dtype=torch.float64, device=device)
    moved = torch.empty(len(order), dtype=torch.float64, device=device)
    for begin in range(0, len(order), together):
        part = (samples[order[begin : begin + together]].double() - mean) * scale
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
    seen = count // 8
    if seen > 4 * _SAMPLE:
        kth, _, _ = _within(rounded, (begin, end), seen, near, neighbors, _room(neighbors, seen, _SAMPLE))
        near = torch.minimum(near, kth)
    else:
        seen = min(count, _SAMPLE)
    _, pairs, overflowed = _within(rounded, (begin, end), count, near, neighbors, _room(neighbors, count, seen))
    return pairs, overflowed


def _room(neighbors: int, rows: int, seen: int) -> int:
    """Candidates to expect for each row where radii come from ``seen`` of the rows, eight times over."""
    return min(8 * (neighbors + 1) * -(-rows // seen) + 32, rows)


def _within(
    rounded: _Rounded, block: tuple[int, int], columns: int, near: Any, neighbors: int, room: int
) -> tuple[Any, tuple[Any, Any], Any]:
    """What the first ``columns`` rows hold for a block of rows, each of which has k others below ``near``: the k-th value where
    they have k, the pairs that may be neighbors, and which rows have more than ``room`` candidates."""
    begin, end = block
    device = rounded.rows.device
    kth = torch.full((end - begin,), math.inf, dtype=torch.float32, device=device)
    overflowed = torch.zeros(end - begin, dtype=torch.bool, device=device)
    rows, others = [], []
    # One bit for each pair: blocks of rows are small enough for the bits to be few.
    height = max(_BITS // columns // 128 * 128, 128)
    for first in range(begin, end, height):
        last = min(first + height, end)
        here = slice(first - begin, last - begin)
        i, j = _pairs(rounded, first, last, columns, _limits(rounded, near[here], first))
        counts = torch.bincount(i, minlength=last - first)
        overflowed[here] = counts > room
        kept = ~overflowed[here][i]
        i, j = i[kept], j[kept]
        values = _values(rounded, i + first, j)
        kth[here] = _kth(values, i, counts.where(counts <= room, 0), neighbors)
        kept = values <= _limits(rounded, torch.minimum(kth[here], near[here]), first)[i]
        rows.append(i[kept] + (first - begin))
        others.append(j[kept])
    return kth, (torch.cat(rows), torch.cat(others)), overflowed


def _kth(values: Any, rows: Any, counts: Any, neighbors: int) -> Any:
    """The k-th smallest value of each row, infinity where it has fewer; values come row by row."""
    starts = counts.cumsum(0) - counts
    table = torch.full((len(counts), max(int(counts.max()), neighbors)), math.inf, dtype=torch.float32, device=values.device)
    table[rows, torch.arange(len(rows), device=values.device) - starts[rows]] = values
    return table.topk(neighbors, largest=False, sorted=True).values[:, -1]


def _values(rounded: _Rounded, rows: Any, columns: Any) -> Any:
    """‖y‖² − 2x·y of some pairs, within the error that is allowed for."""
    squares = rounded.squares.float()
    if triton is not None and rounded.rows.device.type == "cuda":
        return _values_by_triton(rounded, squares, rows, columns)
    parts = [
        squares[j] - 2 * (rounded.rows[i].float() * rounded.rows[j].float()).sum(1)
        for i, j in zip(rows.split(_PAIRS // 8), columns.split(_PAIRS // 8), strict=True)
    ]
    return torch.cat(parts)


def _pairs(rounded: _Rounded, begin: int, end: int, columns: int, limits: Any) -> tuple[Any, Any]:
    """Rows from ``begin`` to ``end`` and others among the first ``columns`` that lie within the limit of the row, row by row."""
    if triton is not None and rounded.rows.device.type == "cuda":
        return _pairs_by_triton(rounded, begin, end, columns, limits)
    return _pairs_by_blocks(rounded, begin, end, columns, limits)


def _pairs_by_blocks(rounded: _Rounded, begin: int, end: int, columns: int, limits: Any) -> tuple[Any, Any]:
    squares = rounded.squares[:columns].float()
    others = rounded.rows[:columns].float()
    found = []
    for first in range(begin, end, _BLOCK):
        last = min(first + _BLOCK, end)
        near = squares - 2 * _product(rounded.rows[first:last].float(), others)
        # None of these rows where the columns end before them.
        own = torch.arange(first, max(min(last, columns), first), device=near.device)
        near[own - first, own] = math.inf
        rows, hits = (near <= limits[first - begin : last - begin, None]).nonzero(as_tuple=True)
        found.append((rows + (first - begin), hits))
    rows, hits = zip(*found, strict=True)
    return torch.cat(rows), torch.cat(hits)


if triton is not None:

    @triton.jit
    def _near_bits(
        rows_at, squares_at, limits_at, words_at,
        begin, end, columns, words_per_row,
        width: tl.constexpr, tile_m: tl.constexpr, tile_n: tl.constexpr, tile_k: tl.constexpr, group: tl.constexpr,
    ):  # fmt: skip
        """One tile of products. Only a bit for each pair leaves the registers: whether it is within the limit of its row."""
        program = tl.program_id(0)
        # Tiles of a group of rows run side by side, so that they share columns in the cache.
        across = tl.cdiv(columns, tile_n)
        down = tl.cdiv(end - begin, tile_m)
        in_group = group * across
        first = (program // in_group) * group
        height = min(down - first, group)
        m = begin + (first + (program % in_group) % height) * tile_m + tl.arange(0, tile_m)
        tile = (program % in_group) // height
        n = tile * tile_n + tl.arange(0, tile_n)
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
        hit = (near <= tl.load(limits_at + (m_in - begin))[:, None]) & (n < columns)[None, :] & (m[:, None] != n[None, :])
        bits = hit.to(tl.int32) << (n % 32)[None, :]
        words = tl.sum(tl.reshape(bits, (tile_m, tile_n // 32, 32)), axis=2)
        at = (m - begin).to(tl.int64)[:, None] * words_per_row + tile * (tile_n // 32) + tl.arange(0, tile_n // 32)[None, :]
        tl.store(words_at + at, words, mask=(m < end)[:, None])


    @triton.jit
    def _near_values(
        rows_at, squares_at, i_at, j_at, values_at, count, width: tl.constexpr, tile: tl.constexpr, tile_k: tl.constexpr
    ):  # fmt: skip
        """‖y‖² − 2x·y of a few pairs; each row is read once, and nothing but the sums is written."""
        pair = tl.program_id(0).to(tl.int64) * tile + tl.arange(0, tile)
        exists = pair < count
        i = tl.load(i_at + pair, mask=exists, other=0)
        j = tl.load(j_at + pair, mask=exists, other=0)
        k = tl.arange(0, tile_k)
        left = rows_at + i[:, None] * width + k[None, :]
        right = rows_at + j[:, None] * width + k[None, :]
        sums = tl.zeros((tile, tile_k), dtype=tl.float32)
        for _ in range(0, width, tile_k):
            sums += tl.load(left).to(tl.float32) * tl.load(right).to(tl.float32)
            left += tile_k
            right += tile_k
        tl.store(values_at + pair, tl.load(squares_at + j) - 2.0 * tl.sum(sums, axis=1), mask=exists)


    @triton.jit
    def _exact_distances(samples_at, i_at, j_at, exact_at, count, width, tile: tl.constexpr, lanes: tl.constexpr):
        """Squared distances of a few pairs: eight partial sums in the order of the coordinates, then pairs of sums."""
        pair = tl.program_id(0).to(tl.int64) * tile + tl.arange(0, tile)
        exists = pair < count
        i = tl.load(i_at + pair, mask=exists, other=0)
        j = tl.load(j_at + pair, mask=exists, other=0)
        lane = tl.arange(0, lanes)
        sums = tl.zeros((tile, lanes), dtype=tl.float64)
        for begin in range(0, width, lanes):
            inside = (begin + lane < width)[None, :]
            left = tl.load(samples_at + i[:, None] * width + (begin + lane)[None, :], mask=inside, other=0.0)
            right = tl.load(samples_at + j[:, None] * width + (begin + lane)[None, :], mask=inside, other=0.0)
            difference = left.to(tl.float64) - right.to(tl.float64)
            sums += difference * difference
        # A sum over two is one addition, so the order is fixed: s0 + s4, s1 + s5, …, then t0 + t2, t1 + t3, then both.
        fours = tl.sum(tl.reshape(sums, (tile, 2, 4)), axis=1)
        twos = tl.sum(tl.reshape(fours, (tile, 2, 2)), axis=1)
        tl.store(exact_at + pair, tl.sum(twos, axis=1), mask=exists)


def _values_by_triton(rounded: _Rounded, squares: Any, rows: Any, columns: Any) -> Any:
    values = torch.empty(len(rows), dtype=torch.float32, device=rows.device)
    if len(rows) > 0:
        with torch.cuda.device(rows.device):
            _near_values[(triton.cdiv(len(rows), 32),)](
                rounded.rows, squares, rows, columns, values, len(rows), width=rounded.rows.shape[1], tile=32, tile_k=_TILE_K
            )
    return values


def _pairs_by_triton(rounded: _Rounded, begin: int, end: int, columns: int, limits: Any) -> tuple[Any, Any]:
    across = triton.cdiv(columns, _TILE)
    words = torch.empty(end - begin, across * (_TILE // 32), dtype=torch.int32, device=rounded.rows.device)
    with torch.cuda.device(rounded.rows.device):
        _near_bits[(triton.cdiv(end - begin, _TILE) * across,)](
            rounded.rows, rounded.squares.float(), limits, words, begin, end, columns, words.shape[1],
            width=rounded.rows.shape[1], tile_m=_TILE, tile_n=_TILE, tile_k=_TILE_K, group=16, num_warps=4, num_stages=3,
        )  # fmt: skip
    rows, places = words.nonzero(as_tuple=True)
    bits = (words[rows, places][:, None] >> torch.arange(32, device=words.device, dtype=torch.int32)) & 1
    which, bit = bits.nonzero(as_tuple=True)
    return rows[which], places[which] * 32 + bit


def _settle(samples: Any, rows: Any, columns: Any, found: tuple[Any, Any]) -> None:
    """The k nearest of every row among its candidates, by (distance, index)."""
    if len(rows) == 0:
        return
    indices, distances = found
    exact = _squared_distances(samples, rows, columns)
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
    """As `squared_distance` in `neighbors/distance.rs`, to the last bit."""
    if triton is not None and samples.device.type == "cuda":
        exact = torch.empty(len(rows), dtype=torch.float64, device=rows.device)
        samples = samples.contiguous()
        with torch.cuda.device(rows.device):
            _exact_distances[(triton.cdiv(len(rows), 64),)](
                samples, rows, columns, exact, len(rows), samples.shape[1], tile=64, lanes=_LANES, enable_fp_fusion=False
            )
        return exact
    parts = zip(rows.split(_PAIRS), columns.split(_PAIRS), strict=True)
    return torch.cat([_squared_distances_in_steps(samples, i, j) for i, j in parts])


def _squared_distances_in_steps(samples: Any, rows: Any, columns: Any) -> Any:
    """The same with plain operations: a product and a sum that are calls of their own cannot be fused."""
    lanes = torch.zeros(len(rows), _LANES, dtype=torch.float64, device=samples.device)
    for begin in range(0, samples.shape[1], _LANES):
        chunk = samples[:, begin : begin + _LANES]
        difference = chunk[rows].double() - chunk[columns].double()
        lanes[:, : chunk.shape[1]] += difference * difference
    s0, s1, s2, s3, s4, s5, s6, s7 = lanes.unbind(1)
    return ((s0 + s4) + (s2 + s6)) + ((s1 + s5) + (s3 + s7))
