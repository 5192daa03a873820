"""How well the numbers of `spadework compare` follow robust accuracy, over networks of several sources.

usage: python scripts/measure_validity.py PATH-OF-SPADEWORK FOLDER

FOLDER holds mnist/, cifar10/ and nets/nets.csv with a line a network: file (an ONNX file, relative to nets/), data (mnist or
cifar10), and its accuracy under PGD at three sizes, where known (pgd_small, pgd_mid, pgd_large). A line more is a network more.
Prints a table in Markdown with Spearman's correlation of each number with each accuracy; needs SciPy.
"""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from pathlib import Path

from scipy.stats import spearmanr

SIZES = ("pgd_small", "pgd_mid", "pgd_large")
#: The number of a compared model, with the sign under which more is more robust.
NUMBERS = {
    "model score λ_1": lambda model: -model["model_score"],
    "edge overlap": lambda model: model["edge_overlap"],
    "accuracy": lambda model: model["accuracy"],
}


def networks(folder: Path, data: str) -> list[dict[str, str]]:
    """The networks on a data set whose robust accuracy is known."""
    with open(folder / "nets" / "nets.csv", newline="") as lines:
        return [row for row in csv.DictReader(lines) if row["data"] == data and any(row[size] for size in SIZES)]


def compared(spadework: str, folder: Path, data: str, rows: list[dict[str, str]]) -> list[dict]:
    """What `compare` says of each, in the order of the rows."""
    files = [f"net{at}={(folder / 'nets' / row['file']).resolve()}" for at, row in enumerate(rows)]
    models = [word for file in files for word in ("--model", file)]
    call = [spadework, "compare", "--inputs", f"{data}:{folder / data}:test", *models, "--json", "--quiet"]
    document = json.loads(subprocess.run(call, stdout=subprocess.PIPE, check=True).stdout)
    by_name = {model["name"]: model for model in document["models"]}
    return [by_name[f"net{at}"] for at in range(len(rows))]


def main() -> None:
    """One table a data set."""
    spadework, folder = sys.argv[1], Path(sys.argv[2])
    for data in ("mnist", "cifar10"):
        rows = networks(folder, data)
        models = compared(spadework, folder, data, rows)
        sizes = [size for size in SIZES if all(row[size] for row in rows)]
        print(f"\n{data}, {len(rows)} networks\n\n| number | {' | '.join(sizes)} |\n| --- |{' ---: |' * len(sizes)}")
        for name, of in NUMBERS.items():
            values = [of(model) for model in models]
            found = [spearmanr(values, [float(row[size]) for row in rows])[0] for size in sizes]
            print(f"| {name} | {' | '.join(f'{rho:+.2f}' for rho in found)} |")


if __name__ == "__main__":
    main()
