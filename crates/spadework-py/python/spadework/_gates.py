"""Gates: does a model keep its limits, and what its baseline had?"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from typing import Any, Literal

from . import _native, _notes
from ._arrays import as_labels
from ._functions import answers, check_sense, known_probes, report_of, samples_of, side
from ._progress import progress_bars
from ._report import Report
from ._settings import number, settings


@dataclass(frozen=True)
class Check:
    """The outcome of the gates of a model. As text, it has one line per gate and a summary.

    Attributes
    ----------
    document : dict
        What ``spadework check --json`` prints, except ``result``, which is ``report.document``.
    report : Report
        The scored model.
    notes : tuple of str
        What a reader must know about the gates; notes about the model are in ``report.notes``.
    """

    document: dict[str, Any]
    report: Report
    notes: tuple[str, ...] = ()
    _lines: str = field(default="", repr=False)

    @property
    def passed(self) -> bool:
        """Whether no gate failed. An undecided gate counts as failed with ``undecided="fail"``."""
        return bool(self.document["passed"])

    @property
    def outcome(self) -> Literal["pass", "fail", "undecided"]:
        """``"fail"`` if a gate failed, otherwise ``"undecided"`` if one is undecided, otherwise ``"pass"``."""
        outcome: Literal["pass", "fail", "undecided"] = self.document["outcome"]
        return outcome

    @property
    def gates(self) -> list[dict[str, Any]]:
        """Every gate with its limit, the measured number and its outcome."""
        return list(self.document["gates"])

    def __bool__(self) -> bool:
        return self.passed

    def __str__(self) -> str:
        return self._lines


def check(
    inputs: Any = None,
    outputs: Any = None,
    *,
    min_robust_accuracy: float | str | None = None,
    min_survived: float | str | None = None,
    min_accuracy: float | str | None = None,
    min_overlap: float | str | None = None,
    max_score: float | None = None,
    baseline: str | os.PathLike[str] | None = None,
    max_drop: float | str = 0.0,
    max_regression: float | str | None = None,
    undecided: Literal["pass", "fail"] = "pass",
    labels: Any = None,
    input_graph: Any = None,
    output_graph: Any = None,
    probed: Any = None,
    verbose: bool | None = None,
    **options: Any,
) -> Check:
    """Score a model and compare it with limits, and with an earlier result: a gate for continuous integration.

    A gate passes or fails if the samples show it, and is undecided otherwise. ``docs/gates.md`` explains the rules.

    Parameters
    ----------
    inputs, outputs : array-like of shape (n, ...)
        As in `score`.
    min_robust_accuracy, min_survived : float or str, optional
        Smallest estimated robust accuracy and smallest share of samples that survived every probe, as 0.6 or ``"60%"``; need
        ``probed``.
    min_accuracy, min_overlap : float or str, optional
        Smallest accuracy (needs ``labels``) and smallest neighborhood overlap.
    max_score : float, optional
        Largest SPADE score; it tracks robustness poorly.
    baseline : path, optional
        The folder of an earlier result (``spadework score --out``), or its result.json, that the model must not drop below.
    max_drop : float or str, default=0
        By how much each share may be smaller than the baseline's: 0.02 or ``"2%"`` is two percentage points.
    max_regression : float or str, optional
        By which fraction the SPADE score may exceed the baseline's.
    undecided : {"pass", "fail"}, default="pass"
        What an undecided gate counts as: one whose interval contains its limit.
    labels, input_graph, output_graph, probed, verbose, **options
        As in `score`, without ``interval``, ``references`` and ``indices``.

    Returns
    -------
    Check

    Examples
    --------
    >>> import numpy as np, spadework
    >>> angle = np.linspace(0, 2 * np.pi, 60, endpoint=False)
    >>> ring = np.column_stack([np.cos(angle), np.sin(angle)])
    >>> spadework.check(ring, ring[:, ::-1], min_overlap="90%", neighbors=2, task="embedding").outcome
    'pass'
    """
    limits = {
        "min_robust_accuracy": _share(min_robust_accuracy, "min_robust_accuracy"),
        "min_survived": _share(min_survived, "min_survived"),
        "min_accuracy": _share(min_accuracy, "min_accuracy"),
        "min_overlap": _share(min_overlap, "min_overlap"),
        "max_score": _positive(max_score, "max_score"),
    }
    if baseline is None and all(limit is None for limit in limits.values()):
        names = ", ".join(f"`{name}`" for name in limits)
        raise ValueError(f"at least one gate must be given: {names} or `baseline`")
    if baseline is None and (max_regression is not None or _share(max_drop, "max_drop")):
        raise ValueError("`max_drop` and `max_regression` are measured from a `baseline`, which is not given")
    if undecided not in ("pass", "fail"):
        raise ValueError(f'`undecided` must be "pass" or "fail", got {undecided!r}')
    gates = {
        **limits,
        "baseline": None if baseline is None else os.fspath(baseline),
        "max_drop": _share(max_drop, "max_drop") or 0.0,
        "max_regression": _fraction(max_regression, "max_regression"),
        "undecided_fails": undecided == "fail",
    }
    chosen = settings(**options)
    check_sense(chosen, input_graph, output_graph, False)
    outputs = answers(outputs, inputs)
    one, other = side(inputs, input_graph, "input"), side(outputs, output_graph, "output")
    given = as_labels(labels, samples_of(one))
    known = (given, known_probes(probed, samples_of(one)), None)
    with progress_bars(verbose) as progress:
        found = _native.check_gates((one, other, known), gates, (chosen, progress))
    scored = json.loads(found["document"])
    report = report_of(scored, found, found, given, _notes.told(scored, verbose))
    document = json.loads(found["gates"])
    del document["result"]
    return Check(document=document, report=report, notes=_notes.told(document, verbose), _lines=found["lines"])


def _fraction(value: Any, name: str) -> float | None:
    """0.05 or "5%"."""
    if value is None:
        return None
    is_percent = isinstance(value, str) and value.strip().endswith("%")
    fraction = number(value.strip()[:-1] if is_percent else value, name) / (100 if is_percent else 1)
    if fraction < 0:
        raise ValueError(f"`{name}` must not be negative, got {value!r}")
    return fraction


def _share(value: Any, name: str) -> float | None:
    """0.6 or "60%", at most all of it."""
    share = _fraction(value, name)
    if share is not None and share > 1:
        raise ValueError(f'`{name}` must be from 0 to 1, or a percentage such as "60%", got {value!r}')
    return share


def _positive(value: Any, name: str) -> float | None:
    if value is None:
        return None
    real = number(value, name)
    if real <= 0:
        raise ValueError(f"`{name}` must be positive, got {value!r}")
    return real
