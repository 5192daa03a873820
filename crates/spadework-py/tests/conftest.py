"""Data that several tests use."""

from __future__ import annotations

import gzip
import os
import signal
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[3]
ASSETS = ROOT / "crates" / "spadework-cli" / "assets"


@pytest.fixture(scope="session", autouse=True)
def ctrl_c():
    """Ctrl-C interrupts: a shell that runs the tests in the background has them ignore it, and so would their processes."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def digits():
    """The embedded digits, the outputs of two networks on them, and their labels."""
    table = np.loadtxt(ASSETS.parents[1] / "spadework-io" / "assets" / "digits.csv.gz", delimiter=",")
    images = (table[:, :64] / 16).astype(np.float32)
    return {
        "inputs": images,
        "standard": np.load(ASSETS / "demo_standard.npy"),
        "robust": np.load(ASSETS / "demo_robust.npy"),
        "labels": table[:, 64].astype(np.int64),
    }


@pytest.fixture(scope="session")
def ring():
    """Sixty samples on a ring, and a "model" that opens the ring into a line."""
    angle = np.linspace(0, 2 * np.pi, 60, endpoint=False)
    return np.column_stack([np.cos(angle), np.sin(angle)]), angle


@pytest.fixture(scope="session")
def mnist():
    """MNIST's test images as bytes, and the outputs of LeNet-5 networks on them."""
    folder = Path(os.environ.get("SPADEWORK_DATA", ""))
    images, logits = folder / "mnist" / "t10k-images-idx3-ubyte.gz", folder / "logits" / "mnist_test_lenet5.npz"
    if not (os.environ.get("SPADEWORK_DATA") and images.exists() and logits.exists()):
        pytest.skip("set SPADEWORK_DATA to a folder with mnist/ and logits/")
    pixels = np.frombuffer(gzip.open(images).read(), np.uint8, offset=16).reshape(10000, 28, 28)
    return pixels, np.load(logits)


@pytest.fixture(scope="session")
def docs_folder(tmp_path_factory):
    """The files that the pages in docs/ speak of; copy it before writing into it."""
    import docs_scene

    return docs_scene.build(tmp_path_factory.mktemp("docs"))


@pytest.fixture
def notebook_settings(tmp_path_factory, monkeypatch):
    """Folders of their own for notebooks: the home folder may be read-only, and its settings are nobody's business."""
    for name in ("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "MPLCONFIGDIR"):
        monkeypatch.setenv(name, str(tmp_path_factory.mktemp(name.lower())))
