"""How far the robust accuracy that `spadework score --probe` estimates is off, network by network, and how often its interval covers.

usage: python scripts/measure_estimates.py PATH-OF-SPADEWORK FOLDER [--nets NETS.csv] [--only REGEX] [--size COLUMN …] [OPTIONS OF SCORE …]

FOLDER and NETS.csv are those of scripts/measure_validity.py. The networks' accuracy under attack is of the first 500 test images, so these are
probed, all of them. `--only` chooses networks by their file, `--size` sizes by their column (pgd_small, pgd_mid, pgd_large).

Sources whose networks the constants of the search and of the interval were chosen on are marked `*`; the summary has them apart from the
others. Prints tables in Markdown; needs NumPy and SciPy.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
import subprocess
import tempfile
from pathlib import Path

import numpy as np
from measure_validity import SIZES, networks
from scipy.stats import spearmanr

IMAGES = 500
#: Beginnings of the files that constants were chosen on.
CHOSEN_ON = ("../models/", "abcrown__", "eran__", "convexadv__")


def first_images(folder: Path, data: str) -> tuple[np.ndarray, np.ndarray]:
    """Pixels and labels of the first test images."""
    if data == "mnist":
        pixels = gzip.decompress((folder / "mnist/t10k-images-idx3-ubyte.gz").read_bytes())[16:]
        labels = gzip.decompress((folder / "mnist/t10k-labels-idx1-ubyte.gz").read_bytes())[8:]
        images = np.frombuffer(pixels, np.uint8).reshape(-1, 1, 28, 28)
        return images[:IMAGES], np.frombuffer(labels, np.uint8)[:IMAGES]
    rows = np.fromfile(next((folder / "cifar10").rglob("test_batch.bin")), np.uint8).reshape(-1, 3073)[:IMAGES]
    return rows[:, 1:].reshape(-1, 3, 32, 32), rows[:, 0]


def probed(spadework: str, place: Path, network: Path, probe: str, options: list[str]) -> dict:
    call = [spadework, "score", "--inputs", str(place / "x.npy"), "--labels", str(place / "y.npy")]
    call += ["--model", str(network), "--probe", probe, "--json", "--quiet", *options]
    return json.loads(subprocess.run(call, stdout=subprocess.PIPE, check=True).stdout)["probe"]


def summarize(name: str, rows: list[tuple[float, dict]]) -> None:
    """A line about several networks at one size."""
    if not rows:
        return
    truth = np.array([truth for truth, _ in rows])

    def of(key: str) -> np.ndarray:
        return np.array([found["estimate"][key] for _, found in rows])

    off = 100 * (of("estimate") - truth)
    covered = np.mean((of("lower") <= truth) & (truth <= of("upper")))
    rho = spearmanr(of("estimate"), truth)[0] if len(rows) > 2 and np.ptp(truth) > 0 else float("nan")
    print(
        f"| {name} | {len(rows)} | {np.abs(off).mean():.1f} | {np.abs(off).max():.1f} | {off.mean():+.1f} | {rho:+.2f} | "
        f"{100 * covered:.0f} % | {100 * (of('upper') - of('lower')).mean():.1f} | {of('queries').mean():.0f} |",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("spadework")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--nets", type=Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--size", nargs="+", default=["pgd_small", "pgd_mid", "pgd_large"])
    chosen, options = parser.parse_known_args()
    nets = chosen.nets or chosen.folder / "nets" / "nets.csv"
    print("| network | size | under attack | estimate | interval | survived | queries |\n| --- | --- | ---: | ---: | --- | ---: | ---: |")
    found: dict[str, list[tuple[bool, float, dict]]] = {}
    for data, sizes in SIZES.items():
        rows = [row for row in networks(nets, data) if re.search(chosen.only, row["file"])]
        with tempfile.TemporaryDirectory() as scratch:
            for name, array in zip(("x.npy", "y.npy"), first_images(chosen.folder, data) if rows else ()):
                np.save(Path(scratch) / name, array)
            for row in rows:
                is_chosen = row["file"].startswith(CHOSEN_ON)
                for column, size in sizes.items():
                    if column not in chosen.size:
                        continue
                    probe = probed(chosen.spadework, Path(scratch), nets.parent / row["file"], f"linf:{size}", options)
                    truth, estimate = float(row[column]), probe["estimate"]
                    found.setdefault(f"{data} {size}", []).append((is_chosen, truth, probe))
                    print(
                        f"| {Path(row['file']).stem}{'*' * is_chosen} | {size} | {100 * truth:.1f} | {100 * estimate['estimate']:.1f} | "
                        f"{100 * estimate['lower']:.1f} to {100 * estimate['upper']:.1f} | {100 * probe['survived']:.1f} | {estimate['queries']:.0f} |",
                        flush=True,
                    )
    print("\n| networks | number | mean error | worst | bias | ρ | covered | width | queries |\n| --- |" + " ---: |" * 8)
    for place, rows in found.items():
        summarize(f"{place}, chosen on", [(truth, probe) for is_chosen, truth, probe in rows if is_chosen])
        summarize(f"{place}, others", [(truth, probe) for is_chosen, truth, probe in rows if not is_chosen])
    everything = [row for rows in found.values() for row in rows]
    summarize("all, chosen on", [(truth, probe) for is_chosen, truth, probe in everything if is_chosen])
    summarize("all, others", [(truth, probe) for is_chosen, truth, probe in everything if not is_chosen])


if __name__ == "__main__":
    main()
