"""Whether a model answers for every sample by itself, whatever else is in the batch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ._arrays import as_rows

# Batches of other sizes are multiplied in another order, in half precision with some 1 % of rounding; a mean over samples
# changes far more.
_TOLERANCE = 1e-3
_HALF_TOLERANCE = 3e-2


def check_alone(model: Callable[[Any], Any], inputs: Any, outputs: Any, name: str) -> None:
    """Runs three samples by themselves: an operation along the axis of the batch (a mean, a running sum) gives outputs of the
    right shape that depend on the other samples."""
    together = as_rows(outputs, name)
    total = len(together)
    if total < 2:
        return
    kind = str(getattr(outputs, "dtype", ""))
    tolerance = _HALF_TOLERANCE if "float16" in kind else _TOLERANCE
    # The first sample is the one that a running sum leaves alone.
    for sample in sorted({1, total // 2, total - 1}):
        alone = _alone(model, inputs, sample, total, name)
        if alone is None:
            continue
        expected = together[sample]
        if alone.shape != expected.shape or np.any(np.abs(alone - expected) > tolerance * np.max(np.abs(expected))):
            raise ValueError(
                f"{name}: the output for a sample must depend on that sample alone, but sample {sample} (counted from 0) has "
                "another output when it is run by itself: the model mixes the samples of a batch (is it in training mode?), "
                "or draws random numbers"
            )


def _alone(model: Callable[[Any], Any], inputs: Any, sample: int, total: int, name: str) -> Any:
    """The outputs of one sample; None where the model does not take it by itself, nor a batch of nothing else."""
    batches: tuple[Callable[[], Any], ...] = (lambda: _one(inputs, sample), lambda: inputs[[sample] * total])
    for batch in batches:
        try:
            return as_rows(model(batch()), name)[0]
        except Exception:  # a model of a fixed batch size, or inputs that cannot be indexed like that
            continue
    return None


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
