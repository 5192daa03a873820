"""What a reader of a result must know in addition to its numbers.

Documents bring their notes along, the same ones that the command line tells. Here they become warnings. Only what a model of the
caller's own says is looked at here.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ._arrays import is_sparse
from ._errors import SpadeworkWarning

if TYPE_CHECKING:
    from ._arrays import Rows

#: Sums of probabilities in single precision are off by less than this.
_SUM_SLACK = 1e-3
#: Probabilities of single precision may be below 0 by rounding, as in -3.6e-7.
_LEAST_PROBABILITY = -1e-5


class Note(str):
    """What a note says, with the word that programs look for."""

    code: str

    def __new__(cls, code: str, message: str) -> Note:
        note = super().__new__(cls, message)
        note.code = code
        return note

    def __reduce__(self) -> tuple[type[Note], tuple[str, str]]:
        return Note, (self.code, str(self))


def told(document: Mapping[str, Any], verbose: bool | None) -> tuple[Note, ...]:
    """The notes of a document, each as a warning."""
    notes = tuple(Note(note["code"], note["message"]) for note in document["notes"])
    tell(notes, verbose)
    return notes


def tell(notes: Iterable[str], verbose: bool | None) -> None:
    """Warns of every note, as the fault of the line that called the package."""
    if verbose is False:
        return
    level = _levels_inside() + 1
    for note in notes:
        warnings.warn(note, SpadeworkWarning, stacklevel=level)


def _levels_inside() -> int:
    """Number of calls of the package between its user and the caller."""
    package = os.path.dirname(__file__)
    frame, levels = sys._getframe(1), 0
    while frame is not None and os.path.dirname(frame.f_code.co_filename) == package:
        caller = frame.f_back
        if caller is None:
            break
        frame, levels = caller, levels + 1
    return levels


def about_probabilities(outputs: Rows, whose: str = "") -> list[Note]:
    """Outputs that are probably those of a softmax."""
    if outputs.ndim != 2 or outputs.shape[1] < 2 or not _look_like_probabilities(outputs):
        return []
    message = (
        f"{whose}every row of the outputs is non-negative and sums to 1: these look like probabilities, and scores "
        "are meant for the values before the softmax"
    )
    return [Note("probabilities", message)]


def add_sparse(document: dict[str, Any], inputs: Any, chosen: Mapping[str, Any]) -> None:
    """Says in a document what is done with sparse inputs."""
    if not is_sparse(inputs):
        return
    message = (
        f"inputs: {inputs.shape[0]} sparse rows are joined to their {chosen['neighbors']} nearest by {chosen['input_metric']} "
        "distance; `connectivity` concerns the outputs alone"
    )
    document["notes"].append({"code": "sparse-inputs", "message": message})


def about_softmax(model: str) -> Note:
    """A model file that ends in a softmax."""
    message = f"{model}: the output ends in a softmax: scores are meant for the values before it (before_softmax=True)"
    return Note("softmax-output", message)


def _look_like_probabilities(outputs: Rows) -> bool:
    if np.any(outputs < _LEAST_PROBABILITY):
        return False
    sums = np.sum(outputs, axis=1, dtype=np.float64)
    return bool(np.all(np.abs(sums - 1) <= _SUM_SLACK))
