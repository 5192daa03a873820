"""What `distortion` finds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from ._document import Documented
from ._optional import needed
from ._notebook import html_table

if TYPE_CHECKING:
    from pandas import DataFrame


@dataclass(frozen=True, eq=False, repr=False)
class Distortion(Documented):
    """How far a model pulls samples apart.

    Made by `spadework.distortion`.

    Attributes
    ----------
    pairs : dict of str to array
        The pairs that were measured, one entry per column: group ("top", "random" or "asked"), pairs, score, and the distances
        at input and output by hops and by resistance.
    edges : dict of str to array, or None
        The same for every edge of the input graph, with ``all_edges=True``.
    cut : ndarray
        The samples on the smaller side of the sparsest cut.
    document : dict
        Everything else, as ``spadework distortion --json`` prints it; see `to_dict`.

    Examples
    --------
    >>> import numpy as np, spadework
    >>> angle = np.linspace(0, 2 * np.pi, 60, endpoint=False)
    >>> ring = np.column_stack([np.cos(angle), np.sin(angle)])
    >>> spadework.distortion(ring, angle, neighbors=2, top=1)
    Distortion(top=57, random=1, p_value=0.4987)
    """

    document: dict[str, Any]
    pairs: dict[str, Any]
    edges: dict[str, npt.NDArray[Any]] | None
    cut: npt.NDArray[np.int64]
    notes: tuple[str, ...] = ()

    @property
    def model_score(self) -> float:
        """λ_1, an upper bound of every distortion by resistance."""
        return float(self.document["model_score"])

    @property
    def largest(self) -> dict[str, Any]:
        """The pair with the largest distortion that was found, by resistance, and the upper bound."""
        return dict(self.document["largest"])

    @property
    def reverse_score(self) -> float:
        """λ_max(L_X⁺L_Y): how much closer two samples can get at the output."""
        return float(self.document["reverse_score"])

    @property
    def bi_lipschitz(self) -> float:
        """The larger of the SPADE score and the reverse score."""
        return float(self.document["bi_lipschitz"])

    @property
    def riemannian_distance(self) -> float:
        """The distance between the two graphs as a whole."""
        return float(self.document["riemannian"]["distance"])

    def contrast(self, distance: Literal["geodesic", "resistance"] = "geodesic") -> dict[str, Any]:
        """Mean distortion of top and of random edges, with intervals and the p-value of a permutation test.

        Parameters
        ----------
        distance : {"geodesic", "resistance"}, default="geodesic"
            Hops, as in the paper's Table 2, or effective resistance.

        Returns
        -------
        dict
        """
        found = {entry["distance"]: entry for entry in self.document["distances"]}
        if distance not in found:
            raise ValueError(f'`distance` must be "geodesic" or "resistance", got {distance!r}')
        return dict(found[distance])

    def to_frame(self, table: Literal["pairs", "edges"] = "pairs") -> DataFrame:
        """One of the tables as a pandas frame.

        Parameters
        ----------
        table : {"pairs", "edges"}, default="pairs"
            The pairs that were measured, or every edge of the input graph.

        Returns
        -------
        pandas.DataFrame
        """
        pandas = needed("pandas", "to_frame", "frames")
        if table not in ("pairs", "edges"):
            raise ValueError(f'`table` must be "pairs" or "edges", got {table!r}')
        columns = self.pairs if table == "pairs" else self.edges
        if columns is None:
            raise ValueError("edges are measured only with all_edges=True")
        ends = {"p": columns["pairs"][:, 0], "q": columns["pairs"][:, 1]}
        group = {"group": columns["group"]} if "group" in columns else {}
        rest = {name: column for name, column in columns.items() if name not in ("group", "pairs")}
        return pandas.DataFrame({**group, **ends, **rest})

    def __repr__(self) -> str:
        found = self.contrast()
        return (
            f"Distortion(top={found['top']['mean']:.4g}, random={found['random']['mean']:.4g}, "
            f"p_value={found['p_value']:.4g})"
        )

    def _repr_html_(self) -> str:
        rows = [
            [entry["distance"], f"{entry['top']['mean']:.4g}", f"{entry['random']['mean']:.4g}", f"{entry['p_value']:.4g}"]
            for entry in self.document["distances"]
        ]
        return html_table(["mean distortion by", "top edges", "random edges", "p value"], rows)
