"""MLflow: the numbers of a result as metrics, its files and its page as artifacts.

Needs MLflow: ``pip install 'spadework[mlflow]'``.

>>> import mlflow, spadework.mlflow                         # doctest: +SKIP
>>> with mlflow.start_run():                                # doctest: +SKIP
...     spadework.mlflow.log(spadework.score(X, Y, labels=y))
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from . import _native
from ._comparison import Comparison
from ._optional import needed
from ._report import Report

mlflow = needed("mlflow", "spadework.mlflow", "mlflow")

__all__ = ["log"]


def log(
    result: Report | Comparison,
    *,
    prefix: str = "spadework/",
    step: int | None = None,
    run_id: str | None = None,
    page: bool = True,
) -> None:
    """Log a result to a run of MLflow.

    Parameters
    ----------
    result : Report or Comparison
        What `spadework.score` or `spadework.compare` found.
    prefix : str, default="spadework/"
        What the names of the metrics begin with, and, without the slash at its end, the folder of the artifacts.
    step : int, optional
        The step of the metrics, e.g. the epoch.
    run_id : str, optional
        The run; the active one by default, which MLflow starts where there is none.
    page : bool, default=True
        Whether the page is among the artifacts.
    """
    if not isinstance(result, (Report, Comparison)):
        raise ValueError(f"`result` must be what `score` or `compare` returns, got {type(result).__name__}")

    client: Any = mlflow.MlflowClient()
    run = run_id or (mlflow.active_run() or mlflow.start_run()).info.run_id
    folder = prefix.strip("/") or None

    def to_mlflow(metrics: dict[str, float], files: dict[str, Path]) -> None:
        for name, value in metrics.items():
            client.log_metric(run, name, value, step=step)
        for path in files.values():
            client.log_artifact(run, str(path), folder)
        client.set_tag(run, "spadework.version", _native.VERSION)

    result.log(to_mlflow, prefix=prefix, page=page)
