"""How far estimates of robust accuracy in L2 are off, and how the error falls with the number of probes.

usage: python scripts/measure_l2.py PATH-OF-SPADEWORK FOLDER [--nets NETS.csv] [--only REGEX] [--attacker PATH] [--record FILE] [--images N] [--minutes M]
       [--table] [OPTIONS OF SCORE …]

FOLDER and NETS.csv are those of scripts/measure_validity.py. PATH-OF-SPADEWORK is a build with networks, or --attacker is. The first N test images (200) are
attacked (`attack --norm l2 --attack auto --steps 40 --targets 3 --queries 100`) and searched with up to 64, 256 (the default), 1,024 and 2,048 probes. An
image survives if no attack and none of the searches breaks it: the reference. Every search has an estimate, which is compared with the reference, and with the attack
alone.

`--record` adds a line of JSON for every network and size to FILE, and leaves out those that are there already. Networks come one per source by turns, so
that every part of the record has many sources; no new pair begins after M minutes. `--table` only prints the table of the record. Prints a table in Markdown; needs NumPy and SciPy.
"""

from __future__ import annotations

import argparse
import itertools
import json
import re
import tempfile
import time
from pathlib import Path

import numpy as np
from measure_estimates import first_images, kept
from measure_fragility import append, columns, run
from measure_validity import networks
from plot_l2 import PROBES, SIZES, read, tables

ATTACK = ["--norm", "l2", "--attack", "auto", "--steps", "40", "--targets", "3", "--queries", "100"]


def by_turns(rows: list[dict[str, str]]) -> list[dict[str, str]]:
    """One network of every source, then another of every source, and so on."""
    sources: dict[str, list[dict[str, str]]] = {}
    for row in rows:
        sources.setdefault(row["source"], []).append(row)
    turns = itertools.zip_longest(*sources.values())
    return [row for turn in turns for row in turn if row]


def survivors(chosen: argparse.Namespace, options: list[str], model: Path, size: str, work: Path) -> dict:
    """What is recorded of a network at one size."""
    x, y = work / "x.npy", work / "y.npy"
    out = work / "attacked"
    run(chosen.attacker or chosen.spadework, "attack", "--model", model, "--inputs", x, "--labels", y, "--eps", size, *ATTACK, "--out", out, "--quiet")
    attacked = columns(out / "samples.csv")
    stands = attacked["robust"] == "true"
    under_attack = float(stands.mean())
    searches = []
    for probes in PROBES:
        out = work / f"probed-{probes}"
        call = [chosen.spadework, "score", "--model", model, "--inputs", x, "--labels", y, "--probe", f"l2:{size}", "--probes", probes]
        run(*call, "--no-bounds", "--out", out, "--quiet", *options)
        stands &= columns(out / "nodes.csv")["probe_margin"].astype(float) > 0
        probe = json.loads((out / "result.json").read_text())["probe"]
        searches.append({"probes": probes, "survived": probe["survived"], **probe["estimate"]})
    return {"under_attack": under_attack, "reference": float(stands.mean()), "searches": searches}


def pixels(folder: Path, data: str, images: int) -> tuple[np.ndarray, np.ndarray]:
    """The first images as numbers from 0 to 1, and their labels."""
    x, y = first_images(folder, data, images)
    return x / np.float32(255), y


def measured(chosen: argparse.Namespace, options: list[str]) -> list[dict]:
    """The lines of the record, with those that this call adds."""
    began, found = time.monotonic(), list(kept(chosen.record).values())
    done = {(line["file"], line["size"]) for line in found}
    for data, sizes in SIZES.items():
        rows = by_turns([row for row in networks(chosen.nets, data) if re.search(chosen.only, row["file"])])
        pairs = [(row, size) for row in rows for size in sizes if (row["file"], size) not in done]
        with tempfile.TemporaryDirectory() as scratch:
            for name, array in zip(("x.npy", "y.npy"), pixels(chosen.folder, data, chosen.images) if pairs else ()):
                np.save(Path(scratch) / name, array)
            for row, size in pairs:
                if time.monotonic() - began > 60 * chosen.minutes:
                    break
                with tempfile.TemporaryDirectory() as work:
                    for name in ("x.npy", "y.npy"):
                        (Path(work) / name).symlink_to(Path(scratch) / name)
                    of_pair = survivors(chosen, options, chosen.nets.parent / row["file"], size, Path(work))
                line = {"file": row["file"], "source": row["source"], "data": data, "size": size, "n": chosen.images, **of_pair}
                if chosen.record:
                    append(chosen.record, line)
                found.append(line)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("spadework")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--nets", type=Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--attacker")
    parser.add_argument("--record", type=Path)
    parser.add_argument("--images", type=int, default=200)
    parser.add_argument("--minutes", type=float, default=float("inf"))
    parser.add_argument("--table", action="store_true")
    chosen, options = parser.parse_known_args()
    chosen.nets = chosen.nets or chosen.folder / "nets" / "nets.csv"
    found = read(chosen.record) if chosen.table else measured(chosen, options)
    print(*tables(found), sep="\n")


if __name__ == "__main__":
    main()
