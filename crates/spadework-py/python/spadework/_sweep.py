"""What `sweep` finds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from . import _plots
from ._document import Paged
from ._optional import needed
from ._notebook import html_table

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame


@dataclass(frozen=True, eq=False, repr=False)
class Sweep(Paged):
    """Scores of models over k.

    Made by `spadework.sweep`.

    Attributes
    ----------
    document : dict
        The sweep as ``spadework sweep --json`` prints it; see `to_dict`.

    Examples
    --------
    >>> import numpy as np, spadework
    >>> angle = np.linspace(0, 2 * np.pi, 60, endpoint=False)
    >>> ring = np.column_stack([np.cos(angle), np.sin(angle)])
    >>> found = spadework.sweep(ring, angle, neighbors=[2, 4, 8])
    >>> found
    Sweep(neighbors=[2, 4, 8], models=['model'])
    >>> found.model_scores.shape
    (3, 1)
    """

    document: dict[str, Any]
    notes: tuple[str, ...] = ()

    @property
    def names(self) -> list[str]:
        """Names of the models, in the order given."""
        return list(self.document["models"])

    @property
    def neighbors(self) -> npt.NDArray[np.int64]:
        """Every k, ascending."""
        return np.array([point["neighbors"] for point in self.document["points"]], dtype=np.int64)

    @property
    def used(self) -> npt.NDArray[np.float64]:
        """Neighbors used at every k; NaN if a graph is disconnected under the policy ``"error"``."""
        return np.array([point.get("used", np.nan) for point in self.document["points"]], dtype=np.float64)

    @property
    def model_scores(self) -> npt.NDArray[np.float64]:
        """One row per k, one column per model; NaN if a graph is disconnected under the policy ``"error"``."""
        missing = [np.nan] * len(self.names)
        rows = [[score["model_score"] for score in point["scores"]] or missing for point in self.document["points"]]
        return np.array(rows, dtype=np.float64)

    @property
    def stable(self) -> dict[str, Any] | None:
        """The longest range of k over which the models keep their order; None for a single model."""
        return self.document.get("stable")

    def to_frame(self) -> DataFrame:
        """A pandas frame with one row per k and model.

        Returns
        -------
        pandas.DataFrame
            Columns neighbors, used, name, model_score, numerical_bounds_lower, numerical_bounds_upper.
        """
        pandas = needed("pandas", "to_frame", "frames")
        rows = []
        for point in self.document["points"]:
            scores = {score["name"]: score for score in point["scores"]}
            for name in self.names:
                score = scores.get(name, {"model_score": np.nan, "numerical_bounds": {"lower": np.nan, "upper": np.nan}})
                rows.append(
                    {
                        "neighbors": point["neighbors"],
                        "used": point.get("used", np.nan),
                        "name": name,
                        "model_score": score["model_score"],
                        "numerical_bounds_lower": score["numerical_bounds"]["lower"],
                        "numerical_bounds_upper": score["numerical_bounds"]["upper"],
                    }
                )
        return pandas.DataFrame(rows)

    def plot(self, ax: Axes | None = None, **options: Any) -> Axes:
        """Draw the SPADE scores over k, one line per model, into ``ax`` or a new figure; options are those of ``Axes.plot``."""
        return _plots.sweep(self, ax, options)

    def __repr__(self) -> str:
        return f"Sweep(neighbors={self.neighbors.tolist()}, models={self.names})"

    def _repr_html_(self) -> str:
        rows = zip(self.neighbors.tolist(), self.model_scores.tolist())
        return html_table(["neighbors", *self.names], [[k, *(f"{score:.6g}" for score in scores)] for k, scores in rows])
