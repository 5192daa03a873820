"""Real results validate against the JSON Schema files in docs/schemas, and a field that is not described does not."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import docs_scene
from conftest import ROOT

jsonschema = pytest.importorskip("jsonschema")
SCHEMAS = ROOT / "docs" / "schemas"
X, Y = ["--inputs", "X.npy"], ["--outputs", "Y.npy"]
NET, LABELS = ["--model", "net.onnx"], ["--labels", "y.npy"]
PROBE = ["--probe", "linf:0.1", "--probe-samples", "15", "--probes", "20"]
MODELS = ["--outputs", "a=Y.npy", "--outputs", "b=Y2.npy"]
# Every command that prints a document, with calls that fill as many of its fields as there are.
CALLS = {
    "score": [
        ["score", *X, *Y],
        ["score", *X, *NET, *LABELS, *PROBE, "--interval", "--references", "--indices", "--out", "all"],
        ["score", *X, *Y, "--eigenpairs", "all", "--graph", "pca:0.9", "--weights", "gaussian", "--certify"],
        ["score", *X, *Y, "--graph", "sparse:density=2", "--connectivity", "bridge", "--search", "approximate", "--no-bounds"],
        ["score", "--inputs", "mnist:DIR:test", *Y, "--corruption", "gaussian-noise:3"],
        ["score", *X, "--outputs", "single.npy", "--task", "regression"],
    ],
    "compare": [
        ["compare", *X, *MODELS, *LABELS, "--interval", "--references", "--indices", "--out", "compared"],
        ["compare", *X, "a=net.onnx", "b=net1.onnx", *LABELS, *PROBE],
    ],
    "sweep": [["sweep", *X, *MODELS, "-k", "5..7"], ["sweep", *X, *Y, "-k", "3..12", "--connectivity", "error"]],
    "layers": [["layers", *X, *NET]],
    "select": [["select", *X, *Y, *LABELS, "--top", "5"], ["select", *X, *NET, *LABELS, *PROBE, "--top", "5"]],
    "moved": [["select", *X, *Y, "--against", "Y2.npy", "--moved", "--top", "5", *LABELS]],
    "check": [
        ["check", *X, *Y, *LABELS, "--min-accuracy", "50%", "--max-score", "1e6"],
        ["check", *X, *NET, *LABELS, *PROBE, "--baseline", "results", "--max-drop", "2%", "--min-robust-accuracy", "99%"],
    ],
    "plan": [["score", *X, *Y, "--plan"]],
    "distortion": [["distortion", *X, *Y, *LABELS, "--all-edges", "--out", "distances"]],
    "embed": [["embed", *X, *Y], ["embed", *X, *Y, "--output", "coordinates.csv"]],
    "graphs": [["graphs", *X, *Y], ["graphs", *X, *Y, "--connectivity", "error"]],
    "new-samples": [["score", "--reference", "results", "--inputs", "new_x.npy", "--outputs", "new_y.npy"]],
    "stage": [["graph", *X, *Y, "--out", "staged"]],
    "eigen": [["eigen", "staged"]],
    "model": [["model", "net.onnx"]],
    "predict": [["predict", *NET, "--inputs", "mnist:DIR:test", "--output", "predicted.npy"]],
    "corrupt": [["corrupt", "--inputs", "mnist:DIR:test", "--kind", "fog", "--severity", "2", "--output", "foggy.npy"]],
    "data": [["data"]],
    "data-check": [["data", "data"]],
    "attack": [["attack", *X, *NET, *LABELS, "--eps", "0.1", "--steps", "2"]],
    "clever": [["clever", *X, *NET, *LABELS, "--random", "2", "--batches", "4", "--points", "8", "--pool", "2"]],
    "train": [["train", "--model", "mlp:4", "--data", "digits", "--epochs", "1", "--limit", "100", "--out", "trained"]],
}


def schema(name: str) -> dict:
    return json.loads((SCHEMAS / f"{name}.json").read_text(encoding="utf-8"))


def validator(name: str):
    found = schema(name)
    jsonschema.Draft202012Validator.check_schema(found)
    return jsonschema.Draft202012Validator(found)


def document_of(arguments: list[str], folder: Path) -> dict:
    command = [docs_scene.COMMAND, *arguments, "--json", *([] if arguments[0] in ("model", "data") else ["--quiet"])]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, encoding="utf-8")
    assert done.returncode in (0, 1), f"{' '.join(arguments)}\n{done.stderr}"
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def folder(docs_folder, tmp_path_factory):
    built = Path(shutil.copytree(docs_folder, tmp_path_factory.mktemp("schemas") / "scene", symlinks=True))
    np.save(built / "single.npy", np.load(built / "Y.npy")[:, 0])
    return built


def test_every_schema_has_a_call_that_it_is_tried_on():
    assert {path.stem for path in SCHEMAS.glob("*.json")} == set(CALLS)


@pytest.mark.parametrize("name", CALLS)
def test_results_validate(name, folder):
    check = validator(name)
    for arguments in CALLS[name]:
        found = document_of(arguments, folder)
        errors = [f"{error.json_path}: {error.message}"[:300] for error in check.iter_errors(found)]
        assert errors == [], " ".join(arguments)
        # Neither an unknown field nor another layout is taken.
        assert not check.is_valid({**found, "unheard_of": 1})
        assert not check.is_valid({**found, "schema": "spadework.other/1"})


def test_documents_of_python_validate(folder):
    import spadework

    inputs, outputs, labels = (np.load(folder / f"{name}.npy") for name in ("X", "Y", "y"))
    probed = spadework.probe(str(folder / "net.onnx"), inputs, "linf:0.1", labels=labels, samples=15, probes=20, verbose=False)
    report = spadework.score(inputs, outputs, labels=labels, probed=probed, verbose=False)
    compared = spadework.compare(inputs, {"a": outputs, "b": outputs[:, ::-1]}, labels=labels, verbose=False)
    for name, document in [("score", report.to_dict()), ("compare", compared.document)]:
        errors = [f"{error.json_path}: {error.message}"[:300] for error in validator(name).iter_errors(document)]
        assert errors == [], name
