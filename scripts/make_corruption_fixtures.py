#!/usr/bin/env python3
"""Makes crates/spadework-io/tests/fixtures/corruptions.npz with NumPy, SciPy, scikit-image, OpenCV and Pillow.

usage: python scripts/make_corruption_fixtures.py

Two images, one in color and one gray, and what each corruption makes of them at severities 1 to 5, a row each. The
constants are those of CIFAR-10-C (Hendrycks and Dietterich, ICLR 2019). The kinds that draw at random are given what is
drawn: angles for motion blur, the numbers of a small generator for fog. Noise has no fixtures; its moments are tested.
"""

from __future__ import annotations

import io
from pathlib import Path

import cv2
import numpy as np
from PIL import Image
from scipy import ndimage
from skimage import color as colors

OUT = Path(__file__).resolve().parent.parent / "crates" / "spadework-io" / "tests" / "fixtures" / "corruptions.npz"


def picture(height: int, width: int, channels: int, seed: int) -> np.ndarray:
    """Bytes of a picture with slopes, an edge, a dark corner and a little noise."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[0:height, 0:width]
    planes = []
    for channel in range(channels):
        plane = 120 + 90 * np.sin(0.3 * x + channel) * np.cos(0.2 * y - channel) + rng.normal(0, 6, x.shape)
        plane[(x - width / 2) ** 2 + (y - height / 2) ** 2 < 12] = 230 - 60 * channel
        plane[:3, :4] = 0
        planes.append(plane)
    return np.clip(np.stack(planes, axis=-1), 0, 255).astype(np.uint8)


def brightness(image: np.ndarray, severity: int) -> np.ndarray:
    shift = [0.05, 0.1, 0.15, 0.2, 0.3][severity - 1]
    if image.shape[-1] == 1:
        return np.clip(image / 255 + shift, 0, 1)
    hsv = colors.rgb2hsv(image / 255)
    hsv[..., 2] = np.clip(hsv[..., 2] + shift, 0, 1)
    return np.clip(colors.hsv2rgb(hsv), 0, 1)


def contrast(image: np.ndarray, severity: int) -> np.ndarray:
    factor = [0.75, 0.5, 0.4, 0.3, 0.15][severity - 1]
    values = image / 255
    means = values.mean(axis=(0, 1), keepdims=True)
    return np.clip((values - means) * factor + means, 0, 1)


def defocus(image: np.ndarray, severity: int) -> np.ndarray:
    """The disk by NumPy, blurred by OpenCV, convolved by SciPy."""
    radius, sigma = [(0.3, 0.4), (0.4, 0.5), (0.5, 0.6), (1, 0.2), (1.5, 0.1)][severity - 1]
    y, x = np.mgrid[-8:9, -8:9]
    disk = (x**2 + y**2 <= radius**2).astype(np.float64)
    kernel = cv2.GaussianBlur(disk / disk.sum(), ksize=(3, 3), sigmaX=sigma)
    planes = [ndimage.convolve(image[..., c] / 255, kernel, mode="mirror") for c in range(image.shape[-1])]
    return np.clip(np.stack(planes, axis=-1), 0, 1)


def motion(image: np.ndarray, severity: int, degrees: float) -> np.ndarray:
    """The line of ImageMagick's MotionBlurImage as a kernel, correlated by SciPy."""
    radius, sigma = [(6, 1), (6, 1.5), (6, 2), (8, 2), (9, 2.5)][severity - 1]
    width = 2 * radius + 1
    weights = np.exp(-(np.arange(width) ** 2) / (2 * sigma**2))
    weights /= weights.sum()
    kernel = np.zeros((2 * width + 1, 2 * width + 1))
    across, down = width * np.cos(np.deg2rad(degrees)), width * np.sin(np.deg2rad(degrees))
    for i, weight in enumerate(weights):
        dx = int(np.ceil(i * across / np.hypot(across, down) - 0.5))
        dy = int(np.ceil(i * down / np.hypot(across, down) - 0.5))
        kernel[width + dy, width + dx] += weight
    planes = [ndimage.correlate(image[..., c] / 255, kernel, mode="nearest") for c in range(image.shape[-1])]
    return np.clip(np.stack(planes, axis=-1), 0, 1)


def pillow(image: np.ndarray) -> Image.Image:
    return Image.fromarray(image if image.shape[-1] == 3 else image[..., 0])


def from_pillow(image: Image.Image) -> np.ndarray:
    values = np.asarray(image) / 255
    return values if values.ndim == 3 else values[..., None]


def pixelate(image: np.ndarray, severity: int) -> np.ndarray:
    part = [0.95, 0.9, 0.85, 0.75, 0.65][severity - 1]
    height, width = image.shape[:2]
    small = pillow(image).resize((int(width * part), int(height * part)), Image.Resampling.BOX)
    return from_pillow(small.resize((width, height), Image.Resampling.BOX))


def jpeg(image: np.ndarray, severity: int) -> np.ndarray:
    out = io.BytesIO()
    pillow(image).save(out, "JPEG", quality=[80, 65, 58, 50, 40][severity - 1])
    return from_pillow(Image.open(out))


def draws(shape: tuple[int, ...], state: list[int]) -> np.ndarray:
    """Numbers from -1 to 1 of a linear congruential generator, in the order of rows."""
    values = []
    for _ in range(int(np.prod(shape))):
        state[0] = (1103515245 * state[0] + 12345) % 2**31
        values.append(state[0] / 2**30 - 1)
    return np.array(values).reshape(shape)


def plasma(side: int, decay: float) -> np.ndarray:
    """Diamond-square on a torus, by rolling whole grids."""
    state, grid = [12345], np.zeros((side, side))
    step, wibble = side, 100.0
    while step >= 2:
        half = step // 2
        corners, middles = grid[::step, ::step], grid[half::step, half::step]
        rows = corners + np.roll(corners, -1, axis=0)
        middles[...] = (rows + np.roll(rows, -1, axis=1)) / 4 + wibble**2 * draws(middles.shape, state)
        upper = middles + np.roll(middles, 1, axis=0) + corners + np.roll(corners, -1, axis=1)
        left = middles + np.roll(middles, 1, axis=1) + corners + np.roll(corners, -1, axis=0)
        grid[::step, half::step] = upper / 4 + wibble**2 * draws(upper.shape, state)
        grid[half::step, ::step] = left / 4 + wibble**2 * draws(left.shape, state)
        step, wibble = half, wibble / decay
    grid -= grid.min()
    return grid / grid.max()


def fog(image: np.ndarray, severity: int) -> np.ndarray:
    thickness, decay = [(0.2, 3), (0.5, 3), (0.75, 2.5), (1, 2), (1.5, 1.75)][severity - 1]
    values, (height, width) = image / 255, image.shape[:2]
    cloud = plasma(2 ** int(np.ceil(np.log2(max(height, width)))), decay)[:height, :width, None]
    largest = values.max()
    return np.clip((values + thickness * cloud) * largest / (largest + thickness), 0, 1)


KINDS = {
    "brightness": brightness,
    "contrast": contrast,
    "defocus": defocus,
    "pixelate": pixelate,
    "jpeg": jpeg,
    "fog": fog,
    **{f"motion_{angle}": (lambda image, s, angle=angle: motion(image, s, angle)) for angle in (-40, 0, 25)},
}


def main() -> None:
    images = {"color": picture(19, 18, 3, 1), "gray": picture(15, 22, 1, 2)}
    arrays = {}
    for name, image in images.items():
        arrays[name] = (image / 255).transpose(2, 0, 1)[None]
        for kind, corrupt in KINDS.items():
            arrays[f"{kind}_{name}"] = np.stack([corrupt(image, s).transpose(2, 0, 1) for s in range(1, 6)])
    np.savez_compressed(OUT, **{key: array.astype(np.float32) for key, array in arrays.items()})


if __name__ == "__main__":
    main()
