"""Probes: how much of its margin does a sample keep when it is moved a little?"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypedDict, Union, overload

import numpy as np
import numpy.typing as npt

from . import _native, _notes
from ._alone import check_alone
from ._arrays import as_labels, as_rows, as_targets, sample_shape
from ._devices import Placed, placed, to_cpu
from ._kept import folder_path, telling_of
from ._perturbed import Perturb, Perturbed, probe_with
from ._progress import progress_bars
from ._settings import check_text, number, whole_number, word
from .onnx import feed

if TYPE_CHECKING:
    from typing_extensions import Unpack

#: Most probes per sample, and most samples, that the library counts.
_MOST = 2**24
#: Variants of a sample by a perturbation of the caller's, where none are asked for.
_VARIANTS = 100
#: How well the share that keeps its class is known then, where nothing is asked for.
_PRECISION = 0.005


#: A function from inputs to outputs, or the path of an ONNX file. The function gets arrays of NumPy, or of another library on a GPU.
Model = Union[Callable[[Any], Any], str, "os.PathLike[str]"]


@dataclass(frozen=True, eq=False, kw_only=True)
class _ProbedSamples:
    """What probes of classifiers and of regressors have in common."""

    #: Size and kind of the perturbations, e.g. ``"linf:0.1:search"``.
    probe: str
    #: Probes per sample, at most.
    probes: int
    #: Seed of the drawn samples and of the probes.
    seed: int
    #: Number of inputs, of which some were probed.
    inputs: int
    #: Rows that went through the model.
    evaluations: int
    #: Which samples were probed, in ascending order.
    indices: npt.NDArray[np.int64] = field(repr=False)
    #: What ``spadework score --probe --json`` has of it.
    document: dict[str, Any] = field(repr=False)
    #: What a reader must know.
    notes: tuple[str, ...] = field(default=(), repr=False)


@dataclass(frozen=True, eq=False, kw_only=True)
class Probed(_ProbedSamples):
    """Results of the probes of a classifier; arrays have one entry per probed sample."""

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
    #: The shares with their 95 % confidence intervals, as ``spadework score --probe --json`` has them under ``estimates``.
    estimates: dict[str, Any] = field(repr=False)


@dataclass(frozen=True, eq=False, kw_only=True)
class ProbedRegressor(_ProbedSamples):
    """How far probes have moved the predictions of a regressor; arrays have one entry per probed sample."""

    #: The unit of the changes: a standard deviation.
    spread: float
    #: Whose standard deviation it is: that of the ``"targets"`` given as labels, or of the ``"outputs"``.
    unit: Literal["targets", "outputs"]
    #: The median of `changes`.
    median: float
    #: 95 % of the samples change less.
    p95: float
    #: The largest change of each sample's predictions that the search found: a lower bound of what an attack can do.
    changes: npt.NDArray[np.float64] = field(repr=False)


class _Options(TypedDict, total=False):
    """The arguments of `probe` that classifiers and regressors have in common."""

    labels: Any
    radii: Any
    categories: Any
    probes: int | None
    samples: int
    precision: float | None
    onnx: Mapping[str, Any] | None
    seed: int
    threads: int | None
    resume: str | os.PathLike[str] | None
    verbose: bool | None


@overload
def probe(
    model: Model, inputs: Any, probe: str, *, task: Literal["auto"] = ..., **options: Unpack[_Options]
) -> Probed | ProbedRegressor: ...
@overload
def probe(
    model: Model, inputs: Any, probe: str, *, task: Literal["classes"], **options: Unpack[_Options]
) -> Probed: ...
@overload
def probe(
    model: Model, inputs: Any, probe: str, *, task: Literal["regression"], **options: Unpack[_Options]
) -> ProbedRegressor: ...
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
    resume: str | os.PathLike[str] | None = None,
    verbose: bool | None = None,
) -> Perturbed: ...
def probe(
    model: Any,
    inputs: Any,
    probe: str | None = None,
    *,
    perturb: Perturb | None = None,
    labels: Any = None,
    radii: Any = None,
    categories: Any = None,
    probes: int | None = None,
    samples: int = 1000,
    precision: float | None = None,
    tolerance: float | None = None,
    task: Literal["auto", "classes", "regression"] = "auto",
    onnx: Mapping[str, Any] | None = None,
    seed: int = 0,
    threads: int | None = None,
    resume: str | os.PathLike[str] | None = None,
    verbose: bool | None = None,
) -> Probed | ProbedRegressor | Perturbed:
    """Probe a model with perturbed inputs: within a given radius, or by a perturbation of your own.

    Parameters
    ----------
    model : callable or path
        A function from inputs (a NumPy array of float32 in the shape of ``inputs``, at most a few thousand rows at a time; with
        ``perturb``, what that returns) to outputs, one row per sample. If ``inputs`` are on a GPU, it gets arrays of their library
        on their device, and only its outputs are copied back. The outputs of a classifier must be the values right before the softmax,
        those of a regressor the numbers that it predicts. Or an ONNX file.
    inputs : array-like of shape (n, ...)
        The samples; uint8 counts as pixels and becomes x/255. Probes stay between 0 and 1 if all inputs do, and otherwise between
        the smallest and the largest number of the inputs. If ``model`` is a function, inputs may be on a GPU: PyTorch tensors, CuPy
        arrays, and arrays of other libraries with DLPack and the array API. Probes are made on the CPU.
    probe : str
        A norm and a radius, ``"linf:0.1"``, ``"linf:8/255"``, ``"l2:0.5"``, and after another colon a kind. In a ``search`` (the
        default) every probe learns from the previous ones: in L∞ by the signs of smaller and smaller blocks of numbers, in L2 by
        an estimate of the gradient. ``pixel``, ``block:4`` and ``smooth:2`` are noise, from the highest to the lowest frequencies.
        For tables, ``"linf:0.1sd"`` moves every column by at most 0.1 of its own standard deviation, within the range of the
        column, and leaves columns of whole numbers alone.
    perturb : callable, optional
        Instead of ``probe``: a function that gets a batch of inputs, the number of the variant and a NumPy generator that is
        seeded for this variant, and returns the perturbed batch, a new one. `spadework.perturb` has such functions for tables, texts and
        graphs. Inputs may then be a DataFrame, a list, a sparse matrix or a `GraphData`, and the model may also be an estimator
        with ``predict_proba`` or ``predict``.
    labels : array-like of shape (n,), optional
        The class of every sample as the position of its output; for an estimator, the classes that it was fitted with (its
        ``classes_``). Samples that are wrong then do not count as survived. For a regressor, these are the targets: their standard
        deviation is the unit of the changes. Without them it is that of the outputs.
    radii : array-like of one number per column, optional
        How many times the radius of ``probe`` (with ``linf``) each column of ``inputs`` may move, within its own range. 0 leaves a
        column alone; a column that holds whole numbers only moves in whole steps, so 1 flips a flag of 0 or 1. Not with
        ``perturb``.
    categories : array-like of one whole number per column, optional
        With ``linf``: columns of ``inputs`` with the same number are the one-hot columns of one feature. They change together: a probe
        moves a sample to another category, or to none if there are samples with none. 0 marks all other columns.
        Columns of whole numbers among those are left alone, unless ``radii`` are given; a category with a radius of 0 is not chosen.
        `encode_table` returns such numbers. Not with ``perturb``.
    probes : int, optional
        Probes per sample, at most; by default 256 for a search, 8 for noise, 100 with ``perturb``. Up to 8 pilots of a search have 8 times as
        many.
    samples : int, default=1000
        Number of samples to probe, drawn by the seed if there are more.
    precision : float, optional
        End the search as soon as the error of its extrapolation to a stronger attack is at most this much, e.g. 0.02. The error
        from the number of samples is not included. With ``perturb``: end (after at least 10 variants) as soon as further variants
        of the same samples would change the share that keeps its class by at most this much, with 95 % confidence; 0.005 by
        default, and 0 to disable.
    tolerance : float, optional
        With ``perturb`` and a model of one number per sample: a change beyond it counts as a change of class.
    task : {"auto", "classes", "regression"}, default="auto"
        What the outputs are. By default several numbers per sample are classes. A single number stands for two classes if ``labels``
        has two values, and is a prediction otherwise. Not with ``perturb``.
    onnx : mapping, optional
        How a model file is run: arguments of `spadework.onnx.predict` such as ``{"before_softmax": True}``.
    resume : path, optional
        A folder in which results are saved every 30 seconds and when the call is interrupted, for example by Ctrl-C. The same call
        continues from there, and its result equals that of an uninterrupted call to the last bit. Use one folder per call: other inputs,
        other arguments or another model are refused. A function is recognized by its outputs for the samples and for a few other rows,
        which must therefore be reproducible. A folder that another process uses is refused too.
    seed, threads, verbose
        As in `spadework.score`; ``threads`` not with ``perturb``, whose model is yours.

    Returns
    -------
    Probed, ProbedRegressor of a model that predicts numbers, or Perturbed with ``perturb``

    Raises
    ------
    ValueError
        When an argument is wrong.

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

    A regressor: 0.1 in every number moves the sum of two by up to 0.2, here in units of the targets' standard deviation.

    >>> moved = spadework.probe(lambda x: x.sum(1), X, "linf:0.1", labels=[0.5, 2.0, -2.0])
    >>> round(float(moved.changes[0] * moved.spread), 3)
    0.2
    """
    folder = folder_path(resume)
    if perturb is not None:
        if probe is not None or onnx is not None:
            raise ValueError(
                "`perturb` comes instead of `probe`, and its model is a function or an estimator: leave `probe` and `onnx` out"
            )
        for name, given in (("radii", radii), ("categories", categories)):
            if given is not None:
                raise ValueError(f"`{name}` are for `probe`: with `perturb`, the function decides how columns change")
        if task != "auto" or threads is not None:
            raise ValueError(
                "with `perturb`, the outputs themselves say what they are, and the model is run by the caller's own function: leave "
                "`task` and `threads` out"
            )
        with progress_bars(verbose) as progress, telling_of(folder):
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
                progress=progress,
                folder=folder,
            )
    if tolerance is not None:
        raise ValueError("`tolerance` is for `perturb`; the changes of a regressor under `probe` are in `changes`")
    if probe is None:
        raise ValueError('say how to perturb the inputs: `probe` such as "linf:0.1", or `perturb`')
    given = placed(inputs) if callable(model) else Placed(inputs)
    shape = sample_shape(given.inputs)
    rows = as_rows(given.inputs, "inputs")
    chosen = {
        "probe": word(probe, "probe"),
        "radii": None if radii is None else _radii(radii),
        "categories": None if categories is None else _categories(categories),
        "probes": None if probes is None else whole_number(probes, "probes", least=1, most=_MOST),
        "samples": whole_number(samples, "samples", least=1, most=_MOST),
        "precision": None if precision is None else number(precision, "precision"),
        "task": word(task, "task"),
        "seed": whole_number(seed, "seed", least=0),
        "threads": None if threads is None else whole_number(threads, "threads", least=1),
        "folder": folder,
    }
    truth = _truth(to_cpu(labels, "labels"), len(rows), task)
    with progress_bars(verbose) as progress, telling_of(folder):
        found = _native.probe_model(_model(model, given, shape, onnx), rows, shape, truth, chosen, progress)
    document = json.loads(found.pop("document"))
    common = {
        "probe": document["probe"],
        "probes": document["probes"],
        "seed": document["seed"],
        "inputs": len(rows),
        "evaluations": document["evaluations"],
        "document": document,
        "notes": _notes.told_of(json.loads(found.pop("notes")), verbose),
    }
    if "estimates" not in found:
        names = ("spread", "unit", "median", "p95")
        return ProbedRegressor(**common, **{name: document[name] for name in names}, **found)
    return Probed(
        **common,
        accuracy=document.get("accuracy"),
        survived=document["survived"],
        robust_accuracy=document.get("robust_accuracy"),
        robust_accuracy_interval=_interval(document.get("estimate")),
        stability=document["stability"],
        margin_ratio=document.get("margin_ratio"),
        changed=document["changed"],
        estimates=json.loads(found.pop("estimates")),
        **found,
    )


def _radii(radii: Any) -> list[float]:
    """One number per column."""
    try:
        return [float(radius) for radius in np.asarray(radii, dtype=np.float64).ravel()]
    except (TypeError, ValueError) as error:
        raise ValueError(f"`radii` must be numbers, one per column of the inputs: {error}") from None


def _categories(categories: Any) -> list[int]:
    """One whole number per column."""
    try:
        numbers = np.asarray(categories, dtype=np.float64).ravel()
    except (TypeError, ValueError) as error:
        raise ValueError(f"`categories` must be whole numbers, one per column of the inputs: {error}") from None
    wrong = np.flatnonzero((numbers != np.floor(numbers)) | (numbers < 0) | (numbers >= 2**32))
    if len(wrong):
        raise ValueError(
            f"`categories` must be whole numbers, 0 or more, one per column of the inputs, got {numbers[wrong[0]]} for column {wrong[0]} "
            "(counted from 0)"
        )
    return [int(number) for number in numbers]


def _truth(labels: Any, samples: int, task: str) -> tuple[npt.NDArray[np.int64] | None, float | None]:
    """Classes, and the standard deviation of the targets where labels are numbers that a regressor may predict."""
    if labels is None:
        return None, None
    numbers = as_targets(labels, samples)
    spread = None if numbers is None else float(np.std(numbers)) or None
    if numbers is not None and task == "regression":
        return None, spread
    if numbers is not None and np.any(numbers != np.round(numbers)):
        if task == "classes":
            row = int(np.argmax(numbers != np.round(numbers)))
            raise ValueError(f'labels must be integers or words with task="classes", got {numbers[row]} at row {row}')
        return None, spread
    classes = as_labels(labels if numbers is None else numbers.astype(np.int64), samples)
    return None if classes is None else classes.ids, spread


def _interval(estimate: Mapping[str, float] | None) -> tuple[float, float] | None:
    return None if estimate is None else (estimate["lower"], estimate["upper"])


def _model(model: Any, given: Placed, shape: list[int], onnx: Mapping[str, Any] | None) -> Any:
    """A file with what it takes to run it, or a function from rows to rows."""
    if isinstance(model, (str, os.PathLike)):
        path = os.fspath(model)
        check_text(path, "`model`")
        return path, feed(**dict(onnx or {}))
    if not callable(model):
        raise ValueError(f"`model` must be a function or the path of an ONNX file, got {type(model).__name__}")
    if onnx is not None:
        raise ValueError("`onnx` says how a model file is run, but the model is a function")

    is_first = True

    def run(rows: npt.NDArray[np.float32]) -> Any:
        return given.from_model(model(given.to_model(rows.reshape(len(rows), *shape))))

    def of_rows(rows: npt.NDArray[np.float32]) -> npt.NDArray[Any]:
        nonlocal is_first
        # One number per sample may have come without an axis of its own.
        answer = run(rows)
        outputs = as_rows(answer, "outputs of the model")
        if is_first:
            # As they came: half precision is rounded more.
            check_alone(run, rows, answer, "outputs of the model")
        is_first = False
        return outputs

    return of_rows
