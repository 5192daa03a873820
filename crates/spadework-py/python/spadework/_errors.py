"""Errors other than a wrong call, which is a `ValueError`."""

from __future__ import annotations

from collections.abc import Sequence


class SpadeworkError(Exception):
    """The problem has no answer as posed.

    Attributes
    ----------
    model : str or None
        The model that this is about, if there are several.
    """

    def __init__(self, message: str, *, model: str | None = None) -> None:
        super().__init__(message)
        self.model = model


class DisconnectedGraphError(SpadeworkError):
    """A graph is disconnected, and the policy or the call does not allow Spadework to connect it.

    Attributes
    ----------
    side : str or None
        ``"input"`` or ``"output"``.
    components : int or None
        Number of components.
    largest : int or None
        Number of samples in the largest component.
    samples : int or None
        Number of samples.
    neighbors : int or None
        Neighbors with which this was found; None for a graph that was given.
    model : str or None
        The model that this is about, if there are several.
    """

    def __init__(
        self,
        message: str,
        *,
        side: str | None = None,
        components: int | None = None,
        largest: int | None = None,
        samples: int | None = None,
        neighbors: int | None = None,
        model: str | None = None,
    ) -> None:
        super().__init__(message, model=model)
        self.side = side
        self.components = components
        self.largest = largest
        self.samples = samples
        self.neighbors = neighbors


class ConvergenceError(SpadeworkError):
    """An iteration did not reach its tolerance, or missed an eigenvalue.

    Attributes
    ----------
    what : str or None
        What was iterated.
    iterations : int or None
        Iterations done.
    residuals : list of float
        Relative residual of each requested quantity.
    tolerance : float or None
        Requested tolerance.
    model : str or None
        The model that this is about, if there are several.
    """

    def __init__(
        self,
        message: str,
        *,
        what: str | None = None,
        iterations: int | None = None,
        residuals: Sequence[float] = (),
        tolerance: float | None = None,
        model: str | None = None,
    ) -> None:
        super().__init__(message, model=model)
        self.what = what
        self.iterations = iterations
        self.residuals = list(residuals)
        self.tolerance = tolerance


class SpadeworkWarning(UserWarning):
    """Something that a reader of the scores should know. ``verbose=False`` silences it."""
