"""Arguments that calls have in common, checked and made ready for the native module."""

from __future__ import annotations

import inspect
import math
import operator
from collections.abc import Callable, Mapping
from typing import Any, Literal, TypedDict

import numpy as np

#: The distance between samples of one side.
Metric = Literal["euclidean", "cosine", "manhattan", "chebyshev"]

#: More threads than this no machine has a use for; some hang over starting them.
MAX_THREADS = 1024


class Settings(TypedDict):
    """What the native module takes; `None` for eigenpairs means all of them, for threads all cores."""

    neighbors: int
    eigenpairs: int | None
    sketch_error: float
    solver: str
    input_metric: str
    output_metric: str
    standardize: str
    ties: str
    search: str
    graph: str
    weights: str
    connectivity: str
    tolerance: float
    certify: bool
    bounds: bool
    seed: int
    threads: int | None
    task: str
    rank_by: str


def settings(
    *,
    neighbors: Any = 10,
    eigenpairs: Any = 2,
    sketch_error: Any = 0.3,
    solver: Any = "davidson",
    input_metric: Any = "euclidean",
    output_metric: Any = "euclidean",
    standardize: Any = False,
    ties: Any = "inputs",
    search: Any = "auto",
    graph: Any = "knn",
    weights: Any = "unit",
    connectivity: Any = "grow",
    tolerance: Any = 1e-6,
    certify: Any = False,
    bounds: Any = True,
    seed: Any = 0,
    threads: Any = None,
    task: Any = "auto",
    rank_by: Any = "auto",
) -> Settings:
    """The settings of a call."""
    if certify and not bounds:
        raise ValueError("`certify` proves the upper bound that `bounds=False` leaves out; pass only one of them")
    return {
        "neighbors": whole_number(neighbors, "neighbors", least=1),
        "eigenpairs": _eigenpairs(eigenpairs),
        "sketch_error": number(sketch_error, "sketch_error"),
        "solver": word(solver, "solver"),
        "input_metric": word(input_metric, "input_metric"),
        "output_metric": word(output_metric, "output_metric"),
        "standardize": standardize_word(standardize),
        "ties": word(ties, "ties"),
        "search": word(search, "search"),
        "graph": word(graph, "graph"),
        "weights": word(weights, "weights"),
        "connectivity": word(connectivity, "connectivity"),
        "tolerance": number(tolerance, "tolerance"),
        "certify": bool(certify),
        "bounds": bool(bounds),
        "seed": whole_number(seed, "seed", least=0, most=2**64 - 1),
        "threads": None if threads is None else whole_number(threads, "threads", least=1, most=MAX_THREADS),
        "task": word(task, "task"),
        "rank_by": word(rank_by, "rank_by"),
    }


def named(call: Mapping[str, Any], function: Callable[..., Any]) -> dict[str, Any]:
    """Those arguments of a call that another function takes under the same names: ``settings(**named(locals(), settings))``."""
    return {name: call[name] for name in inspect.signature(function).parameters if name in call}


def whole_number(value: Any, name: str, *, least: int, most: int = 2**63 - 1) -> int:
    """A whole number of any integer type."""
    try:
        if isinstance(value, bool):
            raise TypeError
        whole = operator.index(value)
    except TypeError:
        raise ValueError(f"`{name}` must be a whole number, got {value!r}") from None
    if whole < least:
        raise ValueError(f"`{name}` must be at least {least}, got {whole}")
    if whole > most:
        raise ValueError(f"`{name}` must be at most {most}, got {whole}")
    return whole


def number(value: Any, name: str) -> float:
    """A finite number of any type."""
    try:
        real = float(value)
    except (TypeError, ValueError):
        raise ValueError(f"`{name}` must be a number, got {value!r}") from None
    if not math.isfinite(real):
        raise ValueError(f"`{name}` must be finite, got {real}")
    return real


def word(value: Any, name: str) -> str:
    """A word; the native module knows which there are."""
    if not isinstance(value, str):
        raise ValueError(f"`{name}` must be a word, got {value!r}")
    check_text(value, f"`{name}`")
    return value


def check_text(text: str, place: str) -> None:
    """Refuses what no file can hold: halves of surrogate pairs, which Python strings may have."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError(f"{place}: text must be valid Unicode, got {text!r} with a lone surrogate") from None


def standardize_word(value: Any) -> str:
    """What is done to the columns, as the native module calls it."""
    if isinstance(value, (bool, np.bool_)):
        return "standard" if value else "none"
    if value not in ("none", "standard", "robust"):
        raise ValueError(f'`standardize` must be True, False or "robust", got {value!r}')
    return str(value)


def _eigenpairs(value: Any) -> int | None:
    if isinstance(value, str):
        if value != "all":
            raise ValueError(f'`eigenpairs` must be a whole number or "all", got {value!r}')
        return None
    return whole_number(value, "eigenpairs", least=1)
