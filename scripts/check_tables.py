"""Check `spadework predict` on models of tables against the libraries that trained them.

usage: python scripts/check_tables.py PATH-OF-SPADEWORK [--boosting]

Models are exported by skl2onnx: forests, boosting, linear models, scalers, one-hot pipelines, one input or one for every column, with
and without ZipMap. --boosting adds XGBoost and LightGBM, exported by onnxmltools. Probabilities must be those of `predict_proba` in
single precision; labels are taken where they are named. Where there is no onnxruntime, one message says so.
Exit code 0: all agree. 1: one does not.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnxruntime
from skl2onnx import to_onnx
from skl2onnx.common.data_types import FloatTensorType, Int64TensorType, StringTensorType
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier, RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC

# Trees compare in single precision what was trained in double precision: a sample next to a threshold may go the other way.
NEAR, FAR_SHARE = 1e-4, 0.02
failures = 0


def report(what: str, ok: bool, detail: str) -> None:
    """One line; what does not agree makes the script fail."""
    global failures
    failures += not ok
    print(f"{'ok' if ok else 'DIFFERS':8} {what}: {detail}")


def call(spadework: str, *arguments: str, **options: object) -> subprocess.CompletedProcess[str]:
    """A call of the command."""
    return subprocess.run([spadework, *arguments], capture_output=True, text=True, check=False, **options)


class Scene:
    """A folder with a model and its rows."""

    def __init__(self, spadework: str, folder: Path) -> None:
        self.spadework, self.folder = spadework, folder
        self.library = str(Path(onnxruntime.__file__).parent)
        self.home = folder / "home"
        self.home.mkdir()

    def predict(self, model: object, rows: np.ndarray, *options: str, engine: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
        """Runs `predict` on a model; the library of this package is there to be found."""
        (self.folder / "model.onnx").write_bytes(model.SerializeToString())
        np.save(self.folder / "x.npy", rows)
        files = ["--model", str(self.folder / "model.onnx"), "--inputs", str(self.folder / "x.npy"), "--out", str(self.folder / "y.npy")]
        home = {**os.environ, "HOME": str(self.home)}
        return call(self.spadework, "predict", "--quiet", *files, *options, *(engine or ("--onnxruntime", self.library)), env=home)

    def check(self, what: str, model: object, rows: np.ndarray, want: np.ndarray, *options: str) -> None:
        """Whether the outputs are those of the library that trained the model."""
        done = self.predict(model, rows, *options)
        if done.returncode:
            return report(what, False, done.stderr.strip())
        got = np.load(self.folder / "y.npy").reshape(len(rows), -1)
        want = np.asarray(want, dtype=np.float64).reshape(len(rows), -1)
        if got.shape != want.shape:
            return report(what, False, f"expected {want.shape}, got {got.shape}")
        scale = max(1.0, float(np.abs(want).max()))
        far = float((np.abs(got - want).max(axis=1) > NEAR * scale).mean())
        return report(what, far <= FAR_SHARE, f"{got.shape}, {far:.1%} of the rows differ by more than {NEAR}")


def check_classifiers(scene: Scene) -> None:
    """One input, with and without dictionaries of probabilities."""
    for data in (load_breast_cancer(), load_wine()):
        x, y = data.data.astype(np.float32), data.target
        models = {
            "forest": RandomForestClassifier(20, random_state=0),
            "boosting": GradientBoostingClassifier(n_estimators=20, random_state=0),
            "histogram boosting": HistGradientBoostingClassifier(max_iter=20, random_state=0),
            "scaled logistic regression": make_pipeline(StandardScaler(), LogisticRegression()),
        }
        for name, model in models.items():
            model.fit(x, y)
            want = model.predict_proba(x)
            for zipmap in (True, False):
                how = "with ZipMap" if zipmap else "without ZipMap"
                try:
                    exported = to_onnx(model, x[:1], options={"zipmap": zipmap})
                except (TypeError, ValueError) as failure:
                    # Not ours: a version of skl2onnx that cannot write what its version of onnx checks.
                    print(f"skipped: {name}: skl2onnx does not export it here ({str(failure).splitlines()[0][:80]} …)", file=sys.stderr)
                    break
                scene.check(f"{name}, {want.shape[1]} classes, {how}", exported, x, want)
            else:
                check_labels(scene, name, model, exported, x)
        margins = make_pipeline(StandardScaler(), LinearSVC()).fit(x, y)
        scores = to_onnx(margins, x[:1], options={LinearSVC: {"raw_scores": True}})
        want = margins.decision_function(x)
        # Two classes have one margin in scikit-learn, and one for each class in ONNX.
        scene.check(f"support vectors, {len(set(y))} classes", scores, x, want if want.ndim == 2 else np.column_stack([-want, want]))


def check_labels(scene: Scene, name: str, model: object, exported: object, x: np.ndarray) -> None:
    """Labels can be had by their name."""
    labels = next(port.name for port in exported.graph.output if "label" in port.name)
    scene.check(f"{name}, the output {labels}", exported, x, model.predict(x), "--output-name", labels)


def check_regressors(scene: Scene) -> None:
    """Numbers instead of classes."""
    x, y = load_diabetes(return_X_y=True)
    x = x.astype(np.float32)
    for name, model in {"ridge": Ridge(), "forest": RandomForestRegressor(20, random_state=0)}.items():
        model.fit(x, y)
        scene.check(f"{name} regression", to_onnx(model, x[:1]), x, model.predict(x))


def check_columns(scene: Scene) -> None:
    """One input for every column: numbers, whole numbers that are categories, and words, which rows of numbers cannot be."""
    import pandas

    random = np.random.default_rng(0)
    table = pandas.DataFrame(
        {
            "size": random.normal(size=400).astype(np.float32),
            "weight": random.normal(3, 2, 400).astype(np.float32),
            "color": random.integers(0, 4, 400),
            "town": random.integers(0, 3, 400),
        }
    )
    target = ((table["size"] + (table["color"] == 2) - 0.3 * (table["town"] == 0)) > 0.2).astype(int)
    encode = ColumnTransformer([("numbers", StandardScaler(), ["size", "weight"]), ("categories", OneHotEncoder(), ["color", "town"])])
    kinds = [("size", FloatTensorType([None, 1])), ("weight", FloatTensorType([None, 1])), ("color", Int64TensorType([None, 1])), ("town", Int64TensorType([None, 1]))]
    for name, classifier in {"logistic regression": LogisticRegression(), "forest": RandomForestClassifier(20, random_state=0)}.items():
        model = make_pipeline(encode, classifier).fit(table, target)
        exported = to_onnx(model, initial_types=kinds)
        rows = table.to_numpy(dtype=np.float32)
        scene.check(f"one-hot {name}, four inputs", exported, rows, model.predict_proba(table))
    done = scene.predict(exported, rows[:, :3])
    said = "take 4 numbers together" in done.stderr and "got rows of 3" in done.stderr
    report("four inputs and rows of three numbers", done.returncode == 2 and said, done.stderr.strip())
    words = table.assign(color=np.array(["red", "green", "blue", "black"])[table["color"]])
    model = make_pipeline(encode, LogisticRegression()).fit(words, target)
    kinds[2] = ("color", StringTensorType([None, 1]))
    done = scene.predict(to_onnx(model, initial_types=kinds), rows)
    report("an input of words", done.returncode == 2 and "`color`, which takes text" in done.stderr, done.stderr.strip())


def check_without_library(scene: Scene) -> None:
    """One message where nothing can run a forest."""
    x, y = load_wine(return_X_y=True)
    x = x.astype(np.float32)
    exported = to_onnx(RandomForestClassifier(5, random_state=0).fit(x, y), x[:1])
    scene.predict(exported, x)
    files = ["--model", "model.onnx", "--inputs", "x.npy", "--out", "z.npy"]
    done = call(scene.spadework, "predict", *files, cwd=scene.folder, env={"PATH": str(scene.folder / "missing"), "HOME": str(scene.folder)})
    lines = [line for line in done.stderr.splitlines() if line.strip()]
    said = done.returncode == 2 and "pip install onnxruntime" in done.stderr and len(lines) <= 2
    report("a forest without onnxruntime", said, done.stderr.strip())


def check_boosting(scene: Scene) -> None:
    """The libraries that tables are often given to."""
    from lightgbm import LGBMClassifier, LGBMRegressor
    from onnxmltools import convert_lightgbm, convert_xgboost
    from onnxmltools.convert.common.data_types import FloatTensorType as Floats
    from xgboost import XGBClassifier, XGBRegressor

    for data in (load_breast_cancer(), load_wine()):
        x, y = data.data.astype(np.float32), data.target
        kinds = [("x", Floats([None, x.shape[1]]))]
        boosted = XGBClassifier(n_estimators=20, max_depth=3).fit(x, y)
        scene.check(f"XGBoost, {len(set(y))} classes", convert_xgboost(boosted, initial_types=kinds), x, boosted.predict_proba(x))
        light = LGBMClassifier(n_estimators=20, verbose=-1).fit(x, y)
        for zipmap in (True, False):
            exported = convert_lightgbm(light, initial_types=kinds, zipmap=zipmap)
            how = "with ZipMap" if zipmap else "without ZipMap"
            scene.check(f"LightGBM, {len(set(y))} classes, {how}", exported, x, light.predict_proba(x))
    x, y = load_diabetes(return_X_y=True)
    x = x.astype(np.float32)
    kinds = [("x", Floats([None, x.shape[1]]))]
    boosted = XGBRegressor(n_estimators=20, max_depth=3).fit(x, y)
    scene.check("XGBoost regression", convert_xgboost(boosted, initial_types=kinds), x, boosted.predict(x))
    light = LGBMRegressor(n_estimators=20, verbose=-1).fit(x, y)
    scene.check("LightGBM regression", convert_lightgbm(light, initial_types=kinds), x, light.predict(x))


def main() -> None:
    """All checks."""
    spadework, *options = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        scene = Scene(str(Path(spadework).resolve()), Path(folder))
        check_classifiers(scene)
        check_regressors(scene)
        check_columns(scene)
        check_without_library(scene)
        left = [str(path) for path in scene.home.rglob("*")]
        report("onnxruntime leaves nothing in the home folder", not left, " ".join(left) or "empty")
        if "--boosting" in options:
            check_boosting(scene)
    raise SystemExit(1 if failures else 0)


if __name__ == "__main__":
    main()
