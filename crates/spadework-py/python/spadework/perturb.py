"""Ready-made perturbations for `spadework.probe(model, inputs, perturb=…)`.

A perturbation is any function of a batch of samples, the number of the variant and a NumPy generator that is seeded for this
variant. It returns the perturbed samples, as many and in the same order, and does not modify its arguments.

>>> import numpy as np, spadework
>>> from spadework.perturb import word_dropout
>>> texts = ["good film", "bad film", "good", "bad bad film"]
>>> model = lambda batch: np.array([text.count("good") > text.count("bad") for text in batch])
>>> found = spadework.probe(model, texts, perturb=word_dropout(0.5), probes=50)
>>> found.flips[2]                                        # a text keeps its last word
np.int64(0)
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ._optional import needed
from ._settings import number

__all__ = [
    "GraphData",
    "category_swaps",
    "chain",
    "column_noise",
    "edge_flips",
    "feature_dropout",
    "typos",
    "word_dropout",
]


def chain(*perturbations: Any) -> Any:
    """Several perturbations, one after the other."""

    def chained(batch: Any, variant: int, rng: np.random.Generator) -> Any:
        for perturbation in perturbations:
            batch = perturbation(batch, variant, rng)
        return batch

    return _named(chained, " + ".join(getattr(each, "__name__", "?") for each in perturbations))


def column_noise(table: Any, scale: float = 0.05, *, columns: Iterable[Any] | None = None) -> Any:
    """Gaussian noise for the numeric columns of a table: `scale` standard deviations of each column of ``table``.

    Missing values stay missing.

    Parameters
    ----------
    table : DataFrame or array-like of shape (n, d)
        Where the standard deviations come from, usually the table that is probed.
    scale : float, default=0.05
        Size of the noise in standard deviations.
    columns : iterable, optional
        Columns by name, or by position for an array; every numeric one by default.
    """
    size = _positive(scale, "scale")
    if hasattr(table, "iloc"):
        known = list(table.columns)
        numeric = [name for name in known if table[name].dtype.kind in "fiu"]
        chosen = _columns(columns, known, numeric)
        if not chosen:
            raise ValueError("`table` must have a numeric column")
        for name in chosen:
            if table[name].dtype.kind not in "fiu":
                raise ValueError(f"column {name!r} must be numeric, got {table[name].dtype}")
        spread = {name: size * _deviation(_floats(table[name])) for name in chosen}

        def of_frame(batch: Any, variant: int, rng: np.random.Generator) -> Any:
            return batch.assign(**{name: _floats(batch[name]) + rng.normal(0, spread[name], len(batch)) for name in chosen})

        return _named(of_frame, "column_noise")
    values = np.asarray(table, dtype=np.float64)
    if values.ndim != 2:
        raise ValueError(f"`table` must have rows and columns, got an array of shape {list(values.shape)}")
    places = _columns(columns, list(range(values.shape[1])), list(range(values.shape[1])))
    deviations = np.zeros(values.shape[1])
    deviations[places] = [size * _deviation(values[:, place]) for place in places]

    def of_array(batch: Any, variant: int, rng: np.random.Generator) -> npt.NDArray[np.float64]:
        rows = np.asarray(batch, dtype=np.float64)
        return rows + rng.standard_normal(rows.shape) * deviations

    return _named(of_array, "column_noise")


def _floats(column: Any) -> npt.NDArray[np.float64]:
    """The numbers of a column of a table; missing ones are NaN."""
    return np.asarray(column.to_numpy(dtype=np.float64, na_value=np.nan), dtype=np.float64)


def _deviation(values: npt.NDArray[np.float64]) -> float:
    """The standard deviation of the numbers that are not missing."""
    present = values[~np.isnan(values)]
    return float(present.std()) if len(present) else 0.0


def category_swaps(table: Any, rate: float = 0.1, *, columns: Iterable[Any] | None = None) -> Any:
    """Replaces categories at random with others of the same column, in proportion to their frequency in ``table``.

    Missing values stay missing.

    Parameters
    ----------
    table : DataFrame
        Where the categories come from, usually the table that is probed.
    rate : float, default=0.1
        Probability that a category is replaced.
    columns : iterable, optional
        Columns by name; by default those of strings, objects, booleans and categories.
    """
    if not hasattr(table, "iloc"):
        raise ValueError(f"`table` must be a DataFrame, got {type(table).__name__}")
    likely = _rate(rate)
    known = list(table.columns)
    chosen = _columns(columns, known, [name for name in known if is_categorical(table[name])])
    if not chosen:
        raise ValueError("`table` must have a column of categories: strings, objects, booleans or pandas categories")
    choices = {name: table[name].dropna().to_numpy() for name in chosen}
    categories = {name: set(values) for name, values in choices.items()}
    for name, found in categories.items():
        if len(found) < 2:
            raise ValueError(f"column {name!r} must have at least two categories, got one")

    def swapped(batch: Any, variant: int, rng: np.random.Generator) -> Any:
        changed = {}
        for name in chosen:
            column, pool, missing = batch[name].to_numpy().copy(), choices[name], batch[name].isna().to_numpy()
            unknown = np.flatnonzero(np.array([value not in categories[name] for value in column], dtype=bool) & ~missing)
            if len(unknown):
                at = unknown[0]
                raise ValueError(
                    f"column {name!r} has a category that `table` does not have: {column[at]!r} in the row with index {batch.index[at]}"
                )
            for at in np.flatnonzero((rng.random(len(column)) < likely) & ~missing):
                others = pool[pool != column[at]]
                column[at] = others[rng.integers(len(others))]
            changed[name] = column
        swapped = batch.assign(**changed)
        return swapped.astype({name: batch[name].dtype for name in chosen})

    return _named(swapped, "category_swaps")


def word_dropout(rate: float = 0.1) -> Any:
    """Drops words of a text at random; at least one stays.

    Parameters
    ----------
    rate : float, default=0.1
        Probability that a word is dropped.
    """
    likely = _rate(rate)

    def dropped(batch: Sequence[str], variant: int, rng: np.random.Generator) -> list[str]:
        return [_without_words(text, likely, rng) for text in _texts(batch)]

    return _named(dropped, "word_dropout")


def _without_words(text: str, rate: float, rng: np.random.Generator) -> str:
    words = text.split()
    if len(words) < 2:
        return text
    kept = rng.random(len(words)) >= rate
    if not kept.any():
        kept[rng.integers(len(words))] = True
    return " ".join(word for word, keeps in zip(words, kept) if keeps)


def typos(rate: float = 0.05) -> Any:
    """Makes typing mistakes: swaps two letters, drops one or doubles one. It does not replace words.

    Parameters
    ----------
    rate : float, default=0.05
        Probability that a word of at least three letters gets one mistake.
    """
    likely = _rate(rate)

    def mistyped(batch: Sequence[str], variant: int, rng: np.random.Generator) -> list[str]:
        return [
            " ".join(_mistyped(word, rng) if len(word) > 2 and rng.random() < likely else word for word in text.split(" "))
            for text in _texts(batch)
        ]

    return _named(mistyped, "typos")


def _mistyped(word: str, rng: np.random.Generator) -> str:
    at = int(rng.integers(len(word) - 1))
    kind = rng.integers(3)
    if kind == 0:
        return word[:at] + word[at + 1] + word[at] + word[at + 2 :]
    if kind == 1:
        return word[:at] + word[at + 1 :]
    return word[: at + 1] + word[at:]


@dataclass(frozen=True)
class GraphData:
    """A graph whose nodes are the samples: a symmetric SciPy matrix and one row of features per node.

    A model is a function from such a graph to one row of outputs per node. The graph is perturbed and run as a whole.
    """

    #: The weights of the edges, as a symmetric SciPy matrix.
    adjacency: Any
    #: One row of features per node.
    features: Any

    def __post_init__(self) -> None:
        shape: tuple[int, ...] = getattr(self.adjacency, "shape", ())
        if len(shape) != 2 or shape[0] != shape[1] or not hasattr(self.adjacency, "tocoo"):
            got = f"{type(self.adjacency).__name__} of shape {shape}"
            raise ValueError(f"`adjacency` must be a square SciPy matrix, got {got}")
        if self.features.shape[0] != shape[0]:
            raise ValueError(f"`features` must have one row per node ({shape[0]}), got {self.features.shape[0]}")
        edges = self.adjacency.tocoo()
        if len(edges.data) and float(edges.data.min()) < 0:
            at = int(np.argmin(edges.data))
            raise ValueError(
                f"edges must not be negative, got {edges.data[at]} between nodes {edges.row[at]} and {edges.col[at]}"
            )
        if abs(self.adjacency - self.adjacency.T).max() > 0:
            raise ValueError("`adjacency` must be symmetric")

    def __len__(self) -> int:
        return int(self.adjacency.shape[0])


def edge_flips(rate: float = 0.03) -> Any:
    """Removes some edges of a `GraphData`, and adds as many between nodes without an edge.

    Parameters
    ----------
    rate : float, default=0.03
        Fraction of the edges that move.
    """
    part = _rate(rate)
    sparse = needed("scipy.sparse", "spadework.perturb.edge_flips", "graphs")

    def flipped(batch: GraphData, variant: int, rng: np.random.Generator) -> GraphData:
        graph = _graph(batch)
        upper = sparse.triu(graph.adjacency, 1).tocoo()
        nodes, edges = len(graph), len(upper.data)
        moved = rng.random(edges) < part
        taken = set(zip(upper.row.tolist(), upper.col.tolist()))
        count = min(int(moved.sum()), nodes * (nodes - 1) // 2 - edges)
        fresh: list[tuple[int, int]] = []
        while len(fresh) < count:
            p, q = sorted(rng.integers(nodes, size=2).tolist())
            if p != q and (p, q) not in taken:
                taken.add((p, q))
                fresh.append((p, q))
        weights = upper.data[moved][:count]
        rows = np.concatenate([upper.row[~moved], np.array([p for p, _ in fresh], dtype=np.int64)])
        columns = np.concatenate([upper.col[~moved], np.array([q for _, q in fresh], dtype=np.int64)])
        values = np.concatenate([upper.data[~moved], weights])
        half = sparse.coo_array((values, (rows, columns)), shape=(nodes, nodes))
        loops = sparse.diags(np.asarray(graph.adjacency.diagonal()))
        return GraphData((half + half.T + loops).tocsr(), graph.features)

    return _named(flipped, "edge_flips")


def feature_dropout(rate: float = 0.3) -> Any:
    """Sets features of the nodes of a `GraphData` to 0 at random.

    Parameters
    ----------
    rate : float, default=0.3
        Probability that a feature is set to 0.
    """
    likely = _rate(rate)

    def dropped(batch: GraphData, variant: int, rng: np.random.Generator) -> GraphData:
        graph = _graph(batch)
        if not hasattr(graph.features, "tocsr"):
            values = np.asarray(graph.features)
            return GraphData(graph.adjacency, np.where(rng.random(values.shape) < likely, 0, values))
        features = graph.features.tocsr().copy()
        features.data = np.where(rng.random(len(features.data)) < likely, 0, features.data)
        return GraphData(graph.adjacency, features)

    return _named(dropped, "feature_dropout")


def is_categorical(column: Any) -> bool:
    """Whether a column of a table holds categories rather than numbers or dates."""
    return getattr(column.dtype, "kind", "O") not in "fiucmM"


def _named(perturbation: Any, name: str) -> Any:
    perturbation.__name__ = name
    return perturbation


def _columns(asked: Iterable[Any] | None, known: list[Any], usual: list[Any]) -> list[Any]:
    if asked is None:
        return usual
    chosen = list(asked)
    for name in chosen:
        if name not in known:
            raise ValueError(f"`columns` must be columns of the table, got {name!r}")
    return chosen


def _rate(rate: Any) -> float:
    value = number(rate, "rate")
    if not 0 < value <= 1:
        raise ValueError(f"`rate` must be above 0 and at most 1, got {value}")
    return value


def _positive(value: Any, name: str) -> float:
    found = number(value, name)
    if found <= 0:
        raise ValueError(f"`{name}` must be positive, got {found}")
    return found


def _texts(batch: Any) -> list[str]:
    texts = list(batch)
    for at, text in enumerate(texts):
        if not isinstance(text, str):
            raise ValueError(f"texts must be strings, got {type(text).__name__} in sample {at} of the batch")
    return texts


def _graph(batch: Any) -> GraphData:
    if not isinstance(batch, GraphData):
        raise ValueError(f"this perturbation is for graphs: expected a GraphData, got {type(batch).__name__}")
    return batch
