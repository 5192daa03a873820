"""Writes the page of the estimates, network by network, and its figures: docs/estimates.md and docs/images/{estimates,samples}.svg.

usage: python scripts/plot_estimates.py

Reads experiments/results/estimates.jsonl, which `scripts/measure_estimates.py --record` wrote, and samples.jsonl of `scripts/measure_fragility.py --record`.
Needs NumPy and SciPy.
"""

from __future__ import annotations

import html
import json
from pathlib import Path

import numpy as np
import plot_samples
from plot_frame import COLORS, DATA, ROOT, across, frame, line, svg, up
from scipy.stats import spearmanr

RECORD = ROOT / "experiments/results/estimates.jsonl"
PAGE = ROOT / "docs/estimates.md"
FIGURE = ROOT / "docs/images/estimates.svg"


def place(row: dict) -> str:
    return f"{DATA[row['data']]} {row['size']}"


def point(row: dict) -> str:
    """A network at one size, with its interval."""
    x, color = row["under_attack"], COLORS[row["data"], row["size"]]
    name = html.escape(f"{Path(row['file']).stem} at {row['size']}: {percent(row['estimate'])} for {percent(x)} %")
    whisker = line("", x, row["lower"], x, row["upper"]).replace('class=""', 'stroke-opacity=".35"')
    dot = f'<circle cx="{across(x):.1f}" cy="{up(row["estimate"]):.1f}" r="3.5"/>'
    return f'<g stroke="{color}" fill="{color}"><title>{name}</title>{whisker}{dot}</g>'


def figure(rows: list[dict]) -> str:
    # Between the dashed lines the estimate is at most 10 points off.
    tens = [line("ten", 0, 0.1, 0.9, 1), line("ten", 0.1, 0, 1, 0.9)]
    return svg("Estimated robust accuracy, with its 95 % interval", [*frame("accuracy under attack"), *tens, *map(point, rows)], rows)


def percent(share: float) -> str:
    return f"{100 * share:.1f}"


def summary(name: str, rows: list[dict]) -> str:
    """A line of a table about several rows."""

    def of(key: str) -> np.ndarray:
        return np.array([row[key] for row in rows])

    truth = of("under_attack")
    off = of("estimate") - truth
    covered = np.mean((of("lower") <= truth) & (truth <= of("upper")))

    def rho(kept: np.ndarray) -> str:
        """Of three pairs or more that differ."""
        if kept.sum() < 3 or np.ptp(truth[kept]) == 0:
            return ""
        return f"{spearmanr(of('estimate')[kept], truth[kept])[0]:.3f} ({kept.sum()})"

    cells = [name, str(len(rows)), percent(np.abs(off).mean()), percent(np.abs(off).max()), f"{100 * off.mean():+.1f}"]
    cells += [rho(truth >= 0), rho(truth > 0)]
    cells += [f"{100 * covered:.0f} %", f"{100 * (of('upper') - of('lower')).mean():.0f}", f"{of('queries').mean():.0f}"]
    return "| " + " | ".join(cells) + " |"


def table_by(heading: str, rows: list[dict], key) -> list[str]:
    lines = [f"| {heading} | pairs | mean error | largest error | bias | ρ | ρ without zeros | covered | width | queries |"]
    lines.append("| --- |" + " ---: |" * 9)
    groups: dict[str, list[dict]] = {}
    for row in rows:
        groups.setdefault(key(row), []).append(row)
    lines += [summary(name, group) for name, group in groups.items()]
    return [*lines, summary("all", rows), ""]


#: The head of the table of networks.
NETWORKS = [
    "| network | source | radius | under attack | estimate | interval | survived | queries |",
    "| --- | --- | ---: | ---: | ---: | --- | ---: | ---: |",
]


def of_network(row: dict) -> str:
    """A line of the table of networks."""
    cells = [f"`{Path(row['file']).stem}`", row["source"], place(row), percent(row["under_attack"]), percent(row["estimate"])]
    cells += [f"{percent(row['lower'])} to {percent(row['upper'])}", percent(row["survived"]), f"{row['queries']:.0f}"]
    return "| " + " | ".join(cells) + " |"


def page(rows: list[dict], samples: list[dict]) -> str:
    several = len({row["file"] for row in rows})
    return "\n".join(
        [
            "# The estimate, network by network",
            "",
            f"What `spadework score --probe linf:RADIUS` estimated for {several} networks, at {len(rows)} pairs of network and radius in all,",
            "next to their accuracy under attack. [Probes](probes.md#the-estimate) explains the estimate and its interval.",
            "",
            "![Estimates and their intervals against the accuracy under attack](images/estimates.svg)",
            "",
            "A point on the solid line is right. Outside the dashed lines the estimate is more than 10 points off.",
            "",
            "- *Images*: the first 500 test images, all of them probed.",
            "- *Under attack*: the accuracy under the strongest of PGD, APGD-CE, APGD-T and Square on the same images, in percent, measured with PyTorch.",
            "  Some networks are less robust than these attacks show ([where it errs](probes.md#how-well-it-works)).",
            "- *Weights*: those in the code, which were fitted to these networks. Errors with each source left out of the fit are",
            "  [on the page about probes](probes.md#how-well-it-works). They are about as large.",
            "- *Errors* are estimate minus accuracy under attack, in percentage points; *width* is that of the interval, and *queries* are probes per image.",
            "- *ρ without zeros* leaves out networks of which no image survives the attacks; the number of networks that remain is in parentheses. Many of the accuracies at",
            "  MNIST 0.3 that are not zero are 1 to 6 images of 500. Chance decides their order, so ρ is limited there.",
            "",
            "```text",
            "python scripts/measure_estimates.py spadework data --record experiments/results/estimates.jsonl --threads 1",
            "python scripts/plot_estimates.py",
            "```",
            "",
            "## By data and radius",
            "",
            *table_by("data and radius", rows, place),
            "## By source",
            "",
            *table_by("source", sorted(rows, key=lambda row: row["source"]), lambda row: row["source"]),
            *plot_samples.section(samples),
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
