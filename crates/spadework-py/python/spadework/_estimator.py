"""The method as an estimator in the manner of scikit-learn, which need not be installed."""

from __future__ import annotations

import inspect
import json
import os
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from . import _native, _notes
from ._arrays import as_rows
from ._functions import score
from ._progress import progress_bars
from ._report import Report
from ._settings import Metric, named, settings, whole_number


class Spade:
    """SPADE as an estimator: ``fit(X, Y)``, results with a trailing underscore, ``score`` and ``score_samples`` for new data.

    Works with ``get_params``, ``set_params``, ``sklearn.base.clone`` and pickle.

    Parameters
    ----------
    neighbors : int, default=10
        Neighbors per sample, k.
    eigenpairs : int or "all", default=2
        Eigenpairs, r, for edge and node scores.
    connectivity, graph, weights, input_metric, output_metric, standardize, ties, search, solver, sketch_error, tolerance, certify, seed
        As in `spadework.score`.
    n_jobs : int, optional
        Threads to use; None or -1 for all cores, -2 for all but one. The result does not depend on it.
    verbose : bool, optional
        As in `spadework.score`.

    Attributes
    ----------
    report_ : Report
        Everything that was found.
    model_score_ : float
        Score of the model; larger is less robust.
    node_scores_ : ndarray of shape (n,)
        Score of every sample; larger is more fragile.
    edges_, edge_scores_ : ndarray of shape (m, 2) and (m,)
        Edges of the input graph and their scores.
    eigenvalues_ : ndarray of shape (r,)
        The largest eigenvalues.
    embedding_ : ndarray of shape (n, r)
        Coordinates of the samples.
    neighbors_ : int
        Neighbors used; more than ``neighbors`` if the graphs were disconnected.
    n_features_in_ : int
        Numbers per input.
    n_outputs_ : int
        Numbers per output.
    feature_names_in_ : ndarray of str
        Names of the columns of ``X``, if it was a frame.

    Examples
    --------
    >>> import numpy as np, spadework
    >>> angle = np.linspace(0, 2 * np.pi, 60, endpoint=False)
    >>> ring = np.column_stack([np.cos(angle), np.sin(angle)])
    >>> spade = spadework.Spade(neighbors=2, eigenpairs=1).fit(ring, angle)
    >>> spade
    Spade(eigenpairs=1, neighbors=2)
    >>> round(spade.model_score_, 4)
    57.3177
    >>> bool(np.allclose(spade.score_samples(ring, angle), spade.node_scores_))
    True
    """

    def __init__(
        self,
        neighbors: int = 10,
        eigenpairs: int | Literal["all"] = 2,
        *,
        connectivity: Literal["grow", "bridge", "error"] = "grow",
        graph: str = "knn",
        weights: Literal["unit", "gaussian"] = "unit",
        input_metric: Metric = "euclidean",
        output_metric: Metric = "euclidean",
        standardize: bool | Literal["robust"] = False,
        ties: Literal["inputs", "index"] = "inputs",
        search: Literal["auto", "exact", "approximate"] = "auto",
        solver: Literal["davidson", "power"] = "davidson",
        sketch_error: float = 0.3,
        tolerance: float = 1e-6,
        certify: bool = False,
        seed: int = 0,
        n_jobs: int | None = None,
        verbose: bool | None = None,
    ) -> None:
        self.neighbors = neighbors
        self.eigenpairs = eigenpairs
        self.connectivity = connectivity
        self.graph = graph
        self.weights = weights
        self.input_metric = input_metric
        self.output_metric = output_metric
        self.standardize = standardize
        self.ties = ties
        self.search = search
        self.solver = solver
        self.sketch_error = sketch_error
        self.tolerance = tolerance
        self.certify = certify
        self.seed = seed
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: Any, Y: Any = None) -> Spade:
        """Score a model from its inputs and outputs.

        Parameters
        ----------
        X : array-like of shape (n, ...)
            Inputs.
        Y : array-like of shape (n, ...)
            Outputs; for a classifier the values right before the softmax.

        Returns
        -------
        Spade
            The estimator itself.
        """
        if Y is None:
            raise ValueError(
                "Spade requires y to be passed, but the target y is None: it scores a model by inputs and outputs"
            )
        _check_table(X)
        options = self.get_params()
        options["threads"] = _threads(options.pop("n_jobs"))
        report = score(X, Y, **options)
        inputs, outputs = as_rows(X, "inputs"), as_rows(Y, "outputs")
        self.report_: Report = report
        self.model_score_ = report.model_score
        self.node_scores_ = report.node_scores
        self.edges_ = report.edges
        self.edge_scores_ = report.edge_scores
        self.eigenvalues_ = report.eigenvalues
        self.embedding_ = report.embedding
        self.neighbors_ = report.neighbors
        self.n_features_in_ = inputs.shape[1]
        self.n_outputs_ = outputs.shape[1]
        self._inputs, self._outputs = inputs, outputs
        self._remember_names(X)
        return self

    def score_samples(self, X: Any, Y: Any) -> npt.NDArray[np.float64]:
        """Node scores of new samples, one by one, by the fitted graphs.

        A new sample becomes a node of the fitted graphs, and its coordinates follow from those of its neighbors. A fitted
        sample gets its own score if the eigenvalues are well above 1; otherwise a warning says so. This needs graphs of the
        default kind, and searches their neighbors again.

        Parameters
        ----------
        X : array-like of shape (m, ...)
            Inputs.
        Y : array-like of shape (m, ...)
            Outputs of the same model.

        Returns
        -------
        ndarray of shape (m,)
            Larger is more fragile.
        """
        inputs, outputs = self._new_samples(X, Y)
        if self.report_.document.get("full_spectrum") is not None:
            raise ValueError(
                'new samples are scored by the largest eigenpairs, but the model was fitted with eigenpairs="all"'
            )
        own = named(self.get_params(), settings)
        chosen = settings(**{**own, "neighbors": self.neighbors_, "threads": _threads(self.n_jobs)})
        document = json.dumps(self.report_.document)
        fitted = (self._inputs, self._outputs, document, np.ascontiguousarray(self.embedding_).reshape(-1))
        with progress_bars(self.verbose) as progress:
            found = _native.score_new_samples(fitted, inputs, outputs, (chosen, progress))
        _notes.told(json.loads(found["document"]), self.verbose)
        scores: npt.NDArray[np.float64] = found["node_scores"]
        return scores

    def score(self, X: Any, y: Any) -> float:
        """Share of the neighbors of new samples that stay neighbors: larger is more robust, as model selection expects.

        For every new sample, its nearest fitted samples by inputs are compared with those by outputs. So
        ``sklearn.model_selection.cross_val_score(Spade(), X, Y)`` measures held-out samples.

        Parameters
        ----------
        X : array-like of shape (m, ...)
            Inputs.
        y : array-like of shape (m, ...)
            Outputs of the same model; scikit-learn passes them by this name.

        Returns
        -------
        float
            From 0 to 1.
        """
        inputs, outputs = self._new_samples(X, y)
        neighbors = min(self.neighbors, len(self._inputs))
        sides = (
            (*self._on_one_scale(inputs), self.input_metric),
            (outputs, self._outputs, self.output_metric),
        )
        # Counted from beyond the fitted samples: a new sample is none of them, even where it is a copy.
        nearest = [
            _native.nearest_between(new, fitted, len(fitted), neighbors, metric, _threads(self.n_jobs))[1]
            for new, fitted, metric in sides
        ]
        shared = [len(np.intersect1d(given, taken)) for given, taken in zip(*nearest)]
        return float(np.mean(shared)) / neighbors

    def _on_one_scale(self, inputs: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """New and fitted inputs, standardized by the fitted ones where asked for."""
        if not self.standardize:
            return inputs, self._inputs
        fitted = self._inputs.astype(np.float64)
        if self.standardize == "robust":
            low, center, high = np.percentile(fitted, [25, 50, 75], axis=0)
            spread = high - low
        else:
            center, spread = fitted.mean(axis=0), fitted.std(axis=0)
        # A constant column moves no distance.
        scale = np.divide(1.0, spread, out=np.zeros_like(spread), where=spread > 0)
        return (inputs - center) * scale, (fitted - center) * scale

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters by name.

        Parameters
        ----------
        deep : bool, default=True
            No effect, because no parameter is an estimator.

        Returns
        -------
        dict
        """
        return {name: getattr(self, name) for name in _parameters()}

    def set_params(self, **parameters: Any) -> Spade:
        """Set some parameters.

        Parameters
        ----------
        **parameters
            Parameters by name.

        Returns
        -------
        Spade
            The estimator itself.
        """
        for name, value in parameters.items():
            if name not in _parameters():
                raise ValueError(f"Invalid parameter {name!r} for estimator {self}: there are {list(_parameters())}")
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        defaults = _parameters()
        changed = [f"{name}={value!r}" for name, value in self.get_params().items() if value != defaults[name].default]
        return f"Spade({', '.join(changed)})"

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import InputTags, Tags, TargetTags

        return Tags(
            estimator_type=None,
            target_tags=TargetTags(required=True, multi_output=True),
            input_tags=InputTags(two_d_array=True, three_d_array=True),
        )

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "report_")

    def _check_fitted(self) -> None:
        if hasattr(self, "report_"):
            return
        message = "This Spade instance is not fitted yet: call fit(X, Y) first"
        try:
            from sklearn.exceptions import NotFittedError
        except ImportError:
            raise ValueError(message) from None
        raise NotFittedError(message)

    def _new_samples(self, X: Any, Y: Any) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """Inputs and outputs that fit those that were fitted."""
        self._check_fitted()
        self._check_names(X)
        inputs, outputs = as_rows(X, "X"), as_rows(Y, "Y")
        for name, rows, expected in (("X", inputs, self.n_features_in_), ("Y", outputs, self.n_outputs_)):
            if rows.shape[1] != expected:
                raise ValueError(
                    f"{name} has {rows.shape[1]} features, but Spade is expecting {expected} features as input"
                )
        return inputs, outputs

    def _remember_names(self, X: Any) -> None:
        names = _column_names(X)
        if names is not None:
            self.feature_names_in_ = names
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    def _check_names(self, X: Any) -> None:
        """Columns in another order are another input."""
        fitted, new = getattr(self, "feature_names_in_", None), _column_names(X)
        if fitted is not None and new is not None and list(fitted) != list(new):
            raise ValueError(
                f"The feature names should match those that were passed during fit: {list(fitted)}, got {list(new)}"
            )


def _check_table(X: Any) -> None:
    """What scikit-learn asks of inputs beyond what `score` does: one feature cannot be told from one sample."""
    shape = as_rows(X, "inputs").shape
    if np.ndim(X) == 1:
        raise ValueError(
            f"Expected 2D array, got 1D array instead, of {shape[0]} numbers: reshape it with .reshape(-1, 1) where it has one "
            "feature, or .reshape(1, -1) where it is one sample"
        )
    if shape[1] == 0:
        raise ValueError(f"0 feature(s) (shape={shape}) while a minimum of 1 is required.")
    if shape[0] == 1:
        raise ValueError("at least 2 samples are needed, got 1 sample")


def _parameters() -> dict[str, inspect.Parameter]:
    """The parameters of the constructor, in alphabetical order as scikit-learn has them."""
    found = inspect.signature(Spade.__init__).parameters
    return {name: found[name] for name in sorted(found) if name != "self"}


def _column_names(X: Any) -> npt.NDArray[Any] | None:
    columns = getattr(X, "columns", None)
    if columns is None or not all(isinstance(name, str) for name in columns):
        return None
    return np.array(list(columns), dtype=object)


def _threads(n_jobs: Any) -> int | None:
    """scikit-learn's way of counting: -1 is all cores, -2 all but one."""
    if n_jobs is None or n_jobs == -1:
        return None
    if isinstance(n_jobs, (int, np.integer)) and n_jobs < 0:
        return max(1, (os.cpu_count() or 1) + 1 + int(n_jobs))
    return whole_number(n_jobs, "n_jobs", least=1)
