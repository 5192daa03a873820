#!/usr/bin/env python3
"""Writes docs/schemas/*.json and docs/reference/fields.md from the types of results, or checks with --check that they are up to date.

Results are plain data in crates/spadework-document/src, and numbers that other crates write as they have them: structs and enums
that serde writes, with a comment on every field. This script reads their sources, takes types and serde's attributes for a JSON Schema and the comments for its descriptions, and stops
at anything that it does not know. That the schemas are right is proved elsewhere: real results are validated against them
(crates/spadework-py/tests/test_schemas.py).

Every object refuses fields that are not described. So a new field fails the tests until this script is run again.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
CRATES = ROOT / "crates"
SOURCES = CRATES / "spadework-document" / "src"
SCHEMAS = ROOT / "docs" / "schemas"
PAGE = ROOT / "docs" / "reference" / "fields.md"
# Every document: its module, its type, the constant with the name of its layout, and what prints it.
DOCUMENTS = [
    ("score", "ScoreDocument", "SCHEMA", "`score --json`, `result.json` of `score --out`"),
    ("comparison", "CompareDocument", "SCHEMA", "`compare --json`, `result.json` of `compare --out`"),
    ("sweep", "SweepDocument", "SCHEMA", "`sweep --json`, `result.json` of `sweep --out`"),
    ("layers", "LayersDocument", "SCHEMA", "`layers --json`, `result.json` of `layers --out`"),
    ("select", "SelectDocument", "SCHEMA", "`select --json`"),
    ("moved", "MovedDocument", "SCHEMA", "`select --moved --json`"),
    ("check", "CheckDocument", "SCHEMA", "`check --json`"),
    ("plan", "PlanDocument", "SCHEMA", "`score --plan --json`"),
    ("distortion", "DistortionDocument", "SCHEMA", "`distortion --json`"),
    ("embed", "EmbedDocument", "SCHEMA", "`embed --json`"),
    ("graphs", "ConstructionsDocument", "SCHEMA", "`graphs --json`"),
    ("new_samples", "NewSamplesDocument", "SCHEMA", "`score --reference --json`"),
    ("stages/graphs", "GraphStage", "stages/mod:SCHEMA", "`graph --json`"),
    ("eigen", "EigenDocument", "SCHEMA", "`eigen --json`"),
    ("model", "ModelDescription", "SCHEMA", "`model --json`"),
    ("predict", "PredictDocument", "SCHEMA", "`predict --json`"),
    ("corrupt", "CorruptDocument", "SCHEMA", "`corrupt --json`"),
    ("data", "DataListDocument", "SCHEMA", "`data --json`"),
    ("data", "DataCheckDocument", "CHECK_SCHEMA", "`data DIR --json`"),
    ("attack", "AttackDocument", "SCHEMA", "`attack --json`"),
    ("clever", "CleverDocument", "SCHEMA", "`clever --json`"),
    ("train", "TrainDocument", "SCHEMA", "`train --json`, `result.json` of `train --out`"),
]
NUMBERS = {"f32": "number", "f64": "number", "bool": "boolean", "String": "string", "str": "string", "PathBuf": "string"}
COUNTS = {"usize", "u8", "u16", "u32", "u64"}


@dataclass
class Field:
    name: str
    about: str
    type: str
    serde: str


@dataclass
class Type:
    name: str
    module: str
    about: str
    serde: str
    is_enum: bool
    # Whether fields that are `None` are left out (`skip_serializing_none`).
    skips_none: bool = False
    fields: list[Field] = field(default_factory=list)
    # Of an enum: name, comment and content of each variant.
    variants: list[tuple[str, str, Any]] = field(default_factory=list)
    parameters: list[str] = field(default_factory=list)

    @property
    def title(self) -> str:
        """The name of a part: a document's own word for it, without the suffix that all have."""
        return self.name.removesuffix("Document")


def stop(message: str) -> None:
    sys.exit(f"scripts/make_schemas.py: {message}")


def plain(comment: list[str]) -> str:
    """A comment without the links of rustdoc."""
    text = " ".join(line.strip() for line in comment)
    return re.sub(r"\[(`[^`]+`)\](\([^)]*\))?", r"\1", text)


def body_after(text: str, start: int) -> tuple[str, int]:
    """What stands between the brace at `start` and its counterpart."""
    depth = 0
    for at in range(start, len(text)):
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        if depth == 0:
            return text[start + 1 : at], at
    stop("a brace is not closed")
    raise AssertionError


def split_at_commas(text: str) -> list[str]:
    """Parts between commas that are in no bracket."""
    parts, depth, last = [], 0, 0
    for at, letter in enumerate(text):
        depth += {"<": 1, "(": 1, "[": 1, "{": 1, ">": -1, ")": -1, "]": -1, "}": -1}.get(letter, 0)
        if letter == "," and depth == 0:
            parts.append(text[last:at])
            last = at + 1
    return [part.strip() for part in [*parts, text[last:]] if part.strip()]


def items(body: str) -> list[tuple[str, str, str]]:
    """Fields or variants with their comments and serde's attributes: (comment, attributes, the rest)."""
    found, comment, serde, rest = [], [], [], ""

    def finish() -> None:
        nonlocal comment, serde, rest
        if rest.strip():
            found.append((plain(comment), " ".join(serde), rest.strip().rstrip(",")))
        comment, serde, rest = [], [], ""

    depth = 0
    for line in body.splitlines():
        stripped = line.strip()
        if depth == 0 and stripped.startswith("///"):
            comment.append(stripped[3:])
        elif depth == 0 and stripped.startswith("#[serde("):
            serde.append(stripped[len("#[serde(") : -2])
        elif depth == 0 and stripped == "#[serialize_always]":
            serde.append("serialize_always")
        elif depth == 0 and (stripped.startswith("//") or stripped.startswith("#[")):
            continue
        else:
            rest += line + "\n"
            depth += sum({"{": 1, "(": 1, "<": 1, "[": 1, "}": -1, ")": -1, ">": -1, "]": -1}.get(c, 0) for c in stripped)
            if depth == 0 and stripped.endswith(","):
                finish()
    finish()
    return found


def parsed_fields(body: str) -> list[Field]:
    fields = []
    for about, serde, rest in items(body):
        found = re.fullmatch(r"(?:pub(?:\([^)]*\))? )?(\w+):\s*(.+)", rest, re.DOTALL)
        if not found:
            stop(f"what is this field? {rest}")
        fields.append(Field(found[1], about, " ".join(found[2].split()), serde))
    return fields


HEAD = re.compile(
    r"(?P<above>(?:^(?:///|#\[).*\n)+)^pub (?P<kind>struct|enum) (?P<name>\w+)(?P<parameters><[^{;(]*>)?(?P<open> \{|\()", re.MULTILINE
)


def source_of(module: str) -> Path:
    """The file of a module of documents, or of one that is named by its path below `crates`."""
    return (CRATES / module.removeprefix("/") if module.startswith("/") else SOURCES / module).with_suffix(".rs")


def types_of(module: str) -> dict[str, Type]:
    """Every type of a module that serde writes."""
    text = source_of(module).read_text(encoding="utf-8").split("#[cfg(test)]\nmod tests")[0]
    found = {}
    for head in HEAD.finditer(text):
        above = head["above"].splitlines()
        if not any("Serialize" in line for line in above if line.startswith("#[derive")):
            continue
        about = plain([line[3:] for line in above if line.startswith("///")])
        serde = " ".join(line[len("#[serde(") : -2] for line in above if line.startswith("#[serde("))
        parameters = [part.split(":")[0].strip() for part in split_at_commas((head["parameters"] or "<>")[1:-1])]
        made = Type(head["name"], module, about, serde, head["kind"] == "enum", parameters=parameters)
        made.skips_none = "#[skip_serializing_none]" in above
        if head["open"] == "(":
            inner = text[head.end() : text.index(");", head.end())]
            made.serde += " transparent"
            made.fields = [Field("0", about, inner.replace("pub ", "").strip(), "")]
        else:
            body, _ = body_after(text, head.end() - 1)
            if made.is_enum:
                made.variants = [variant(about, rest) for about, _, rest in items(body)]
            else:
                made.fields = parsed_fields(body)
        found[made.name] = made
    return found


def variant(about: str, rest: str) -> tuple[str, str, Any]:
    name = re.match(r"\w+", rest)
    if not name:
        stop(f"what is this variant? {rest}")
    after = rest[name.end() :].strip()
    if not after:
        return name[0], about, None
    if after.startswith("("):
        return name[0], about, after[1:-1].strip().rstrip(",")
    return name[0], about, parsed_fields(body_after(after, 0)[0])


def imports_of(module: str) -> dict[str, str]:
    """Types of other modules of the crate, by the module they come from."""
    text = source_of(module).read_text(encoding="utf-8")
    found = {}
    for source, names in re.findall(r"^use (?:crate|super)::([\w:]*?)(?:::)?(\w+|\{[^}]*\});", text, re.MULTILINE | re.DOTALL):
        for name in re.findall(r"\w+", names):
            found[name] = source.replace("::", "/")
    return found


def module_elsewhere(name: str, module: str) -> str | None:
    """The module of another crate, or of the same one outside the documents, that defines a type."""
    text = source_of(module).read_text(encoding="utf-8")
    crates = [crate.replace("_", "-") for crate in re.findall(r"^use (spadework\w*)::[^;]*\b" + name + r"\b", text, re.MULTILINE)]
    if module.startswith("/"):
        crates.append(module.split("/")[1])
    # A parameter of a document that is named like the type that is written in its place.
    if re.search(rf"\b{name}: Serialize", text):
        crates.append("spadework-nn")
    for crate in crates:
        for path in sorted((CRATES / crate / "src").rglob("*.rs")):
            if re.search(rf"^pub (?:struct|enum) {name}\b", path.read_text(encoding="utf-8"), re.MULTILINE):
                return "/" + path.relative_to(CRATES).with_suffix("").as_posix()
    return None


class Schema:
    """The schema of one document, with the parts that it refers to."""

    def __init__(self) -> None:
        self.parts: dict[str, Any] = {}
        self.named: dict[str, str] = {}
        self.modules: dict[str, dict[str, Type]] = {}

    def types(self, module: str) -> dict[str, Type]:
        if module not in self.modules:
            self.modules[module] = types_of(module)
        return self.modules[module]

    def find(self, name: str, module: str) -> Type:
        known = self.types(module)
        if name in known:
            return known[name]
        source = imports_of(module).get(name)
        candidates = [source, f"stages/{source}", f"{source}/mod"] if source is not None else []
        candidates += ["stages/mod", "note", "request"]
        for candidate in candidates:
            if candidate and (SOURCES / f"{candidate}.rs").exists() and name in self.types(candidate):
                return self.types(candidate)[name]
        elsewhere = module_elsewhere(name, module)
        if elsewhere is not None and name in self.types(elsewhere):
            return self.types(elsewhere)[name]
        stop(f"{module}.rs: where is {name} defined?")
        raise AssertionError

    def of_type(self, text: str, module: str, parameters: list[str]) -> dict[str, Any]:
        text = re.sub(r"^&(?:'\w+ )?", "", text.strip())
        if text in NUMBERS:
            return {"type": NUMBERS[text]}
        if text in COUNTS:
            return {"type": "integer", "minimum": 0}
        if text == "NonZeroUsize":
            return {"type": "integer", "minimum": 1}
        if text in ("i64", "i32"):
            return {"type": "integer"}
        if text in parameters:
            # Fields of another crate.
            return {"type": "object"}
        array = re.fullmatch(r"\[(.+?)(?:; (\d+))?\]", text)
        if array:
            sized = {} if array[2] is None else {"minItems": int(array[2]), "maxItems": int(array[2])}
            return {"type": "array", "items": self.of_type(array[1], module, parameters), **sized}
        pair = re.fullmatch(r"\((.+)\)", text)
        if pair:
            parts = [self.of_type(part, module, parameters) for part in split_at_commas(pair[1])]
            return {"type": "array", "prefixItems": parts, "minItems": len(parts), "maxItems": len(parts)}
        generic = re.fullmatch(r"(\w+)<(.+)>", text, re.DOTALL)
        if generic:
            inside = split_at_commas(generic[2])
            if generic[1] == "Option":
                return nullable(self.of_type(inside[0], module, parameters))
            if generic[1] == "Box":
                return self.of_type(inside[0], module, parameters)
            if generic[1] == "Vec":
                return {"type": "array", "items": self.of_type(inside[0], module, parameters)}
            if generic[1] == "BTreeMap":
                return {"type": "object", "additionalProperties": self.of_type(inside[1], module, parameters)}
            text = generic[1]
        if not re.fullmatch(r"\w+", text):
            stop(f"{module}.rs: what is the type {text}?")
        return self.reference(self.find(text, module))

    def reference(self, found: Type) -> dict[str, Any]:
        key = f"{found.module}:{found.name}"
        if key not in self.named:
            title = found.title if found.title not in self.parts else f"{found.title}2"
            self.named[key] = title
            self.parts[title] = {}
            self.parts[title] = self.part(found)
        return {"$ref": f"#/$defs/{self.named[key]}"}

    def part(self, found: Type) -> dict[str, Any]:
        if found.is_enum:
            return {"description": found.about, **self.of_enum(found)}
        if "transparent" in found.serde:
            return {"description": found.about, **self.of_type(found.fields[0].type, found.module, [])}
        return {"description": found.about, **self.of_fields(found.fields, found)}

    def of_fields(self, fields: list[Field], owner: Type) -> dict[str, Any]:
        properties: dict[str, Any] = {}
        required: list[str] = []
        alternatives: list[dict[str, Any]] = []
        for each in fields:
            if "flatten" in each.serde:
                inner = self.find(re.sub(r"^&(?:'\w+ )?", "", each.type), owner.module)
                if inner.is_enum:
                    alternatives = self.open_variants(inner)
                else:
                    below = self.of_fields(inner.fields, inner)
                    properties |= below["properties"]
                    required += below["required"]
                continue
            if not each.about:
                stop(f"{owner.module}.rs: {owner.name}.{each.name} has no comment")
            made = self.of_type(each.type, owner.module, owner.parameters)
            if is_left_out(each, owner):
                made = not_null(made)
            else:
                required.append(each.name)
            properties[each.name] = {"description": each.about, **made}
        made = {"type": "object", "properties": properties, "required": required}
        if alternatives:
            return {**made, "anyOf": alternatives, "unevaluatedProperties": False}
        return {**made, "additionalProperties": False}

    def open_variants(self, found: Type) -> list[dict[str, Any]]:
        """Variants whose fields are those of the object around them, which is closed in their place."""
        opened = []
        for _, about, content in found.variants:
            fields, owner = content, found
            if isinstance(content, str):
                owner = self.find(re.sub(r"^Box<(.+)>$", r"\1", content), found.module)
                fields = owner.fields
            made = self.of_fields(fields, owner)
            del made["additionalProperties"]
            opened.append({"description": about, **made})
        return opened

    def of_enum(self, found: Type) -> dict[str, Any]:
        if "untagged" in found.serde:
            return {"anyOf": [{**self.of_type(content, found.module, []), "description": about} for _, about, content in found.variants]}
        case = re.search(r'rename_all = "([\w-]+)"', found.serde)
        words = [(spelled(name, case[1] if case else ""), about, content) for name, about, content in found.variants]
        if any(content is not None for _, _, content in words):
            stop(f"{found.module}.rs: {found.name} has variants with content, and is not untagged")
        return {"oneOf": [{"const": word, "description": about} for word, about, _ in words]}


def is_left_out(each: Field, owner: Type) -> bool:
    """Whether a field is not written where it holds nothing."""
    skipped = owner.skips_none and each.type.startswith("Option<") and "serialize_always" not in each.serde
    return skipped or "skip_serializing_if" in each.serde


def spelled(name: str, case: str) -> str:
    words = [word.lower() for word in re.findall(r"[A-Z][a-z0-9]*", name)]
    if case == "lowercase":
        return "".join(words)
    if case == "kebab-case":
        return "-".join(words)
    if case == "snake_case":
        return "_".join(words)
    return name


def nullable(schema: dict[str, Any]) -> dict[str, Any]:
    if "$ref" in schema or "anyOf" in schema:
        return {"anyOf": [schema, {"type": "null"}]}
    return {**schema, "type": [schema["type"], "null"]}


def not_null(schema: dict[str, Any]) -> dict[str, Any]:
    """Of a field that is left out where it would be null."""
    if "anyOf" in schema and schema["anyOf"][-1] == {"type": "null"}:
        return schema["anyOf"][0]
    if isinstance(schema.get("type"), list):
        return {**schema, "type": schema["type"][0]}
    return schema


def layout_of(module: str, constant: str) -> str:
    if ":" in constant:
        module, constant = constant.split(":")
    text = (SOURCES / f"{module}.rs").read_text(encoding="utf-8")
    found = re.search(rf'pub const {constant}: &str = "([^"]+)"', text)
    if not found:
        stop(f"{module}.rs has no {constant}")
    return found[1]


def schema_of(module: str, name: str, constant: str) -> dict[str, Any]:
    made = Schema()
    found = made.find(name, module)
    body = made.of_fields(found.fields, found)
    layout = layout_of(module, constant)
    body["properties"]["schema"] = {"description": "Name and version of the layout.", "const": layout}
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": layout, "description": found.about}
    return {**head, **body, "$defs": dict(sorted(made.parts.items()))}


def file_name(layout: str) -> str:
    """`spadework.new-samples/2` is in `new-samples.json`."""
    return layout.removeprefix("spadework.").split("/")[0]


# The page of fields.


def anchor(heading: str) -> str:
    return re.sub(r"[^\w-]", "", heading.lower().replace(" ", "-"))


def words_of(schema: dict[str, Any]) -> str:
    """A schema in a few words."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}](#{anchor(name)})"
    if "const" in schema:
        return f"`{schema['const']}`"
    if "anyOf" in schema:
        return " or ".join(words_of(each) for each in schema["anyOf"])
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    return " or ".join(kind_in_words(kind, schema) for kind in kinds)


def kind_in_words(kind: str, schema: dict[str, Any]) -> str:
    if kind == "array" and "prefixItems" in schema:
        return "list: " + ", ".join(words_of(each) for each in schema["prefixItems"])
    if kind == "array":
        return f"list of {words_of(schema['items'])}"
    if kind == "object" and isinstance(schema.get("additionalProperties"), dict):
        return f"object of {words_of(schema['additionalProperties'])}"
    return kind


def table_of(schema: dict[str, Any]) -> str:
    rows = []
    for name, each in schema.get("properties", {}).items():
        optional = "" if name in schema["required"] else ", optional"
        about = each["description"].replace("|", "\\|")
        rows.append(f"| `{name}` | {words_of(each)}{optional} | {about} |")
    return "\n| field | type | |\n| --- | --- | --- |\n" + "\n".join(rows) + "\n" if rows else ""


def section(heading: str, schema: dict[str, Any]) -> str:
    text = f"\n## {heading}\n\n{schema['description']}\n{table_of(schema)}"
    if "properties" not in schema and "type" in schema:
        text += f"\n{words_of(schema)}\n"
    for each in [*schema.get("oneOf", []), *schema.get("anyOf", [])]:
        if "properties" in each:
            text += f"\n{each['description']}\n{table_of(each)}"
        else:
            text += f"\n- {words_of(each)}: {each['description']}"
    return text if text.endswith("\n") else text + "\n"


def page_of(schemas: list[tuple[str, str, dict[str, Any]]]) -> str:
    text = """# Fields of the results

<!-- Made of the types in crates/spadework-document by scripts/generate; do not edit. -->

Every result that a command prints with `--json`, or writes as `result.json`, field by field. The JSON Schema files say the same to
programs. The tests validate real results against them. A schema refuses fields that it does not describe. The number at the end of a
layout's name is raised when a field changes its meaning or goes away.

| layout | printed by | schema |
| --- | --- | --- |
"""
    for layout, printed_by, _ in schemas:
        name = file_name(layout)
        text += f"| [`{layout}`](#{anchor(layout)}) | {printed_by} | [{name}.json](../schemas/{name}.json) |\n"
    parts: dict[str, Any] = {}
    for layout, _, schema in schemas:
        text += section(layout, schema)
        for name, part in schema["$defs"].items():
            if parts.setdefault(name, part) != part:
                stop(f"two parts are called {name}: the page has room for one")
    text += "\n# Parts of the results\n"
    return text + "".join(section(name, part) for name, part in sorted(parts.items()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="fail where a file is out of date, and write nothing")
    check = parser.parse_args().check
    schemas = []
    for module, name, constant, printed_by in DOCUMENTS:
        schema = schema_of(module, name, constant)
        schemas.append((schema["title"], printed_by, schema))
    files = {PAGE: page_of(schemas)}
    for layout, _, schema in schemas:
        files[SCHEMAS / f"{file_name(layout)}.json"] = json.dumps(schema, indent=2, ensure_ascii=False) + "\n"
    stale = [path for path, text in files.items() if not path.exists() or path.read_text(encoding="utf-8") != text]
    stale += [path for path in SCHEMAS.glob("*.json") if path not in files]
    if check and stale:
        names = ", ".join(str(path.relative_to(ROOT)) for path in stale)
        sys.exit(f"out of date: {names} (scripts/generate writes them again)")
    if not check:
        for path in SCHEMAS.glob("*.json"):
            path.unlink()
        for path, text in files.items():
            path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
