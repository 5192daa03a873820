"""What MkDocs does to the pages in docs/ beyond its defaults, so that they read in the book as they do on GitHub.

- Links that leave docs/ (to code, results, CONTRIBUTING.md) are checked here and become plain text with the path: the book is
  a folder of its own, and MkDocs knows only what lies in it.
- Anchors are made as GitHub makes them.
- Lists may be indented by two spaces.
- Every decision is in the navigation, and must be in the table of decisions/index.md.
"""

from __future__ import annotations

import logging
import posixpath
import re
from pathlib import Path

from markdown.extensions import Extension

log = logging.getLogger("mkdocs.plugins.book")
ROOT = Path(__file__).resolve().parent.parent
LINK = re.compile(r"(?<!!)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)")
FENCE = re.compile(r"^( *)```.*?^\1```$", re.MULTILINE | re.DOTALL)


def github_anchor(title: str, separator: str = "-") -> str:
    """The anchor that GitHub gives a heading: every space a dash, punctuation gone."""
    kept = re.sub(r"[^\w\- ]", "", title.strip().lower())
    return kept.replace(" ", separator)


def anchors_of(page: Path) -> set[str]:
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    return {github_anchor(re.sub(r"[`*]", "", title)) for title in re.findall(r"^#+ +(.*)$", text, re.MULTILINE)}


class TwoSpaces(Extension):
    """Python-Markdown wants four spaces before what belongs to an item of a list; these pages have two, as on GitHub."""

    def extendMarkdown(self, md):
        md.tab_length = 2


def add_decisions(nav: list) -> None:
    """Fills the entry `Decisions` of the navigation with every decision, by its title."""
    folder = ROOT / "docs" / "decisions"
    listed = (folder / "index.md").read_text(encoding="utf-8")
    explanation = next(part["Explanation"] for part in nav if "Explanation" in part)
    decisions = next(part["Decisions"] for part in explanation if "Decisions" in part)
    for path in sorted(folder.glob("[0-9]*.md")):
        title = path.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ")
        decisions.append({title: f"decisions/{path.name}"})
        if f"({path.name})" not in listed:
            log.warning("decisions/index.md does not list %s", path.name)


def on_config(config):
    add_decisions(config["nav"])
    config["markdown_extensions"].append(TwoSpaces())
    config["mdx_configs"].setdefault("toc", {})["slugify"] = github_anchor
    return config


def leaves_docs(target: str, page: str) -> str | None:
    """The path from the root of the repository of a link that leads out of docs/."""
    path = target.partition("#")[0]
    if not path or re.match(r"[a-z]+:", path):
        return None
    resolved = posixpath.normpath(posixpath.join("docs", posixpath.dirname(page), path))
    return None if resolved == "docs" or resolved.startswith("docs/") else resolved


def on_page_markdown(markdown, page, config, files):
    source = page.file.src_uri

    def outside(match):
        text, target = match.groups()
        path = leaves_docs(target, source)
        if path is None:
            return match[0]
        anchor = target.partition("#")[2]
        if not (ROOT / path).exists():
            log.warning("%s: the link to %s leads nowhere", source, target)
        elif anchor and anchor not in anchors_of(ROOT / path):
            log.warning("%s: %s has no heading #%s", source, path, anchor)
        return text if path in text else f"{text} (`{path}`)"

    parts, end = [], 0
    for block in FENCE.finditer(markdown):
        parts += [LINK.sub(outside, markdown[end : block.start()]), block[0]]
        end = block.end()
    return "".join([*parts, LINK.sub(outside, markdown[end:])])
