"""The notebook in examples/ runs from top to bottom, and what it shows is what it says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[4] / "examples"


@pytest.mark.filterwarnings("ignore")
@pytest.mark.usefixtures("notebook_settings")
def test_the_notebook_runs(tmp_path):
    nbclient = pytest.importorskip("nbclient")
    nbformat = pytest.importorskip("nbformat")
    notebook = nbformat.read(EXAMPLES / "digits_pytorch.ipynb", as_version=4)
    nbclient.NotebookClient(notebook, timeout=600, resources={"metadata": {"path": tmp_path}}).execute()
    outputs = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    text = "".join(output.get("text", "") for output in outputs)
    assert float(re.search(r"training images: ([\d.]+)", text)[1]) > 0.95
    fragile, random = map(float, re.search(r"([\d.]+) of the fragile samples, ([\d.]+) of random", text).groups())
    assert fragile < random
    assert any("<table>" in output.get("data", {}).get("text/html", "") for output in outputs)
    assert sum("image/png" in output.get("data", {}) for output in outputs) >= 2
