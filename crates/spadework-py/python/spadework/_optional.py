"""Packages that are used where they are installed."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def needed(module: str, what: str, extra: str) -> Any:
    """The module, or an error that says how to get it."""
    try:
        return import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise ImportError(
            f"{what} needs {package}, which is not installed: pip install {package}, or pip install 'spadework[{extra}]'"
        ) from error
