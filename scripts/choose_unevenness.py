"""Which number of arrays alone is chosen if networks of one source at a time are left out, and how well it does on these.

usage: python scripts/choose_unevenness.py PATH-OF-SPADEWORK FOLDER [--nets NETS.csv] [--record FILE] [--l2 FILE] [OPTIONS OF COMPARE …]

FOLDER and NETS.csv are those of scripts/measure_validity.py. `--record` keeps the numbers of every network in FILE, with the sign under which more is
more robust, and takes them from there if it exists. `--l2` is the record of scripts/measure_l2.py, whose references add columns for the networks that it has.

Prints tables in Markdown: Spearman's correlation of every number with the accuracy under attack, by data and size; then, for every source, the
number with the largest mean over the L∞ columns of the networks of the other sources, with its mean and that of others over the networks of
the source and over all; then 300 bootstrap samples of the sources. The GREAT Score is √(π/2) times the mean of the positive part of the
margin of probabilities, on the real images. Needs NumPy and SciPy.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np
from measure_estimates import first_images
from measure_validity import NUMBERS, SIZES, compared, networks
from scipy.special import softmax
from scipy.stats import rankdata, spearmanr

CANDIDATES = ["neighborhood overlap", "agreement", "roughness", "mean rank", "unevenness"]
OTHERS = ["SPADE score λ_1", "accuracy", "GREAT Score"]
COLUMNS = [(data, size) for data, sizes in SIZES.items() for size in sizes.values()]
L2 = [("mnist", "l2 1.0"), ("mnist", "l2 2.0"), ("cifar10", "l2 0.25"), ("cifar10", "l2 0.5")]
TITLES = {"mnist": "MNIST", "cifar10": "CIFAR-10"}


def great(spadework: str, folder: Path, data: str, model: Path) -> float:
    """The GREAT Score (NeurIPS 2024) on the real test images."""
    with tempfile.TemporaryDirectory() as work:
        out = Path(work) / "y.npy"
        call = [spadework, "predict", "--model", str(model), "--inputs", f"{data}:{folder / data}:test", "--output", str(out), "--quiet"]
        subprocess.run(call, check=True, stdout=subprocess.DEVNULL)
        shares = softmax(np.load(out).astype(float), axis=1)
    rows, truth = np.arange(len(shares)), first_images(folder, data, len(shares))[1].astype(int)
    own = shares[rows, truth]
    shares[rows, truth] = -np.inf
    return float(np.sqrt(np.pi / 2) * np.maximum(own - shares.max(axis=1), 0).mean())


def measured(chosen: argparse.Namespace, options: list[str]) -> list[dict]:
    """The numbers of every network, and its accuracies under attack."""
    if chosen.record and chosen.record.exists():
        return json.loads(chosen.record.read_text())
    found = []
    for data, sizes in SIZES.items():
        rows = networks(chosen.nets, data)
        models = compared(chosen.spadework, chosen.folder, data, rows, options)
        for row, model in zip(rows, models):
            numbers = {name: of(model) for name, of in NUMBERS.items() if name in CANDIDATES + OTHERS}
            numbers["GREAT Score"] = great(chosen.spadework, chosen.folder, data, chosen.nets.parent / row["file"])
            truth = {size: float(row[column]) for column, size in sizes.items()}
            found.append({"file": row["file"], "source": row["source"], "data": data, "numbers": numbers, "truth": truth})
    if chosen.record:
        chosen.record.write_text(json.dumps(found, indent=1) + "\n")
    return found


def values(nets: list[dict], name: str) -> np.ndarray:
    """A number of several networks; more is more robust."""
    if name == "mean rank":
        return np.mean([rankdata([net["numbers"][part] for net in nets]) for part in ("agreement", "roughness")], axis=0)
    return np.array([net["numbers"][name] for net in nets])


def correlation(nets: list[dict], name: str, data: str, size: str) -> float:
    kept = [net for net in nets if net["data"] == data and size in net["truth"]]
    truth = [net["truth"][size] for net in kept]
    if len(kept) < 3 or np.ptp(truth) == 0:
        return np.nan
    return spearmanr(values(kept, name), truth)[0]


def mean(nets: list[dict], name: str) -> float:
    """Over the columns that these networks tell apart."""
    found = [correlation(nets, name, *column) for column in COLUMNS]
    return float(np.nanmean(found)) if np.any(np.isfinite(found)) else np.nan


def best(nets: list[dict]) -> str:
    return max(CANDIDATES, key=lambda name: mean(nets, name))


def cell(number: float) -> str:
    return "" if np.isnan(number) else f"{number:+.2f}"


def print_correlations(nets: list[dict]) -> None:
    columns = COLUMNS + [column for column in L2 if sum(column[1] in net["truth"] for net in nets if net["data"] == column[0]) >= 3]
    counts = [sum(size in net["truth"] for net in nets if net["data"] == data) for data, size in columns]
    heads = [f"{TITLES[data]} {size} ({count})" for (data, size), count in zip(columns, counts)]
    print(f"| number (networks) | {' | '.join(heads)} | mean of L∞ |\n| --- |{' ---: |' * (len(heads) + 1)}")
    for name in CANDIDATES + OTHERS:
        cells = [cell(correlation(nets, name, *column)) for column in columns]
        print(f"| {name} | {' | '.join(cells)} | {cell(mean(nets, name))} |")


def print_left_out(nets: list[dict]) -> None:
    print("\n| left out | networks | chosen without it | its mean without it | unevenness without it | overlap without it |")
    print("| --- | ---: | --- | ---: | ---: | ---: |")
    sources = sorted({net["source"] for net in nets})
    for source in sources:
        others = [net for net in nets if net["source"] != source]
        name = best(others)
        cells = [cell(mean(others, of)) for of in (name, "unevenness", "neighborhood overlap")]
        print(f"| {source} | {len(nets) - len(others)} | {name} | {' | '.join(cells)} |")
    draw = np.random.default_rng(0)
    chosen, differences = Counter(), []
    for _ in range(300):
        drawn = [net for source in draw.choice(sources, len(sources)) for net in nets if net["source"] == source]
        means = {name: mean(drawn, name) for name in CANDIDATES}
        chosen[max(means, key=means.get)] += 1
        differences.append([means["unevenness"] - means[name] for name in ("neighborhood overlap", "roughness")])
    low, high = np.quantile(differences, [0.025, 0.975], axis=0)
    print(f"\n300 bootstrap samples of the sources choose: {', '.join(f'{name} {count}' for name, count in chosen.most_common())}.")
    print(f"Unevenness less overlap: {low[0]:+.2f} to {high[0]:+.2f}; less roughness: {low[1]:+.2f} to {high[1]:+.2f} (95 %).")


def main() -> None:
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("spadework")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--nets", type=Path)
    parser.add_argument("--record", type=Path)
    parser.add_argument("--l2", type=Path)
    chosen, options = parser.parse_known_args()
    chosen.nets = chosen.nets or chosen.folder / "nets" / "nets.csv"
    nets = measured(chosen, options)
    lines = map(json.loads, chosen.l2.read_text().splitlines()) if chosen.l2 else []
    under_l2 = {(line["file"], f"l2 {line['size']}"): line["reference"] for line in lines}
    for net in nets:
        net["truth"] |= {size: truth for (file, size), truth in under_l2.items() if file == net["file"]}
    print_correlations(nets)
    print_left_out(nets)


if __name__ == "__main__":
    main()
