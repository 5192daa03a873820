"""Model files: outputs as onnxruntime computed them for the fixtures (scripts/make_onnx_fixtures.py)."""

from __future__ import annotations

import numpy as np
import pytest

import spadework
import spadework.onnx

from conftest import ROOT

FIXTURES = ROOT / "crates" / "spadework-model" / "tests" / "fixtures" / "onnx"
# Two engines add in another order; the outputs are of size one.
CLOSE = dict(rtol=1e-5, atol=1e-5)


def fixture(name):
    return FIXTURES / f"{name}.onnx", np.load(FIXTURES / f"{name}.npz")


@pytest.mark.parametrize("name", ["mlp", "dynamic", "fixed_1", "fixed_5", "residual", "external"])
def test_outputs_are_those_of_onnxruntime(name):
    path, arrays = fixture(name)
    found = spadework.onnx.predict(path, arrays["x"], verbose=False)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, arrays["logits"], **CLOSE)


def test_flattened_samples_are_the_same_samples():
    path, arrays = fixture("dynamic")
    flat = arrays["x"].reshape(len(arrays["x"]), -1)
    found = spadework.onnx.predict(path, flat, threads=1)
    np.testing.assert_array_equal(found, spadework.onnx.predict(path, arrays["x"], threads=2))


def test_layers_by_name():
    path, arrays = fixture("mlp")
    found = spadework.onnx.predict(path, arrays["x"], output_name=["a1", "z2"])
    assert list(found) == ["a1", "z2"]
    for name, values in found.items():
        np.testing.assert_allclose(values, arrays[name], **CLOSE)


def test_a_softmax_is_told_of_and_can_be_left_out():
    path, arrays = fixture("softmax")
    with pytest.warns(spadework.SpadeworkWarning, match="ends in a softmax"):
        np.testing.assert_allclose(spadework.onnx.predict(path, arrays["x"]), arrays["prob"], **CLOSE)
    found = spadework.onnx.predict(path, arrays["x"], before_softmax=True)
    np.testing.assert_allclose(found, arrays["logits"], **CLOSE)


def test_normalization_is_done_before_the_model():
    path, arrays = fixture("mlp")
    found = spadework.onnx.predict(path, 0.25 * arrays["x"] + 0.5, normalize=[0.5, 0.25])
    np.testing.assert_allclose(found, arrays["logits"], rtol=1e-4, atol=1e-4)


def test_a_file_says_what_it_is():
    path, arrays = fixture("mlp")
    found = spadework.onnx.describe(path)
    assert len(found.inputs) == len(found.outputs) == 1
    # 4 → 8 → 6 → 3 with biases.
    assert found.parameters == 4 * 8 + 8 + 8 * 6 + 6 + 6 * 3 + 3
    assert any(operator == "Relu" for _, operator in found.layers)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (dict(output_name="nothing"), "there is no"),
        (dict(input_layout="chw"), '`input_layout` must be "nchw" or "nhwc"'),
        (dict(normalize=[1.0, 0.0]), "`normalize` must be a mean and a deviation"),
        (dict(batch_size=0), "batch_size"),
        (dict(engine="tract"), '`engine` must be "auto", "builtin" or "onnxruntime"'),
        (dict(onnxruntime="/nowhere/libonnxruntime.so"), "no such file"),
    ],
)
def test_wrong_options_are_named(options, message):
    path, arrays = fixture("mlp")
    with pytest.raises(ValueError, match=message):
        spadework.onnx.predict(path, arrays["x"], **options)


def test_wrong_files_and_samples_are_named(tmp_path):
    path, arrays = fixture("mlp")
    with pytest.raises(ValueError, match="takes samples of shape"):
        spadework.onnx.predict(path, arrays["x"][:, :3])
    (tmp_path / "net.onnx").write_bytes(b"no model")
    with pytest.raises(ValueError, match="net.onnx: .*ONNX"):
        spadework.onnx.predict(tmp_path / "net.onnx", arrays["x"])
    with pytest.raises(ValueError, match="missing.onnx: no such file"):
        spadework.onnx.describe(tmp_path / "missing.onnx")
