"""A folder that keeps what probes have found, so that a call that was interrupted continues from there."""

from __future__ import annotations

import io
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from . import _native
from ._arrays import of_tensor
from ._settings import check_text
from .perturb import GraphData

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
        if folder is not None and any(Path(folder).glob("*.part")) and hasattr(interrupt, "add_note"):
            interrupt.add_note(f"What was probed is kept in {folder}: the same call goes on from there.")
        raise


class Kept:
    """Arrays that are kept between calls; without a folder nothing is."""

    def __init__(self, folder: str | None, asked: Mapping[str, Any], data: Mapping[str, Any]) -> None:
        """For what was asked, and for what was asked it of."""
        self._folder = None
        if folder is not None:
            words = {name: str(value) for name, value in asked.items()}
            contents = {name: identity(value) for name, value in data.items()}
            self._folder = _native.ProbeFolder(folder, words, contents)

    def of_model(self, *outputs: npt.NDArray[Any]) -> dict[str, npt.NDArray[Any]] | None:
        """What an earlier call kept, if its model returned these outputs; another model's folder is refused."""
        if self._folder is None:
            return None
        self._folder.recognize(_joined("outputs", outputs))
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


def identity(value: Any) -> bytes:
    """All that tells samples from others: arrays, tensors, tables, sparse rows, graphs, or lists of anything."""
    if isinstance(value, str):
        return b"text " + value.encode("utf-8", "surrogatepass")
    if isinstance(value, GraphData):
        return _joined("graph", [value.adjacency, value.features])
    if hasattr(value, "tocsr"):
        rows = value.tocsr()
        return _joined(f"sparse {rows.shape}", [rows.indptr, rows.indices, rows.data])
    if hasattr(value, "iloc"):
        columns = [value.iloc[:, at].to_numpy() for at in range(value.shape[1])] if value.ndim == 2 else [value.to_numpy()]
        return _joined("table", [list(getattr(value, "columns", ())), *columns])
    if isinstance(value, Mapping):
        return _joined("mapping", [part for item in value.items() for part in item])
    if isinstance(value, Sequence) and not all(isinstance(item, (int, float)) for item in value):
        return _joined("list", value)
    if hasattr(value, "detach"):
        value = of_tensor(value.detach().cpu())
    array = np.asarray(value)
    if array.dtype.kind != "O":
        return f"{array.dtype.str} {array.shape} ".encode() + array.tobytes()
    if array.ndim > 0:
        return _joined(f"objects {array.shape}", array.ravel().tolist())
    # The text of an object that has none of its own is its address, which is another in every process.
    text = repr(value)
    own = "" if text == object.__repr__(value) else text
    return f"{type(value).__qualname__} {own}".encode("utf-8", "surrogatepass")


def _joined(kind: str, parts: Iterable[Any]) -> bytes:
    pieces = [identity(part) for part in parts]
    return b"".join([f"{kind} {len(pieces)} ".encode(), *(f"{len(piece)} ".encode() + piece for piece in pieces)])
