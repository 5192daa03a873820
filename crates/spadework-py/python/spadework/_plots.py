"""Plots with matplotlib, where it is installed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ._optional import needed

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ._report import Report
    from ._sweep import Sweep


def _axes(ax: Axes | None) -> Axes:
    if ax is not None:
        return ax
    pyplot = needed("matplotlib.pyplot", "a plot", "plots")
    new: Axes = pyplot.subplots()[1]
    return new


def embedding(report: Report, ax: Axes | None, options: dict[str, Any]) -> Axes:
    """The samples by the first two coordinates; a single one is drawn over the index."""
    ax = _axes(ax)
    names = ["coordinate 1", "coordinate 2"]
    coordinates = report.embedding[:, :2].T
    if len(coordinates) == 1:
        names = ["sample", "coordinate 1"]
        coordinates = np.vstack([np.arange(len(report.embedding)), coordinates])
    x, y = coordinates
    # The most fragile on top.
    order = np.argsort(report.node_scores, kind="stable")
    points = ax.scatter(x[order], y[order], **{"c": report.node_scores[order], "s": 8, **options})
    if "c" not in options and "color" not in options:
        ax.figure.colorbar(points, ax=ax, label="node score")
    ax.set(xlabel=names[0], ylabel=names[1], title=f"SPADE score {report.model_score:.4g}")
    return ax


def labels(report: Report, ax: Axes | None, options: dict[str, Any]) -> Axes:
    """Label scores as bars."""
    if not report.label_scores:
        raise ValueError("a plot of label scores needs labels: pass them to `score` as labels=")
    ax = _axes(ax)
    ax.bar([str(name) for name in report.label_scores], list(report.label_scores.values()), **options)
    ax.set(xlabel="label", ylabel="mean node score")
    return ax


def spectrum(report: Report, ax: Axes | None, options: dict[str, Any]) -> Axes:
    """Eigenvalues, largest first."""
    ax = _axes(ax)
    values = report.eigenvalues
    ax.plot(np.arange(1, len(values) + 1), values, **{"marker": "o", **options})
    if report.numerical_bounds.method != "none":
        ax.vlines(1, report.numerical_bounds.lower, report.numerical_bounds.upper, linewidth=4, alpha=0.4)
    ax.set(xlabel="eigenpair", ylabel="eigenvalue", xticks=np.arange(1, len(values) + 1))
    return ax


def sweep(found: Sweep, ax: Axes | None, options: dict[str, Any]) -> Axes:
    """One line per model over k."""
    ax = _axes(ax)
    for name, scores in zip(found.names, found.model_scores.T):
        ax.plot(found.neighbors, scores, **{"marker": "o", "label": name, **options})
    ax.set(xlabel="neighbors", ylabel="SPADE score")
    if len(found.names) > 1:
        ax.legend()
    return ax
