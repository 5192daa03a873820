"""A folder that keeps what probes have found, so that a call that was interrupted goes on from there."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt

from . import _native
from ._settings import check_text

#: The name under which variants are kept.
_NAME = "variants"


def folder_path(resume: str | os.PathLike[str] | None) -> str | None:
    """The folder as text."""
    if resume is None:
        return None
    try:
        path = os.fspath(resume)
    except TypeError:
        raise ValueError(f"`resume` must be the path of a folder, got {type(resume).__name__}") from None
    if not isinstance(path, str) or not path:
        raise ValueError(f"`resume` must be the path of a folder, got {path!r}")
    check_text(path, "`resume`")
    return path


@contextmanager
def telling_of(folder: str | None) -> Iterator[None]:
    """Says after Ctrl-C where everything is that was found."""
    try:
        yield
    except KeyboardInterrupt as interrupt:
        # Python 3.11 and later print such a note below the traceback.
        if folder is not None and hasattr(interrupt, "add_note"):
            interrupt.add_note(f"What was probed is kept in {folder}: the same call goes on from there.")
        raise


class Kept:
    """Arrays that are kept between calls; without a folder nothing is."""

    def __init__(self, folder: str | None, asked: Mapping[str, Any]) -> None:
        words = {name: str(value) for name, value in asked.items()}
        self._folder = None if folder is None else _native.ProbeFolder(folder, words)

    def of_model(self, *outputs: npt.NDArray[Any]) -> dict[str, npt.NDArray[Any]] | None:
        """What an earlier call kept, if its model returned these outputs; another model's folder is refused."""
        if self._folder is None:
            return None
        self._folder.recognize(b"".join(map(_identity, outputs)))
        stored = self._folder.stored(_NAME)
        if stored is None:
            return None
        with np.load(io.BytesIO(stored), allow_pickle=False) as arrays:
            return dict(arrays)

    def keep(self, arrays: Mapping[str, npt.NDArray[Any]], *, now: bool) -> None:
        """Keep these arrays if it is time to, or now."""
        if self._folder is not None and (now or self._folder.is_due()):
            file = io.BytesIO()
            members: dict[str, Any] = dict(arrays)
            np.savez(file, **members)
            self._folder.keep(_NAME, file.getvalue())


def _identity(array: npt.NDArray[Any]) -> bytes:
    """All that tells an array from others; words may have come as objects."""
    plain = array.astype(str) if array.dtype.kind == "O" else array
    return f"{plain.dtype.str} {plain.shape} ".encode() + plain.tobytes()
