"""What a notebook shows of a report: the answer in a sentence, a small table, and the weakest samples with their pictures. Of a comparison:
what the models are ranked by, and one row per model."""

from __future__ import annotations

import base64
import html
import struct
import zlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from ._comparison import Comparison
    from ._report import Report

# Flattened images whose shape is known by their size: digits, MNIST, CIFAR-10.
KNOWN_SHAPES = {64: (8, 8), 784: (28, 28), 3072: (3, 32, 32)}
# Larger pictures are shown by every other pixel.
LARGEST = 64
SIDE = 56


def thumbnails(inputs: Any, indices: npt.NDArray[np.int64]) -> tuple[str, ...]:
    """The chosen samples as pictures in `data:` addresses; nothing where samples are not images."""
    shape = tuple(getattr(inputs, "shape", ()))
    image_shape = KNOWN_SHAPES.get(int(shape[1])) if len(shape) == 2 else shape[1:]
    if image_shape is None or len(image_shape) not in (2, 3) or min(image_shape) < 1:
        return ()
    is_color = len(image_shape) == 3
    channels_first = is_color and image_shape[0] in (1, 3)
    if is_color and not channels_first and image_shape[2] not in (1, 3):
        return ()
    try:
        chosen = np.stack([np.asarray(inputs[int(index)], dtype=np.float64) for index in indices])
    except (TypeError, ValueError, RuntimeError, KeyError):
        return ()
    chosen = chosen.reshape(len(indices), *image_shape)
    if channels_first:
        chosen = np.moveaxis(chosen, 1, -1)
    return tuple(png_address(image if image.ndim == 3 else image[..., None]) for image in chosen)


def png_address(image: npt.NDArray[np.float64]) -> str:
    """An image of shape (height, width, 1 or 3) as a PNG file in a `data:` address, stretched from its least to its largest value."""
    step = -(-max(image.shape[:2]) // LARGEST)
    image = image[::step, ::step]
    low, high = float(np.nanmin(image)), float(np.nanmax(image))
    pixels = np.nan_to_num((image - low) * (255 / (high - low) if high > low else 0)).astype(np.uint8)
    height, width, channels = pixels.shape
    rows = np.concatenate([np.zeros((height, 1), np.uint8), pixels.reshape(height, -1)], axis=1)

    def chunk(name: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))

    head = struct.pack(">IIBBBBB", width, height, 8, 2 if channels == 3 else 0, 0, 0, 0)
    parts = [chunk(b"IHDR", head), chunk(b"IDAT", zlib.compress(rows.tobytes())), chunk(b"IEND", b"")]
    return "data:image/png;base64," + base64.b64encode(b"\x89PNG\r\n\x1a\n" + b"".join(parts)).decode()


def html_table(titles: Sequence[str], rows: Any) -> str:
    """A table of plain text."""

    def line(tag: str, cells: Any) -> str:
        return "<tr>" + "".join(f"<{tag}>{html.escape(str(cell))}</{tag}>" for cell in cells) + "</tr>"

    body = "".join(line("td", row) for row in rows)
    return f"<table><thead>{line('th', titles)}</thead><tbody>{body}</tbody></table>"


def report_html(report: Report) -> str:
    parts = [f"<p><b>{html.escape(verdict(report))}</b></p>", html_table(["number", "value", "95 % interval"], numbers(report))]
    parts += ["<p>weakest samples</p>", pictures(report), html_table(*weakest(report))]
    parts += [f"<p>note: {html.escape(note)}</p>" for note in report.notes]
    return f"<div>{''.join(parts)}</div>"


def comparison_html(comparison: Comparison) -> str:
    models = comparison.document["models"]
    titles = {"accuracy": "accuracy", "unevenness": "unevenness", "overlap": "neighborhood overlap"}
    known = {key: title for key, title in titles.items() if any(key in model.get("estimates", {}) for model in models)}
    what = {**titles, "model-score": "SPADE score"}.get(comparison.ranked_by, comparison.ranked_by)
    rows = [
        [model["rank"], model["name"], *(with_span(key, model.get("estimates", {}).get(key)) for key in known), scored(model)]
        for model in models
    ]
    title = f"{len(models)} models on {comparison.document['samples']:,} samples, most robust first by {what}"
    return f"<div><p><b>{title}</b></p>{html_table(['rank', 'model', *known.values(), 'SPADE score'], rows)}</div>"


def with_span(number: str, found: dict[str, Any] | None) -> str:
    """A number of a model with its 95 % interval. The unevenness is not a share."""
    if found is None:
        return ""
    if number == "unevenness":
        return f"{found['estimate']:.3f} ({found['lower']:.3f} – {found['upper']:.3f})"
    return f"{percent(found['estimate'])} ({span(found)})"


def scored(model: dict[str, Any]) -> str:
    interval = model.get("interval")
    return f"{model['model_score']:.4g}" + (f" ({interval['lower']:.4g} – {interval['upper']:.4g})" if interval else "")


def percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def span(share: dict[str, Any]) -> str:
    return f"{100 * share['lower']:.1f} – {100 * share['upper']:.1f}" if "lower" in share else ""


def verdict(report: Report) -> str:
    """The answer that the document brings along; one of an older version has none."""
    found = report.document.get("verdict")
    if found is None:
        return f"SPADE score {report.model_score:.6g}; larger is less robust, for models of one kind on the same data."
    return " ".join([found["sentence"], *filter(None, [found.get("next_step")])])


def numbers(report: Report) -> list[tuple[str, str, str]]:
    known = report.document.get("estimates", {})
    titles = {
        "accuracy": "accuracy",
        "robust_accuracy": "estimated robust accuracy",
        "survived": "survived (upper bound)",
        "overlap": "neighborhood overlap",
    }
    rows = [(title, percent(known[key]["estimate"]), span(known[key])) for key, title in titles.items() if known.get(key)]
    change = report.document.get("output_change")
    if change is not None:
        what = f"change of output, standard deviations of the {change['unit']}"
        rows.append((what, f"{change['median']:.3g}", f"95 % below {change['p95']:.3g}"))
    interval = "" if report.interval is None else f"{report.interval.lower:.6g} – {report.interval.upper:.6g}"
    rows.append(("SPADE score", f"{report.model_score:.6g}", interval))
    return [*rows, ("samples", f"{len(report.node_scores):,}", ""), ("neighbors", str(report.neighbors), "")]


def weakest(report: Report) -> tuple[list[str], list[list[Any]]]:
    """Titles and rows of the weakest samples."""
    beside = {"margin": report.margins, "fragility": report.fragility, "overlap": report.overlap}
    columns = {"score": report.node_scores, **{name: found for name, found in beside.items() if found is not None}}
    has_labels = report.labels is not None
    rows = [
        [rank, index, *([word] if has_labels else []), *(f"{column[index]:.4g}" for column in columns.values())]
        for rank, (index, word) in enumerate(report._top_with_words(), start=1)
    ]
    return ["rank", "sample", *(["label"] if has_labels else []), *columns], rows


def pictures(report: Report) -> str:
    """The weakest samples side by side, where they are images."""
    if not report.thumbnails:
        return ""
    figure = (
        '<figure style="display:inline-block;margin:2px;text-align:center"><img src="{}" alt="sample {}" width="{}" '
        'style="image-rendering:pixelated"><figcaption>#{}{}</figcaption></figure>'
    )
    shown = zip(report.thumbnails, report._top_with_words())
    captions = [(picture, index, "" if word is None else f": {html.escape(str(word))}") for picture, (index, word) in shown]
    return "".join(figure.format(picture, index, SIDE, index, label) for picture, index, label in captions)
