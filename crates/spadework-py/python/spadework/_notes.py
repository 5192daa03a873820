"""What a reader of a result must know in addition to its numbers.

Documents bring their notes along, the same ones that the command line prints. Here they become warnings.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterable, Mapping
from typing import Any

from . import _native
from ._arrays import is_sparse
from ._errors import SpadeworkWarning
from ._settings import Settings


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
    return told_of(document["notes"], verbose)


def told_of(found: Iterable[Mapping[str, str]], verbose: bool | None) -> tuple[Note, ...]:
    """Notes as the native module gives them, each as a warning."""
    notes = tuple(Note(note["code"], note["message"]) for note in found)
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


def add_sparse(document: dict[str, Any], inputs: Any, chosen: Settings) -> None:
    """Says in a document what is done with sparse inputs, as the command says it."""
    if is_sparse(inputs):
        message = _native.sparse_note((*inputs.shape, int(inputs.count_nonzero())), chosen)
        document["notes"].append({"code": "sparse-inputs", "message": message})
