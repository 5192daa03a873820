"""How well the numbers of `spadework compare` follow robust accuracy, over networks of several sources.

usage: python scripts/measure_validity.py PATH-OF-SPADEWORK FOLDER [NETS.csv [OPTIONS OF COMPARE …]]

FOLDER holds mnist/, cifar10/ and nets/nets.csv with one line per network: file (an ONNX file, relative to nets/), data (mnist or
cifar10), and its accuracy under PGD at three sizes, where known (pgd_small, pgd_mid, pgd_large). A line more is a network more.
NETS.csv has other lines, e.g. those of scripts/attack_networks.py. Options of compare that begin with --probe are for probes,
which are then made at every size: `--probes 800` is a search, `--probe :pixel` noise of a kind.

Prints tables in Markdown: Spearman's correlation of each number with each accuracy, and how far the estimates of robust accuracy
are off on average; needs SciPy.
"""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from pathlib import Path

from scipy.stats import spearmanr

SIZES = {
    "mnist": {"pgd_small": "0.1", "pgd_mid": "0.2", "pgd_large": "0.3"},
    "cifar10": {"pgd_small": "2/255", "pgd_large": "8/255"},
}
#: The number of a compared model, with the sign under which more is more robust.
NUMBERS = {
    "SPADE score λ_1": lambda model: -model["model_score"],
    "neighborhood overlap": lambda model: model["overlap"],
    "agreement": lambda model: model["agreement"],
    "roughness": lambda model: -model["roughness"],
    "unevenness": lambda model: -model["unevenness"],
    "accuracy": lambda model: model["accuracy"],
    "robust accuracy, estimated": lambda model: model["probe"]["robust_accuracy"],
    "survived": lambda model: model["probe"]["survived"],
    "stability": lambda model: model["probe"]["stability"],
    "margin ratio": lambda model: model["probe"]["margin_ratio"],
}


def networks(nets: Path, data: str) -> list[dict[str, str]]:
    """The networks on a data set whose robust accuracy is known."""
    with open(nets, newline="") as lines:
        return [row for row in csv.DictReader(lines) if row["data"] == data and row["pgd_small"]]


def compared(spadework: str, folder: Path, data: str, rows: list[dict[str, str]], options: list[str]) -> list[dict]:
    """What `compare` says of each, in the order of the rows."""
    files = [f"net{at}={(folder / 'nets' / row['file']).resolve()}" for at, row in enumerate(rows)]
    models = [word for file in files for word in ("--model", file)]
    call = [spadework, "compare", "--inputs", f"{data}:{folder / data}:test", *models, "--json", "--quiet", *options]
    document = json.loads(subprocess.run(call, stdout=subprocess.PIPE, check=True).stdout)
    by_name = {model["name"]: model for model in document["models"]}
    return [by_name[f"net{at}"] for at in range(len(rows))]


def probes_of(size: str, options: list[str]) -> list[str]:
    """The options with a probe of that size, where they ask for probes."""
    if not any(option.startswith("--probe") for option in options):
        return options
    at = options.index("--probe") if "--probe" in options else None
    kind = "" if at is None else options[at + 1]
    rest = options if at is None else options[:at] + options[at + 2 :]
    return ["--probe", f"linf:{size}{kind}", *rest]


def value(of, model: dict) -> float | None:
    try:
        return of(model)
    except (KeyError, TypeError):
        return None


def main() -> None:
    """One table a data set."""
    spadework, folder = sys.argv[1], Path(sys.argv[2])
    nets = Path(sys.argv[3]) if len(sys.argv) > 3 else folder / "nets" / "nets.csv"
    options = sys.argv[4:]
    for data, sizes in SIZES.items():
        rows = networks(nets, data)
        found = {name: [] for name in NUMBERS}
        off = []
        models, made_with = [], None
        for column, size in sizes.items():
            # Without probes, what compare says does not depend on the size.
            if (chosen := probes_of(size, options)) != made_with:
                models, made_with = compared(spadework, folder, data, rows, chosen), chosen
            truth = [float(row[column]) for row in rows]
            for name, of in NUMBERS.items():
                values = [value(of, model) for model in models]
                found[name].append(None if None in values else spearmanr(values, truth)[0])
                if name.startswith("robust") and None not in values:
                    off.append(sum(abs(a - b) for a, b in zip(values, truth)) / len(truth))
        print(f"\n{data}, {len(rows)} networks\n\n| number | {' | '.join(sizes.values())} |\n| --- |{' ---: |' * len(sizes)}")
        for name, correlations in found.items():
            if None not in correlations:
                print(f"| {name} | {' | '.join(f'{rho:+.2f}' for rho in correlations)} |")
        if off:
            print(f"| mean error of the estimate, points | {' | '.join(f'{100 * error:.1f}' for error in off)} |", flush=True)


if __name__ == "__main__":
    main()
