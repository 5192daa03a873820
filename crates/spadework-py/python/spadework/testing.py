"""Robustness as a test: `assert_robust` for pytest, unittest or a plain ``assert``.

>>> from spadework.testing import assert_robust
>>> import numpy as np
>>> angle = np.linspace(0, 2 * np.pi, 60, endpoint=False)
>>> ring = np.column_stack([np.cos(angle), np.sin(angle)])
>>> report = assert_robust(lambda points: 2 * points, ring, min_overlap=0.9, neighbors=2)
>>> round(report.neighborhood_overlap, 3)
1.0
"""

from __future__ import annotations

import os
import warnings
from typing import Any, Literal

import numpy as np

from . import onnx
from ._errors import SpadeworkWarning
from ._functions import score
from ._probe import Probed, ProbedRegressor, probe as run_probe
from ._report import Report
from ._settings import number

__all__ = ["assert_robust"]

#: Words for the numbers that have a limit, and what each needs.
_LIMITS = {
    "robust_accuracy": ("estimated robust accuracy", "`probe` and a model that can be run"),
    "survived": ("survived", "`probe` and a model that can be run"),
    "accuracy": ("accuracy", "`labels` that are classes of the outputs"),
    "overlap": ("neighborhood overlap", "samples with neighbors"),
}
#: Samples that a failure names.
_NAMED = 8


def assert_robust(
    model: Any,
    inputs: Any = None,
    *,
    labels: Any = None,
    probe: str | None = None,
    probe_samples: int = 1000,
    min_robust_accuracy: float | None = None,
    min_survived: float | None = None,
    min_accuracy: float | None = None,
    min_overlap: float | None = None,
    max_score: float | None = None,
    undecided: Literal["pass", "fail"] = "pass",
    **options: Any,
) -> Report:
    """Fail unless a model keeps its limits, by the rules of ``spadework check``.

    A limit is broken only where the samples show it: where the whole 95 % confidence interval is beyond the limit. An interval that
    contains the limit is undecided.

    Parameters
    ----------
    model : callable, path of an ONNX file, array of outputs, or Report
        What is tested. A callable is given ``inputs`` as they are; outputs alone cannot be probed; a report has everything
        already, and takes no other arguments than limits.
    inputs : array-like of shape (n, ...)
        The samples.
    labels : array-like of shape (n,), optional
        One integer or word per sample.
    probe : str, optional
        Size of the perturbations, e.g. ``"linf:0.1"``, for the first two limits.
    probe_samples : int, default=1000
        How many samples are probed.
    min_robust_accuracy, min_survived, min_accuracy, min_overlap : float, optional
        The smallest share of each, from 0 to 1.
    max_score : float, optional
        The largest SPADE score.
    undecided : {"pass", "fail"}, default="pass"
        What an undecided limit counts as; one that passes is a `SpadeworkWarning`.
    **options
        As in `spadework.score`: ``neighbors``, ``seed``, ``threads`` and so on.

    Returns
    -------
    Report
        What was found, for further assertions.

    Raises
    ------
    AssertionError
        When a limit is broken, with one line per limit.
    ValueError
        When there is no limit, or one of a number that the call does not give.
    """
    __tracebackhide__ = True
    if undecided not in ("pass", "fail"):
        raise ValueError(f'`undecided` must be "pass" or "fail", got {undecided!r}')
    shares = {
        "robust_accuracy": min_robust_accuracy,
        "survived": min_survived,
        "accuracy": min_accuracy,
        "overlap": min_overlap,
    }
    limits = {name: _share(limit, f"min_{name}") for name, limit in shares.items() if limit is not None}
    if not limits and max_score is None:
        raise ValueError("no limit is given: `min_overlap=0.15`, or `min_robust_accuracy=0.6` with `probe`")
    report = _scored(model, inputs, labels, probe, probe_samples, options)
    lines = [_judged(name, limit, report) for name, limit in limits.items()]
    if max_score is not None:
        outcome = "PASS" if report.model_score <= number(max_score, "max_score") else "FAIL"
        lines.append((outcome, f"SPADE score {report.model_score:.3g}, at most {max_score:.3g} allowed"))
    failing = {"FAIL"} if undecided == "pass" else {"FAIL", "?"}
    told = "\n".join(f"{outcome:<4}  {text}" for outcome, text in lines)
    if any(outcome in failing for outcome, _ in lines):
        weakest = " ".join(f"#{index}" for index in report.top_nodes(_NAMED))
        raise AssertionError(f"the model is not as robust as expected\n{told}\nweakest samples: {weakest}")
    if any(outcome == "?" for outcome, _ in lines):
        warnings.warn(f"the samples do not decide whether the model keeps its limits\n{told}", SpadeworkWarning, stacklevel=2)
    return report


def _scored(model: Any, inputs: Any, labels: Any, probe: str | None, samples: int, options: dict[str, Any]) -> Report:
    if isinstance(model, Report):
        if inputs is not None or labels is not None or probe is not None or options:
            raise ValueError("a `Report` is scored already: pass only limits with it")
        return model
    if inputs is None:
        raise ValueError("`inputs` must be given, unless a `Report` is")
    is_file = isinstance(model, (str, os.PathLike))
    probed: Probed | ProbedRegressor | None = None
    if probe is not None:
        if not is_file and not callable(model):
            raise ValueError("`probe` gives perturbed inputs to a model, and needs a callable or an ONNX file, not outputs")
        shared = {name: options[name] for name in ("seed", "threads", "verbose") if name in options}
        probed = run_probe(model, inputs, probe, labels=labels, samples=samples, **shared)
    outputs = onnx.predict(model, inputs) if is_file else model
    return score(inputs, outputs, labels=labels, probed=probed, **options)


def _share(limit: float, name: str) -> float:
    found = number(limit, name)
    if not 0 <= found <= 1:
        raise ValueError(f"`{name}` must be a share from 0 to 1, got {limit!r}")
    return found


def _judged(name: str, limit: float, report: Report) -> tuple[str, str]:
    words, needs = _LIMITS[name]
    share = report.document["estimates"].get(name)
    if share is None:
        raise ValueError(f"`min_{name}` needs {needs}")
    outcome = "PASS" if share["lower"] >= limit else "FAIL" if share["upper"] < limit else "?"
    percent = np.round(100 * np.array([share["estimate"], share["lower"], share["upper"], limit]), 1)
    found = f"{words} {percent[0]:g} % ({percent[1]:g} – {percent[2]:g}), at least {percent[3]:g} % expected"
    return outcome, f"{found} ({share['n']:,} samples)"
