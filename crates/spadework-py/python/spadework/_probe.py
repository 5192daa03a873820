"""Probes: how much of its margin does a sample keep when it is moved a little?"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from . import _native, _notes
from ._alone import check_alone
from ._arrays import as_labels, as_rows, sample_shape
from ._perturbed import Perturb, Perturbed, probe_with
from ._progress import progress_bars
from ._settings import number, whole_number, word
from .onnx import feed

#: Most probes per sample, and most samples, that the library counts.
_MOST = 2**24
#: Variants of a sample by a perturbation of the caller's, where none are asked for.
_VARIANTS = 100
#: How well the share that keeps its class is known then, where nothing is asked for.
_PRECISION = 0.005


@dataclass(frozen=True, eq=False)
class Probed:
    """Results of the probes of a model; arrays have one entry per probed sample."""

    #: Size and kind of the perturbations, e.g. ``"linf:0.1:search"``.
    probe: str
    #: Probes per sample, at most.
    probes: int
    seed: int
    #: Number of inputs, of which some were probed.
    inputs: int
    #: Rows that went through the model.
    evaluations: int
    #: Share of the probed samples that are right; None without labels that are classes of the outputs.
    accuracy: float | None
    #: Share of the probed samples that are right (of any class, without labels) on every probe: an upper bound of the accuracy
    #: under the strongest attack of this size, on these samples.
    survived: float
    #: Estimated robust accuracy: the share of the probed samples that an attack of this size is expected to leave, extrapolated
    #: from the search; None for noise.
    robust_accuracy: float | None
    #: Its 95 % confidence interval, which covers the choice of samples and the end of the search; None for noise.
    robust_accuracy_interval: tuple[float, float] | None
    #: Mean share of the margin that the worst probe leaves, 0 for samples that are wrong or lost; larger is more robust.
    stability: float
    #: Median of the margin divided by its root mean square change; None after a search.
    margin_ratio: float | None
    #: Number of samples that are right and lose their class on a probe.
    changed: int
    #: Which samples were probed, in ascending order.
    indices: npt.NDArray[np.int64] = field(repr=False)
    #: The position of the largest output of each.
    classes: npt.NDArray[np.int64] = field(repr=False)
    #: Margin of each sample: that output minus the next largest.
    margins: npt.NDArray[np.float64] = field(repr=False)
    #: Smallest margin over the sample and its probes; negative if a probe has another class.
    probe_margins: npt.NDArray[np.float64] = field(repr=False)
    #: Share of the margin that the worst probe leaves.
    stabilities: npt.NDArray[np.float64] = field(repr=False)
    #: Loss of margin over the last three quarters of the search; None for noise.
    late_losses: npt.NDArray[np.float64] | None = field(repr=False)
    #: Root mean square change of the margin over the probes; None after a search.
    changes: npt.NDArray[np.float64] | None = field(repr=False)
    #: Share of the probes that keep the class; None after a search.
    kept: npt.NDArray[np.float64] | None = field(repr=False)
    #: What ``spadework score --probe --json`` has under ``probe``.
    document: dict[str, Any] = field(repr=False)
    #: The shares with their 95 % confidence intervals, as ``spadework score --probe --json`` has them under ``estimates``.
    estimates: dict[str, Any] = field(repr=False)
    notes: tuple[str, ...] = field(default=(), repr=False)


@overload
def probe(
    model: Callable[[npt.NDArray[np.float32]], Any] | str | os.PathLike[str],
    inputs: Any,
    probe: str,
    *,
    labels: Any = None,
    probes: int | None = None,
    samples: int = 1000,
    precision: float | None = None,
    onnx: Mapping[str, Any] | None = None,
    seed: int = 0,
    threads: int | None = None,
    verbose: bool | None = None,
) -> Probed: ...
@overload
def probe(
    model: Any,
    inputs: Any,
    *,
    perturb: Perturb,
    labels: Any = None,
    probes: int | None = None,
    samples: int = 1000,
    precision: float | None = None,
    tolerance: float | None = None,
    seed: int = 0,
) -> Perturbed: ...
def probe(
    model: Any,
    inputs: Any,
    probe: str | None = None,
    *,
    perturb: Perturb | None = None,
    labels: Any = None,
    probes: int | None = None,
    samples: int = 1000,
    precision: float | None = None,
    tolerance: float | None = None,
    onnx: Mapping[str, Any] | None = None,
    seed: int = 0,
    threads: int | None = None,
    verbose: bool | None = None,
) -> Probed | Perturbed:
    """Probe a model with perturbed inputs: within a ball of numbers, or by a perturbation of your own.

    Parameters
    ----------
    model : callable or path
        A function from inputs (float32, in the shape of ``inputs``, at most a few thousand at a time) to outputs, one row per sample;
        for a classifier the values right before the softmax. Or an ONNX file.
    inputs : array-like of shape (n, ...)
        The samples; uint8 counts as pixels and becomes x/255. Probes stay between 0 and 1 if all inputs do, and otherwise between
        the smallest and the largest number of the inputs.
    probe : str
        A norm and a radius, ``"linf:0.1"``, ``"linf:8/255"``, ``"l2:0.5"``, and after another colon a kind: ``search`` (the
        default), in which every probe learns from the previous ones, by signs of ever smaller blocks of numbers in L∞ and by an estimate of
        the gradient in L2, or noise from the highest to the lowest frequencies: ``pixel``, ``block:4``, ``smooth:2``.
    perturb : callable, optional
        Instead of ``probe``: a function of a batch of inputs, the number of the variant and a NumPy generator that is seeded
        for it, which returns the batch, perturbed. `spadework.perturb` has some for tables, texts and graphs. Inputs may then
        be a DataFrame, a list, a sparse matrix or a `GraphData`, and the model also an estimator with ``predict_proba`` or
        ``predict``.
    labels : array-like of shape (n,), optional
        The class of every sample as the position of its output. Samples that are wrong then do not count as survived.
    probes : int, optional
        Probes per sample, at most; by default 256 for a search, 8 for noise, 100 with ``perturb``.
    samples : int, default=1000
        Number of samples to probe, drawn by the seed if there are more.
    precision : float, optional
        End the search early if more probes could change ``robust_accuracy`` by at most this much, e.g. 0.02. This does not include
        the uncertainty from the number of samples. With ``perturb``: end, after at least 10 variants, if more variants of the same
        samples would change the share that keeps its class by at most this much, with 95 % confidence; 0.005 by default, and 0 to
        disable.
    tolerance : float, optional
        With ``perturb`` and a model of one number per sample: a change beyond it counts as a change of class.
    onnx : mapping, optional
        How a model file is run: arguments of `spadework.onnx.predict` such as ``{"before_softmax": True}``.
    seed, threads, verbose
        As in `spadework.score`.

    Returns
    -------
    Probed, or Perturbed with ``perturb``

    Raises
    ------
    ValueError
        When an argument is wrong, or the model has a single output.

    Warns
    -----
    SpadeworkWarning
        When the outputs are those of a softmax; also in `Probed.notes`.

    Examples
    --------
    Two classes by the sign of the sum: at a distance of 0.3 in every number, the first sample can be lost.

    >>> import numpy as np, spadework
    >>> X = np.array([[0.2, 0.2], [1.0, 1.0], [-1.0, -1.0]])
    >>> found = spadework.probe(lambda x: np.column_stack([x.sum(1), -x.sum(1)]), X, "linf:0.3")
    >>> found.probe_margins > 0
    array([False,  True,  True])
    """
    if perturb is not None:
        if probe is not None or onnx is not None:
            raise ValueError(
                "`perturb` comes instead of `probe`, and its model is a function or an estimator: leave `probe` and `onnx` out"
            )
        return probe_with(
            model,
            inputs,
            perturb,
            labels=labels,
            variants=_VARIANTS if probes is None else probes,
            samples=samples,
            precision=_PRECISION if precision is None else precision,
            tolerance=tolerance,
            seed=seed,
        )
    if probe is None:
        raise ValueError('say how to perturb the inputs: `probe` such as "linf:0.1", or `perturb`')
    shape = sample_shape(inputs)
    rows = as_rows(inputs, "inputs")
    chosen = {
        "probe": word(probe, "probe"),
        "probes": None if probes is None else whole_number(probes, "probes", least=1, most=_MOST),
        "samples": whole_number(samples, "samples", least=1, most=_MOST),
        "precision": None if precision is None else number(precision, "precision"),
        "seed": whole_number(seed, "seed", least=0),
        "threads": None if threads is None else whole_number(threads, "threads", least=1),
    }
    told = as_labels(labels, len(rows))
    ids = None if told is None else told.ids
    notes: list[str] = []
    with progress_bars(verbose) as progress:
        found = _native.probe_model(_model(model, shape, onnx, notes), rows, shape, ids, chosen, progress)
    if found.pop("ends_in_softmax"):
        notes.append(_notes.about_softmax(os.fspath(model)))
    _notes.tell(notes, verbose)
    document = json.loads(found.pop("document"))
    return Probed(
        probe=document["probe"],
        probes=document["probes"],
        seed=document["seed"],
        inputs=len(rows),
        evaluations=document["evaluations"],
        accuracy=document.get("accuracy"),
        survived=document["survived"],
        robust_accuracy=document.get("robust_accuracy"),
        robust_accuracy_interval=_interval(document.get("estimate")),
        stability=document["stability"],
        margin_ratio=document.get("margin_ratio"),
        changed=document["changed"],
        document=document,
        estimates=json.loads(found.pop("estimates")),
        notes=tuple(notes),
        **found,
    )


def _interval(estimate: Mapping[str, float] | None) -> tuple[float, float] | None:
    return None if estimate is None else (estimate["lower"], estimate["upper"])


def _model(model: Any, shape: list[int], onnx: Mapping[str, Any] | None, notes: list[str]) -> Any:
    """A file with what it takes to run it, or a function from rows to rows that notes what its first outputs look like."""
    if isinstance(model, (str, os.PathLike)):
        return os.fspath(model), feed(**dict(onnx or {}))
    if not callable(model):
        raise ValueError(f"`model` must be a function or the path of an ONNX file, got {type(model).__name__}")
    if onnx is not None:
        raise ValueError("`onnx` says how a model file is run, but the model is a function")

    is_first = True

    def of_rows(rows: npt.NDArray[np.float32]) -> npt.NDArray[Any]:
        nonlocal is_first
        # One number per sample may have come without an axis of its own.
        outputs = as_rows(model(rows.reshape(len(rows), *shape)), "outputs of the model")
        if is_first:
            check_alone(lambda some: model(some.reshape(len(some), *shape)), rows, outputs, "outputs of the model")
            notes.extend(_notes.about_probabilities(outputs))
        is_first = False
        return outputs

    return of_rows
