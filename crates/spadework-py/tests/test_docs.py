"""The pages do what they say: every block of Python and shell in README.md and docs/ runs, in order, on small data.

A block that cannot run has a comment before it, `<!-- not run: reason -->`. A page that needs more than the light tests have says
`<!-- needs: MODULE -->`. A block that ends with exit code 1, as a gate does that fails, says `<!-- exits with 1 -->`.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import warnings
from pathlib import Path
from typing import NamedTuple

import pytest

import docs_scene
from conftest import ROOT

GENERATED = {"docs/reference/commands.md", "docs/reference/python.md", "docs/reference/fields.md"}
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"(?:^<!-- (?P<mark>(?:not run|exits with)[^\n]*?) -->\n)?^```(?P<kind>python|sh|console)\n(?P<code>.*?)^```$", re.M | re.S)
NEEDS = re.compile(r"^<!-- needs: (\w+) -->$", re.M)
# More blocks that do not run than this are too many: a page whose code nobody ran is wrong sooner or later.
MOST_NOT_RUN = 21
# Numbers that the small data cannot have, or that would take minutes.
SMALLER = [
    (r"--top 45000", "--top 45"),
    (r"top=45_000", "top=45"),
    (r"--probe-samples \d+", "--probe-samples 20"),
    (r"samples=500", "samples=20"),
    (r'(spadework\.probe\((?:"net\.onnx"|predict), X, "linf:[^"]*", labels=y)\)', r"\1, samples=20)"),
    (r"--epochs \d+", "--epochs 2"),
    (r"--steps \d+", "--steps 3"),
    (r"--restarts \d+", "--restarts 2"),
    (r"^(spadework clever .*)$", r"\1 --batches 4 --points 8 --pool 2"),
    (r"^(spadework (?:score|compare|check|select)\b.*--probe linf\S+)((?!.*--probe-samples).*)$", r"\1 --probe-samples 20\2"),
]
# What the blocks of a page take for granted.
SETUP = {
    "README.md": """
import numpy as np
X, Y, y = np.load("X.npy"), np.load("Y.npy"), np.load("y.npy")
Y0, Y1 = Y, np.load("Y2.npy")
weights = np.random.default_rng(0).normal(size=(X.shape[1], 10))
def predict(x): return np.asarray(x) @ weights
""",
    "docs/data.md": """
import numpy as np, pickle
rows = np.arange(20 * 3072, dtype=np.uint8).reshape(20, 3072)
pickle.dump({b"data": rows, b"labels": [0] * 20}, open("test_batch", "wb"))
""",
    "docs/metrics.md": """
import numpy as np, spadework
X, Y = np.load("X.npy") + 0.1, np.load("Y.npy")
table, predictions = np.load("table.npy"), np.load("predictions.npy")
""",
    "docs/probes.md": """
import numpy as np, spadework
X, Y, y = np.load("X.npy"), np.load("Y.npy"), np.load("y.npy")
""",
    "docs/python.md": """
import numpy as np, pandas, sklearn.model_selection, spadework, spadework.perturb
from sklearn.linear_model import LogisticRegression
X, Y, labels = np.load("X.npy"), np.load("Y.npy"), np.load("y.npy")
weights = np.random.default_rng(0).normal(size=(X.shape[1], 10))
def predict(x): return np.asarray(x) @ weights
y, Y0, Y1, X_new, Y_new = labels, Y, np.load("Y2.npy"), X[:30] + 0.01, Y[:30]
frame = pandas.DataFrame(np.load("table.npy"))
estimator = LogisticRegression(max_iter=5000).fit(frame, labels)
texts = ["good film", "bad film", "good good", "bad bad film"] * 10
def model(batch): return np.array([text.count("good") > text.count("bad") for text in batch])
""",
}
# Files that a page means differently from the others.
FILES = {"docs/many.md": {"y.npy": "Y.npy"}}


class Block(NamedTuple):
    page: str
    mark: str
    kind: str
    code: str
    line: int


def blocks_of(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    name = page.relative_to(ROOT).as_posix()
    return [
        Block(name, found["mark"] or "", found["kind"], found["code"], text[: found.start("code")].count("\n") + 1)
        for found in BLOCK.finditer(text)
    ]


def commands_of(block: Block) -> list[str]:
    """What a shell is given: all lines, or of a session those after the prompt."""
    lines = re.sub(r"\\\n\s*", " ", block.code).splitlines()
    if block.kind == "console":
        lines = [line[2:] for line in lines if line.startswith("$ ")]
    lines = [re.sub(r"\s+#.*$", "", line).strip() for line in lines]
    return [line for line in lines if line and not line.startswith("#")]


def smaller(text: str) -> str:
    for pattern, replacement in SMALLER:
        text = re.sub(pattern, replacement, text, flags=re.M)
    return text


def run_command(command: str, block: Block, folder: Path) -> None:
    words = shlex.split(smaller(command))
    place = f"{block.page}:{block.line}: {command}"
    assert words[0] == "spadework", f"{place}: only `spadework` runs here; mark the block with `<!-- not run: reason -->`"
    done = subprocess.run([docs_scene.COMMAND, *words[1:]], cwd=folder, capture_output=True, text=True, encoding="utf-8")
    # The figures on a page are from other data, with which a gate may end otherwise.
    gates = words[1] in ("check", "data") and not block.page.startswith("docs/tutorials/")
    allowed = {1} if block.mark == "exits with 1" else {0, 1} if gates else {0}
    assert done.returncode in allowed, f"{place}\nexit code {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-2000:]}"


def with_blocks() -> list[Path]:
    return [page for page in PAGES if page.relative_to(ROOT).as_posix() not in GENERATED and blocks_of(page)]


@pytest.mark.parametrize("page", with_blocks(), ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_block_runs(page, docs_folder, tmp_path, monkeypatch):
    name = page.relative_to(ROOT).as_posix()
    for module in NEEDS.findall(page.read_text(encoding="utf-8")):
        if importlib.util.find_spec(module) is None:
            pytest.skip(f"needs {module}")
    blocks = [block for block in blocks_of(page) if not block.mark.startswith("not run")]
    if any("SPADEWORK_DATA" in block.code for block in blocks):
        folder = os.environ.get("SPADEWORK_DATA")
        if not folder or not os.path.isdir(os.path.join(folder, "graphs")):
            pytest.skip("set SPADEWORK_DATA to a folder with graphs/")
    folder = tmp_path / "scene"
    shutil.copytree(docs_folder, folder, symlinks=True)
    for there, other in FILES.get(name, {}).items():
        shutil.copy(folder / other, folder / there)
    monkeypatch.chdir(folder)
    # Runs of MLflow go into files here; newer versions allow that on request.
    monkeypatch.setenv("MLFLOW_TRACKING_URI", (tmp_path / "runs").as_uri())
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    names: dict[str, object] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(SETUP.get(name, ""), names)
        for block in blocks:
            if block.kind == "python":
                # Errors name the line of the page.
                source = "\n" * (block.line - 1) + smaller(block.code)
                exec(compile(source, name, "exec"), names)
            else:
                for command in commands_of(block):
                    run_command(command, block, folder)


def test_blocks_that_do_not_run_are_few_and_say_why():
    marked = [block for page in PAGES for block in blocks_of(page) if block.mark.startswith("not run")]
    assert all(re.fullmatch(r"not run: \S.{9,}", block.mark) for block in marked)
    assert len(marked) <= MOST_NOT_RUN, [f"{block.page}:{block.line}" for block in marked]


def test_every_page_with_code_says_in_which_language():
    for page in PAGES:
        fences = re.findall(r"^ *```(\w*)(?: \S+)?$", page.read_text(encoding="utf-8"), re.M)
        opening = fences[::2]
        allowed = {"python", "sh", "console", "text", "mermaid", "yaml", "json", "pycon", "rust", "toml"}
        assert set(opening) <= allowed, f"{page}: {set(opening) - allowed}"
