"""The script of the page about perturbations, run by the command."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys

import numpy as np
import pytest
from conftest import ROOT

SCRIPT = re.compile(r"^```python (\S+\.py)\n(.*?)^```", re.MULTILINE | re.DOTALL)
MODEL = ROOT / "crates/spadework-model/tests/fixtures/onnx/mlp.onnx"


@pytest.mark.skipif(os.name == "nt", reason="a script needs another first line there")
def test_the_script_of_the_page_runs_with_the_command(tmp_path):
    [(name, script)] = SCRIPT.findall((ROOT / "docs" / "how-to" / "perturbations.md").read_text(encoding="utf-8"))
    # The interpreter at hand, which has NumPy.
    path = tmp_path / name
    path.write_text(script.replace("#!/usr/bin/env python3", f"#!{sys.executable}"), encoding="utf-8")
    path.chmod(0o755)
    rows = np.random.default_rng(0).integers(9, size=(120, 4)).astype(np.float32)
    np.save(tmp_path / "tokens.npy", rows)
    call = [sys.executable, "-m", "spadework", "score", "--inputs", "tokens.npy", "--model", str(MODEL), "--connectivity", "bridge"]
    call += ["--probe-with", f"./{name}", "--probes", "12", "--json", "--quiet"]
    runs = [subprocess.run(call, capture_output=True, text=True, cwd=tmp_path, check=True).stdout for _ in range(2)]
    found = [json.loads(run)["variants"] for run in runs]
    assert found[0] == found[1]
    assert found[0]["samples"] == 120 and found[0]["variants"] in (10, 11, 12)
    assert found[0]["kept"]["lower"] <= found[0]["kept"]["estimate"] <= found[0]["kept"]["upper"]
    seeds = {seed: np.load(_output(path, rows, seed)) for seed in (1, 2)}
    assert (seeds[1] != seeds[2]).any() and ((seeds[1] != rows).sum(axis=1) <= 1).all()


def _output(path, rows, seed):
    """What the script writes, as a file."""
    np.save(path.with_name("batch.npy"), rows)
    with open(path.with_name("batch.npy"), "rb") as batch, open(path.with_name(f"{seed}.npy"), "wb") as out:
        subprocess.run([str(path), "0", str(seed)], stdin=batch, stdout=out, check=True)
    return path.with_name(f"{seed}.npy")
