"""Whether a model answers for every sample by itself, whatever else is in the batch."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ._arrays import as_rows

# Batches of other sizes are multiplied in another order, in half precision with some 1 % of rounding; a mean over samples
# changes far more.
_TOLERANCE = 1e-3
_HALF_TOLERANCE = 3e-2


def check_alone(model: Callable[[Any], Any], inputs: Any, outputs: Any, name: str) -> None:
    """Runs three samples by themselves: an operation along the axis of the batch (a mean, a running sum) gives outputs of the
    right shape that depend on the other samples."""
    together = as_rows(outputs, name)
    kind = str(getattr(outputs, "dtype", ""))
    tolerance = _HALF_TOLERANCE if "float16" in kind else _TOLERANCE
    few = _few(len(together))
    # Of all of them: an output that happens to be close to 0 is rounded like the others.
    size = np.max(np.abs(together[few])) if few else 0.0
    if not np.isfinite(size):
        # Refused elsewhere, by row and column.
        return
    for sample, alone in _run_alone(model, inputs, len(together), lambda answer: as_rows(answer, name)):
        expected = together[sample]
        # An output by itself that is NaN differs too.
        if alone.shape != expected.shape or not np.all(np.abs(alone - expected) <= tolerance * size):
            raise _mixed(name, sample)


def check_classes_alone(model: Callable[[Any], Any], inputs: Any, classes: npt.NDArray[Any], name: str) -> None:
    """The same for a model that only returns classes, of any type."""
    for sample, alone in _run_alone(model, inputs, len(classes), np.ravel):
        if alone != classes[sample]:
            raise _mixed(name, sample)


def _mixed(name: str, sample: int) -> ValueError:
    return ValueError(
        f"{name}: the output for a sample must depend on that sample alone, but sample {sample} (counted from 0) has "
        "another output when it is run by itself: the model mixes the samples of a batch (is it in training mode, or quantized "
        "by batch?), draws random numbers, or returns the same outputs for whatever rows it gets"
    )


def _few(total: int) -> list[int]:
    """Samples to run by themselves. The first one of a batch is the one that a running sum leaves alone."""
    return sorted({1, total // 2, total - 1}) if total > 1 else []


def _run_alone(
    model: Callable[[Any], Any], inputs: Any, total: int, read: Callable[[Any], Any]
) -> Iterator[tuple[int, Any]]:
    """What the model says of some samples by themselves."""
    for sample in _few(total):
        alone = _alone(model, inputs, sample, total, read)
        if alone is not None:
            yield sample, alone


def _alone(model: Callable[[Any], Any], inputs: Any, sample: int, total: int, read: Callable[[Any], Any]) -> Any:
    """What the model says of one sample; None where it does not take it by itself, nor a batch of nothing else."""
    batches: tuple[Callable[[], Any], ...] = (lambda: _one(inputs, sample), lambda: _repeated(inputs, sample, total))
    for batch in batches:
        try:
            rows = batch()
            answer = read(model(rows))
            if len(answer) == _count(rows):
                return answer[0]
        except Exception:  # a model of a fixed batch size, or inputs that cannot be indexed like that
            continue
    return None


def _count(rows: Any) -> int:
    """Sparse matrices have a shape and no length."""
    shape = getattr(rows, "shape", None)
    return int(shape[0]) if shape else len(rows)


def _one(inputs: Any, sample: int) -> Any:
    """One sample, as what the samples came as."""
    place = slice(sample, sample + 1)
    if hasattr(inputs, "iloc"):
        return inputs.iloc[place]
    if hasattr(inputs, "tocsr"):
        return inputs.tocsr()[place]
    if isinstance(inputs, Sequence):
        return [inputs[sample]]
    return inputs[place]


def _repeated(inputs: Any, sample: int, total: int) -> Any:
    """A batch of nothing but one sample."""
    places = [sample] * total
    if hasattr(inputs, "iloc"):
        return inputs.iloc[places]
    if isinstance(inputs, Sequence):
        return [inputs[sample]] * total
    return inputs[places]
