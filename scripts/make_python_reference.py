#!/usr/bin/env python3
"""Writes docs/reference/python.md from the docstrings of the Python package, or checks with --check that it is up to date.

The sources are read, not imported: nothing has to be built. Sections are those of numpydoc. Their examples run in the doc tests
(scripts/test-python).
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
import textwrap
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "crates" / "spadework-py" / "python" / "spadework"
PAGE = ROOT / "docs" / "reference" / "python.md"
# Modules that are imported by their own names.
MODULES = ["torch", "onnx", "perturb", "art", "foolbox", "dask", "slepc"]
HEAD = """# Python

<!-- Made of the docstrings by scripts/generate; do not edit. -->

`help(spadework.score)` shows the same. [How to use the package](../python.md) comes first.
"""


def public_names(tree: ast.Module) -> list[str]:
    """`__all__`, or what a module defines without an underscore."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and any(getattr(target, "id", "") == "__all__" for target in node.targets):
            return [name for name in ast.literal_eval(node.value) if not name.startswith("__")]
    defined = [node.name for node in tree.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))]
    return [name for name in defined if not name.startswith("_")]


def definitions(paths: list[Path]) -> dict[str, ast.FunctionDef | ast.ClassDef]:
    found = {}
    for path in paths:
        text = path.read_text(encoding="utf-8")
        for node in ast.parse(text).body:
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and "overload" not in decorators(node):
                node.source_lines = text.splitlines()
                found.setdefault(node.name, node)
    return found


def signature(node: ast.FunctionDef, is_method: bool = False) -> str:
    """The arguments with their defaults; their types are in the table below."""
    given = node.args
    plain = [*given.posonlyargs, *given.args]
    defaults = [None] * (len(plain) - len(given.defaults)) + list(given.defaults)
    if is_method and not is_static(node):
        plain, defaults = plain[1:], defaults[1:]

    def one(argument: ast.arg, default: ast.expr | None) -> str:
        return argument.arg if default is None else f"{argument.arg}={ast.unparse(default)}"

    parts = [one(argument, default) for argument, default in zip(plain, defaults)]
    if given.vararg:
        parts.append(f"*{given.vararg.arg}")
    elif given.kwonlyargs:
        parts.append("*")
    parts += [one(argument, default) for argument, default in zip(given.kwonlyargs, given.kw_defaults)]
    if given.kwarg:
        parts.append(f"**{given.kwarg.arg}")
    return f"{node.name}({', '.join(parts)})"


def decorators(node: ast.FunctionDef | ast.ClassDef) -> list[str]:
    return [ast.unparse(decorator) for decorator in node.decorator_list]


def is_static(node: ast.FunctionDef) -> bool:
    return "staticmethod" in decorators(node)


def cell(lines: list[str]) -> str:
    return " ".join(" ".join(lines).split()).replace("|", "\\|")


def entries(lines: list[str]) -> list[tuple[str, str]]:
    """Names with what is said of them: a line at the margin, and the lines below that are indented."""
    found: list[tuple[str, list[str]]] = []
    for line in lines:
        if line and not line[0].isspace():
            found.append((line, []))
        elif found and line.strip():
            found[-1][1].append(line.strip())
    return [(name, cell(about)) for name, about in found]


def table(title: str, lines: list[str]) -> str:
    rows = []
    for entry, about in entries(lines):
        name, _, kind = entry.partition(" : ")
        kind = f"{kind}. " if kind else ""
        rows.append(f"| `{name}` | {kind.replace('|', chr(92) + '|')}{about} |")
    return f"| {title} | |\n| --- | --- |\n" + "\n".join(rows)


def prose(lines: list[str]) -> str:
    """Paragraphs as they are; sessions of the interpreter as code."""
    text, in_session = [], False
    for line in lines:
        starts = line.startswith(">>>")
        if starts and not in_session:
            text += ([""] if text and text[-1] else []) + ["```pycon"]
        if in_session and not line.strip():
            text.append("```")
        in_session = starts or (in_session and bool(line.strip()))
        text.append(line if in_session else plain(line))
    if in_session:
        text.append("```")
    return "\n".join(text).strip()


def plain(line: str) -> str:
    return line.replace("``", "`").replace("<", "&lt;")


def sections(docstring: str) -> list[tuple[str, list[str]]]:
    """The parts of a docstring by their titles; the first has none."""
    found: list[tuple[str, list[str]]] = [("", [])]
    lines = docstring.splitlines()
    index = 0
    while index < len(lines):
        underlined = index + 1 < len(lines) and re.fullmatch(r"-{3,}", lines[index + 1].strip())
        if underlined and lines[index].strip():
            found.append((lines[index].strip(), []))
            index += 2
        else:
            found[-1][1].append(lines[index])
            index += 1
    return found


def described(node: ast.AST) -> str:
    docstring = ast.get_docstring(node)
    if not docstring:
        return ""
    parts = []
    for title, lines in sections(docstring):
        if title in ("", "Notes"):
            parts.append(prose(lines))
        elif title == "Examples":
            parts.append(prose(lines))
        else:
            parts.append(plain(table(title, lines)))
    return "\n\n".join(part for part in parts if part)


def typed(call: str) -> str:
    """A call as a block, wrapped between arguments."""
    lines = textwrap.wrap(call, 110, subsequent_indent="    ", break_long_words=False, break_on_hyphens=False)
    return "\n".join(["```text", *lines, "```"])


def comment_above(field: ast.AnnAssign, lines: list[str]) -> str:
    """The `#:` comment that ends in the line before a field."""
    about: list[str] = []
    at = field.lineno - 2
    while at >= 0 and lines[at].strip().startswith("#:"):
        about.insert(0, lines[at].strip().removeprefix("#:").strip())
        at -= 1
    return cell(about)


def fields(node: ast.ClassDef, known: dict[str, ast.FunctionDef | ast.ClassDef]) -> list[tuple[str, str]]:
    """The public fields of a class and of its bases in this package, with their types and comments."""
    found: list[tuple[str, str]] = []
    for base in node.bases:
        parent = known.get(getattr(base, "id", ""))
        if isinstance(parent, ast.ClassDef):
            found += fields(parent, known)
    for item in node.body:
        if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name) and not item.target.id.startswith("_"):
            about = comment_above(item, node.source_lines)
            kind = ast.unparse(item.annotation).replace("npt.", "").replace("np.", "").replace("|", "\\|")
            found.append((item.target.id, f"{kind}. {about}".strip()))
    return found


def fields_table(node: ast.ClassDef, known: dict[str, ast.FunctionDef | ast.ClassDef]) -> str:
    """The fields of a class whose docstring does not list them; exceptions and estimators do."""
    listed = {title for title, _ in sections(ast.get_docstring(node) or "")} & {"Attributes", "Parameters"}
    rows = [] if listed else [f"| `{name}` | {plain(about)} |" for name, about in fields(node, known)]
    return "\n\n| Attributes | |\n| --- | --- |\n" + "\n".join(rows) if rows else ""


def members(node: ast.ClassDef) -> str:
    """Properties in a table, methods with what they take."""
    methods = [item for item in node.body if isinstance(item, ast.FunctionDef) and not item.name.startswith("_")]
    properties = [item for item in methods if any("property" in decorator for decorator in decorators(item))]
    text = ""
    if properties:
        rows = [f"| `{item.name}` | {plain(cell([ast.get_docstring(item) or '']))} |" for item in properties]
        text += "\n\n| Properties | |\n| --- | --- |\n" + "\n".join(rows)
    for item in methods:
        if item not in properties and ast.get_docstring(item):
            heading = f"{node.name}.{item.name}"
            text += f"\n\n#### {heading}\n\n{typed(node.name + '.' + signature(item, is_method=True))}\n\n{described(item)}"
    return text


def section(name: str, node: ast.FunctionDef | ast.ClassDef, known: dict[str, ast.FunctionDef | ast.ClassDef]) -> str:
    if isinstance(node, ast.FunctionDef):
        return f"\n### {name}\n\n{typed(signature(node))}\n\n{described(node)}\n"
    return f"\n### {name}\n\n{described(node)}{fields_table(node, known)}{members(node)}\n"


def page() -> str:
    """The whole page, and an error for a public name that has no docstring."""
    text, missing = HEAD, []
    root = ast.parse((PACKAGE / "__init__.py").read_text(encoding="utf-8"))
    everywhere = definitions(sorted(PACKAGE.glob("_*.py")))
    groups = [("spadework", root, everywhere)]
    for module in MODULES:
        path = PACKAGE / f"{module}.py"
        groups.append((f"spadework.{module}", ast.parse(path.read_text(encoding="utf-8")), definitions([path])))
    for module, tree, known in groups:
        nodes = [(name, known.get(name)) for name in public_names(tree)]
        nodes = [(name, node) for name, node in nodes if node is not None]
        # Functions first: they are what people call.
        nodes.sort(key=lambda pair: isinstance(pair[1], ast.ClassDef))
        text += f"\n## {module}\n\n{described(tree)}\n"
        for name, node in nodes:
            if not ast.get_docstring(node):
                missing.append(f"{module}.{name}")
            text += section(name, node, known)
    if missing:
        sys.exit(f"no docstring: {', '.join(missing)}")
    return re.sub(r"\n{3,}", "\n\n", "\n".join(line.rstrip() for line in text.splitlines())) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="fail where the page is out of date, and write nothing")
    generated = page()
    if parser.parse_args().check:
        if PAGE.read_text(encoding="utf-8") != generated:
            sys.exit(f"{PAGE.relative_to(ROOT)} is out of date: scripts/generate writes it again")
    else:
        PAGE.write_text(generated, encoding="utf-8")


if __name__ == "__main__":
    main()
