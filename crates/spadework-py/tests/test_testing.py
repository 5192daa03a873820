"""`assert_robust`: passes, fails with its numbers, and leaves the undecided to the caller; against `spadework check`."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest
import spadework
from spadework.testing import assert_robust


@pytest.fixture(scope="module")
def linear(digits):
    """A linear classifier of the digits, fitted by least squares."""
    targets = np.eye(10)[digits["labels"]]
    weights, *_ = np.linalg.lstsq(digits["inputs"], targets, rcond=None)
    return lambda rows: rows @ weights


def test_a_model_that_keeps_its_limits_is_returned_as_a_report(digits, linear):
    report = assert_robust(
        linear, digits["inputs"], labels=digits["labels"], probe="linf:0.01", probe_samples=200,
        min_accuracy=0.8, min_survived=0.2, min_overlap=0.05, seed=3, verbose=False,
    )  # fmt: skip
    assert report.accuracy > 0.9
    assert report.document["probe"]["samples"] == 200


def test_a_broken_limit_says_what_was_found_and_where_to_look(digits, linear):
    with pytest.raises(AssertionError) as caught:
        assert_robust(
            linear, digits["inputs"], labels=digits["labels"], probe="linf:0.3", probe_samples=100,
            min_robust_accuracy=0.9, min_accuracy=0.8, verbose=False,
        )  # fmt: skip
    lines = str(caught.value).splitlines()
    assert lines[0] == "the model is not as robust as expected"
    assert lines[1].startswith("FAIL  estimated robust accuracy ") and "at least 90 % expected (100 samples)" in lines[1]
    assert lines[2].startswith("PASS  accuracy ")
    assert lines[3].startswith("weakest samples: #")


def test_an_undecided_limit_warns_or_fails(digits):
    report = spadework.score(digits["inputs"], digits["robust"], labels=digits["labels"])
    limit = report.document["estimates"]["accuracy"]["estimate"]
    with pytest.warns(spadework.SpadeworkWarning, match=r"do not decide.*\n\?     accuracy "):
        assert assert_robust(report, min_accuracy=limit) is report
    with pytest.raises(AssertionError, match=r"\?     accuracy "):
        assert_robust(report, min_accuracy=limit, undecided="fail")
    assert_robust(report, max_score=report.model_score)
    with pytest.raises(AssertionError, match="FAIL  SPADE score .* at most 0.5 allowed"):
        assert_robust(report, max_score=0.5)


def test_it_decides_as_the_command_does(digits, tmp_path):
    arrays = {"x": digits["inputs"], "y": digits["standard"], "labels": digits["labels"]}
    for name, array in arrays.items():
        np.save(tmp_path / f"{name}.npy", array)
    report = spadework.score(digits["inputs"], digits["standard"], labels=digits["labels"])
    estimates = report.document["estimates"]
    for share, name in ((estimates["overlap"], "overlap"), (estimates["accuracy"], "accuracy")):
        for limit in (share["lower"], share["estimate"], share["upper"], min(1.0, share["upper"] + 1e-9)):
            options = [f"--{side}={tmp_path / file}.npy" for side, file in {"inputs": "x", "outputs": "y", "labels": "labels"}.items()]
            call = [sys.executable, "-m", "spadework", "check", *options, f"--min-{name}", repr(limit), "--json", "-q", "--undecided=fail"]
            found = json.loads(subprocess.run(call, capture_output=True, text=True, check=False).stdout)
            if found["passed"]:
                assert_robust(report, **{f"min_{name}": limit}, undecided="fail")
            else:
                with pytest.raises(AssertionError):
                    assert_robust(report, **{f"min_{name}": limit}, undecided="fail")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "no limit is given"),
        ({"min_overlap": 15}, "`min_overlap` must be a share from 0 to 1, got 15"),
        ({"min_survived": 0.5}, "`min_survived` needs `probe` and a model that can be run"),
        ({"min_accuracy": 0.5}, "`min_accuracy` needs `labels`"),
        ({"min_overlap": 0.1, "undecided": "maybe"}, '`undecided` must be "pass" or "fail", got \'maybe\''),
        ({"min_survived": 0.5, "probe": "linf:0.1"}, "`probe` gives perturbed inputs to a model"),
    ],
)
def test_wrong_calls(digits, options, message):
    with pytest.raises(ValueError, match=message.replace("(", r"\(")):
        assert_robust(digits["robust"], digits["inputs"], **options)


def test_wrong_calls_about_inputs(digits):
    report = spadework.score(digits["inputs"], digits["robust"])
    with pytest.raises(ValueError, match="a `Report` is scored already"):
        assert_robust(report, digits["inputs"], min_overlap=0.1)
    with pytest.raises(ValueError, match="`inputs` must be given"):
        assert_robust(digits["robust"], min_overlap=0.1)
