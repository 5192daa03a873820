"""Measure how robust a model is, and find the samples on which it is weakest, from its inputs and outputs.

>>> import numpy as np, spadework
>>> angle = np.linspace(0, 2 * np.pi, 60, endpoint=False)
>>> ring = np.column_stack([np.cos(angle), np.sin(angle)])
>>> report = spadework.score(ring, angle, neighbors=2)   # the "model" opens the ring into a line
>>> report.top_edges(1)
array([[ 0, 59]])

`score` scores one model, `compare` ranks several, `sweep` scores them over a range of k, `select` lists the weakest samples, `moved`
lists the samples whose neighbors a new model changed, `probe` runs the model on perturbed samples, and `check` is a gate. `Spade` is an
estimator like those of scikit-learn.
"""

from __future__ import annotations

from . import _native
from ._comparison import Comparison
from ._distortion import Distortion
from ._errors import ConvergenceError, DisconnectedGraphError, SpadeworkError, SpadeworkWarning
from ._estimator import Spade
from ._functions import compare, distortion, knn_graph, perturbation_budget, score, select, sweep
from ._gates import Check, check
from ._moved import Moved, moved
from ._perturbed import Estimate, Perturbed
from ._probe import Probed, ProbedRegressor, probe
from ._report import Interval, NumericalBounds, Report
from ._sweep import Sweep
from ._table import EncodedTable, encode_table, score_table

__version__: str = _native.VERSION

__all__ = [
    "Check",
    "Comparison",
    "ConvergenceError",
    "DisconnectedGraphError",
    "Distortion",
    "EncodedTable",
    "Estimate",
    "Interval",
    "Moved",
    "NumericalBounds",
    "Perturbed",
    "Probed",
    "ProbedRegressor",
    "Report",
    "Spade",
    "SpadeworkError",
    "SpadeworkWarning",
    "Sweep",
    "__version__",
    "check",
    "compare",
    "distortion",
    "encode_table",
    "knn_graph",
    "moved",
    "perturbation_budget",
    "probe",
    "score",
    "score_table",
    "select",
    "sweep",
]
