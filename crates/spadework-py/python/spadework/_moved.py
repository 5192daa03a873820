"""Samples whose neighborhoods changed from one model to another."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from . import _native, _notes
from ._arrays import as_names
from ._functions import rows_and_shape
from ._progress import progress_bars
from ._settings import Metric, settings, whole_number


@dataclass(frozen=True)
class Moved:
    """The samples whose neighbors a new model changed most.

    Attributes
    ----------
    indices : ndarray of shape (top,)
        The samples; those that kept the smallest share of their neighbors come first, and among equal shares those with the largest
        distance ratio.
    overlaps : ndarray of shape (top,)
        The share of its neighbors that each sample kept.
    distance_ratios : ndarray of shape (top,)
        The mean distance to a sample's former neighbors divided by the mean distance to its new neighbors, both in the new outputs. NaN if
        the new neighbors are exact copies.
    document : dict
        What ``spadework select --moved --json`` prints.
    notes : tuple of str
        What a reader must know.
    """

    indices: npt.NDArray[np.int64]
    overlaps: npt.NDArray[np.float64]
    distance_ratios: npt.NDArray[np.float64]
    document: dict[str, Any]
    notes: tuple[str, ...] = ()

    @property
    def ids(self) -> list[str] | None:
        """The names of the samples, if ``ids`` was given."""
        return self.document.get("ids")

    @property
    def overlap(self) -> float:
        """The share of all neighbors that stayed neighbors."""
        return float(self.document["overlap"]["estimate"])


def moved(
    outputs: Any,
    against: Any,
    *,
    top: int | None = None,
    ids: Any = None,
    neighbors: int = 10,
    metric: Metric = "euclidean",
    search: Literal["auto", "exact", "approximate"] = "auto",
    seed: int = 0,
    threads: int | None = None,
    verbose: bool | None = None,
) -> Moved:
    """Find the samples whose neighbors changed most from one model's outputs to another's, for example after an upgrade of an
    embedder.

    Parameters
    ----------
    outputs, against : array-like of shape (n, ...)
        The outputs of the old model and of the new model on the same samples.
    top : int, optional
        How many; 100 by default, or all if there are fewer.
    ids : array-like of shape (n,), optional
        The name of every sample, for `Moved.ids`.
    neighbors : int, default=10
        Neighbors per sample, k.
    metric : {"euclidean", "cosine", "manhattan", "chebyshev"}, default="euclidean"
        The distance between outputs.
    search, seed, threads, verbose
        As in `score`.

    Returns
    -------
    Moved

    Examples
    --------
    >>> import numpy as np, spadework
    >>> before = np.arange(40.0)
    >>> after = before.copy()
    >>> after[7] = 31.5
    >>> int(spadework.moved(before, after, top=1, neighbors=2).indices[0])
    7
    """
    wanted = None if top is None else whole_number(top, "top", least=1)
    chosen = settings(
        neighbors=neighbors, eigenpairs=1, output_metric=metric, search=search, seed=seed, threads=threads
    )
    one, other = rows_and_shape(outputs, "outputs"), rows_and_shape(against, "against")
    with progress_bars(verbose) as progress:
        document = json.loads(_native.moved(one, other, wanted, as_names(ids), (chosen, progress)))
    nodes = document["nodes"]
    return Moved(
        indices=np.array(document["indices"], dtype=np.int64),
        overlaps=np.array([node["overlap"] for node in nodes], dtype=np.float64),
        distance_ratios=np.array([node.get("distance_ratio", np.nan) for node in nodes], dtype=np.float64),
        document=document,
        notes=_notes.told(document, verbose),
    )
