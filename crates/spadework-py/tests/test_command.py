"""`python -m spadework` is the command line, and both give the same numbers to the last bit."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest
import spadework


def command(*arguments, check=True):
    found = subprocess.run(
        [sys.executable, "-m", "spadework", *map(str, arguments)], capture_output=True, text=True, timeout=300
    )
    assert not check or found.returncode == 0, found.stderr
    return found


@pytest.fixture(scope="module")
def files(digits, tmp_path_factory):
    folder = tmp_path_factory.mktemp("arrays")
    for name, array in digits.items():
        np.save(folder / f"{name}.npy", array)
    return folder


def without_times(document):
    """A document without what depends on the clock, and without notes and the next step, which name options in the words of each."""
    if isinstance(document, dict):
        left = {key: without_times(value) for key, value in document.items()}
        return {key: value for key, value in left.items() if key not in ("timings", "notes", "next_step", "name") and not key.endswith("_s")}
    return [without_times(entry) for entry in document] if isinstance(document, list) else document


@pytest.mark.parametrize(
    ("arguments", "options"),
    [
        ([], {}),
        (["-k", 15, "-r", 3, "--seed", 5], {"neighbors": 15, "eigenpairs": 3, "seed": 5}),
        (["-k", 6, "--connectivity", "bridge", "--certify"], {"neighbors": 6, "connectivity": "bridge", "certify": True}),
        (["--eigenpairs", "all", "--sketch-error", 0.4], {"eigenpairs": "all", "sketch_error": 0.4}),
        (["--graph", "pca:20", "--weights", "gaussian"], {"graph": "pca:20", "weights": "gaussian"}),
        (["--search", "approximate", "--solver", "power"], {"search": "approximate", "solver": "power"}),
        (["--references"], {"references": True}),
    ],
)
def test_scores_are_the_same_to_the_last_bit(files, digits, arguments, options):
    arrays = ["--inputs", files / "inputs.npy", "--outputs", files / "standard.npy", "--labels", files / "labels.npy"]
    theirs = json.loads(command("score", *arrays, *arguments, "--json", "--quiet").stdout)
    ours = spadework.score(
        digits["inputs"], digits["standard"], labels=digits["labels"], verbose=False, **options
    ).to_dict()
    assert without_times(ours) == without_times(theirs)


def test_comparisons_and_sweeps_are_the_same_to_the_last_bit(files, digits):
    arrays = ["--inputs", files / "inputs.npy"]
    arrays += ["--outputs", f"standard={files / 'standard.npy'}", "--outputs", f"robust={files / 'robust.npy'}"]
    models = {name: digits[name] for name in ("standard", "robust")}
    theirs = json.loads(command("compare", *arrays, "--labels", files / "labels.npy", "--json", "--quiet").stdout)
    ours = spadework.compare(digits["inputs"], models, labels=digits["labels"])
    assert without_times(ours.to_dict()) == without_times(theirs)
    theirs = json.loads(command("sweep", *arrays, "-k", "9..11", "--json", "--quiet").stdout)
    ours = spadework.sweep(digits["inputs"], models, neighbors=range(9, 12))
    assert without_times(ours.to_dict()) == without_times(theirs)


def test_every_node_and_edge_score_is_the_same(files, digits, tmp_path):
    arrays = ["--inputs", files / "inputs.npy", "--outputs", files / "standard.npy"]
    command("score", *arrays, "--out", tmp_path / "result", "--tables", "npy", "--quiet")
    ours = spadework.score(digits["inputs"], digits["standard"])
    for name in ("node_scores", "edges", "edge_scores", "embedding"):
        assert np.array_equal(getattr(ours, name), np.load(tmp_path / "result" / f"{name}.npy")), name


def test_bytes_score_as_on_the_command_line(tmp_path):
    pixels = np.random.default_rng(0).integers(0, 256, size=(200, 8, 8), dtype=np.uint8)
    outputs = pixels.reshape(200, 64)[:, :9].astype(np.float32)
    np.save(tmp_path / "x.npy", pixels)
    np.save(tmp_path / "y.npy", outputs)
    arrays = ["--inputs", tmp_path / "x.npy", "--outputs", tmp_path / "y.npy"]
    theirs = json.loads(command("score", *arrays, "--json", "--quiet").stdout)
    assert spadework.score(pixels, outputs).model_score == theirs["model_score"]


def test_exit_codes_and_streams():
    assert command("--version").stdout.split()[-1] == spadework.__version__
    wrong = command("score", "--inputs", "no.npy", "--outputs", "no.npy", check=False)
    assert wrong.returncode == 2 and "no.npy: no such file" in wrong.stderr and not wrong.stdout
    assert command("dance", check=False).returncode == 2
    assert "demo" in command("--help").stdout
