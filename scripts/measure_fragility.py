"""How well scores of samples separate those that an attack breaks from those that survive, network by network.

usage: python scripts/measure_fragility.py PATH-OF-SPADEWORK FOLDER [--nets NETS.csv] [--only REGEX] [--attacker PATH] [--record FILE] [--estimates FILE]
       [--reference-probes N] [OPTIONS OF ATTACK …]

FOLDER and NETS.csv are those of scripts/measure_validity.py. PATH-OF-SPADEWORK is a build with networks, or --attacker is. Every network is scored on
all test images, and attacked and probed on the first 500 of them at every size. Options of `attack` replace the attack: by default
`--attack apgd-t --targets 3 --steps 40`. Among the images that are classified correctly, a number is judged by the area under its ROC curve: the
probability that an image that the attack breaks is ranked above one that survives. Sizes at which fewer than 10 break or survive have no areas.

The attack does not break everything that can be broken. So the areas are also computed with another truth: an image is broken if the attack breaks it, or the
search that is judged, or a search of up to N probes of every image (`--reference-probes`, 2,048). The long search is not run where the attack leaves fewer than 10. Pairs of
the record that lack these areas and may have them are measured again.

`--record` adds a line of JSON for every network and size to FILE, and leaves out those that are there already; scripts/plot_estimates.py makes
tables and a figure of it. `--estimates` adds the estimates of the same probes to FILE, as scripts/measure_estimates.py --record does. The shares of margins in it are those of the correct ones among the first 100 images. Prints a table in Markdown;
needs NumPy and SciPy.
"""

from __future__ import annotations

import argparse
import csv
import json
import re
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from measure_estimates import IMAGES, first_images, keep, kept, line_of
from measure_validity import SIZES, networks
from scipy.stats import rankdata

ATTACK = ["--attack", "apgd-t", "--targets", "3", "--steps", "40"]
#: Images that must break and that must survive.
FEWEST = 10
#: Images whose shares of margins are recorded.
SHOWN = 100
NUMBERS = ["margin", "node score", "fragility", "fragility, probed", "probe margin"]
TABLE = [f"| network | radius | broken of correct | {' | '.join(NUMBERS)} |", f"| --- | ---: | ---: |{' ---: |' * len(NUMBERS)}"]


def columns(path: Path) -> dict[str, np.ndarray]:
    """The columns of a table, as words."""
    with open(path, newline="") as lines:
        rows = list(csv.DictReader(lines))
    return {name: np.array([row[name] for row in rows]) for name in rows[0]}


def area(scores: np.ndarray, broken: np.ndarray) -> float:
    """The area under the curve (Mann and Whitney)."""
    positive = broken.sum()
    above = rankdata(scores)[broken].sum() - positive * (positive + 1) / 2
    return float(above / (positive * (~broken).sum()))


def is_telling(broken: np.ndarray) -> bool:
    """Whether enough images break and enough survive."""
    return min(broken.sum(), (~broken).sum()) >= FEWEST


def may_have_areas(correct: int, broken: int) -> bool:
    """Whether enough images may survive whatever else is tried on those that an attack left."""
    return correct - broken >= FEWEST


def run(*words: object) -> None:
    subprocess.run([str(word) for word in words], check=True, stdout=subprocess.DEVNULL)


class Network:
    """A network with the images that it is judged by."""

    def __init__(self, chosen: argparse.Namespace, options: list[str], row: dict[str, str], data: str, work: Path) -> None:
        self.spadework = chosen.spadework
        self.attacker = chosen.attacker or chosen.spadework
        self.model = chosen.nets.parent / row["file"]
        self.inputs = f"{data}:{chosen.folder / data}:test"
        self.options, self.work = options or ATTACK, work
        self.reference_probes = chosen.reference_probes
        run(self.spadework, "score", "--model", self.model, "--inputs", self.inputs, "--out", work / "all", "--no-bounds", "--quiet")
        self.scored = {name: column[:IMAGES] for name, column in columns(work / "all/nodes.csv").items()}

    def attacked(self, size: str) -> dict[str, np.ndarray]:
        out = self.work / size.replace("/", "-") / "attacked"
        call = [self.attacker, "attack", "--model", self.model, "--inputs", self.inputs, "--limit", IMAGES, "--eps", size]
        run(*call, *self.options, "--out", out, "--quiet")
        return columns(out / "samples.csv")

    def probed(self, size: str, *options: object) -> tuple[dict[str, np.ndarray], dict]:
        """Scores of the first images alone, with probes of all of them, and the summary of the probes."""
        out = self.work / size.replace("/", "-") / "-".join(["probed", *map(str, options)])
        call = [self.spadework, "score", "--model", self.model, "--inputs", self.work.parent / "x.npy"]
        call += ["--labels", self.work.parent / "y.npy", "--probe", f"linf:{size}", *options]
        run(*call, "--out", out, "--quiet")
        return columns(out / "nodes.csv"), json.loads((out / "result.json").read_text())["probe"]

    def broken(self, size: str) -> tuple[np.ndarray, np.ndarray] | None:
        """Which images are classified correctly, and which of those the attack breaks; None where too few break or survive."""
        attacked = self.attacked(size)
        right = attacked["label"] == attacked["clean_class"]
        broken = attacked["robust"][right] == "false"
        return (right, broken) if is_telling(broken) else None

    def judged(self, size: str) -> dict:
        """What is recorded of one size."""
        attacked = self.attacked(size)
        probed, self.summary = self.probed(size)
        right = attacked["label"] == attacked["clean_class"]
        broken = attacked["robust"][right] == "false"
        searches = [probed]
        if may_have_areas(int(right.sum()), int(broken.sum())):
            searches.append(self.probed(size, "--probes", self.reference_probes)[0])
        by_any = broken | np.any([table["probe_margin"][right].astype(float) <= 0 for table in searches], axis=0)

        def of(table: dict[str, np.ndarray], name: str) -> np.ndarray:
            return table[name].astype(float)[right]

        scores = [-of(self.scored, "margin"), of(self.scored, "score"), of(self.scored, "fragility")]
        scores += [of(probed, "fragility"), -of(probed, "probe_margin")]

        def areas(lost: np.ndarray) -> dict[str, float] | None:
            return {name: round(area(score, lost), 4) for name, score in zip(NUMBERS, scores)} if is_telling(lost) else None

        shown = np.flatnonzero(right) < SHOWN

        def left(lowest: np.ndarray) -> list[float]:
            return np.clip(lowest / of(probed, "margin"), 0, 1)[shown].round(3).tolist()

        return {
            "correct": int(right.sum()),
            "broken": int(broken.sum()),
            "areas": areas(broken),
            "reference_probes": self.reference_probes,
            "broken_by_any": int(by_any.sum()),
            "areas_by_any": areas(by_any),
            "left_by_attack": left(of(attacked, "margin")),
            "left_by_search": left(of(probed, "probe_margin")),
        }


def append(record: Path, line: dict) -> None:
    with open(record, "a") as lines:
        lines.write(json.dumps(line) + "\n")


def measured(chosen: argparse.Namespace, options: list[str]) -> Iterator[dict]:
    """A line of the record for every network and size, in the order of the list."""
    earlier = kept(chosen.record)
    lacking = [key for key, line in earlier.items() if "areas_by_any" not in line and may_have_areas(line["correct"], line["broken"])]
    for data, sizes in SIZES.items():
        rows = [row for row in networks(chosen.nets, data) if re.search(chosen.only, row["file"])]
        with tempfile.TemporaryDirectory() as scratch:
            for name, array in zip(("x.npy", "y.npy"), first_images(chosen.folder, data) if rows else ()):
                np.save(Path(scratch) / name, array)
            for row in rows:
                of_row = {column: size for column, size in sizes.items() if (row["file"], size) not in earlier or (row["file"], size) in lacking}
                work = Path(scratch) / Path(row["file"]).stem
                network = Network(chosen, options, row, data, work) if of_row else None
                for column, size in sizes.items():
                    if column not in of_row:
                        yield earlier[row["file"], size]
                        continue
                    line = {"file": row["file"], "source": row["source"], "data": data, "size": size, **network.judged(size)}
                    if chosen.estimates and (row["file"], size) not in kept(chosen.estimates):
                        append(chosen.estimates, line_of(row, data, column, size, network.summary))
                    keep(chosen.record, line)
                    yield line


def arguments(text: str) -> tuple[argparse.Namespace, list[str]]:
    """What was asked for, and the options of `attack`."""
    parser = argparse.ArgumentParser(usage=text)
    parser.add_argument("spadework")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--nets", type=Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--attacker")
    parser.add_argument("--record", type=Path)
    parser.add_argument("--estimates", type=Path)
    parser.add_argument("--reference-probes", type=int, default=2048)
    chosen, options = parser.parse_known_args()
    chosen.nets = chosen.nets or chosen.folder / "nets" / "nets.csv"
    return chosen, options


def main() -> None:
    chosen, options = arguments(__doc__)
    found = []
    print(*TABLE, sep="\n")
    for line in measured(chosen, options):
        if line.get("areas_by_any"):
            found.append(list(line["areas_by_any"].values()))
            cells = [f"`{Path(line['file']).stem}`", line["size"], f"{line['broken_by_any']} of {line['correct']}"]
            print("| " + " | ".join([*cells, *(f"{number:.3f}" for number in found[-1])]) + " |", flush=True)
    if found:
        print(f"| mean of {len(found)} | | | {' | '.join(f'{number:.3f}' for number in np.mean(found, axis=0))} |")


if __name__ == "__main__":
    main()
