"""The pages of docs/how-to do what they say: every block of Python in them runs, in order."""

from __future__ import annotations

import os
import re
import warnings

import pytest
from conftest import ROOT

PAGES = sorted((ROOT / "docs" / "how-to").glob("*.md"))
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_block_runs(page, tmp_path, monkeypatch):
    # Runs of MLflow go into files here; newer versions allow that on request.
    monkeypatch.setenv("MLFLOW_TRACKING_URI", (tmp_path / "runs").as_uri())
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    blocks = BLOCK.findall(page.read_text(encoding="utf-8"))
    assert blocks, "a page without code has nothing to run"
    if any("SPADEWORK_DATA" in block for block in blocks):
        folder = os.environ.get("SPADEWORK_DATA")
        if not folder or not os.path.isdir(os.path.join(folder, "graphs")):
            pytest.skip("set SPADEWORK_DATA to a folder with graphs/")
    names: dict[str, object] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for block in blocks:
            exec(compile(block, str(page), "exec"), names)
