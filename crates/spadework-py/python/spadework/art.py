"""Evaluate selected samples with the Adversarial Robustness Toolbox.

Needs ART: ``pip install 'spadework[art]'``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ._guided import Guided, guided, indices_of, labels_of
from ._optional import needed

needed("art", "spadework.art", "art")

__all__ = ["Guided", "clever", "evaluate"]


def evaluate(classifier: Any, attack: Any, x: npt.ArrayLike, y: npt.ArrayLike, indices: Any) -> Guided:
    """Attack some samples with an attack of ART.

    Parameters
    ----------
    classifier : art.estimators.classification.Classifier
        The classifier, as ART wraps it.
    attack : art.attacks.EvasionAttack
        The attack, created for this classifier.
    x : array-like of shape (n, ...)
        All inputs, as the classifier takes them.
    y : array-like of shape (n,)
        All labels.
    indices : array-like of int, or Report
        The samples to attack; for a report, its 100 most fragile.

    Returns
    -------
    Guided
    """
    chosen = indices_of(indices, len(np.asarray(x)))
    inputs, labels = np.asarray(x)[chosen], labels_of(y, chosen)
    attacked = attack.generate(x=inputs)
    return guided(chosen, labels, classifier.predict(inputs), classifier.predict(attacked), inputs, attacked)


def clever(classifier: Any, x: npt.ArrayLike, indices: Any, **options: Any) -> npt.NDArray[np.float64]:
    """ART's CLEVER score (untargeted) of some samples: an estimate of the distance to the nearest other class.

    Parameters
    ----------
    classifier : art.estimators.classification.Classifier
        The classifier, as ART wraps it.
    x : array-like of shape (n, ...)
        All inputs.
    indices : array-like of int, or Report
        The samples to score; for a report, its 100 most fragile.
    **options
        Passed on to ``art.metrics.clever_u``; ``nb_batches``, ``batch_size``, ``radius`` and ``norm`` are required.

    Returns
    -------
    ndarray of shape (m,)
    """
    metrics = needed("art.metrics", "spadework.art", "art")
    inputs = np.asarray(x)
    chosen = indices_of(indices, len(inputs))
    scores = [metrics.clever_u(classifier, inputs[index], **options) for index in chosen.tolist()]
    return np.array(scores, dtype=np.float64)
