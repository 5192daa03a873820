"""What `score` finds."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from . import _files, _log, _native, _notebook, _plots
from ._arrays import as_rows
from ._optional import needed
from ._progress import progress_bars
from ._settings import whole_number

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame

SCHEMA = "spadework.score/4"

#: Arrays that every report has, and those that it may have.
_ARRAYS = ("node_scores", "edges", "edge_scores", "embedding", "output_edges")
_MORE_ARRAYS = ("margins", "fragility", "overlap", "labels", "ids", "input_weights", "output_weights")
#: Samples and edges that a document names unless told otherwise.
TOP = 10


class NumericalBounds(NamedTuple):
    """Numerical bounds of a SPADE score."""

    #: Lower end.
    lower: float
    #: Upper end; infinite with ``bounds=False``.
    upper: float
    #: ``"residual"``, ``"inertia"`` (a proof) or ``"dense"``: how the upper end was obtained; ``"none"`` with ``bounds=False``.
    method: str
    #: Probability with which the upper end holds.
    probability: float


class Interval(NamedTuple):
    """A 95 % confidence interval of a SPADE score, from half-samples."""

    #: Lower end.
    lower: float
    #: Upper end.
    upper: float
    #: Nominal level.
    level: float


def largest(scores: npt.NDArray[np.float64], count: int) -> npt.NDArray[np.int64]:
    """Positions of the largest scores, largest first, ties to the lower position."""
    order = np.argsort(-scores, kind="stable")
    return order[:count].astype(np.int64)


@dataclass(frozen=True, eq=False, repr=False)
class Report:
    """A scored model.

    Made by `spadework.score`, and by `spadework.compare` for every model.

    Attributes
    ----------
    node_scores : ndarray of shape (n,)
        Score of every sample; larger is more fragile.
    edges : ndarray of shape (m, 2)
        Edges of the input graph: pairs of samples that are neighbors at the input, the lower index first.
    edge_scores : ndarray of shape (m,)
        Score of every edge; larger is pulled apart more.
    embedding : ndarray of shape (n, r)
        Coordinates of every sample along the directions in which the model pulls most.
    margins : ndarray of shape (n,) or None
        The output of a sample's label minus the largest other output; negative if the model is wrong. Without labels that are classes
        of the outputs, the largest output minus the second. None if the outputs are single numbers or a graph.
    fragility : ndarray of shape (n,) or None
        From 0 to 1: the share of the samples that are less fragile, by the margin and the slope of the outputs, and by probes if
        ``probed`` was given; by neighborhood overlap and distances with ``task="embedding"``; by node scores if the outputs are
        single numbers or a graph (`fragility_basis`). None in reports that an older version saved.
    overlap : ndarray of shape (n,) or None
        From 0 to 1: the share of a sample's input neighbors that are its output neighbors too; NaN for a sample without neighbors.
        None in reports that an older version saved.
    labels : ndarray of shape (n,) or None
        The label of every sample as a number; `label_names` has the words, if labels are words.
    ids : ndarray of shape (n,) or None
        The name of every sample, if ``ids`` was given.
    document : dict
        Everything else, as ``spadework score --json`` prints it; see `to_dict`.
    thumbnails : tuple of str
        Pictures of the weakest samples for notebooks, if the inputs are images; not saved.

    Examples
    --------
    >>> import numpy as np, spadework
    >>> angle = np.linspace(0, 2 * np.pi, 60, endpoint=False)
    >>> ring = np.column_stack([np.cos(angle), np.sin(angle)])
    >>> report = spadework.score(ring, angle, neighbors=2)
    >>> report
    Report(model_score=57.3177, samples=60, neighbors=2, eigenpairs=2)
    >>> report.top_edges(1)
    array([[ 0, 59]])
    """

    document: dict[str, Any]
    node_scores: npt.NDArray[np.float64]
    edges: npt.NDArray[np.int64]
    edge_scores: npt.NDArray[np.float64]
    embedding: npt.NDArray[np.float64]
    labels: npt.NDArray[np.int64] | None
    input_weights: npt.NDArray[np.float64] | None
    output_edges: npt.NDArray[np.int64]
    output_weights: npt.NDArray[np.float64] | None
    notes: tuple[str, ...] = ()
    margins: npt.NDArray[np.float64] | None = None
    fragility: npt.NDArray[np.float64] | None = None
    overlap: npt.NDArray[np.float64] | None = None
    ids: npt.NDArray[np.str_] | None = None
    thumbnails: tuple[str, ...] = ()

    @property
    def verdict(self) -> str:
        """How robust the model is, in a sentence with the best evidence of the report, and what would give better evidence."""
        return _notebook.verdict(self)

    @property
    def model_score(self) -> float:
        """λ_1, the SPADE score of the model; larger is less robust."""
        return float(self.document["model_score"])

    @property
    def eigenvalues(self) -> npt.NDArray[np.float64]:
        """λ_1 ≥ … ≥ λ_r."""
        return np.array(self.document["eigenvalues"], dtype=np.float64)

    @property
    def residuals(self) -> npt.NDArray[np.float64]:
        """Relative residual of every eigenpair."""
        return np.array(self.document["residuals"], dtype=np.float64)

    @property
    def numerical_bounds(self) -> NumericalBounds:
        """Numerical bounds of the SPADE score, and how certain they are."""
        bounds = self.document["numerical_bounds"]
        return NumericalBounds(**{**bounds, "upper": math.inf if bounds["upper"] is None else bounds["upper"]})

    @property
    def interval(self) -> Interval | None:
        """95 % confidence interval of the SPADE score, with ``interval=True``."""
        found = self.document.get("interval")
        return None if found is None else Interval(found["lower"], found["upper"], found["level"])

    @property
    def permuted_score(self) -> float | None:
        """Score of the permuted baseline: the same outputs, randomly permuted, with ``references=True``."""
        found = self.document.get("references")
        return None if found is None else float(found["permuted"])

    @property
    def indices(self) -> dict[str, Any] | None:
        """More numbers about the model, with ``indices=True``, like those of ``spadework score --indices``."""
        return self.document.get("indices")

    @property
    def accuracy(self) -> float | None:
        """Share of the samples whose largest output is that of their label; None if the labels are not classes of the outputs."""
        return self.document.get("accuracy")

    @property
    def neighborhood_overlap(self) -> float | None:
        """Share of the input edges that are output edges too; larger is more robust."""
        return self.document.get("overlap")

    @property
    def agreement(self) -> float | None:
        """Share of the input edges whose two samples get the same predicted class; larger is more robust."""
        return self.document.get("agreement")

    @property
    def roughness(self) -> float | None:
        """How much outputs vary along input edges within a class, relative to their variation within classes; smaller is more
        robust."""
        return self.document.get("roughness")

    @property
    def unevenness(self) -> float | None:
        """Roughness plus the share of input edges whose two samples get different classes; smaller is more robust."""
        return self.document.get("unevenness")

    @property
    def fragility_basis(self) -> str | None:
        """What `fragility` was made of: ``"node scores"``, ``"neighborhood overlap and distances"`` (embeddings), ``"margins and
        slopes"`` or ``"margins, slopes and probes"``."""
        return self.document.get("fragility_basis")

    @property
    def neighbors(self) -> int:
        """Neighbors used, k; more than requested if ``connectivity="grow"`` increased it."""
        return int(self.document["neighbors"]["used"])

    @property
    def label_names(self) -> dict[int, str]:
        """Names of the labels that have one."""
        return {label["label"]: label["name"] for label in self.document["label_scores"] if "name" in label}

    @property
    def label_scores(self) -> dict[Hashable, float]:
        """Mean node score of every label, by its word or number; empty without labels."""
        return {label.get("name", label["label"]): label["score"] for label in self.document["label_scores"]}

    @property
    def label_overlaps(self) -> dict[Hashable, float]:
        """Neighborhood overlap of the samples of every label, by its word or number: which labels a new embedder breaks, the least
        first. Empty without labels."""
        known = [label for label in self.document["label_scores"] if "overlap" in label]
        known.sort(key=lambda label: float(label["overlap"]["estimate"]))
        return {label.get("name", label["label"]): label["overlap"]["estimate"] for label in known}

    @property
    def label_pair_scores(self) -> dict[tuple[Hashable, Hashable], float]:
        """Mean edge score between every two labels that an edge of the input graph joins."""
        names: Mapping[int, Hashable] = self.label_names
        pairs = self.document.get("label_pairs", [])
        return {(names.get(pair["a"], pair["a"]), names.get(pair["b"], pair["b"])): pair["score"] for pair in pairs}

    @property
    def node_ranks(self) -> npt.NDArray[np.int64]:
        """Rank of every sample, 1 for the most fragile; ties to the lower index."""
        ranks = np.empty(len(self.node_scores), dtype=np.int64)
        ranks[largest(self.node_scores, len(self.node_scores))] = np.arange(1, len(self.node_scores) + 1)
        return ranks

    @property
    def input_graph(self) -> Any:
        """The input graph as a SciPy ``csr_array``; needs SciPy."""
        return matrix(len(self.node_scores), self.edges, self.input_weights)

    @property
    def output_graph(self) -> Any:
        """The output graph as a SciPy ``csr_array``; needs SciPy."""
        return matrix(len(self.node_scores), self.output_edges, self.output_weights)

    def top_nodes(self, count: int = TOP) -> npt.NDArray[np.int64]:
        """Indices of the most fragile samples, most fragile first: by `fragility`, which is the order of the node scores if the
        outputs are neither classes nor an embedding (`fragility_basis`).

        Parameters
        ----------
        count : int, default=10
            How many, or all if there are fewer.

        Returns
        -------
        ndarray of shape (count,)
        """
        return largest(self.node_scores if self.fragility is None else self.fragility, count)

    def top_edges(self, count: int = TOP) -> npt.NDArray[np.int64]:
        """The pairs of neighbors that the model pulls apart most, starting with the worst.

        Parameters
        ----------
        count : int, default=10
            How many, or all if there are fewer.

        Returns
        -------
        ndarray of shape (count, 2)
        """
        return self.edges[largest(self.edge_scores, count)]

    def to_frame(self, table: Literal["nodes", "edges", "labels"] = "nodes") -> DataFrame:
        """One of the tables as a pandas frame.

        Parameters
        ----------
        table : {"nodes", "edges", "labels"}, default="nodes"
            One row per sample (index, id, label, score, rank, margin, fragility, overlap), per edge (p, q, score) or per label (label, score, samples, overlap). The rank is that of
            the fragility.

        Returns
        -------
        pandas.DataFrame
        """
        pandas = needed("pandas", "to_frame", "frames")
        columns: dict[str, Any]
        if table == "nodes":
            columns = {"index": np.arange(len(self.node_scores))}
            if self.ids is not None:
                columns["id"] = self.ids
            if self.labels is not None:
                columns["label"] = self._label_words(self.labels)
            columns |= {"score": self.node_scores, "rank": self._ranks()}
            columns |= {"margin": np.nan if self.margins is None else self.margins}
            columns |= {"fragility": np.nan if self.fragility is None else self.fragility}
            columns |= {"overlap": np.nan if self.overlap is None else self.overlap}
        elif table == "edges":
            columns = {"p": self.edges[:, 0], "q": self.edges[:, 1], "score": self.edge_scores}
        elif table == "labels":
            found = self.document["label_scores"]
            columns = {
                "label": [label.get("name", label["label"]) for label in found],
                "score": [label["score"] for label in found],
                "samples": [label["samples"] for label in found],
                "overlap": [label.get("overlap", {}).get("estimate", np.nan) for label in found],
            }
        else:
            raise ValueError(f'`table` must be "nodes", "edges" or "labels", got {table!r}')
        return pandas.DataFrame(columns)

    def to_dict(self, top: int = TOP) -> dict[str, Any]:
        """The result as ``spadework score --json`` prints it, schema ``spadework.score/4``.

        Parameters
        ----------
        top : int, default=10
            How many of the most fragile samples and edges to include.

        Returns
        -------
        dict
        """
        nodes: list[dict[str, Any]] = []
        for index in self.top_nodes(top).tolist():
            nodes.append({"index": index, "score": float(self.node_scores[index])})
            if self.ids is not None:
                nodes[-1]["id"] = str(self.ids[index])
            if self.labels is not None:
                nodes[-1]["label"] = int(self.labels[index])
            if self.margins is not None:
                nodes[-1]["margin"] = float(self.margins[index])
            if self.fragility is not None:
                nodes[-1]["fragility"] = float(self.fragility[index])
            if self.overlap is not None and not np.isnan(self.overlap[index]):
                nodes[-1]["overlap"] = float(self.overlap[index])
        chosen = largest(self.edge_scores, top)
        edges = [
            {"p": p, "q": q, "score": score}
            for (p, q), score in zip(self.edges[chosen].tolist(), self.edge_scores[chosen].tolist())
        ]
        return {**self.document, "top_nodes": nodes, "top_edges": edges}

    def to_json(self, top: int = TOP, indent: int | None = 2) -> str:
        """The same as JSON.

        Parameters
        ----------
        top : int, default=10
            How many of the most fragile samples and edges to include.
        indent : int or None, default=2
            Spaces per level, or None for one line.

        Returns
        -------
        str
        """
        return json.dumps(self.to_dict(top), indent=indent, ensure_ascii=False)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything into one file, an NPZ archive; `Report.load` reads it.

        Parameters
        ----------
        path : path-like
            The file. An existing file is replaced only when the new one is complete.
        """
        _files.save(path, self.document, self.arrays())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Report:
        """Read the file that `save` wrote.

        Parameters
        ----------
        path : path-like
            The file.

        Returns
        -------
        Report
        """
        document, arrays = _files.load(path, SCHEMA)
        return cls.from_arrays(document, arrays)

    def to_html(
        self,
        path: str | os.PathLike[str],
        *,
        inputs: Any = None,
        outputs: Any = None,
        title: str | None = None,
        threads: int | None = None,
        verbose: bool | None = None,
    ) -> None:
        """Write the result as one self-contained page, as ``spadework report`` does.

        Parameters
        ----------
        path : path-like
            The file. An existing file is replaced only when the new one is complete.
        inputs, outputs : array-like of shape (n, ...), optional
            The arrays that were scored. A report does not keep them. The page has scatter plots, the most fragile pairs and
            pictures only if you pass them; the model is then scored again. Images keep their shape here: (n, height, width) or
            with channels. The columns of a frame keep their names. For a report of `score_table`, pass the DataFrame, or
            ``encode_table(table)``: the page shows its rows as they were compared, encoded and standardized.
        title : str, optional
            Title of the page.
        threads, verbose
            As in `score`.
        """
        document = json.dumps(self.document)
        if inputs is None and outputs is None:
            _files.write_text(path, _native.page_of_document(document, title))
            return
        if inputs is None or outputs is None:
            raise ValueError("`inputs` and `outputs` must both be given, or neither")
        inputs, columns = self._named_inputs(inputs)
        rows = as_rows(inputs, "inputs")
        if columns is not None and len(columns) != rows.shape[1]:
            columns = None
        arrays = (rows, list(np.shape(inputs)), as_rows(outputs, "outputs"), columns)
        wanted = None if threads is None else whole_number(threads, "threads", least=1)
        with progress_bars(verbose) as progress:
            names = None if self.ids is None else self.ids.tolist()
            known = (self._native_labels(), self.margins, self.fragility, names)
            page = _native.page_of_score(document, title, arrays, known, wanted, progress)
        _files.write_text(path, page)

    def log(self, callback: _log.Callback, *, prefix: str = "", page: bool = True) -> None:
        """Pass the result to an experiment tracker.

        Parameters
        ----------
        callback : callable
            Called once with a dict of metrics (shares with ``_lower`` and ``_upper``) and a dict of files by their names:
            ``result.json``, ``report.npz`` and ``page.html``. The files are removed when it returns.
        prefix : str, default=""
            Prefix of the names of the metrics.
        page : bool, default=True
            Whether the page is among the files.

        Examples
        --------
        >>> import numpy as np, spadework
        >>> angle = np.linspace(0, 2 * np.pi, 60, endpoint=False)
        >>> ring = np.column_stack([np.cos(angle), np.sin(angle)])
        >>> report = spadework.score(ring, angle, neighbors=2)
        >>> report.log(lambda metrics, files: print(sorted(metrics)[0], *files))
        model_score result.json report.npz page.html
        """
        _log.hand_over(self, _log.metrics_of(self.document, prefix), callback, page)

    def _named_inputs(self, inputs: Any) -> tuple[Any, list[str] | None]:
        """The inputs as they were scored, and the names of their columns."""
        encoding = self.document.get("encoding")
        if encoding is not None:
            from ._table import EncodedTable, encode_table  # which needs reports

            if not isinstance(inputs, EncodedTable):
                if not hasattr(inputs, "iloc"):
                    kind = type(inputs).__name__
                    raise ValueError(f"`inputs` must be the table that was scored, as a DataFrame or as `encode_table(table)`, got {kind}")
                inputs = encode_table(inputs, **encoding)
            inputs = inputs.rows
        names = self.document.get("columns", getattr(inputs, "columns", None))
        return inputs, None if names is None else [str(name) for name in names]

    def _native_labels(self) -> tuple[npt.NDArray[np.int64], list[str] | None] | None:
        """Labels as the native module takes them."""
        if self.labels is None:
            return None
        names = self.label_names
        # A class that no sample has is a gap: it has no name here.
        return np.ascontiguousarray(self.labels), [names.get(at, str(at)) for at in range(max(names) + 1)] if names else None

    def arrays(self) -> dict[str, npt.NDArray[Any] | None]:
        """The arrays by name, as `save` stores them."""
        arrays = {name: getattr(self, name) for name in _ARRAYS + _MORE_ARRAYS}
        return {**arrays, "notes": np.array(self.notes, dtype=np.str_)}

    @classmethod
    def from_arrays(cls, document: dict[str, Any], arrays: Mapping[str, Any]) -> Report:
        """Make a report from its document and its arrays."""
        own: dict[str, Any] = {name: arrays[name] for name in _ARRAYS}
        own.update((name, arrays.get(name)) for name in _MORE_ARRAYS)
        return cls(document=document, notes=tuple(str(note) for note in arrays.get("notes", ())), **own)

    def plot_embedding(self, ax: Axes | None = None, **options: Any) -> Axes:
        """Draw the samples by the first two coordinates of the embedding, colored by score.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; a new figure by default.
        **options
            Passed on to ``Axes.scatter``.

        Returns
        -------
        matplotlib.axes.Axes
        """
        return _plots.embedding(self, ax, options)

    def plot_labels(self, ax: Axes | None = None, **options: Any) -> Axes:
        """Draw the label scores as bars, as `plot_embedding` draws; options are those of ``Axes.bar``."""
        return _plots.labels(self, ax, options)

    def plot_spectrum(self, ax: Axes | None = None, **options: Any) -> Axes:
        """Draw the eigenvalues that were computed, largest first, and the numerical bounds of the first.

        As `plot_embedding` draws; options are those of ``Axes.plot``.
        """
        return _plots.spectrum(self, ax, options)

    def _label_words(self, labels: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
        """Labels by their words, or as they are where they have none."""
        names = self.label_names
        if not names:
            return labels
        return np.array([names.get(label, str(label)) for label in labels.tolist()], dtype=object)

    def __repr__(self) -> str:
        return (
            f"Report(model_score={self.model_score:.6g}, samples={len(self.node_scores)}, "
            f"neighbors={self.neighbors}, eigenpairs={self.document['eigenpairs']})"
        )

    def _repr_html_(self) -> str:
        return _notebook.report_html(self)

    def _ranks(self) -> npt.NDArray[np.int64]:
        """The rank of every sample, from 1 for the most fragile."""
        ranks = np.empty(len(self.node_scores), dtype=np.int64)
        ranks[self.top_nodes(len(ranks))] = np.arange(1, len(ranks) + 1)
        return ranks

    def _top_with_words(self) -> list[tuple[int, Any]]:
        top = self.top_nodes()
        words = [None] * len(top) if self.labels is None else self._label_words(self.labels[top]).tolist()
        return list(zip(top.tolist(), words))


def matrix(nodes: int, edges: npt.NDArray[np.int64], weights: npt.NDArray[np.float64] | None) -> Any:
    """A symmetric SciPy matrix of edges that are told from one end."""
    sparse = needed("scipy.sparse", "a graph as a matrix", "graphs")
    values = np.ones(len(edges)) if weights is None else weights
    rows = np.concatenate([edges[:, 0], edges[:, 1]])
    columns = np.concatenate([edges[:, 1], edges[:, 0]])
    return sparse.csr_array((np.concatenate([values, values]), (rows, columns)), shape=(nodes, nodes))
