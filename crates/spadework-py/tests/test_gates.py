"""Gates and samples that moved: the same as those of the command."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import spadework


def classifier() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Inputs, the logits of a classifier that is right for 95 %, and labels."""
    rng = np.random.default_rng(3)
    inputs = rng.random((400, 2)).astype(np.float32)
    labels = (inputs[:, 0] > 0.5).astype(np.int64)
    lead = 0.1 + np.abs(inputs[:, 0] - 0.5)
    wrong = np.arange(400) % 20 == 0
    sign = np.where((labels == 1) ^ wrong, 1.0, -1.0)
    return inputs, np.column_stack([-sign * lead, sign * lead]).astype(np.float32), labels


def command(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    call = [sys.executable, "-m", "spadework", *arguments]
    return subprocess.run(call, cwd=folder, capture_output=True, text=True, check=False)


def test_gates_decide_as_those_of_the_command(tmp_path):
    inputs, outputs, labels = classifier()
    worse = outputs.copy()
    worse[3::8] = worse[3::8, ::-1]
    for name, array in (("x", inputs), ("y", outputs), ("worse", worse), ("labels", labels)):
        np.save(tmp_path / f"{name}.npy", array)
    shared = ("--inputs", "x.npy", "--labels", "labels.npy", "-k", "6", "-q")
    assert command("score", *shared, "--outputs", "y.npy", "--out", "base", folder=tmp_path).returncode == 0
    for model, array, passes in (("y", outputs, True), ("worse", worse, False)):
        told = command(
            *("check", *shared, "--outputs", f"{model}.npy", "--baseline", "base", "--max-drop", "2%"),
            *("--min-accuracy", "90%", "--json"),
            folder=tmp_path,
        )
        expected = json.loads(told.stdout)
        found = spadework.check(
            inputs,
            array,
            labels=labels,
            neighbors=6,
            baseline=tmp_path / "base",
            max_drop="2%",
            min_accuracy=0.9,
            verbose=False,
        )
        assert (found.passed, bool(found), told.returncode) == (passes, passes, int(not passes))
        assert found.gates == expected["gates"] and found.outcome == expected["outcome"]
        assert found.document.get("new_failures") == expected.get("new_failures")
        assert str(found).splitlines()[0].startswith("PASS  accuracy  " if passes else "FAIL  accuracy  ")
        assert found.report.model_score == expected["model_score"]


def test_gates_of_probes():
    inputs, outputs, labels = classifier()

    def model(rows):
        lead = 10 * (rows[:, 0] - 0.5)
        return np.column_stack([-lead, lead])

    probed = spadework.probe(model, inputs, "linf:0.001", labels=labels, probes=20, samples=100)
    found = spadework.check(inputs, model, labels=labels, probed=probed, min_robust_accuracy="80%", min_survived=0.5)
    assert found.passed and {gate["number"] for gate in found.gates} == {"robust-accuracy", "survived"}
    failed = spadework.check(inputs, model, labels=labels, probed=probed, min_robust_accuracy=1.0, undecided="fail")
    assert not failed.passed
    with pytest.raises(ValueError, match="min_robust_accuracy needs a model that is probed"):
        spadework.check(inputs, outputs, labels=labels, min_robust_accuracy=0.5)
    noise = spadework.probe(model, inputs, "linf:0.001:pixel", labels=labels, samples=100)
    with pytest.raises(ValueError, match="`search`"):
        spadework.check(inputs, model, labels=labels, probed=noise, min_robust_accuracy=0.5)


def test_a_gate_on_the_score_alone_says_so():
    inputs, outputs, _ = classifier()
    with pytest.warns(spadework.SpadeworkWarning) as told:
        found = spadework.check(inputs, outputs, max_score=1e9, connectivity="bridge")
    assert [note.code for note in found.notes] == ["score-alone"]
    assert any("min_overlap" in str(warning.message) for warning in told)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "at least one gate"),
        ({"min_overlap": "115%"}, "`min_overlap` must be from 0 to 1"),
        ({"min_overlap": "much"}, "`min_overlap` must be a number"),
        ({"min_overlap": 0.1, "undecided": "maybe"}, "`undecided`"),
        ({"min_overlap": 0.1, "max_drop": 0.1}, "`baseline`"),
        ({"max_score": -1}, "`max_score` must be positive"),
        ({"baseline": "nowhere"}, "nowhere"),
        ({"min_accuracy": 0.5}, "`min_accuracy` needs labels"),
    ],
)
def test_wrong_gates_are_refused(options, message):
    inputs, outputs, _ = classifier()
    with pytest.raises(ValueError, match=message):
        spadework.check(inputs, outputs, **options)


def test_moved_items_are_found():
    """Forty of 1,500 items of an embedding are swapped; everything else only turns and grows."""
    rng = np.random.default_rng(0)
    before = rng.standard_normal((1500, 8))
    turn = np.linalg.qr(rng.standard_normal((8, 8)))[0]
    after = 3 * before @ turn
    planted = rng.choice(1500, 40, replace=False)
    after[planted] = after[np.roll(planted, 1)]
    found = spadework.moved(before, after, top=40)
    assert found.distance_ratios.shape == (40,) and (found.distance_ratios > 1).all()
    assert set(found.indices) == set(planted)
    assert found.overlaps.shape == (40,) and found.overlaps.max() < 0.4 < found.overlap
    same = spadework.moved(before, 3 * before @ turn, top=1)
    assert same.overlap == pytest.approx(1.0, abs=1e-12) and same.document["schema"] == "spadework.moved/1"
    with pytest.raises(ValueError, match="`top` must be at most the number of samples"):
        spadework.moved(before, after, top=2000)
    with pytest.raises(ValueError, match="`outputs` and `against` must be outputs for the same samples"):
        spadework.moved(before, after[:-1])


def test_notes_are_those_of_the_command():
    """What only the application knows reaches Python too."""
    inputs, outputs, labels = classifier()
    options = {"connectivity": "bridge", "verbose": False}
    swapped = spadework.score(outputs, inputs, labels=labels, **options)
    assert "swapped-sides" in [note.code for note in swapped.notes]
    scaled = spadework.score(np.column_stack([inputs, 1e4 * inputs[:, 0]]), outputs, **options)
    (unequal,) = [note for note in scaled.notes if note.code == "unequal-columns"]
    assert unequal.endswith("scale the columns (standardize)")
    labels = labels.copy()
    labels[7] = 9
    beyond = spadework.score(inputs, outputs, labels=labels, **options)
    (note,) = [note for note in beyond.notes if note.code == "label-beyond-outputs"]
    assert "sample 7 (counted from 0), 9" in note and note.endswith('pass task="embedding"')
