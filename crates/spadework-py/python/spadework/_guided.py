"""Evaluations by other packages, of some samples alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ._report import Report

#: Samples that a report selects.
_SELECTED = 100


@dataclass(frozen=True, eq=False)
class Guided:
    """What an attack did to some samples, a row for each.

    Attributes
    ----------
    indices : ndarray of int
        The samples.
    correct : ndarray of bool
        Whether the model was right before the attack.
    robust : ndarray of bool
        Whether it was right before and after.
    distances : ndarray of float
        Largest change of a number that the attack made.
    """

    indices: npt.NDArray[np.int64]
    correct: npt.NDArray[np.bool_]
    robust: npt.NDArray[np.bool_]
    distances: npt.NDArray[np.float64]

    @property
    def accuracy(self) -> float:
        """Share of the samples that the model gets right."""
        return float(np.mean(self.correct))

    @property
    def robust_accuracy(self) -> float:
        """Share of the samples that the model also gets right under attack."""
        return float(np.mean(self.robust))


def indices_of(indices: Any, samples: int) -> npt.NDArray[np.int64]:
    """Indices of samples that are there."""
    chosen = indices.top_nodes(_SELECTED) if isinstance(indices, Report) else np.asarray(indices)
    if chosen.ndim != 1 or chosen.dtype.kind not in "iu" or len(chosen) == 0:
        raise ValueError(f"indices must be one or more whole numbers, got an array of shape {list(chosen.shape)}")
    wrong = np.flatnonzero((chosen < 0) | (chosen >= samples))
    if len(wrong):
        raise ValueError(f"indices must be below the number of samples ({samples}), got {chosen[wrong[0]]}")
    return chosen.astype(np.int64)


def labels_of(labels: npt.ArrayLike, chosen: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Labels of the chosen samples."""
    return np.asarray(labels).astype(np.int64)[chosen]


def guided(
    indices: npt.NDArray[np.int64],
    labels: npt.NDArray[np.int64],
    before: npt.NDArray[Any],
    after: npt.NDArray[Any],
    inputs: npt.NDArray[Any],
    attacked: npt.NDArray[Any],
) -> Guided:
    """The outcome of an attack from the model's outputs before and after."""
    correct = np.argmax(before, axis=1) == labels
    robust = correct & (np.argmax(after, axis=1) == labels)
    change = np.abs(np.asarray(attacked, dtype=np.float64) - inputs).reshape(len(indices), -1)
    return Guided(indices, correct, robust, change.max(axis=1))
