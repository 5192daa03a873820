"""Check `spadework predict` against onnxruntime, and `spadework layers` against activations by NumPy.

usage: python scripts/check_against_onnxruntime.py PATH-OF-SPADEWORK

Models: the fixtures of spadework-model; a perceptron whose activations NumPy computes; and, where SPADEWORK_DATA names a folder
that has them, the networks in models/ and nets/ on the first images of their data set. Exit code 0: all agree. 1: one does not.
"""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

FIXTURES = Path(__file__).resolve().parent.parent / "crates/spadework-model/tests/fixtures/onnx"
# Outputs of trained networks reach some tens; two engines that add a thousand products in another order, layer after layer,
# differ by a few units of single precision times that.
TOLERANCE = 1e-4
IMAGES = 500
failures = 0


def report(what: str, ok: bool, detail: str) -> None:
    """One line; what does not agree makes the script fail."""
    global failures
    failures += not ok
    print(f"{'ok' if ok else 'DIFFERS':8} {what}: {detail}")


def call(spadework: str, *arguments: str) -> str:
    """What the command prints."""
    done = subprocess.run([spadework, *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(arguments)} ended with {done.returncode}: {done.stderr}")
    return done.stdout


def by_onnxruntime(path: Path, rows: np.ndarray) -> np.ndarray:
    """The first output, in batches of the size that the model asks for."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(str(path), options)
    [taken] = [port for port in session.get_inputs()]
    sample = [extent if isinstance(extent, int) else -1 for extent in taken.shape[1:]]
    batch = taken.shape[0] if isinstance(taken.shape[0], int) else len(rows)
    parts = []
    for start in range(0, len(rows), batch):
        part = rows[start : start + batch]
        part = np.concatenate([part, np.repeat(part[-1:], batch - len(part), 0)])
        parts.append(session.run(None, {taken.name: part.reshape([batch, *sample])})[0])
    return np.concatenate(parts)[: len(rows)]


def check_outputs(spadework: str, path: Path, rows: np.ndarray, folder: Path) -> None:
    """`predict` against onnxruntime: by the built-in engine, and by the library of the same package."""
    np.save(folder / "x.npy", rows)
    want = by_onnxruntime(path, rows)
    scale = max(1.0, float(np.abs(want).max()))
    library = ["--onnxruntime", str(Path(onnxruntime.__file__).parent)]
    for engine, options in [("built in", ["--engine", "builtin"]), ("onnxruntime", library)]:
        files = ["--model", str(path), "--inputs", str(folder / "x.npy"), "--out", str(folder / "y.npy")]
        call(spadework, "predict", "--quiet", *files, *options)
        got = np.load(folder / "y.npy")
        furthest = float(np.abs(got - want).max()) / scale
        agrees = got.shape == want.shape and furthest <= TOLERANCE
        report(f"{path.name} ({engine})", agrees, f"{got.shape}, largest difference {furthest:.1e}")


def places_of_the_library() -> dict[str, dict[str, str]]:
    """Environments in which the library of this package is found in one way each."""
    package, prefix = Path(onnxruntime.__file__).parent, Path(sys.prefix)
    library = str(next((package / "capi").glob("libonnxruntime.so*")))
    return {
        "ORT_DYLIB_PATH": {"ORT_DYLIB_PATH": library},
        "the interpreter on the path": {"PATH": str(prefix / "bin")},
        "the active environment": {"VIRTUAL_ENV": str(prefix)},
        "the library path": {"LD_LIBRARY_PATH": str(package / "capi")},
    }


def check_forest(spadework: str, folder: Path) -> None:
    """A model that only onnxruntime runs is given to it, wherever it is found; probabilities are taken before labels."""
    path = FIXTURES / "forest.onnx"
    rows = np.random.default_rng(3).standard_normal((300, 4)).astype(np.float32)
    np.save(folder / "x.npy", rows)
    labels, maps = onnxruntime.InferenceSession(str(path)).run(None, {"x": rows})
    want = {"label": labels[:, None], None: np.array([[one[0], one[1]] for one in maps], np.float32)}
    files = ["--model", str(path), "--inputs", str(folder / "x.npy"), "--out", str(folder / "y.npy")]
    for name, values in want.items():
        for place, variables in places_of_the_library().items():
            (folder / "y.npy").unlink(missing_ok=True)
            arguments = [spadework, "predict", *files, *(["--output-name", name] if name else [])]
            done = subprocess.run(arguments, capture_output=True, text=True, check=False, env={"HOME": str(folder), **variables})
            ran = done.returncode == 0 and np.abs(np.load(folder / "y.npy").reshape(values.shape) - values).max() <= 1e-6
            # A note says which library ran the model, and why.
            told = "run by onnxruntime (" in done.stderr and "TreeEnsembleClassifier" in done.stderr
            report(f"forest, output {name}, the library found by {place}", ran and told, done.stderr.strip())
    built_in = subprocess.run([spadework, "predict", "--engine", "builtin", *files], capture_output=True, text=True, check=False)
    named = "TreeEnsembleClassifier" in built_in.stderr and "onnxruntime" in built_in.stderr
    report("forest by the built-in engine", built_in.returncode == 2 and named, built_in.stderr.strip())


def check_fixtures(spadework: str, folder: Path) -> None:
    """Models of one input, made by hand: batches, residual blocks, normalization, a softmax."""
    made = ["mlp", "dynamic", "fixed_1", "fixed_5", "residual", "softmax", "external", "zeros", "same_lower_pool"]
    made += [f"{kind}_{direction}" for kind in ("lstm", "gru") for direction in ("forward", "reverse", "bidirectional")]
    for name in [*made, "resize_linear", "resize_nearest"]:
        check_outputs(spadework, FIXTURES / f"{name}.onnx", np.load(FIXTURES / f"{name}.npz")["x"], folder)


def check_layers(spadework: str, folder: Path) -> None:
    """Scores of the layers of a perceptron, whose activations are a few lines of NumPy."""
    random = np.random.default_rng(11)
    rows = random.random((400, 6), dtype=np.float32)
    nodes, weights, values, value = [], [], {}, rows.astype(np.float64)
    source = "x"
    for at, (width, taken) in enumerate([(32, 6), (16, 32), (5, 16)], start=1):
        matrix = random.standard_normal((width, taken)).astype(np.float32)
        bias = random.standard_normal(width).astype(np.float32)
        weights += [numpy_helper.from_array(matrix, f"w{at}"), numpy_helper.from_array(bias, f"b{at}")]
        nodes.append(helper.make_node("Gemm", [source, f"w{at}", f"b{at}"], [f"z{at}"], f"fc{at}", transB=1))
        value = value @ matrix.T.astype(np.float64) + bias
        values[f"fc{at}"] = value
        source = f"z{at}"
        if at < 3:
            nodes.append(helper.make_node("Relu", [source], [f"a{at}"], f"relu{at}"))
            value = np.maximum(value, 0)
            values[f"relu{at}"] = value
            source = f"a{at}"
    ports = [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 6]), helper.make_tensor_value_info(source, TensorProto.FLOAT, ["n", 5])]
    graph = helper.make_graph(nodes, "perceptron", ports[:1], ports[1:], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, folder / "perceptron.onnx")
    np.save(folder / "x.npy", rows)
    layers = json.loads(call(spadework, "layers", "--json", "--quiet", "--model", str(folder / "perceptron.onnx"), "--inputs", str(folder / "x.npy")))
    neighbors = str(layers["neighbors"]["used"])
    for layer in layers["layers"]:
        np.save(folder / "y.npy", values[layer["name"]])
        alone = json.loads(call(spadework, "score", "--json", "--quiet", "-k", neighbors, "--inputs", str(folder / "x.npy"), "--outputs", str(folder / "y.npy")))
        error = abs(layer["model_score"] / alone["model_score"] - 1)
        # The activations agree to single precision; the graphs, and so the scores, agree unless a near-tie is broken by it.
        report(f"layer {layer['name']}", error <= 1e-3, f"score {layer['model_score']:.6f}, by NumPy {alone['model_score']:.6f}")


def images_of(data: Path, kind: str) -> np.ndarray:
    """The first test images, pixels divided by 255."""
    if kind == "mnist":
        pixels = np.frombuffer(gzip.open(data / "mnist/t10k-images-idx3-ubyte.gz").read(), np.uint8, offset=16)
        return pixels.reshape(-1, 1, 28, 28)[:IMAGES].astype(np.float32) / 255
    records = np.fromfile(data / "cifar10/test_batch.bin", np.uint8).reshape(-1, 3073)
    return records[:IMAGES, 1:].reshape(-1, 3, 32, 32).astype(np.float32) / 255


def check_real(spadework: str, data: Path, folder: Path) -> None:
    """Networks that other people trained."""
    for path in sorted([*(data / "models").glob("*.onnx"), *(data / "nets").glob("*.onnx")]):
        [shape] = [port.type.tensor_type.shape for port in onnx.load(path).graph.input][:1]
        kind = "mnist" if np.prod([dim.dim_value for dim in shape.dim][1:]) == 784 else "cifar10"
        check_outputs(spadework, path, images_of(data, kind), folder)


def main() -> int:
    """Everything that is there."""
    spadework = sys.argv[1]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        check_fixtures(spadework, folder)
        check_forest(spadework, folder)
        check_layers(spadework, folder)
        data = Path(os.environ.get("SPADEWORK_DATA", ""))
        if os.environ.get("SPADEWORK_DATA") and (data / "models").is_dir():
            check_real(spadework, data, folder)
        else:
            print("skipped: set SPADEWORK_DATA to compare trained networks with onnxruntime", file=sys.stderr)
    return int(failures > 0)


if __name__ == "__main__":
    sys.exit(main())
