"""Writes the page and the figure of the estimates, network by network: docs/estimates.md and docs/images/estimates.svg.

usage: python scripts/plot_estimates.py

Reads experiments/results/estimates.jsonl, which `scripts/measure_estimates.py --record` wrote. Needs NumPy and SciPy.
"""

from __future__ import annotations

import html
import json
from pathlib import Path

import numpy as np
from scipy.stats import spearmanr

ROOT = Path(__file__).resolve().parent.parent
RECORD = ROOT / "experiments/results/estimates.jsonl"
PAGE = ROOT / "docs/estimates.md"
FIGURE = ROOT / "docs/images/estimates.svg"
#: Data and size with the color of its points, told apart by people with any kind of color vision.
COLORS = {
    ("mnist", "0.1"): "#0072b2",
    ("mnist", "0.2"): "#56b4e9",
    ("mnist", "0.3"): "#009e73",
    ("cifar10", "2/255"): "#e69f00",
    ("cifar10", "8/255"): "#d55e00",
}
DATA = {"mnist": "MNIST", "cifar10": "CIFAR-10"}
LEFT, TOP, SIDE, LEGEND = 56, 36, 420, 140
STYLE = (
    "text{font:12px 'DejaVu Sans',Verdana,sans-serif;fill:#1d2733}.axis{text-anchor:middle}.name{text-anchor:end}"
    ".title{font-weight:bold}.grid{stroke:#d5dbe1}.equal{stroke:#5b6773}.ten{stroke:#5b6773;stroke-dasharray:4}"
)


def place(row: dict) -> str:
    return f"{DATA[row['data']]} {row['size']}"


def across(share: float) -> float:
    return LEFT + SIDE * share


def up(share: float) -> float:
    return TOP + SIDE * (1 - share)


def line(kind: str, x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<line class="{kind}" x1="{across(x1):.1f}" y1="{up(y1):.1f}" x2="{across(x2):.1f}" y2="{up(y2):.1f}"/>'


def frame() -> list[str]:
    """Axes in percent, the line on which estimates are right, and those on which they are 10 points off."""
    body = []
    for share in (0, 0.2, 0.4, 0.6, 0.8, 1):
        body += [line("grid", share, 0, share, 1), line("grid", 0, share, 1, share)]
        body.append(f'<text class="axis" x="{across(share):.1f}" y="{up(0) + 18:.1f}">{100 * share:.0f} %</text>')
        body.append(f'<text class="name" x="{LEFT - 6}" y="{up(share) + 4:.1f}">{100 * share:.0f} %</text>')
    body += [line("equal", 0, 0, 1, 1), line("ten", 0, 0.1, 0.9, 1), line("ten", 0.1, 0, 1, 0.9)]
    body.append(f'<text class="axis" x="{across(0.5):.1f}" y="{up(0) + 38:.1f}">accuracy under attack</text>')
    return body


def point(row: dict) -> str:
    """A network at one size, with its interval."""
    x, color = row["under_attack"], COLORS[row["data"], row["size"]]
    name = html.escape(f"{Path(row['file']).stem} at {row['size']}: {percent(row['estimate'])} for {percent(x)} %")
    whisker = line("", x, row["lower"], x, row["upper"]).replace('class=""', 'stroke-opacity=".35"')
    dot = f'<circle cx="{across(x):.1f}" cy="{up(row["estimate"]):.1f}" r="3.5"/>'
    return f'<g stroke="{color}" fill="{color}"><title>{name}</title>{whisker}{dot}</g>'


def figure(rows: list[dict]) -> str:
    width, height = LEFT + SIDE + LEGEND, TOP + SIDE + 52
    legend = []
    for at, (data, size) in enumerate(COLORS):
        y = TOP + 12 + 20 * at
        legend.append(f'<circle cx="{across(1) + 16:.1f}" cy="{y - 4}" r="4" fill="{COLORS[data, size]}"/>')
        legend.append(f'<text x="{across(1) + 26:.1f}" y="{y}">{DATA[data]} {size}</text>')
    head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" role="img">'
    title = '<text class="title" x="8" y="18">Estimated robust accuracy, with its 95 % interval</text>'
    background = '<rect width="100%" height="100%" fill="#fff"/>'
    lines = [head, f"<style>{STYLE}</style>", background, title, *frame(), *map(point, rows), *legend, "</svg>"]
    return "\n".join(lines) + "\n"


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


def page(rows: list[dict]) -> str:
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
    FIGURE.write_text(figure(rows))
    PAGE.write_text(page(rows))


if __name__ == "__main__":
    main()
