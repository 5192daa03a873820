"""`spadework.probe(resume=FOLDER)`: what was found before a kill, Ctrl-C or an error is not lost."""

from __future__ import annotations

import dataclasses
import os
import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pandas
import pytest
import scipy.sparse

import spadework
from spadework.perturb import GraphData, column_noise, feature_dropout, word_dropout

# A script of its own, so that a process that is killed runs the same.
SCENE = textwrap.dedent(
    """
    import os, signal, sys, time
    import numpy as np
    import spadework

    X = np.random.default_rng(5).uniform(-2, 2, (300, 16)).astype(np.float32)
    WEIGHTS = np.linspace(0.5, 3, 16)


    class Model:
        '''Two outputs, or one; it may wait, be interrupted or fail at some call.'''

        def __init__(self, outputs=2, wait=0.0, at_call=None):
            self.outputs, self.wait, self.at_call, self.calls, self.shift = outputs, wait, at_call, 0, 0.0

        def __call__(self, x):
            self.calls += 1
            time.sleep(self.wait)
            if self.at_call is not None and self.calls == self.at_call[0]:
                self.at_call[1]()
            lead = (x.reshape(len(x), -1) * WEIGHTS).sum(1) + self.shift
            return np.column_stack([lead, -lead]) if self.outputs == 2 else lead


    def noisy(batch, variant, rng):
        return batch + rng.normal(0, 0.5, batch.shape)


    CALLS = {
        "search": dict(probe="linf:0.2", probes=128),
        "l2": dict(probe="l2:0.5", probes=128),
        "noise": dict(probe="linf:0.2:pixel", probes=200),
        "regression": dict(probe="linf:0.2", probes=200),
        "perturb": dict(perturb=noisy, probes=200, precision=0),
    }


    def probe(kind, model, **more):
        return spadework.probe(model, X, **{**CALLS[kind], "seed": 3, "verbose": False, **more})
    """
)
exec(SCENE)

KINDS = sorted(CALLS)


def model(kind, **how):
    return Model(outputs=1 if kind == "regression" else 2, **how)


def same(a, b):
    """Whether two results are equal to the last bit."""
    for field in dataclasses.fields(a):
        ours, theirs = getattr(a, field.name), getattr(b, field.name)
        if isinstance(ours, np.ndarray):
            np.testing.assert_array_equal(ours, theirs, err_msg=field.name)
        else:
            assert ours == theirs, field.name


@pytest.fixture(autouse=True)
def often(monkeypatch):
    monkeypatch.setenv("SPADEWORK_PART_SECONDS", "0.02")


@pytest.fixture(scope="module")
def uninterrupted():
    """Results of calls that nothing interrupts, and how often each called the model."""
    found = {}
    for kind in KINDS:
        runs = model(kind)
        found[kind] = (probe(kind, runs), runs.calls)
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_a_killed_probe_goes_on_and_gives_the_same(kind, uninterrupted, tmp_path):
    expected, calls = uninterrupted[kind]
    outputs = 1 if kind == "regression" else 2
    half = calls // 2
    script = f"{SCENE}\nprint(0, flush=True)\nkill = lambda: os.kill(os.getpid(), signal.SIGKILL)\n"
    script += f"probe({kind!r}, Model({outputs}, 0.005, ({half}, kill)), resume=sys.argv[1])"
    killed = subprocess.run([sys.executable, "-c", script, str(tmp_path)], capture_output=True, timeout=120)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert list(tmp_path.glob("*.part")), "nothing was kept"
    again = model(kind)
    same(probe(kind, again, resume=tmp_path), expected)
    assert again.calls < calls - half // 2


@pytest.mark.parametrize("kind", KINDS)
def test_ctrl_c_keeps_what_was_probed(kind, uninterrupted, tmp_path, monkeypatch):
    # Nothing is kept but by the interrupt.
    monkeypatch.setenv("SPADEWORK_PART_SECONDS", "1000")
    expected, calls = uninterrupted[kind]
    half = calls // 2

    def interrupt():
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.3)

    with pytest.raises(KeyboardInterrupt) as interrupted:
        probe(kind, model(kind, at_call=(half, interrupt)), resume=tmp_path)
    if sys.version_info >= (3, 11):
        assert f"kept in {tmp_path}: the same call goes on from there" in interrupted.value.__notes__[0]
    again = model(kind)
    same(probe(kind, again, resume=tmp_path), expected)
    assert again.calls <= calls - half + 8


@pytest.mark.parametrize("kind", ["search", "perturb"])
def test_ctrl_c_before_anything_is_kept_says_nothing_of_it(kind, tmp_path):
    def interrupt():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as interrupted:
        probe(kind, model(kind, at_call=(1, interrupt)), resume=tmp_path)
    assert not getattr(interrupted.value, "__notes__", [])


@pytest.mark.parametrize("kind", ["search", "perturb"])
def test_an_error_of_the_model_keeps_what_was_probed(kind, uninterrupted, tmp_path):
    expected, calls = uninterrupted[kind]

    def fail():
        raise RuntimeError("out of memory")

    with pytest.raises(RuntimeError, match="out of memory"):
        probe(kind, model(kind, at_call=(calls - 2, fail)), resume=tmp_path)
    again = model(kind)
    same(probe(kind, again, resume=tmp_path), expected)
    assert again.calls < 12


@pytest.mark.parametrize("kind", ["search", "regression", "perturb"])
def test_a_finished_probe_is_not_run_again(kind, uninterrupted, tmp_path):
    expected, _ = uninterrupted[kind]
    first = probe(kind, model(kind, wait=0.001), resume=tmp_path / "new" / "folder")
    same(first, expected)
    again = model(kind)
    same(probe(kind, again, resume=str(tmp_path / "new" / "folder")), expected)
    # The samples, some by themselves, and a few rows more.
    assert again.calls < 8


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (dict(seed=4), "seed 3, not 4"),
        (dict(probe="linf:0.3"), "probe linf:0.2:search, not linf:0.3:search"),
        (dict(probes=64), "probes 128, not 64"),
        (dict(samples=100), "samples 1000, not 100"),
        (dict(precision=0.5), "precision none, not 0.5"),
        (dict(radii=np.full(16, 0.5)), "radii none, not blake3"),
        (dict(categories=np.zeros(16)), "categories none, not blake3"),
        (dict(task="classes"), "task auto, not classes"),
    ],
)
def test_a_folder_of_other_settings_is_refused_before_anything_runs(other, message, tmp_path):
    probe("search", model("search"), resume=tmp_path)
    runs = model("search")
    with pytest.raises(ValueError, match=f"holds another probe: {message}.*; use another folder, or delete this one"):
        probe("search", runs, resume=tmp_path, **other)
    assert runs.calls == 0


def test_a_folder_of_other_inputs_is_refused(tmp_path):
    probe("search", model("search"), resume=tmp_path)
    moved = X.copy()
    moved[0, 0] += 0.25
    with pytest.raises(ValueError, match="holds another probe: inputs blake3"):
        spadework.probe(model("search"), moved, resume=tmp_path, **CALLS["search"], seed=3, verbose=False)


@pytest.mark.parametrize("kind", KINDS)
def test_a_folder_of_another_function_is_refused(kind, tmp_path):
    probe(kind, model(kind), resume=tmp_path)
    other = model(kind)
    other.shift = 0.25
    with pytest.raises(ValueError, match="the model returns other outputs for the same rows"):
        probe(kind, other, resume=tmp_path)


def test_a_function_that_differs_elsewhere_is_refused(tmp_path):
    first, known = model("search"), {row.tobytes() for row in X}
    probe("search", first, resume=tmp_path)

    def other(x):
        outputs = Model()(x)
        outputs[[row.tobytes() not in known for row in x]] += [0.5, 0]
        return outputs

    with pytest.raises(ValueError, match="the model returns other outputs for the same rows"):
        probe("search", other, resume=tmp_path)


def test_a_perturbation_of_another_strength_is_refused(tmp_path):
    texts = [f"{'good' if at % 3 else 'bad'} film number {at}" for at in range(40)]
    flags = np.array([[text.startswith("good"), "film" in text] for text in texts], dtype=object)
    table = pandas.DataFrame({"kind": np.array(["a", "b"] * 20, dtype=object), "size": np.arange(40.0)})
    sparse = scipy.sparse.csr_array(np.eye(40))
    cases = {
        "texts": (texts, lambda batch: np.array(["good" in text for text in batch]), word_dropout(0.2), word_dropout(0.6)),
        "array": (X, model("perturb"), column_noise(X, 0.05), column_noise(X, 0.5)),
        "table": (table, lambda rows: rows["size"] > 10, column_noise(table, 0.05), column_noise(table, 0.5)),
        "objects": (flags, lambda rows: rows[:, 0].astype(bool), shuffled(1), shuffled(2)),
        "sparse": (sparse, lambda rows: rows.sum(axis=1) > 0.5, scaled(1.5), scaled(2.5)),
        "graph": (
            GraphData(sparse, np.eye(40)),
            lambda graph: graph.features.sum(1) > 0.5,
            feature_dropout(0.2),
            feature_dropout(0.6),
        ),
    }
    for kind, (inputs, runs, weak, strong) in cases.items():
        call = dict(probes=12, precision=0, verbose=False, resume=tmp_path / kind)
        first = spadework.probe(runs, inputs, perturb=weak, **call)
        same(spadework.probe(runs, inputs, perturb=weak, **call), first)
        with pytest.raises(ValueError, match="holds another probe: variant 0 blake3"):
            spadework.probe(runs, inputs, perturb=strong, **call)
        same(spadework.probe(runs, inputs, perturb=weak, **call), first)


def shuffled(by):
    return lambda batch, variant, rng: np.roll(batch, by, axis=0)


def scaled(by):
    return lambda batch, variant, rng: batch * by


def test_a_perturbation_of_other_samples_is_refused(tmp_path):
    # The model and the perturbation tell nothing of the second half of the columns.
    blind, still = lambda x: x[:, :8].sum(1) > 0, lambda batch, variant, rng: batch * 0
    call = dict(perturb=still, probes=12, precision=0, verbose=False, resume=tmp_path)
    spadework.probe(blind, X, **call)
    moved = X.copy()
    moved[0, 12] += 1
    with pytest.raises(ValueError, match="holds another probe: inputs blake3"):
        spadework.probe(blind, moved, **call)


def test_ctrl_c_between_two_lines_counts_a_variant_once_or_not_at_all(tmp_path, monkeypatch):
    monkeypatch.setenv("SPADEWORK_PART_SECONDS", "1000")
    expected = probe("perturb", model("perturb"), probes=6)

    def interrupted_at(line, folder):
        """Whether the call was interrupted at this line of the loop, counted from the third variant on; the samples and three of
        them by themselves come first."""
        lines = 0

        def trace(frame, event, _):
            nonlocal lines
            if not frame.f_code.co_filename.endswith("_perturbed.py"):
                return None
            if event == "line" and runs.calls > 6:
                lines += 1
                if lines == line:
                    sys.settrace(None)
                    raise KeyboardInterrupt
            return trace

        runs = model("perturb")
        sys.settrace(trace)
        try:
            probe("perturb", runs, probes=6, resume=folder)
        except KeyboardInterrupt:
            return True
        finally:
            sys.settrace(None)
        return False

    line = 1
    while interrupted_at(line, tmp_path / str(line)):
        same(probe("perturb", model("perturb"), probes=6, resume=tmp_path / str(line)), expected)
        line += 1
    # Three variants and their result.
    assert line > 60


def test_a_part_that_is_not_whole_is_not_used(uninterrupted, tmp_path):
    for kind in ["search", "perturb"]:
        folder = tmp_path / kind
        probe(kind, model(kind, wait=0.001), resume=folder)
        for part in folder.glob("*.part"):
            part.write_bytes(part.read_bytes()[:-1])
        same(probe(kind, model(kind), resume=folder), uninterrupted[kind][0])


@pytest.mark.parametrize("kind", ["search", "perturb"])
def test_a_folder_takes_one_process_at_a_time(kind, tmp_path):
    script = f"{SCENE}\nprint(0, flush=True)\nprobe({kind!r}, Model(2, 0.2), resume=sys.argv[1])"
    with subprocess.Popen([sys.executable, "-c", script, str(tmp_path)], stdout=subprocess.PIPE) as other:
        try:
            other.stdout.readline()
            end = time.monotonic() + 60
            while not (tmp_path / "probe.json").exists() and time.monotonic() < end:
                time.sleep(0.05)
            with pytest.raises(ValueError, match=f"process {other.pid}"):
                probe(kind, model(kind), resume=tmp_path)
        finally:
            other.kill()


@pytest.mark.parametrize("resume", [3, "", b"folder", "half \ud800"])
def test_what_is_no_folder_is_refused(resume):
    with pytest.raises(ValueError, match="`resume`"):
        probe("search", model("search"), resume=resume)


def test_a_folder_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    for kind in ["search", "perturb"]:
        with pytest.raises(ValueError, match="file"):
            probe(kind, model(kind), resume=tmp_path / "file")


def test_a_model_file_goes_on_too(tmp_path):
    from conftest import ROOT

    fixtures = ROOT / "crates" / "spadework-model" / "tests" / "fixtures" / "onnx"
    inputs = np.load(fixtures / "dynamic.npz")["x"]
    call = dict(probe="linf:0.1", probes=40, verbose=False)
    expected = spadework.probe(fixtures / "dynamic.onnx", inputs, **call)
    for _ in range(2):
        same(spadework.probe(fixtures / "dynamic.onnx", inputs, resume=tmp_path, **call), expected)
    with pytest.raises(ValueError, match="holds another probe: model"):
        spadework.probe(lambda x: x, inputs, resume=tmp_path, **call)
