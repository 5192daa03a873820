"""What `compare` finds."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from . import _files, _log
from ._document import Paged
from ._optional import needed
from ._notebook import comparison_html
from ._report import Report

if TYPE_CHECKING:
    from pandas import DataFrame

SCHEMA = "spadework.compare/4"
#: Between the position of a model and the name of its array in a file.
_SEPARATOR = "/"
#: What all models share, kept once.
_SHARED = ("edges", "labels", "input_weights")


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(Paged, Mapping[str, Report]):
    """Models on one input graph, most robust first: a mapping from their names to their reports.

    Made by `spadework.compare`.

    Attributes
    ----------
    document : dict
        The comparison as ``spadework compare --json`` prints it; see `to_dict`.

    Examples
    --------
    >>> import numpy as np, spadework
    >>> angle = np.linspace(0, 2 * np.pi, 60, endpoint=False)
    >>> ring = np.column_stack([np.cos(angle), np.sin(angle)])
    >>> comparison = spadework.compare(ring, {"cut": angle, "turn": ring[:, ::-1]}, neighbors=2, task="embedding")
    >>> comparison
    Comparison(by overlap: turn=1, cut=0.9833)
    >>> comparison["cut"].top_edges(1)
    array([[ 0, 59]])
    """

    document: dict[str, Any]
    reports: dict[str, Report]
    notes: tuple[str, ...] = ()

    def __getitem__(self, name: str) -> Report:
        return self.reports[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.reports)

    def __len__(self) -> int:
        return len(self.reports)

    @property
    def ranking(self) -> list[str]:
        """Names of the models, most robust first."""
        return list(self.reports)

    @property
    def ranked_by(self) -> str:
        """What the models are ranked by: ``"unevenness"``, ``"overlap"`` or ``"model-score"``."""
        return str(self.document["ranked_by"])

    @property
    def ranks(self) -> dict[str, int]:
        """Rank of every model, most robust first; models that cannot be distinguished share one."""
        return {model["name"]: int(model["rank"]) for model in self.document["models"]}

    @property
    def model_scores(self) -> dict[str, float]:
        """SPADE score of every model, most robust first."""
        return {name: report.model_score for name, report in self.reports.items()}

    @property
    def neighbors(self) -> int:
        """Neighbors used, k, the same for all models."""
        return int(self.document["neighbors"]["used"])

    @property
    def agreement(self) -> list[dict[str, Any]]:
        """For every pair of models, how much they agree on which samples are fragile."""
        return list(self.document["agreement"])

    def to_frame(self) -> DataFrame:
        """A pandas frame with one row per model, most robust first.

        Returns
        -------
        pandas.DataFrame
            Columns rank, name, model_score, numerical_bounds_lower, numerical_bounds_upper, and accuracy, unevenness, overlap,
            interval_lower, interval_upper and permuted if they are known.
        """
        pandas = needed("pandas", "to_frame", "frames")
        return pandas.DataFrame([_row(model) for model in self.document["models"]])

    def log(self, callback: _log.Callback, *, prefix: str = "", page: bool = True) -> None:
        """Pass the result to an experiment tracker, as `Report.log` does; metrics are named ``MODEL/overlap`` and so on.

        Parameters
        ----------
        callback, prefix, page
            As in `Report.log`.
        """
        metrics: dict[str, float] = {}
        for model in self.document["models"]:
            metrics |= {f"{prefix}{model['name']}/rank": float(model["rank"])}
            metrics |= _log.metrics_of(model, f"{prefix}{model['name']}/")
        _log.hand_over(self, metrics, callback, page)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything into one file, an NPZ archive; `Comparison.load` reads it.

        Parameters
        ----------
        path : path-like
            The file. An existing file is replaced only when the new one is complete.
        """
        arrays: dict[str, Any] = {}
        for at, report in enumerate(self.reports.values()):
            for name, array in report.arrays().items():
                arrays[name if name in _SHARED else f"{at}{_SEPARATOR}{name}"] = array
        reports = {name: report.document for name, report in self.reports.items()}
        _files.save(path, {**self.document, "reports": reports, "warnings": list(self.notes)}, arrays)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Comparison:
        """Read the file that `save` wrote."""
        document, arrays = _files.load(path, SCHEMA)
        shared = {name: arrays[name] for name in _SHARED if name in arrays}
        reports = {}
        for at, (name, own) in enumerate(document.pop("reports").items()):
            prefix = f"{at}{_SEPARATOR}"
            parts = {key[len(prefix) :]: array for key, array in arrays.items() if key.startswith(prefix)}
            reports[name] = Report.from_arrays(own, {**shared, **parts})
        return cls(document=document, notes=tuple(document.pop("warnings")), reports=reports)

    def __repr__(self) -> str:
        number = self.ranked_by.replace("-", "_")
        values = ", ".join(f"{model['name']}={model[number]:.4g}" for model in self.document["models"])
        return f"Comparison(by {self.ranked_by}: {values})"

    def _repr_html_(self) -> str:
        return comparison_html(self)


def _row(model: Mapping[str, Any]) -> dict[str, Any]:
    """What is known of one model, in one line."""
    row = {
        "rank": model["rank"],
        "name": model["name"],
        "model_score": model["model_score"],
        "numerical_bounds_lower": model["numerical_bounds"]["lower"],
        "numerical_bounds_upper": model["numerical_bounds"]["upper"],
    }
    for share in ("accuracy", "unevenness", "overlap"):
        if share in model:
            row[share] = model[share]
    if "interval" in model:
        row |= {"interval_lower": model["interval"]["lower"], "interval_upper": model["interval"]["upper"]}
    if "references" in model:
        row["permuted"] = model["references"]["permuted"]
    return row
