"""SLEPc under MPI gives the eigenpairs and scores that the command gives.

The Python that has slepc4py is another than that of the other tests: `SPADEWORK_SLEPC_PYTHON` names it, and
scripts/test-extended makes it.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

PYTHON = os.environ.get("SPADEWORK_SLEPC_PYTHON")
if not PYTHON or not shutil.which("mpirun"):
    pytest.skip("set SPADEWORK_SLEPC_PYTHON to a Python with slepc4py, and install mpirun", allow_module_level=True)


def spadework(*arguments):
    subprocess.run([sys.executable, "-m", "spadework", *map(str, arguments)], check=True, capture_output=True)


def slepc(processes, *arguments):
    """Two cores serve any number of processes, so none of them may wait by working."""
    command = ["mpirun", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none"]
    command += ["--mca", "mpi_yield_when_idle", "1"]
    command += ["-n", str(processes), PYTHON, "-m", "spadework.slepc", *map(str, arguments)]
    return subprocess.run(command, check=False, capture_output=True, text=True, timeout=600)


def solved(result, processes, *options):
    done = slepc(processes, result, *options)
    assert done.returncode == 0, done.stderr
    with np.load(result / "stages" / "eigenpairs.npz") as archive:
        return {key: archive[key] for key in archive.files}


@pytest.fixture(scope="module")
def digits_result(tmp_path_factory, digits):
    folder = tmp_path_factory.mktemp("digits")
    np.save(folder / "x.npy", digits["inputs"])
    np.save(folder / "y.npy", digits["standard"])
    arrays = ["--inputs", folder / "x.npy", "--outputs", folder / "y.npy"]
    spadework("graph", *arrays, "--out", folder / "slepc")
    spadework("score", *arrays, "--out", folder / "ours", "--tables", "npy")
    return folder


def compare(folder):
    """Eigenvalues to 1e-6 as promised; scores as vectors allow whose residual is 1e-6 of a gap of some per cent."""
    ours, theirs = (json.loads((folder / name / "result.json").read_text()) for name in ("ours", "slepc"))
    assert theirs["solver"] == "given"
    np.testing.assert_allclose(theirs["eigenvalues"], ours["eigenvalues"], rtol=1e-6)
    # Bounds of what another program found are found by our own solver.
    assert theirs["numerical_bounds"]["lower"] <= ours["model_score"] * (1 + 1e-6)
    assert theirs["numerical_bounds"]["upper"] >= ours["model_score"] * (1 - 1e-6)


def compare_scores(ours, theirs):
    np.testing.assert_array_equal(np.load(theirs / "edges.npy"), np.load(ours / "edges.npy"))
    for scores in ("edge_scores.npy", "node_scores.npy"):
        mine = np.load(ours / scores)
        np.testing.assert_allclose(np.load(theirs / scores), mine, rtol=1e-4, atol=1e-4 * mine.max())


@pytest.mark.parametrize("preconditioner", ["gamg", "hypre"])
def test_digits(digits_result, preconditioner):
    theirs = digits_result / "slepc"
    pairs = solved(theirs, 2, "--force", "--preconditioner", preconditioner)
    assert max(pairs["residuals"]) <= 1e-6
    compare_scores(digits_result / "ours", theirs)
    spadework("scores", theirs, "--force")
    compare(digits_result)
    # The number of processes changes nothing but the last digits.
    alone = solved(theirs, 1, "--force", "--preconditioner", preconditioner)
    np.testing.assert_allclose(alone["values"], pairs["values"], rtol=1e-9)


def test_what_is_there_is_not_found_again(digits_result):
    theirs = digits_result / "slepc"
    solved(theirs, 2, "--force")
    again = slepc(2, theirs)
    assert again.returncode == 0 and "are not computed again" in again.stderr, again.stderr
    other = slepc(2, theirs, "--seed", "1")
    assert other.returncode == 2 and "was made from something else" in other.stderr, other.stderr
    assert not list(Path(theirs).rglob("*.tmp-*"))


def test_mnist(mnist, tmp_path):
    images, logits = mnist
    np.save(tmp_path / "x.npy", images)
    np.save(tmp_path / "y.npy", logits["lenet5_eps0.0"])
    arrays = ["--inputs", tmp_path / "x.npy", "--outputs", tmp_path / "y.npy"]
    spadework("graph", *arrays, "--out", tmp_path / "slepc")
    spadework("score", *arrays, "--out", tmp_path / "ours", "--tables", "npy")
    solved(tmp_path / "slepc", 2)
    compare_scores(tmp_path / "ours", tmp_path / "slepc")
    spadework("scores", tmp_path / "slepc")
    compare(tmp_path)
