"""Whether the installed package computes: a score against a closed form, probes against one model of two classes, and a page.

usage: python scripts/check_wheel.py     (needs NumPy and the package)
"""

from __future__ import annotations

import platform
import tempfile
from pathlib import Path

import numpy as np
import spadework


def main() -> None:
    inputs = np.random.default_rng(0).normal(size=(500, 20)).astype(np.float32)
    # The graph of outputs that are twice the inputs is that of the inputs, with weights of which each is the same part.
    report = spadework.score(inputs, 2 * inputs, neighbors=10, task="regression")
    values = np.asarray(report.eigenvalues)
    assert np.ptp(values) < 1e-6 * values[0], values
    # The class is the sign of the first column, so that a change of 0.1 turns those that are nearer to 0 than that.
    found = spadework.probe(lambda rows: np.stack([rows[:, 0], -rows[:, 0]], axis=1), inputs, probe="linf:0.1")
    assert found.survived == np.mean(np.abs(inputs[:, 0]) > 0.1), found.survived
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder, "page.html")
        report.to_html(page)
        assert page.read_text().startswith("<!doctype html>"), page.read_text()[:40]
    print(f"scores, probes and a page on {platform.machine()}")


if __name__ == "__main__":
    main()
