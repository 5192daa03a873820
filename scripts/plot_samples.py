"""The part of docs/estimates.md about samples, and its figure docs/images/samples.svg; scripts/plot_estimates.py writes both.

Reads experiments/results/samples.jsonl, which `scripts/measure_fragility.py --record` wrote.
"""

from __future__ import annotations

import json

import numpy as np
from plot_frame import COLORS, DATA, ROOT, across, frame, svg, up

RECORD = ROOT / "experiments/results/samples.jsonl"
FIGURE = ROOT / "docs/images/samples.svg"
#: The numbers that are compared with the margin.
OTHERS = ["node score", "fragility", "fragility, probed", "probe margin"]


def read() -> list[dict]:
    return [json.loads(text) for text in RECORD.read_text().splitlines()] if RECORD.exists() else []


def cloud(rows: list[dict], color: str) -> str:
    """The samples of some networks, those at the same place once."""
    pairs = {pair for row in rows for pair in zip(row["left_by_attack"], row["left_by_search"])}
    places = sorted({f"M{across(attack):.0f} {up(search):.0f}h0" for attack, search in pairs})
    return f'<path class="cloud" stroke="{color}" d="{"".join(places)}"/>'


def figure(rows: list[dict]) -> str:
    body = frame("share of the margin left by the attack")
    for (data, size), color in COLORS.items():
        body.append(cloud([row for row in rows if (row["data"], row["size"]) == (data, size)], color))
    return svg("Share of the margin of each image that the search leaves", body, rows)


def summary(name: str, rows: list[dict]) -> str:
    """A line of the table: mean and least area of every number."""
    areas = {number: np.array([row["areas"][number] for row in rows]) for number in ["margin", *OTHERS]}
    cells = [name, str(len(rows)), f"{areas['margin'].mean():.3f}"]
    for number in OTHERS:
        above = int(np.sum(areas[number] > areas["margin"]))
        cells.append(f"{areas[number].mean():.3f} ({areas[number].min():.2f}; {above})")
    return "| " + " | ".join(cells) + " |"


def below_margin(rows: list[dict], number: str) -> list[str]:
    """The pairs in which a number is not above the margin, the worst first, as lines of a table."""
    behind = [row for row in rows if row["areas"][number] <= row["areas"]["margin"]]
    behind.sort(key=lambda row: row["areas"][number] - row["areas"]["margin"])
    lines = []
    for row in behind:
        areas = row["areas"]
        name = row["file"].rsplit("/", 1)[-1].removesuffix(".onnx")
        least = min(row["broken"], row["correct"] - row["broken"])
        lines.append(f"| `{name}` | {DATA[row['data']]} {row['size']} | {least} | {areas['margin']:.3f} | {areas[number]:.3f} |")
    return lines


def section(rows: list[dict]) -> list[str]:
    """The lines of the page."""
    if not rows:
        return []
    telling = [row for row in rows if row["areas"]]
    several = len({row["file"] for row in rows})
    pairs = [pair for row in rows for pair in zip(row["left_by_attack"], row["left_by_search"])]
    missed, only_search = (sum(lost == 0 < left for lost, left in of) for of in (pairs, [(b, a) for a, b in pairs]))
    groups = [(f"{DATA[data]} {size}", [row for row in telling if (row["data"], row["size"]) == (data, size)]) for data, size in COLORS]
    return [
        "## Samples",
        "",
        f"For {several} networks at {len(rows)} pairs of network and radius, every one of the first 500 test images was attacked (`attack --attack apgd-t --targets 3 --steps 40`)",
        "and probed (the default search, up to 256 probes).",
        "",
        "![Share of the margin of each image that the search leaves, against the share that the attack leaves](images/samples.svg)",
        "",
        f"A point is an image: {len(pairs):,} that are classified correctly, from the first 100 of every pair. 0 % means that its class was lost. Images above the line have more",
        f"of their margin left after the search than after the attack: {missed:,} of them survive the search and not the attack. {only_search:,} survive the attack and not the search.",
        "On some provably trained networks, such as `salman__mnist_cnn_wide_1_LPD` at 0.2, this attack is weaker than the search. Their areas below are then too small.",
        "",
        "The table has the area under the ROC curve, among images that are classified correctly: the probability that an image that the attack breaks is ranked above one",
        "that survives. It is the mean over the pairs in which at least 10 images break and 10 survive. In parentheses: the smallest area, and the number of",
        "pairs in which the area is above that of the margin. *Fragility* and *node score* come from all 10,000 images; *fragility, probed* from the 500 images",
        "alone, with probes; *probe margin* is the smallest margin over the probes.",
        "",
        "| data and radius | pairs | margin | " + " | ".join(OTHERS) + " |",
        "| --- |" + " ---: |" * (2 + len(OTHERS)),
        *(summary(name, group) for name, group in groups if group),
        summary("all", telling),
        "",
        "Fragility without probes is not above the margin in these pairs; *fewer* is the smaller one of the numbers of images that break and that survive:",
        "",
        "| network | radius | fewer | margin | fragility |",
        "| --- | --- | ---: | ---: | ---: |",
        *below_margin(telling, "fragility"),
        "",
        "```text",
        "python scripts/measure_fragility.py spadework data --record experiments/results/samples.jsonl",
        "python scripts/plot_estimates.py",
        "```",
        "",
    ]
