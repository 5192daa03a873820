"""How well scores of samples tell those that an attack breaks from those that hold, network by network.

usage: python scripts/measure_fragility.py PATH-OF-SPADEWORK FOLDER [--images 1000] [--attacker PATH-OF-SPADEWORK]

FOLDER is that of `measure_validity.py`; PATH-OF-SPADEWORK is a build with networks, or --attacker is. Every network is scored on all test images and
attacked (PGD, L∞, 40 steps) on the first of them. Among those that are classified rightly, the area under the curve of each number:
the probability that a broken sample is ranked above one that holds. Sizes at which fewer than 20 break or hold are left out.
Prints a table in Markdown; needs NumPy and SciPy.
"""

from __future__ import annotations

import argparse
import csv
import subprocess
import tempfile
from pathlib import Path

import numpy as np
from scipy.stats import rankdata

SIZES = {"mnist": (0.1, 0.2, 0.3), "cifar10": (2 / 255, 8 / 255)}
#: A column of nodes.csv, with the sign under which more is more fragile.
NUMBERS = {"margin": -1, "score": 1, "fragility": 1}
FEWEST = 20


def column(path: Path, name: str) -> np.ndarray:
    with open(path, newline="") as lines:
        return np.array([row[name] for row in csv.DictReader(lines)])


def area(scores: np.ndarray, broken: np.ndarray) -> float:
    """The area under the curve (Mann and Whitney)."""
    positive = broken.sum()
    above = rankdata(scores)[broken].sum() - positive * (positive + 1) / 2
    return float(above / (positive * (~broken).sum()))


def attacked(args: argparse.Namespace, model: Path, inputs: str, size: float, work: str) -> tuple[np.ndarray, np.ndarray]:
    """Which of the first images are classified rightly, and which of those an attack breaks."""
    call = [args.attacker or args.spadework, "attack", "--model", str(model), "--inputs", inputs]
    call += ["--limit", str(args.images), "--eps", str(size), "--steps", "40", "--out", f"{work}/{size}", "--quiet"]
    subprocess.run(call, check=True, stdout=subprocess.DEVNULL)
    samples = Path(work, str(size), "samples.csv")
    right = column(samples, "label") == column(samples, "clean_class")
    return right, column(samples, "robust")[right] == "false"


def tells(broken: np.ndarray) -> bool:
    """Whether enough break and enough hold."""
    return min(broken.sum(), (~broken).sum()) >= FEWEST


def areas(args: argparse.Namespace, model: Path, data: str) -> dict[float, list[float]]:
    """The areas of every number at every size that tells something."""
    found = {}
    inputs = f"{data}:{args.folder / data}:test"
    with tempfile.TemporaryDirectory() as work:
        call = [args.spadework, "score", "--model", str(model), "--inputs", inputs, "--out", f"{work}/scored", "--quiet"]
        subprocess.run(call, check=True, stdout=subprocess.DEVNULL)
        nodes = Path(work, "scored", "nodes.csv")
        scores = [sign * column(nodes, name).astype(float)[: args.images] for name, sign in NUMBERS.items()]
        for size in SIZES[data]:
            right, broken = attacked(args, model, inputs, size, work)
            if tells(broken):
                found[size] = [area(numbers[right], broken) for numbers in scores]
    return found


def arguments(text: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=text, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("spadework")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--images", type=int, default=1000)
    parser.add_argument("--attacker")
    return parser.parse_args()


def networks(folder: Path) -> list[tuple[Path, str]]:
    """File and data set of every network."""
    with open(folder / "nets" / "nets.csv", newline="") as lines:
        return [((folder / "nets" / row["file"]).resolve(), row["data"]) for row in csv.DictReader(lines)]


def main() -> None:
    args = arguments(__doc__)
    print(f"| network | size | {' | '.join(NUMBERS)} |\n| --- | ---: |{' ---: |' * len(NUMBERS)}")
    every = []
    for model, data in networks(args.folder):
        try:
            found = areas(args, model, data)
        except subprocess.CalledProcessError:
            print(f"| {model.stem} | | cannot be attacked | | |", flush=True)
            continue
        for size, numbers in found.items():
            every.append(numbers)
            print(f"| {model.stem} | {size:.3g} | {' | '.join(f'{number:.3f}' for number in numbers)} |", flush=True)
    print(f"| mean of {len(every)} | | {' | '.join(f'{number:.3f}' for number in np.mean(every, axis=0))} |")


if __name__ == "__main__":
    main()
