"""How far the robust accuracy that `spadework score --probe` estimates is off, network by network, and how often its interval covers.

usage: python scripts/measure_estimates.py PATH-OF-SPADEWORK FOLDER [--nets NETS.csv] [--only REGEX] [--size COLUMN …] [--record FILE]
       [--reference-probes N] [OPTIONS OF SCORE …]

FOLDER and NETS.csv are those of scripts/measure_validity.py. The networks' accuracy under attack is of the first 500 test images, so these are
probed, all of them. `--only` chooses networks by their file, `--size` sizes by their column (pgd_small, pgd_mid, pgd_large). `--record`
adds a line of JSON for every network and size to FILE, and leaves out those that are there already; scripts/plot_estimates.py draws them.

`--reference-probes N` also searches every image with up to N probes, and records the share that survives as `under_search`. Attacks and this
search are both upper bounds of the robust accuracy, so the smaller one is the better reference. It is our own search, which ends early for
samples that are settled. So it can only lower the reference. Where attacks leave nothing, there is nothing to lower, and no search is run. Lines of the record
that have no `under_search` get it, without the estimate being made again.

The weights of the estimate were fitted to networks of all sources; docs/probes.md has the errors with each source left out of the fit. Prints
tables in Markdown; needs NumPy and SciPy.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from measure_validity import SIZES, networks
from plot_estimates import NETWORKS, of_network, place, table_by

IMAGES = 500


def first_images(folder: Path, data: str, count: int = IMAGES) -> tuple[np.ndarray, np.ndarray]:
    """Pixels and labels of the first test images."""
    if data == "mnist":
        pixels = gzip.decompress((folder / "mnist/t10k-images-idx3-ubyte.gz").read_bytes())[16:]
        labels = gzip.decompress((folder / "mnist/t10k-labels-idx1-ubyte.gz").read_bytes())[8:]
        images = np.frombuffer(pixels, np.uint8).reshape(-1, 1, 28, 28)
        return images[:count], np.frombuffer(labels, np.uint8)[:count]
    rows = np.fromfile(next((folder / "cifar10").rglob("test_batch.bin")), np.uint8).reshape(-1, 3073)[:count]
    return rows[:, 1:].reshape(-1, 3, 32, 32), rows[:, 0]


def probed(spadework: str, place: Path, network: Path, probe: str, options: list[str]) -> dict:
    call = [spadework, "score", "--inputs", str(place / "x.npy"), "--labels", str(place / "y.npy")]
    call += ["--model", str(network), "--probe", probe, "--json", "--quiet", *options]
    return json.loads(subprocess.run(call, stdout=subprocess.PIPE, check=True).stdout)["probe"]


def kept(record: Path | None) -> dict[tuple[str, str], dict]:
    """Lines of an earlier run, by network and size."""
    lines = record.read_text().splitlines() if record and record.exists() else []
    return {(line["file"], line["size"]): line for line in map(json.loads, lines)}


def line_of(row: dict[str, str], data: str, column: str, size: str, probe: dict) -> dict:
    """What is recorded of a network at one size."""
    return {
        "file": row["file"],
        "source": row["source"],
        "training": row["training"],
        "data": data,
        "size": size,
        "under_attack": float(row[column]),
        "survived": probe["survived"],
        **probe["estimate"],
    }


def is_complete(line: dict, reference_probes: int | None) -> bool:
    """Whether the record has all that is asked for of a network at a size."""
    return reference_probes is None or line["under_attack"] == 0 or line.get("reference_probes") == reference_probes


def of_search(place: Path, network: Path, line: dict, chosen: argparse.Namespace, options: list[str]) -> dict:
    """What the long search of every image leaves."""
    longer = [*options, "--probes", str(chosen.reference_probes)]
    probe = probed(chosen.spadework, place, network, f"linf:{line['size']}", longer)
    queries = probe["estimate"]["queries"]
    return {"reference_probes": chosen.reference_probes, "under_search": probe["survived"], "reference_queries": queries}


def write(record: Path, lines: dict[tuple[str, str], dict]) -> None:
    """All lines at once, so that an interrupted call leaves the earlier file."""
    new = record.with_suffix(".new")
    new.write_text("".join(json.dumps(line) + "\n" for line in lines.values()))
    new.replace(record)


def keep(record: Path | None, line: dict) -> None:
    """Adds a line to the record, or replaces that of the same network and size."""
    if record:
        write(record, kept(record) | {(line["file"], line["size"]): line})


def measured(chosen: argparse.Namespace, options: list[str]) -> Iterator[dict]:
    """A line of the record for every network and size, in the order of the list."""
    nets = chosen.nets or chosen.folder / "nets" / "nets.csv"
    earlier = kept(chosen.record)
    for data, sizes in SIZES.items():
        rows = [row for row in networks(nets, data) if re.search(chosen.only, row["file"])]
        pairs = [(row, column) for row in rows for column in sizes if column in chosen.size]
        with tempfile.TemporaryDirectory() as scratch:
            for name, array in zip(("x.npy", "y.npy"), first_images(chosen.folder, data) if pairs else ()):
                np.save(Path(scratch) / name, array)
            for row, column in pairs:
                size = sizes[column]
                network = nets.parent / row["file"]
                line = earlier.get((row["file"], size))
                if line and is_complete(line, chosen.reference_probes):
                    yield line
                    continue
                if line is None:
                    probe = probed(chosen.spadework, Path(scratch), network, f"linf:{size}", options)
                    line = line_of(row, data, column, size, probe)
                    keep(chosen.record, line)
                if not is_complete(line, chosen.reference_probes):
                    line |= of_search(Path(scratch), network, line, chosen, options)
                    keep(chosen.record, line)
                yield line


def main() -> None:
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("spadework")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--nets", type=Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--size", nargs="+", default=["pgd_small", "pgd_mid", "pgd_large"])
    parser.add_argument("--record", type=Path)
    parser.add_argument("--reference-probes", type=int)
    found = []
    print(*NETWORKS, sep="\n")
    for line in measured(*parser.parse_known_args()):
        found.append(line)
        print(of_network(line), flush=True)
    print("", *table_by("data and radius", found, place), sep="\n")


if __name__ == "__main__":
    main()
