"""The notebooks in examples/ run from top to bottom and show what they say. The one with PyTorch is in extended/."""

from __future__ import annotations

import re

import pytest

from conftest import ROOT

EXAMPLES = ROOT / "examples"
nbformat = pytest.importorskip("nbformat")
pytestmark = pytest.mark.usefixtures("notebook_settings")


def read(name):
    return nbformat.read(EXAMPLES / f"{name}.ipynb", as_version=4)


def run(name, folder):
    """The text and the HTML that a notebook shows, and how many pictures."""
    nbclient = pytest.importorskip("nbclient")
    notebook = read(name)
    nbclient.NotebookClient(notebook, timeout=600, resources={"metadata": {"path": folder}}).execute()
    outputs = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    text = "".join(output.get("text", "") for output in outputs)
    pages = [output["data"]["text/html"] for output in outputs if "text/html" in output.get("data", {})]
    return text, pages, sum("image/png" in output.get("data", {}) for output in outputs)


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.ipynb")), ids=lambda path: path.stem)
def test_notebooks_are_kept_without_outputs(path):
    notebook = read(path.stem)
    nbformat.validate(notebook)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert code and all(not cell.outputs and cell.execution_count is None for cell in code)


def test_digits_with_scikit_learn(tmp_path):
    text, pages, pictures = run("digits_sklearn", tmp_path)
    robust, survived = map(float, re.search(r"accuracy: ([\d.]+) .*survived: ([\d.]+)", text).groups())
    assert 0 < robust <= survived < 1
    assert "No attack was tried" in pages[0] and pages[0].count("<img src") == 10
    assert "under attack by changes of at most 0.05 per number (L∞)" in pages[1] and "<td>linear</td>" in pages[2]
    assert pictures == 2


def test_embeddings(tmp_path):
    text, pages, pictures = run("embeddings", tmp_path)
    overlap, recall = map(float, re.search(r"overlap ([\d.]+), recall@10 ([\d.]+)", text).groups())
    assert abs(overlap - recall) < 0.05
    assert int(re.search(r"(\d+) of the 20 broken", text)[1]) >= 18
    assert "['rounded'" in text and len(pages) == 2 and pictures == 1
