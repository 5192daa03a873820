#!/usr/bin/env python3
"""Makes crates/spadework-io/tests/fixtures/images with Pillow and NumPy.

usage: python scripts/make_image_fixtures.py

images/color has two classes, images/gray has none; color.npy and gray.npy are what Pillow reads from them, as bytes, and sized.npy is
what it makes of the color ones with the shorter side resized to 6 pixels and 5 × 5 pixels cut from the center.
"""

from __future__ import annotations

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


def sized(folder: Path, resize: int = 6, crop: int = 5) -> None:
    """What torchvision's Resize and CenterCrop do to an image of Pillow's."""

    def prepared(file: Path) -> np.ndarray:
        image = Image.open(file).convert("RGB")
        width, height = image.size
        short = min(width, height)
        image = image.resize((resize * width // short, resize * height // short), Image.Resampling.BILINEAR)
        left, top = (round((extent - crop) / 2) for extent in image.size)
        return np.asarray(image.crop((left, top, left + crop, top + crop))).transpose(2, 0, 1)

    files = sorted(file for file in folder.glob("*/*") if file.suffix != ".txt")
    np.save(folder.parent / "sized.npy", np.stack([prepared(file) for file in files]))


def main() -> None:
    rng = np.random.default_rng(7)
    color(FIXTURES / "images" / "color", rng)
    gray(FIXTURES / "images" / "gray", rng)
    sized(FIXTURES / "images" / "color")


if __name__ == "__main__":
    main()
