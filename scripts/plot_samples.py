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


#: The two truths: what the record calls the areas, and the images that break.
ALONE = ("areas", "broken")
BY_ANY = ("areas_by_any", "broken_by_any")


def summary(name: str, rows: list[dict], truth: tuple[str, str]) -> str:
    """A line of the table: mean and least area of every number."""
    areas = {number: np.array([row[truth[0]][number] for row in rows]) for number in ["margin", *OTHERS]}
    cells = [name, str(len(rows)), f"{areas['margin'].mean():.3f}"]
    for number in OTHERS:
        above = int(np.sum(areas[number] > areas["margin"]))
        cells.append(f"{areas[number].mean():.3f} ({areas[number].min():.2f}; {above})")
    return "| " + " | ".join(cells) + " |"


def table(rows: list[dict], truth: tuple[str, str]) -> list[str]:
    """Areas by data and radius, of the pairs that have them."""
    telling = [row for row in rows if row.get(truth[0])]
    groups = [(f"{DATA[data]} {size}", [row for row in telling if (row["data"], row["size"]) == (data, size)]) for data, size in COLORS]
    return [
        "| data and radius | pairs | margin | " + " | ".join(OTHERS) + " |",
        "| --- |" + " ---: |" * (2 + len(OTHERS)),
        *(summary(name, group, truth) for name, group in groups if group),
        summary("all", telling, truth),
        "",
    ]


def fewer(row: dict) -> int:
    """The smaller one of the numbers of images that break and that survive."""
    return min(row["broken_by_any"], row["correct"] - row["broken_by_any"])


def below_margin(rows: list[dict], number: str) -> list[str]:
    """The pairs in which a number is not above the margin, the worst first, as lines of a table."""
    behind = [row for row in rows if row.get("areas_by_any") and row["areas_by_any"][number] <= row["areas_by_any"]["margin"]]
    behind.sort(key=lambda row: row["areas_by_any"][number] - row["areas_by_any"]["margin"])
    lines = []
    for row in behind:
        areas = row["areas_by_any"]
        name = row["file"].rsplit("/", 1)[-1].removesuffix(".onnx")
        off = areas[number] - areas["margin"]
        lines.append(f"| `{name}` | {DATA[row['data']]} {row['size']} | {fewer(row)} | {areas['margin']:.4f} | {areas[number]:.4f} | {off:+.4f} |")
    return lines


def by_fewest(rows: list[dict]) -> list[str]:
    """How often numbers are above the margin in pairs with at least so many images on either side."""
    lines = ["| images on either side, at least | pairs | fragility above the margin | fragility, probed |", "| --- |" + " ---: |" * 3]
    for least in (10, 20, 50):
        kept = [row["areas_by_any"] for row in rows if row.get("areas_by_any") and fewer(row) >= least]
        above = [sum(areas[number] > areas["margin"] for areas in kept) for number in ("fragility", "fragility, probed")]
        cells = [str(least), str(len(kept)), *(f"{count} ({100 * count / len(kept):.0f} %)" for count in above)]
        lines.append("| " + " | ".join(cells) + " |")
    return [*lines, ""]


def section(rows: list[dict]) -> list[str]:
    """The lines of the page."""
    if not rows:
        return []
    several = len({row["file"] for row in rows})
    pairs = [pair for row in rows for pair in zip(row["left_by_attack"], row["left_by_search"])]
    missed, only_search = (sum(lost == 0 < left for lost, left in of) for of in (pairs, [(b, a) for a, b in pairs]))
    searched = [row for row in rows if "broken_by_any" in row]
    more = sum(row["broken_by_any"] - row["broken"] for row in searched)
    worst = max(searched, key=lambda row: row["broken_by_any"] - row["broken"])
    name = worst["file"].rsplit("/", 1)[-1].removesuffix(".onnx")
    telling = [row["areas_by_any"] for row in rows if row.get("areas_by_any")]
    gaps = [areas["margin"] - areas["fragility"] for areas in telling if areas["fragility"] <= areas["margin"]]
    return [
        "## Samples",
        "",
        f"For {several} networks at {len(rows)} pairs of network and radius, every one of the first 500 test images was attacked (`attack --attack apgd-t --targets 3 --steps 40`),",
        "and probed (the default search, up to 256 probes). Where the attack leaves 10 or more, every image was also searched with up to 2,048 probes.",
        "",
        "![Share of the margin of each image that the search leaves, against the share that the attack leaves](images/samples.svg)",
        "",
        f"A point is an image: {len(pairs):,} that are classified correctly, from the first 100 of every pair. 0 % means that its class was lost. Images above the line have more",
        f"of their margin left after the search of 256 probes than after the attack: {missed:,} of them survive the search and not the attack. {only_search:,} survive the attack and not the search.",
        "",
        "The tables have the area under the ROC curve, among images that are classified correctly: the probability that an image that breaks is ranked above one",
        "that survives. It is the mean over the pairs in which at least 10 images break and 10 survive. In parentheses: the smallest area, and the number of",
        "pairs in which the area is above that of the margin. *Fragility* and *node score* come from all 10,000 images; *fragility, probed* from the 500 images",
        "alone, with the default search; *probe margin* is the smallest margin over its probes.",
        "",
        "**Broken by the attack or by a search** (the default one or the long one). Every such image is really broken, whatever broke it. The numbers with probes come from",
        "one of these searches, so they rank what it broke first.",
        "",
        *table(rows, BY_ANY),
        "**Broken by the attack alone.** Images that only a search breaks count as robust here, which is wrong: the searches break",
        f"{more} images more than the attack, {worst['broken_by_any'] - worst['broken']} of them of `{name}` at {worst['size']}.",
        "",
        *table(rows, ALONE),
        "**What remains.** Fragility without probes is not above the margin in the following pairs, by the first truth. *Fewer* is the smaller one of the numbers of images that",
        f"break and that survive. {sum(gap <= 0.0002 for gap in gaps)} of the {len(gaps)} differences are at most 0.0002, about one pair of images. The others are",
        "failures, on networks that were trained for robustness; a likely reason is that they are steep only away from the data, where there are no edges. So without probes,",
        "fragility is not above the margin in 95 % of the pairs.",
        "",
        "| network | radius | fewer | margin | fragility | difference |",
        "| --- | --- | ---: | ---: | ---: | ---: |",
        *below_margin(rows, "fragility"),
        "",
        "Pairs with more images on either side, in which the area is more certain, do not change this:",
        "",
        *by_fewest(rows),
        "```text",
        "python scripts/measure_fragility.py spadework data --record experiments/results/samples.jsonl",
        "python scripts/plot_estimates.py",
        "```",
        "",
    ]
