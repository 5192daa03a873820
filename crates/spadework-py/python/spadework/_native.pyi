from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from ._settings import Settings

__all__ = [
    "VERSION",
    "check_gates",
    "compare",
    "describe_model",
    "distortion",
    "knn_graph",
    "moved",
    "nearest_between",
    "sparse_knn_graph",
    "sparse_note",
    "page_of_document",
    "page_of_score",
    "panic_on_purpose",
    "probe_model",
    "run_command",
    "run_model",
    "score",
    "score_new_samples",
    "sweep",
]

VERSION: Final[str]

#: Labels with their words, and probes: their samples, margins and document, of a regressor the document alone.
_KnownOfSamples: TypeAlias = tuple[
    tuple[npt.NDArray[np.int64], list[str] | None] | None,
    tuple[npt.NDArray[np.int64], npt.NDArray[np.float64], str] | str | None,
]

def describe_model(path: str) -> dict[str, Any]: ...
def run_model(
    path: str,
    inputs: npt.NDArray[Any],
    shape: Sequence[int],
    feed: dict[str, Any],
    threads: int | None,
    progress: Callable[[str, int, int], None] | None,
) -> tuple[list[npt.NDArray[np.float32]], str]: ...
def run_command(arguments: Sequence[str]) -> int: ...
def probe_model(
    model: Any,
    inputs: npt.NDArray[Any],
    shape: Sequence[int],
    truth: tuple[npt.NDArray[np.int64] | None, float | None],
    chosen: dict[str, Any],
    progress: Callable[[str, int, int], None] | None,
) -> dict[str, Any]: ...
def score(
    input: Any,
    output: Any,
    known: _KnownOfSamples,
    settings: Settings,
    extras: dict[str, bool],
    progress: Callable[[str, int, int], None] | None,
) -> dict[str, Any]: ...
def check_gates(
    input: Any,
    output: Any,
    known: _KnownOfSamples,
    settings: Settings,
    gates: dict[str, Any],
    progress: Callable[[str, int, int], None] | None,
) -> dict[str, Any]: ...
def moved(
    before: Any,
    after: Any,
    top: int | None,
    settings: Settings,
    progress: Callable[[str, int, int], None] | None,
) -> str: ...
def compare(
    inputs: Any,
    models: Sequence[tuple[str, npt.NDArray[Any]]],
    labels: tuple[npt.NDArray[np.int64], list[str] | None] | None,
    settings: Settings,
    extras: dict[str, bool],
    progress: Callable[[str, int, int], None] | None,
) -> dict[str, Any]: ...
def distortion(
    input: Any,
    output: Any,
    known: tuple[tuple[npt.NDArray[np.int64], list[str] | None] | None, None],
    settings: Settings,
    top: int | None,
    pairs: Sequence[tuple[int, int]],
    all_edges: bool,
    progress: Callable[[str, int, int], None] | None,
) -> dict[str, Any]: ...
def sweep(
    inputs: Any,
    models: Sequence[tuple[str, npt.NDArray[Any]]],
    neighbors: Sequence[int],
    settings: Settings,
    progress: Callable[[str, int, int], None] | None,
) -> str: ...
def knn_graph(
    samples: npt.NDArray[Any],
    settings: Settings,
    progress: Callable[[str, int, int], None] | None,
) -> dict[str, Any]: ...
def sparse_knn_graph(
    samples: tuple[int, int, npt.NDArray[np.uint32], npt.NDArray[np.uint32], npt.NDArray[np.float64]],
    settings: Settings,
    progress: Callable[[str, int, int], None] | None,
) -> dict[str, Any]: ...
def sparse_note(shape: tuple[int, int, int], settings: Settings) -> str: ...
def nearest_between(
    queries: npt.NDArray[Any],
    base: npt.NDArray[Any],
    shift: int,
    neighbors: int,
    metric: str,
    threads: int | None,
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]: ...
def score_new_samples(
    model: tuple[npt.NDArray[Any], npt.NDArray[Any], str, npt.NDArray[np.float64]],
    inputs: npt.NDArray[Any],
    outputs: npt.NDArray[Any],
    settings: Settings,
    progress: Callable[[str, int, int], None] | None,
) -> dict[str, Any]: ...
def page_of_document(document: str, title: str | None) -> str: ...
def page_of_score(
    document: str,
    title: str | None,
    arrays: tuple[npt.NDArray[Any], Sequence[int], npt.NDArray[Any]],
    known: tuple[
        tuple[npt.NDArray[np.int64], list[str] | None] | None,
        npt.NDArray[np.float64] | None,
        npt.NDArray[np.float64] | None,
    ],
    threads: int | None,
    progress: Callable[[str, int, int], None] | None,
) -> str: ...
def panic_on_purpose(in_worker: bool) -> None: ...
