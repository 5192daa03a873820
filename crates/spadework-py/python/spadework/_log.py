"""Results where people keep them: numbers and files, handed to whatever tracks experiments."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

#: What takes the metrics and the files of a result.
Callback = Callable[[dict[str, float], dict[str, Path]], Any]


class Loggable(Protocol):
    """A result that can be written."""

    def to_json(self) -> str: ...
    def save(self, path: Path) -> None: ...
    def to_html(self, path: Path) -> None: ...


def metrics_of(document: Mapping[str, Any], prefix: str = "") -> dict[str, float]:
    """The numbers of a scored model by name; shares have the ends of their 95 % confidence intervals after them."""
    found = {"model_score": document["model_score"]}
    for end in ("lower", "upper"):
        if "interval" in document:
            found[f"model_score_{end}"] = document["interval"][end]
    for name, share in document.get("estimates", {}).items():
        found |= {name: share["estimate"], f"{name}_lower": share["lower"], f"{name}_upper": share["upper"]}
    if "references" in document:
        found["permuted_score"] = document["references"]["permuted"]
    if "output_change" in document:
        found["output_change"] = document["output_change"]["median"]
    return {f"{prefix}{name}": float(value) for name, value in found.items()}


def hand_over(result: Loggable, metrics: dict[str, float], callback: Callback, page: bool) -> None:
    """Call back with the metrics, and with files that are there until the callback returns."""
    if not callable(callback):
        raise ValueError(
            f"`callback` must be callable with metrics and files, got {type(callback).__name__}: "
            "`report.log(lambda metrics, files: run.log(metrics))`"
        )
    with tempfile.TemporaryDirectory(prefix="spadework-") as folder:
        files = {name: Path(folder) / name for name in ("result.json", "report.npz", "page.html") if page or name != "page.html"}
        files["result.json"].write_text(result.to_json(), encoding="utf-8")
        result.save(files["report.npz"])
        if page:
            result.to_html(files["page.html"])
        callback(metrics, files)
