"""Results in NPZ files, complete or not there."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

#: The member that holds the document.
_DOCUMENT = "document"


def write(path: str | os.PathLike[str], fill: Callable[[IO[bytes]], None]) -> None:
    """Write a file that is complete or not there."""
    place = Path(path)
    handle, temporary = tempfile.mkstemp(dir=place.parent, prefix=f".{place.name}.", suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            fill(file)
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, place)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a text that is complete or not there."""

    def fill(file: IO[bytes]) -> None:
        file.write(text.encode())

    write(path, fill)


def save(path: str | os.PathLike[str], document: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any] | None]) -> None:
    """Write a document and arrays; those that are `None` are left out."""
    members: dict[str, Any] = {name: array for name, array in arrays.items() if array is not None}
    members[_DOCUMENT] = np.array(json.dumps(document))
    write(path, lambda file: np.savez_compressed(file, **members))


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def load(path: str | os.PathLike[str], schema: str) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
    """Read what `save` wrote; nothing in the file is executed."""
    try:
        with np.load(path, allow_pickle=False) as file:
            if not hasattr(file, "files") or _DOCUMENT not in file.files:
                raise ValueError("it holds no document")
            document = json.loads(str(file[_DOCUMENT]))
            arrays = {name: file[name] for name in file.files if name != _DOCUMENT}
    except FileNotFoundError:
        raise
    except Exception as error:
        raise ValueError(f"{path}: expected a result that was saved with `save`, but {error}") from error
    found = document.get("schema")
    if found != schema:
        is_other_version = str(found).rsplit("/", 1)[0] == schema.rsplit("/", 1)[0]
        advice = ", of another version of spadework: make the result again" if is_other_version else ""
        raise ValueError(f"{path}: expected a result of schema `{schema}`, got `{found}`{advice}")
    return document, arrays
