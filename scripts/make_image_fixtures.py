#!/usr/bin/env python3
"""Makes crates/spadework-io/tests/fixtures/{images,pickled} with Pillow, NumPy and Python's own pickle.

usage: python scripts/make_image_fixtures.py

images/color has two classes, images/gray has none; color.npy and gray.npy are what Pillow reads from them, as bytes.
pickled holds a CIFAR-10 batch as Python 2 pickled those of the Python version, the same batch in the binary layout, and a
pickle that would run a command. The pickles come from Python's own pickler; only text is written as Python 2 wrote it,
and NumPy's module has the name that it had then. Python reads them back here with the call that the data set's page gives.
"""

from __future__ import annotations

import io
import os
import pickle
import struct
from pathlib import Path

import numpy as np
from PIL import Image

FIXTURES = Path(__file__).resolve().parent.parent / "crates" / "spadework-io" / "tests" / "fixtures"
HEIGHT, WIDTH = 9, 12


def smooth(rng: np.random.Generator, channels: int) -> np.ndarray:
    """A picture without edges, of which JPEG keeps nearly everything."""
    y, x = np.mgrid[0:HEIGHT, 0:WIDTH]
    waves = [128 + 100 * np.sin(rng.uniform(0, 6) + x * rng.uniform(0.1, 0.3) + y * 0.2) for _ in range(channels)]
    return np.stack(waves, axis=-1).astype(np.uint8)


def color(folder: Path, rng: np.random.Generator) -> None:
    """Every kind of color that Pillow writes, by class, in the order in which it is to be read."""
    noise = rng.integers(0, 256, (HEIGHT, WIDTH, 4), dtype=np.uint8)
    images = {
        "cat/a.png": Image.fromarray(noise[..., :3]),
        "cat/b.jpg": Image.fromarray(smooth(rng, 3)),
        "dog/c.png": Image.fromarray(noise[..., 0]),
        "dog/d.png": Image.fromarray(noise[..., :3]).quantize(16),
        "dog/e.PNG": Image.fromarray(noise),
        "dog/f.jpeg": Image.fromarray(smooth(rng, 1)[..., 0]),
    }
    for name, image in images.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        image.save(folder / name, **({"quality": 95} if "jp" in name else {}))
    (folder / "cat" / "notes.txt").write_text("not an image, and not looked at\n")
    read = [np.asarray(Image.open(folder / name).convert("RGB")).transpose(2, 0, 1) for name in images]
    np.save(folder.parent / "color.npy", np.stack(read))


def gray(folder: Path, rng: np.random.Generator) -> None:
    """Gray images of 8 bits, 1 bit and 16 bits."""
    folder.mkdir(parents=True, exist_ok=True)
    eight = rng.integers(0, 256, (HEIGHT, WIDTH), dtype=np.uint8)
    sixteen = rng.integers(0, 1 << 16, (HEIGHT, WIDTH)).astype(np.uint16)
    Image.fromarray(eight).save(folder / "1.png")
    Image.fromarray(eight > 127).save(folder / "2.png")
    Image.fromarray(sixteen).save(folder / "3.png")
    expected = [eight, 255 * (eight > 127), np.rint(sixteen / 257)]
    np.save(folder.parent / "gray.npy", np.stack(expected).astype(np.uint8))


class Python2Pickler(pickle._Pickler):
    """Writes text as the strings of Python 2."""

    def save_string(self, object_: bytes | str) -> None:
        text = object_ if isinstance(object_, bytes) else object_.encode("ascii")
        short = len(text) < 256
        self.write((b"U" + bytes([len(text)]) if short else b"T" + struct.pack("<i", len(text))) + text)
        self.memoize(object_)

    dispatch = {**pickle._Pickler.dispatch, bytes: save_string, str: save_string}


def pickled(folder: Path, rng: np.random.Generator) -> None:
    """A batch in both versions, and a pickle with a command in it."""
    folder.mkdir(parents=True, exist_ok=True)
    labels = [3, 8, 0]
    data = rng.integers(0, 256, (len(labels), 3072), dtype=np.uint8)
    batch = {
        b"batch_label": b"testing batch 1 of 1",
        b"labels": labels,
        b"data": data,
        b"filenames": [b"domestic_cat_s_000907.png", b"hydrofoil_s_000078.png", b"propeller_plane_s_001697.png"],
    }
    out = io.BytesIO()
    Python2Pickler(out, protocol=2).dump(batch)
    bytes_ = out.getvalue().replace(b"numpy._core.multiarray", b"numpy.core.multiarray")
    back = pickle.loads(bytes_, encoding="bytes")
    assert (back[b"data"] == data).all() and back[b"labels"] == labels
    (folder / "test_batch").write_bytes(bytes_)
    rows = np.concatenate([np.array(labels, dtype=np.uint8)[:, None], data], axis=1)
    (folder / "same.bin").write_bytes(rows.tobytes())

    class Command:
        def __reduce__(self) -> tuple:
            return os.system, ("exit 1",)

    (folder / "command").write_bytes(pickle.dumps({"data": Command()}, protocol=2))
    (folder / "newer").write_bytes(pickle.dumps(batch, protocol=4))


def main() -> None:
    rng = np.random.default_rng(7)
    color(FIXTURES / "images" / "color", rng)
    gray(FIXTURES / "images" / "gray", rng)
    pickled(FIXTURES / "pickled", rng)


if __name__ == "__main__":
    main()
