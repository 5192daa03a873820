"""Probes by a perturbation of the caller's: for inputs that are not numbers on a scale."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ._alone import check_alone, check_classes_alone
from ._estimators import answering, as_classes, classes_of
from ._kept import Kept, identity
from ._progress import Progress
from ._settings import number, whole_number
from .perturb import GraphData

#: Standard deviations that a 95 % interval reaches to either side.
_REACH = 1.959963984540054
#: Variants after which a run may end early.
_LEAST_VARIANTS = 10

#: A function from a batch, the number of the variant and a generator that is seeded for it to the batch, perturbed.
Perturb = Callable[[Any, int, np.random.Generator], Any]


class Estimate(NamedTuple):
    """A share of the samples with its 95 % confidence interval (Wilson's); n is the number of samples."""

    #: The share, from 0 to 1.
    estimate: float
    #: Lower end of the interval.
    lower: float
    #: Upper end of the interval.
    upper: float
    #: Number of samples.
    n: int
    #: Rows that went through the model, for all samples together.
    queries: int


@dataclass(frozen=True, eq=False)
class Perturbed:
    """Results of a perturbation; arrays have one entry per probed sample."""

    #: Name of the perturbation.
    perturb: str
    #: Variants per sample.
    variants: int
    #: Whether the run ended early, because the share that keeps its class was known precisely enough.
    stopped_early: bool
    #: Seed of the drawn samples and of the variants.
    seed: int
    #: Rows that went through the model, without those that are run by themselves.
    evaluations: int
    #: Share of the probed samples that are right; None without labels.
    accuracy: float | None
    #: Share of the variants that keep the class of their sample.
    kept: Estimate
    #: Share of the samples that are right (of any class, without labels) on every variant.
    survived: Estimate
    #: Which samples were probed, in ascending order.
    indices: npt.NDArray[np.int64] = field(repr=False)
    #: On how many variants each has another class.
    flips: npt.NDArray[np.int64] = field(repr=False)
    #: The first variant on which each has another class, counted from 0; -1 if there is none.
    first_flips: npt.NDArray[np.int64] = field(repr=False)
    #: Margin of each sample; None if the model only returns classes.
    margins: npt.NDArray[np.float64] | None = field(repr=False)
    #: Smallest margin over the sample and its variants; None if there are no margins.
    probe_margins: npt.NDArray[np.float64] | None = field(repr=False)

    @property
    def ranking(self) -> npt.NDArray[np.int64]:
        """The probed samples, most fragile first: by flips, then by the smallest margin, then by index."""
        margins = np.zeros(len(self.flips)) if self.probe_margins is None else self.probe_margins
        order: npt.NDArray[np.int64] = self.indices[np.lexsort((self.indices, margins, -self.flips))]
        return order

    @property
    def changed(self) -> npt.NDArray[np.int64]:
        """The samples that have another class on some variant, most fragile first."""
        return self.ranking[: int(np.count_nonzero(self.flips))]

    @property
    def document(self) -> dict[str, Any]:
        """The numbers about all samples, for JSON."""
        names = ("perturb", "variants", "stopped_early", "seed", "evaluations", "accuracy")
        numbers = {name: getattr(self, name) for name in names}
        return {**numbers, "kept": self.kept._asdict(), "survived": self.survived._asdict()}

    def to_frame(self) -> Any:
        """A pandas table: one row per probed sample, most fragile first."""
        import pandas

        columns: dict[str, Any] = {"sample": self.indices, "flips": self.flips, "first_flip": self.first_flips}
        if self.margins is not None:
            columns |= {"margin": self.margins, "probe_margin": self.probe_margins}
        return pandas.DataFrame(columns).set_index("sample").loc[self.ranking].reset_index()


def probe_with(
    model: Any,
    inputs: Any,
    perturb: Perturb,
    *,
    labels: Any,
    variants: int,
    samples: int,
    precision: float,
    tolerance: float | None,
    seed: int,
    progress: Progress | None = None,
    folder: str | None = None,
) -> Perturbed:
    """Run the variants of some samples through the model and count what changes."""
    if not callable(perturb):
        raise ValueError(f"`perturb` must be a function of a batch, a number and a generator, got {type(perturb).__name__}")
    most = whole_number(variants, "probes", least=1)
    seed = whole_number(seed, "seed", least=0)
    wanted = number(precision, "precision")
    if wanted < 0:
        raise ValueError(f"`precision` must not be negative, got {wanted}")
    total = _length(inputs)
    if total == 0:
        raise ValueError("`inputs` must have at least one sample, got none")
    samples = whole_number(samples, "samples", least=1)
    chosen = _chosen(total, samples, seed)
    answers = _Answers(model, inputs, chosen, tolerance)

    def variant_of(variant: int) -> Any:
        batch = perturb(answers.batch, variant, np.random.default_rng([seed, variant]))
        if _length(batch) != _length(answers.batch):
            raise ValueError(
                f"`perturb` must return as many samples as it was given ({_length(answers.batch)}), got {_length(batch)} "
                f"in variant {variant}"
            )
        return batch

    # Before any variant, since a perturbation may change its argument against the rule.
    first = answers.of(answers.batch, "the inputs")
    # Wrong labels are refused before hours of variants, not after them.
    right = _right(first, model, labels, chosen, total)
    clean = identity(answers.batch)
    batch = variant_of(0)
    if identity(answers.batch) != clean:
        raise ValueError("`perturb` must return a new batch, but it changed the one that it was given: perturb a copy")
    # Perturbations of the same name may differ in their parameters, so one is known by what it makes of the samples.
    asked = {"perturb": _name(perturb), "probes": most, "samples": samples, "precision": wanted, "seed": seed}
    kept = Kept(folder, {**asked, "tolerance": tolerance}, {"inputs": answers.batch, "variant_0": batch})
    count = _Count.of_none(first)
    ended = False
    try:
        while count.variants < most and not ended:
            variant = count.variants
            if variant > 0:
                batch = variant_of(variant)
            answer = answers.of(batch, f"variant {variant}")
            # One assignment, so that Ctrl-C finds a variant counted as a whole or not at all.
            count = count.with_variant(answer)
            if variant == 0:
                # The samples and the first variant of each go through the model in any case: by these it is recognized.
                count = count.or_of(kept.of_model(first.numbers, answer.numbers))
            kept.keep(count.arrays, now=False)
            if progress is not None:
                progress("variants", count.variants, most)
            ended = count.variants >= _LEAST_VARIANTS and count.error() <= wanted
    finally:
        if count.variants > 1:
            kept.keep(count.arrays, now=True)
    stopped = count.variants < most
    return _result(perturb, count, chosen, stopped, right, seed)


def _name(perturb: Perturb) -> str:
    return str(getattr(perturb, "__name__", type(perturb).__name__))


def _result(
    perturb: Perturb, count: _Count, chosen: npt.NDArray[np.int64], stopped: bool, right: Any, seed: int
) -> Perturbed:
    queries = len(chosen) * (count.variants + 1)
    held = count.flips == 0
    return Perturbed(
        perturb=_name(perturb),
        variants=count.variants,
        stopped_early=stopped,
        seed=seed,
        evaluations=queries,
        accuracy=None if right is None else float(np.mean(right)),
        kept=_share(1 - float(np.mean(count.flips)) / count.variants, len(chosen), queries),
        survived=_share(float(np.mean(held if right is None else held & right)), len(chosen), queries),
        indices=chosen,
        flips=count.flips,
        first_flips=count.first_flips,
        margins=count.first.margins,
        probe_margins=count.probe_margins,
    )


def _share(share: float, samples: int, queries: int) -> Estimate:
    """Wilson's interval. A number between 0 and 1 varies at most as much as one that is either, so it holds for means too."""
    square = _REACH**2
    middle = (share + square / (2 * samples)) / (1 + square / samples)
    reach = _REACH / (1 + square / samples) * math.sqrt(share * (1 - share) / samples + square / (4 * samples**2))
    return Estimate(share, max(0.0, min(share, middle - reach)), min(1.0, max(share, middle + reach)), samples, queries)


class _Answer(NamedTuple):
    """What the model says of some samples: a class each, or a number each, and margins where it says more."""

    classes: npt.NDArray[Any]
    outputs: npt.NDArray[np.float64] | None
    tolerance: float | None

    @property
    def numbers(self) -> npt.NDArray[Any]:
        """All that the model says."""
        return self.classes if self.outputs is None else self.outputs

    @property
    def margins(self) -> npt.NDArray[np.float64] | None:
        return None if self.outputs is None else self.margins_of(self.outputs)

    def margins_of(self, outputs: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Margins of the classes of this answer in those outputs."""
        rows = np.arange(len(outputs))
        own = outputs[rows, self.classes]
        others = outputs.copy()
        others[rows, self.classes] = -np.inf
        return np.asarray(own - others.max(axis=1), dtype=np.float64)

    def differs(self, other: _Answer) -> npt.NDArray[np.bool_]:
        if self.tolerance is None:
            return np.asarray(self.classes != other.classes, dtype=bool)
        return np.asarray(np.abs(other.classes - self.classes) > self.tolerance, dtype=bool)


class _Answers:
    """The model on batches of the samples that were chosen."""

    def __init__(self, model: Any, inputs: Any, chosen: npt.NDArray[np.int64], tolerance: float | None) -> None:
        self._run = answering(model)
        classes = classes_of(model)
        self._has_two_classes = classes is not None and len(classes) == 2 and tolerance is None
        self._whole = isinstance(inputs, GraphData)
        self._chosen = chosen
        self._tolerance = None if tolerance is None else number(tolerance, "tolerance")
        # Numbers per sample, once the model was called.
        self._columns: int | None = None
        # A graph is perturbed and run as a whole; its nodes are the samples.
        self.batch = inputs if self._whole else take(inputs, chosen)

    def of(self, batch: Any, about: str) -> _Answer:
        outputs = np.asarray(self._run(batch))
        if outputs.ndim not in (1, 2) or len(outputs) != _length(batch):
            raise ValueError(
                f"the model must return one class or one row of numbers per sample ({_length(batch)}), got an array of shape "
                f"{list(outputs.shape)} for {about}"
            )
        if self._whole:
            outputs = outputs[self._chosen]
        columns = 1 if outputs.ndim == 1 else outputs.shape[1]
        if self._columns not in (None, columns):
            raise ValueError(
                f"the model must return the same number of outputs for every batch, got {columns} for {about} after "
                f"{self._columns} for the inputs"
            )
        is_first, self._columns = self._columns is None, columns
        if outputs.dtype.kind == "f" and not np.all(np.isfinite(outputs)):
            raise ValueError(f"outputs of the model must be finite, got NaN or infinity for {about}")
        if outputs.ndim == 2 and outputs.shape[1] == 1:
            outputs = outputs[:, 0]
        if is_first and not self._whole:
            self._check_alone(batch, outputs)
        if outputs.ndim == 1 and outputs.dtype.kind == "f" and self._has_two_classes:
            # The decision function of two classes: the second one is meant above 0.
            outputs = np.column_stack([-outputs, outputs])
        if outputs.ndim == 1 and outputs.dtype.kind == "f" and self._tolerance is None:
            raise ValueError("the model returns one number per sample: pass `tolerance`, the smallest change that counts")
        if outputs.ndim == 1:
            return _Answer(outputs, None, self._tolerance)
        rows = outputs.astype(np.float64)
        return _Answer(rows.argmax(axis=1), rows, None)

    def _check_alone(self, batch: Any, outputs: npt.NDArray[Any]) -> None:
        """Changes by other samples of the batch would count as changes by the perturbation."""
        are_classes = outputs.ndim == 1 and outputs.dtype.kind != "f" and self._tolerance is None
        check = check_classes_alone if are_classes else check_alone
        check(self._run, batch, outputs, "outputs of the model")


@dataclass(frozen=True)
class _Count:
    """What has changed so far."""

    first: _Answer
    variants: int
    flips: npt.NDArray[np.int64]
    first_flips: npt.NDArray[np.int64]
    probe_margins: npt.NDArray[np.float64] | None

    @classmethod
    def of_none(cls, first: _Answer) -> _Count:
        """Before the first variant."""
        samples = len(first.classes)
        flips, first_flips = np.zeros(samples, dtype=np.int64), np.full(samples, -1, dtype=np.int64)
        return cls(first, 0, flips, first_flips, first.margins)

    def with_variant(self, answer: _Answer) -> _Count:
        """After one more variant."""
        flipped = self.first.differs(answer)
        margins = self.probe_margins
        if margins is not None and answer.outputs is not None:
            margins = np.minimum(margins, self.first.margins_of(answer.outputs))
        first_flips = np.where(flipped & (self.first_flips < 0), self.variants, self.first_flips)
        return _Count(self.first, self.variants + 1, self.flips + flipped, first_flips, margins)

    @property
    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """What has changed so far, as it is kept."""
        found: dict[str, npt.NDArray[Any]] = {
            "variants": np.array(self.variants),
            "flips": self.flips,
            "first_flips": self.first_flips,
        }
        return found if self.probe_margins is None else {**found, "probe_margins": self.probe_margins}

    def or_of(self, arrays: dict[str, npt.NDArray[Any]] | None) -> _Count:
        """What an earlier call counted, if it kept anything."""
        if arrays is None:
            return self
        variants, margins = int(arrays["variants"]), arrays.get("probe_margins")
        return _Count(self.first, variants, arrays["flips"], arrays["first_flips"], margins)

    def error(self) -> float:
        """Half the width of the 95 % interval that more variants of the same samples could still narrow. A sample that never
        or always changed may still do otherwise: one half is added to both counts."""
        shares = (self.flips + 0.5) / (self.variants + 1)
        variance = float(np.sum(shares * (1 - shares))) / self.variants / len(shares) ** 2
        return _REACH * math.sqrt(variance)


def take(inputs: Any, chosen: npt.NDArray[np.int64]) -> Any:
    """Some samples, as what they came as."""
    if hasattr(inputs, "iloc"):
        return inputs.iloc[chosen]
    if isinstance(inputs, Sequence):
        return [inputs[at] for at in chosen]
    if hasattr(inputs, "tocsr"):
        return inputs.tocsr()[chosen]
    return np.asarray(inputs)[chosen]


def _length(inputs: Any) -> int:
    shape = getattr(inputs, "shape", None)
    return len(inputs) if shape is None else int(shape[0])


def _chosen(total: int, samples: int, seed: int) -> npt.NDArray[np.int64]:
    if samples >= total:
        return np.arange(total)
    return np.sort(np.random.default_rng([seed, total]).choice(total, samples, replace=False))


def _right(
    first: _Answer, model: Any, labels: Any, chosen: npt.NDArray[np.int64], total: int
) -> npt.NDArray[np.bool_] | None:
    if labels is None:
        return None
    if first.tolerance is not None:
        raise ValueError("`labels` are classes, but the model returns one number per sample")
    if first.outputs is None and classes_of(model) is None:
        given = np.asarray(labels)
        if given.shape != (total,):
            raise ValueError(f"labels must have one entry per sample ({total}), got {list(given.shape)}")
        return np.asarray(given[chosen] == first.classes, dtype=bool)
    ids = as_classes(labels, model, total)
    return None if ids is None else np.asarray(ids.ids[chosen] == first.classes, dtype=bool)
