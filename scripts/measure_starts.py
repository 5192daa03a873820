"""Where a search in L∞ begins: how much of the margins it takes from several first corners, after 1 to 256 queries.

usage: python scripts/measure_starts.py FOLDER [cifar10]

FOLDER holds mnist/, cifar10/, models/ and nets/. The search is written here again in NumPy, as docs/probes.md describes it: a corner of the
box around an image, and in every query the signs of one block flipped, which stays if the margin is smaller. Blocks are whole channels
first, then squares of half the side each time, in a random order within a side. Networks run with onnxruntime on the first 100 test images.
Classes and directions come from the outputs for the first 2,000.

Prints a table in Markdown: mean over the networks of the share of the margin taken, and of the images that are classified correctly
and keep their class, both in percent. Needs NumPy, SciPy and onnxruntime.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import onnxruntime
from measure_estimates import first_images

#: Images that are searched, and those that directions come from.
IMAGES, KNOWN = 100, 2000
#: After how many queries the table looks.
COUNTS = [1, 8, 64, 128, 256]
NETWORKS = {
    "mnist": [
        ("models/lenet5_eps0.0", 0.1),
        ("nets/abcrown__eran_mnist_6_100_nat", 0.1),
        ("nets/eran__mnist_conv_maxpool", 0.1),
        ("nets/eran__mnist_relu_5_100", 0.2),
        ("nets/eran__mnist_convSmall_PGDK", 0.2),
        ("nets/oval__mnist_wide_kw", 0.2),
        ("nets/salman__mnist_MLP_9_100_LPD", 0.2),
        ("models/lenet5_eps0.3", 0.3),
    ],
    "cifar10": [
        ("nets/abcrown__eran_cifar_conv_small_pgd", 8 / 255),
        ("nets/abcrown__oval_cifar_base", 8 / 255),
        ("nets/abcrown__sdp_cifar_cnn_a_adv", 8 / 255),
        ("nets/abcrown__sdp_cifar_cnn_a_mix", 2 / 255),
        ("nets/autolirpa__cifar_2c2f", 2 / 255),
        ("nets/oval__cifar_sgd_8px", 2 / 255),
        ("nets/salman__cifar_cnn_small_ADV", 8 / 255),
        ("nets/salman__cifar_cnn_small_NOR", 2 / 255),
    ],
}
SHAPES = {"mnist": (1, 28, 28), "cifar10": (3, 32, 32)}


def images(folder: Path, data: str) -> tuple[np.ndarray, np.ndarray]:
    """The first test images between 0 and 1, one row each, and their labels."""
    pixels, labels = first_images(folder, data, KNOWN)
    return pixels.reshape(len(pixels), -1) / np.float32(255), labels.astype(int)


def network(path: Path, shape: tuple[int, ...]) -> Callable[[np.ndarray], np.ndarray]:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    source = session.get_inputs()[0]

    def run(rows: np.ndarray) -> np.ndarray:
        # Some files take one image at a time.
        size = 1 if source.shape[0] == 1 else 500
        parts = [rows[at : at + size].reshape(-1, *shape).astype(np.float32) for at in range(0, len(rows), size)]
        return np.concatenate([session.run(None, {source.name: part})[0].reshape(len(part), -1) for part in parts])

    return run


def blocks(shape: tuple[int, ...], seed: int) -> Iterator[np.ndarray]:
    """The numbers of one block after another."""
    draw, side = np.random.default_rng(seed), shape[1]
    while True:
        places = [(c, y, x) for c in range(shape[0]) for y in range(0, shape[1], side) for x in range(0, shape[2], side)]
        draw.shuffle(places)
        for c, y, x in places:
            mask = np.zeros(shape, bool)
            mask[c, y : y + side, x : x + side] = True
            yield mask.ravel()
        side = side if side == 1 else (side + 1) // 2


class Case:
    """The images at one network and radius, with what a search has found so far."""

    def __init__(self, run: Callable, rows: np.ndarray, labels: np.ndarray, shape: tuple[int, ...], radius: float) -> None:
        self.run, self.shape, self.radius = run, shape, np.float32(radius)
        outputs = run(rows)
        self.rows, self.classes = rows[:IMAGES], outputs[:IMAGES].argmax(axis=1)
        self.plain = self.margins(outputs[:IMAGES])
        self.right = self.classes == labels[:IMAGES]
        self.second = np.argsort(outputs[:IMAGES], axis=1)[:, -2]
        self.directions = directions(rows, outputs, self.classes, self.second)
        self.begin()

    def begin(self) -> None:
        self.least, self.queries, self.found = self.plain.copy(), 0, {}

    def margins(self, outputs: np.ndarray) -> np.ndarray:
        at = np.arange(len(outputs))
        others = outputs.copy()
        others[at, self.classes] = -np.inf
        return outputs[at, self.classes] - others.max(axis=1)

    def query(self, corner: np.ndarray) -> np.ndarray:
        """The margins at a corner, which are counted."""
        margins = self.margins(self.run(np.clip(self.rows + self.radius * corner, 0, 1)))
        self.queries += 1
        self.least = np.minimum(self.least, margins)
        if self.queries in COUNTS:
            taken = np.clip(1 - self.least / self.plain, 0, 1)[self.right].mean()
            self.found[self.queries] = (taken, np.mean(self.right & (self.least > 0)))
        return margins

    def best_of(self, corners: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        """Of every image the best of several corners."""
        all_margins = np.array([self.query(corner) for corner in corners])
        best, at = all_margins.argmin(axis=0), np.arange(IMAGES)
        return np.array(corners)[best, at], all_margins[best, at]

    def search(self, corner: np.ndarray, margins: np.ndarray, until: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
        """Flips blocks until so many queries are counted."""
        corner, margins = corner.copy(), margins.copy()
        for mask in blocks(self.shape, seed):
            if self.queries >= until:
                return corner, margins
            flipped = np.where(mask, -corner, corner)
            seen = self.query(flipped)
            better = seen < margins
            corner[better], margins[better] = flipped[better], seen[better]
        raise AssertionError("there is always another block")


def signs(directions: np.ndarray) -> np.ndarray:
    return np.where(directions < 0, -1, 1).astype(np.float32)


def directions(rows: np.ndarray, outputs: np.ndarray, own: np.ndarray, second: np.ndarray) -> dict[str, np.ndarray]:
    """Corners that follow from inputs and outputs alone, one of each kind per image."""
    predicted = outputs.argmax(axis=1)
    kinds = range(outputs.shape[1])
    means = np.array([rows[predicted == kind].mean(axis=0) if np.any(predicted == kind) else rows.mean(axis=0) for kind in kinds])
    centered = rows.astype(float) - rows.mean(axis=0)
    # The penalty is the mean eigenvalue of the inputs' covariance, times their number.
    gram = centered @ centered.T
    penalty = np.trace(gram) / rows.shape[1]
    weights = centered.T @ np.linalg.solve(gram + penalty * np.eye(len(rows)), outputs - outputs.mean(axis=0))
    return {"class means": signs(means[second] - means[own]), "ridge": signs((weights[:, second] - weights[:, own]).T)}


def starts(case: Case) -> dict[str, Callable[[], object]]:
    """The searches of the table by name, each of 256 queries."""
    draw = np.random.default_rng(1)
    channels, height, width = case.shape
    equal = np.ones((IMAGES, channels * height * width), np.float32)
    means, ridge = case.directions["class means"], case.directions["ridge"]

    def random(tall: int, wide: int) -> np.ndarray:
        pattern = draw.choice([-1, 1], (IMAGES, channels, -(-height // tall), -(-width // wide)))
        return np.kron(pattern, np.ones((tall, wide)))[:, :, :height, :width].reshape(IMAGES, -1).astype(np.float32)

    def of(corners: list[np.ndarray]) -> Callable[[], object]:
        return lambda: case.search(*case.best_of(corners), 256)

    def after_means() -> None:
        case.query(means)
        case.search(equal, case.query(equal), 256)

    def two_chains() -> None:
        first, of_first = case.search(means, case.query(means), 32)
        second, of_second = case.search(equal, case.query(equal), 64)
        better = np.where((of_first < of_second)[:, None], first, second)
        case.search(better, np.minimum(of_first, of_second), 256, 3)

    def restarted() -> None:
        case.search(equal, case.query(equal), 128)
        case.search(equal, case.query(equal), 256, 7)

    return {
        "equal signs (the library)": of([equal]),
        "class means": of([means]),
        "ridge": of([ridge]),
        "vertical stripes, as Square starts": of([random(height, 1)]),
        "best of 8 patterns of 4 × 4": of([random(4, 4) for _ in range(8)]),
        "best of equal signs, class means, ridge": of([equal, means, ridge]),
        "one query at the class means, then equal signs": after_means,
        "the better one of two searches of 32 queries": two_chains,
        "two searches of 128 queries": restarted,
    }


def main() -> None:
    folder, data = Path(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else "mnist"
    rows, labels = images(folder, data)
    found: dict[str, list[dict]] = {}
    for name, radius in NETWORKS[data]:
        case = Case(network(folder / f"{name}.onnx", SHAPES[data]), rows, labels, SHAPES[data], radius)
        for start, search in starts(case).items():
            case.begin()
            search()
            found.setdefault(start, []).append(case.found)
        print(name, radius, file=sys.stderr, flush=True)
    heads = ["1 query", *(f"{count} queries" for count in COUNTS[1:])]
    print(f"| first corner | {' | '.join(heads)} |\n| --- |{' ---: |' * len(COUNTS)}")
    for start, cases in found.items():
        means = [np.mean([case[count] for case in cases], axis=0) for count in COUNTS]
        print(f"| {start} | {' | '.join(f'{100 * taken:.0f} / {100 * left:.1f}' for taken, left in means)} |")


if __name__ == "__main__":
    main()
