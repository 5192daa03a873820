"""Estimators: what to call of one, and which class every column of its answer stands for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from ._arrays import LabelArray, as_labels

#: Classes that a message lists.
_LISTED = 10


def answering(model: Any) -> Callable[[Any], Any]:
    """What to call of a model: an estimator's probabilities rather than its classes, or the function itself. Predicted classes come as
    positions in `classes_of`."""
    for method in ("predict_proba", "decision_function", "predict"):
        if hasattr(model, method):
            return _answer_of(getattr(model, method), classes_of(model) if method == "predict" else None)
    if callable(model):
        call: Callable[[Any], Any] = model
        return call
    raise ValueError(f"`model` must be a function, or an estimator with predict_proba or predict, got {type(model).__name__}")


def _answer_of(call: Callable[[Any], Any], classes: npt.NDArray[Any] | None) -> Callable[[Any], Any]:
    if classes is None:
        return call
    place = _places(classes)
    return lambda batch: np.array([place[value] for value in np.asarray(call(batch)).ravel().tolist()], dtype=np.int64)


def classes_of(model: Any) -> npt.NDArray[Any] | None:
    """The classes of a classifier in the order of its columns; None of anything else, and of several answers per sample."""
    known = getattr(model, "classes_", None)
    # Classifiers of several targets have a list, with the classes of each.
    if known is None or isinstance(known, list):
        return None
    classes = np.asarray(known)
    return classes if classes.ndim == 1 and len(classes) > 1 else None


def as_classes(labels: Any, model: Any, samples: int) -> LabelArray | None:
    """Labels as positions of the columns of a model. Labels of a classifier that names its classes are such names."""
    classes = classes_of(model)
    if labels is None or classes is None:
        return as_labels(labels, samples)
    values, place = np.asarray(labels).ravel().tolist(), _places(classes)
    unknown = next((row for row, value in enumerate(values) if value not in place), None)
    if len(values) != samples or unknown is not None and _are_positions(values, classes):
        # What is wrong is said there; whole numbers are positions where classes are words.
        return as_labels(labels, samples)
    if unknown is not None:
        raise ValueError(f"`labels` must be classes of the model ({_listed(classes)}), got {values[unknown]!r} at row {unknown}")
    names = classes.tolist()
    ids = np.array([place[value] for value in values], dtype=np.int64)
    return LabelArray(ids, None if names == list(range(len(names))) else [str(name) for name in names])


def _places(classes: npt.NDArray[Any]) -> dict[Any, int]:
    return {value: at for at, value in enumerate(classes.tolist())}


def _are_positions(values: list[Any], classes: npt.NDArray[Any]) -> bool:
    return classes.dtype.kind in "OUS" and all(isinstance(value, int) for value in values)


def _listed(classes: npt.NDArray[Any]) -> str:
    more = ", …" if len(classes) > _LISTED else ""
    return ", ".join(repr(name) for name in classes[:_LISTED].tolist()) + more
