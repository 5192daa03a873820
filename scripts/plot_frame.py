"""What the figures of docs/estimates.md have in common: two axes from 0 to 100 %, the diagonal, and a color per data set and radius."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
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
    ".cloud{fill:none;stroke-width:3;stroke-linecap:round;stroke-opacity:.6}"
)


def across(share: float) -> float:
    return LEFT + SIDE * share


def up(share: float) -> float:
    return TOP + SIDE * (1 - share)


def line(kind: str, x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<line class="{kind}" x1="{across(x1):.1f}" y1="{up(y1):.1f}" x2="{across(x2):.1f}" y2="{up(y2):.1f}"/>'


def frame(along: str) -> list[str]:
    """Axes in percent, and the line on which both are equal."""
    body = []
    for share in (0, 0.2, 0.4, 0.6, 0.8, 1):
        body += [line("grid", share, 0, share, 1), line("grid", 0, share, 1, share)]
        body.append(f'<text class="axis" x="{across(share):.1f}" y="{up(0) + 18:.1f}">{100 * share:.0f} %</text>')
        body.append(f'<text class="name" x="{LEFT - 6}" y="{up(share) + 4:.1f}">{100 * share:.0f} %</text>')
    body.append(line("equal", 0, 0, 1, 1))
    body.append(f'<text class="axis" x="{across(0.5):.1f}" y="{up(0) + 38:.1f}">{along}</text>')
    return body


def svg(title: str, body: list[str], rows: list[dict]) -> str:
    """The figure with its title and the names of the colors that its rows have."""
    shown = {(row["data"], row["size"]) for row in rows}
    width, height = LEFT + SIDE + LEGEND, TOP + SIDE + 52
    legend = []
    for at, (data, size) in enumerate(kind for kind in COLORS if kind in shown):
        y, color = TOP + 12 + 20 * at, COLORS[data, size]
        legend.append(f'<circle cx="{across(1) + 16:.1f}" cy="{y - 4}" r="4" fill="{color}"/>')
        legend.append(f'<text x="{across(1) + 26:.1f}" y="{y}">{DATA[data]} {size}</text>')
    head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" role="img">'
    name = f'<text class="title" x="8" y="18">{title}</text>'
    background = '<rect width="100%" height="100%" fill="#fff"/>'
    return "\n".join([head, f"<style>{STYLE}</style>", background, name, *body, *legend, "</svg>"]) + "\n"
