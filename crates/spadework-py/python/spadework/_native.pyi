from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias, final

import numpy as np
import numpy.typing as npt

from ._settings import Settings

__all__ = [
    "VERSION",
    "ProbeFolder",
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

_Rows: TypeAlias = npt.NDArray[Any]
_Floats: TypeAlias = npt.NDArray[np.float64]
_Integers: TypeAlias = npt.NDArray[np.int64]

#: Labels with their words.
_Labels: TypeAlias = tuple[_Integers, list[str] | None]
#: Probes: their samples, margins and document; of a regressor the document alone.
_Probes: TypeAlias = tuple[_Integers, _Floats, str] | str
#: Inputs, outputs, and what is known of the samples.
_Model: TypeAlias = tuple[Any, Any, tuple[_Labels | None, _Probes | None, list[str] | None]]
_Models: TypeAlias = Sequence[tuple[str, _Rows]]

#: Is told a stage, how much of it is done, and how much there is.
_Progress: TypeAlias = Callable[[str, int, int], None] | None
_Asked: TypeAlias = tuple[Settings, _Progress]

def describe_model(path: str) -> dict[str, Any]: ...
def run_model(
    path: str, inputs: _Rows, shape: Sequence[int], feed: dict[str, Any], threads: int | None, progress: _Progress
) -> tuple[list[npt.NDArray[np.float32]], str]: ...
def run_command(arguments: Sequence[str]) -> int: ...
def probe_model(
    model: Any,
    inputs: _Rows,
    shape: Sequence[int],
    truth: tuple[_Integers | None, float | None],
    chosen: dict[str, Any],
    progress: _Progress,
) -> dict[str, Any]: ...

@final
class ProbeFolder:
    def __new__(cls, path: str, asked: dict[str, str], data: dict[str, bytes]) -> ProbeFolder: ...
    def recognize(self, outputs: bytes) -> None: ...
    def stored(self, name: str) -> bytes | None: ...
    def is_due(self) -> bool: ...
    def keep(self, name: str, state: bytes) -> None: ...

def score(model: _Model, extras: dict[str, bool], asked: _Asked) -> dict[str, Any]: ...
def check_gates(model: _Model, gates: dict[str, Any], asked: _Asked) -> dict[str, Any]: ...
def moved(before: Any, after: Any, top: int | None, ids: list[str] | None, asked: _Asked) -> str: ...
def compare(
    inputs: Any, models: _Models, labels: _Labels | None, extras: dict[str, bool], asked: _Asked
) -> dict[str, Any]: ...
def distortion(
    model: _Model, top: int | None, pairs: Sequence[tuple[int, int]], all_edges: bool, asked: _Asked
) -> dict[str, Any]: ...
def sweep(inputs: Any, models: _Models, neighbors: Sequence[int], asked: _Asked) -> str: ...
def knn_graph(samples: _Rows, asked: _Asked) -> dict[str, Any]: ...
def sparse_knn_graph(
    samples: tuple[int, int, npt.NDArray[np.uint32], npt.NDArray[np.uint32], _Floats], asked: _Asked
) -> dict[str, Any]: ...
def sparse_note(shape: tuple[int, int, int], settings: Settings) -> str: ...
def nearest_between(
    queries: _Rows, base: _Rows, shift: int, neighbors: int, metric: str, threads: int | None
) -> tuple[_Floats, _Integers]: ...
def score_new_samples(
    model: tuple[_Rows, _Rows, str, _Floats], inputs: _Rows, outputs: _Rows, asked: _Asked
) -> dict[str, Any]: ...
def page_of_document(document: str, title: str | None) -> str: ...
def page_of_score(
    document: str,
    title: str | None,
    arrays: tuple[_Rows, Sequence[int], _Rows, Sequence[str] | None],
    known: tuple[_Labels | None, _Floats | None, _Floats | None, Sequence[str] | None],
    threads: int | None,
    progress: _Progress,
) -> str: ...
def panic_on_purpose(in_worker: bool) -> None: ...
