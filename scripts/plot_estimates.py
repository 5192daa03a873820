"""Writes the page of the estimates, network by network, and its figures: docs/estimates.md and docs/images/{estimates,samples}.svg.

usage: python scripts/plot_estimates.py

Reads experiments/results/estimates.jsonl, which `scripts/measure_estimates.py --record` wrote, samples.jsonl of `scripts/measure_fragility.py --record`, and
estimates-l2.jsonl of `scripts/measure_l2.py --record`.
Needs NumPy and SciPy.

The accuracy under attack is that of the attacks of the list alone (`under_attack`), or the smaller one of it and what the long search of every
image leaves (`under_search`, of `--reference-probes`): the *reference*.
"""

from __future__ import annotations

import html
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import plot_l2
import plot_samples
from plot_frame import COLORS, DATA, ROOT, across, frame, line, svg, up
from scipy.stats import spearmanr

RECORD = ROOT / "experiments/results/estimates.jsonl"
PAGE = ROOT / "docs/estimates.md"
FIGURE = ROOT / "docs/images/estimates.svg"


def place(row: dict) -> str:
    return f"{DATA[row['data']]} {row['size']}"


def by_attacks(row: dict) -> float:
    """The accuracy under the attacks of the list alone."""
    return row["under_attack"]


def reference(row: dict) -> float:
    """The smaller one of two upper bounds: by attacks, and by the long search where it was run."""
    return min(row["under_attack"], row.get("under_search", 1))


def point(row: dict) -> str:
    """A network at one size, with its interval, and how far attacks alone are from the reference."""
    x, color = reference(row), COLORS[row["data"], row["size"]]
    name = html.escape(f"{Path(row['file']).stem} at {row['size']}: {percent(row['estimate'])} for {percent(x)} %")
    whisker = line("", x, row["lower"], x, row["upper"]).replace('class=""', 'stroke-opacity=".35"')
    alone = line("", x, row["estimate"], by_attacks(row), row["estimate"]).replace('class=""', 'stroke-dasharray="2"')
    dot = f'<circle cx="{across(x):.1f}" cy="{up(row["estimate"]):.1f}" r="3.5"/>'
    return f'<g stroke="{color}" fill="{color}"><title>{name}</title>{whisker}{alone if x < by_attacks(row) else ""}{dot}</g>'


def figure(rows: list[dict]) -> str:
    # Between the dashed lines the estimate is at most 10 points off.
    tens = [line("ten", 0, 0.1, 0.9, 1), line("ten", 0.1, 0, 1, 0.9)]
    return svg("Estimated robust accuracy, with its 95 % interval", [*frame("accuracy under attacks and the long search"), *tens, *map(point, rows)], rows)


def percent(share: float) -> str:
    return f"{100 * share:.1f}"


def summary(name: str, rows: list[dict], truth_of: Callable[[dict], float]) -> str:
    """A line of a table about several rows, whose true accuracy is `truth_of` each."""

    def of(key: str) -> np.ndarray:
        return np.array([row[key] for row in rows])

    truth = np.array([truth_of(row) for row in rows])
    off = of("estimate") - truth
    covered = (of("lower") <= truth) & (truth <= of("upper"))
    above_zero = covered[truth > 0]

    def rho(kept: np.ndarray) -> str:
        """Of three pairs or more that differ."""
        if kept.sum() < 3 or np.ptp(truth[kept]) == 0:
            return ""
        return f"{spearmanr(of('estimate')[kept], truth[kept])[0]:.3f} ({kept.sum()})"

    cells = [name, str(len(rows)), percent(np.abs(off).mean()), percent(np.abs(off).max()), f"{100 * off.mean():+.1f}"]
    cells += [rho(truth >= 0), rho(truth > 0)]
    cells += [f"{100 * covered.mean():.0f} %", f"{100 * above_zero.mean():.0f} %" if len(above_zero) else "", f"{100 * (of('upper') - of('lower')).mean():.0f}", f"{of('queries').mean():.0f}"]
    return "| " + " | ".join(cells) + " |"


def table_by(heading: str, rows: list[dict], key: Callable[[dict], str], truth_of: Callable[[dict], float] = by_attacks) -> list[str]:
    lines = [f"| {heading} | pairs | mean error | largest error | bias | ρ | ρ without zeros | covered | covered without zeros | width | queries |"]
    lines.append("| --- |" + " ---: |" * 10)
    groups: dict[str, list[dict]] = {}
    for row in rows:
        groups.setdefault(key(row), []).append(row)
    lines += [summary(name, group, truth_of) for name, group in groups.items()]
    return [*lines, summary("all", rows, truth_of), ""]


def searched(rows: list[dict]) -> list[dict]:
    """Those of which attacks leave some images, so that a long search was run."""
    return [row for row in rows if "under_search" in row]


def survivors(rows: list[dict]) -> list[str]:
    """How far the survivors of searches and the estimate are from the reference, by data and radius."""
    lines = ["| data and radius | pairs | 256 probes | 2,048 probes | estimate | queries (256, estimate) | queries (2,048) |"]
    lines.append("| --- |" + " ---: |" * 6)
    groups: dict[str, list[dict]] = {}
    for row in searched(rows):
        groups.setdefault(place(row), []).append(row)
    for name, group in [*groups.items(), ("all", searched(rows))]:
        truth = np.array([reference(row) for row in group])

        def off(key: str) -> str:
            errors = np.abs(np.array([row[key] for row in group]) - truth)
            return f"{percent(errors.mean())} ({percent(errors.max())})"

        def queries(key: str) -> str:
            return f"{np.mean([row[key] for row in group]):.0f}"

        cells = [name, str(len(group)), off("survived"), off("under_search"), off("estimate")]
        cells += [queries("queries"), queries("reference_queries")]
        lines.append("| " + " | ".join(cells) + " |")
    return [*lines, ""]


def limit_of_ranks(rows: list[dict]) -> list[str]:
    """Why few networks of nearly the same accuracy have no rank correlation near 1."""
    kept = [row for row in rows if place(row) == "MNIST 0.3" and reference(row) > 0]
    truth = np.array([reference(row) for row in kept])
    draw = np.random.default_rng(0)

    def rho(key: str) -> str:
        return f"{spearmanr([row[key] for row in kept], truth)[0]:.2f}"

    def of_errors(points: float) -> str:
        return f"{np.mean([spearmanr(truth + draw.normal(0, points / 100, len(truth)), truth)[0] for _ in range(2000)]):.2f}"

    pairs = [spearmanr(*draw.binomial(500, truth, (2, len(truth))))[0] for _ in range(2000)]
    low, high = np.quantile(pairs, [0.05, 0.95])
    few = int(np.sum(truth * 500 < 6.5))
    off = np.mean([abs(row["estimate"] - reference(row)) for row in kept if reference(row) * 500 < 6.5])
    return [
        f"**The rank correlation at MNIST 0.3.** {few} of the {len(kept)} networks that are not zero have 1 to 6 images of 500 left. Their estimates are {percent(off)} points off",
        f"on average. The estimate has ρ = {rho('estimate')}, the survivors of 256 probes have {rho('survived')}, and those of 2,048 probes of every image {rho('under_search')}. The reference with",
        f"random errors has {of_errors(0.2)} for a standard deviation of 0.2 points, {of_errors(0.3)} for 0.3 points (1.5 images) and {of_errors(0.5)} for 0.5 points. Two samples of 500 images, drawn with these",
        f"accuracies, have {np.mean(pairs):.2f} with each other (90 % of the draws: {low:.2f} to {high:.2f}). So with 500 images, ρ of 0.97 there would need errors below 1.5 images.",
        "",
    ]


#: The head of the table of networks.
NETWORKS = [
    "| network | source | radius | attacks | long search | estimate | interval | survived | queries |",
    "| --- | --- | ---: | ---: | ---: | ---: | --- | ---: | ---: |",
]


def of_network(row: dict) -> str:
    """A line of the table of networks."""
    long = percent(row["under_search"]) if "under_search" in row else ""
    cells = [f"`{Path(row['file']).stem}`", row["source"], place(row), percent(row["under_attack"]), long, percent(row["estimate"])]
    cells += [f"{percent(row['lower'])} to {percent(row['upper'])}", percent(row["survived"]), f"{row['queries']:.0f}"]
    return "| " + " | ".join(cells) + " |"


def page(rows: list[dict], samples: list[dict]) -> str:
    several = len({row["file"] for row in rows})
    by_source = sorted(rows, key=lambda row: row["source"])
    lower = sum(reference(row) < by_attacks(row) for row in rows)
    unsearched = [row for row in rows if row["under_attack"] > 0 and "under_search" not in row]
    names = [f"`{Path(row['file']).stem}` at {row['size']} ({percent(row['under_attack'])} %)" for row in unsearched]
    left_out = f", except for {', '.join(names)}" if names else ""
    return "\n".join(
        [
            "# The estimate, network by network",
            "",
            f"What `spadework score --probe linf:RADIUS` estimated for {several} networks, at {len(rows)} pairs of network and radius in all,",
            "next to their accuracy under attack. [Probes](probes.md#the-estimate) explains the estimate and its interval.",
            "",
            "![Estimates and their intervals against the accuracy under attacks and the long search](images/estimates.svg)",
            "",
            "A point on the solid line is right. Outside the dashed lines the estimate is more than 10 points off. A dotted line leads to the accuracy under",
            "attacks alone, where it is larger.",
            "",
            "**Two references.** The true robust accuracy is unknown. Every attack gives an upper bound, and the smaller of two bounds is the better one.",
            "",
            "- *Attacks*: the accuracy under the strongest of PGD, APGD-CE, APGD-T and Square on the first 500 test images, in percent, measured with PyTorch (ResNets: PGD).",
            "- *Long search*: the share of the same images that survives our own search with up to 2,048 probes of every image (`--probes 2048`). Every image that it",
            f"  breaks is really broken. It ends early for samples that resist with a chance of at least 98 %. It was run where attacks leave any image{left_out}.",
            f"- *Attacks and the long search*: the smaller one of both, which is still an upper bound. It is below attacks alone in {lower} of the {len(rows)} pairs.",
            "",
            "The second reference uses our own search, so it can only lower the reference. That helps an estimate that is below the attacks, and hurts one that is above. The",
            "search is the one that the estimate extrapolates, only longer. So both references are shown.",
            "",
            "- *Weights*: those in the code, which were fitted to 57 of these networks (not the ResNets) and to attacks alone. Errors with each source left out of the fit are",
            "  [on the page about probes](probes.md#how-well-it-works). They are about as large.",
            "- *Errors* are estimate minus reference, in percentage points; *width* is that of the interval, and *queries* are probes per image.",
            "- *Covered*: the share of the pairs whose interval contains the reference. *Without zeros* leaves out networks of which no image survives; after ρ, the number",
            "  of networks is in parentheses.",
            "",
            "```text",
            "python scripts/measure_estimates.py spadework data --record experiments/results/estimates.jsonl --reference-probes 2048 --threads 1",
            "python scripts/plot_estimates.py",
            "```",
            "",
            "## By data and radius",
            "",
            "Attacks and the long search:",
            "",
            *table_by("data and radius", rows, place, reference),
            "Attacks alone:",
            "",
            *table_by("data and radius", rows, place, by_attacks),
            *limit_of_ranks(rows),
            "## Survivors of searches",
            "",
            "The share of the images that survives a search is an upper bound. The table has how far it is above the reference (attacks and the long search) on average, with the",
            "largest difference in parentheses, in points; likewise for the estimate, which may be above or below. *256 probes* is the search that the estimate is made from, with",
            "its pilots; *2,048 probes* is that number for every image. The pairs are those in which attacks leave any image. Queries are probes per image.",
            "",
            *survivors(rows),
            "## By source",
            "",
            "Attacks and the long search:",
            "",
            *table_by("source", by_source, lambda row: row["source"], reference),
            "Attacks alone:",
            "",
            *table_by("source", by_source, lambda row: row["source"], by_attacks),
            *plot_samples.section(samples),
            *plot_l2.section(plot_l2.read()),
            "## All networks",
            "",
            *NETWORKS,
            *map(of_network, rows),
            "",
        ]
    )


def main() -> None:
    rows = [json.loads(text) for text in RECORD.read_text().splitlines()]
    order = list(COLORS)
    rows.sort(key=lambda row: (order.index((row["data"], row["size"])), row["under_attack"], row["file"]))
    samples = plot_samples.read()
    FIGURE.write_text(figure(rows))
    if samples:
        plot_samples.FIGURE.write_text(plot_samples.figure(samples))
    PAGE.write_text(page(rows, samples))


if __name__ == "__main__":
    main()
