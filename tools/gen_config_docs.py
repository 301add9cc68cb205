"""Writes docs/operator/configuration-reference.md from the configuration model.

Names, defaults, bounds and descriptions stand in `netclaw.config.schema` alone; a test fails when
the page was not written again after a change there.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from netclaw.config.schema.base import TimeSpan
from netclaw.config.schema.root import Config

PAGE = Path(__file__).resolve().parent.parent / "docs/operator/configuration-reference.md"
HEAD = """# Configuration reference

Written by `tools/gen_config_docs.py` from the configuration model; do not edit. How the file is \
found, overridden and changed: [configuration](configuration.md). Names are matched whatever their \
letter case and written as below.
"""
BOUNDS = (
    ("minimum", "≥ {}"),
    ("exclusiveMinimum", "> {}"),
    ("maximum", "≤ {}"),
    ("exclusiveMaximum", "< {}"),
    ("minItems", "at least {} items"),
    ("maxItems", "at most {} items"),
    ("pattern", ""),
)
WHEN_UNSET = "x-when-unset"
"""What holds where a key has no default of its own: another key may decide it."""
TIME_SPAN = TypeAdapter(TimeSpan).json_schema()["pattern"]
Node = dict[str, Any]


class Reference:
    """The JSON schema of the configuration, walked section by section."""

    def __init__(self) -> None:
        self.root: Node = Config.model_json_schema(by_alias=True, mode="validation")
        self.definitions: Node = self.root.get("$defs", {})

    def resolve(self, node: Node) -> Node:
        """The definition behind a reference, with what stands beside the reference on top."""
        if "$ref" in node:
            named = self.definitions[str(node["$ref"]).rsplit("/", 1)[1]]
            return {**self.resolve(named), **{k: v for k, v in node.items() if k != "$ref"}}
        if "anyOf" in node:
            kept = [option for option in node["anyOf"] if option.get("type") != "null"]
            if len(kept) == 1:
                inner = self.resolve(kept[0])
                return {**inner, **{k: v for k, v in node.items() if k != "anyOf"}}
        return node

    def sections(self, name: str, node: Node) -> Iterator[tuple[str, Node]]:
        """Every object with named keys below `node`, depth first, with its dotted name."""
        node = self.resolve(node)
        if node.get("properties"):
            yield name, node
            for key, child in node["properties"].items():
                yield from self.sections(f"{name}.{key}" if name else key, child)
        extra = node.get("additionalProperties")
        if isinstance(extra, dict):
            yield from self.sections(f"{name}.<name>", extra)

    def is_section(self, node: Node) -> bool:
        """Whether a key has a table of its own."""
        node = self.resolve(node)
        extra = node.get("additionalProperties")
        named = isinstance(extra, dict) and bool(self.resolve(extra).get("properties"))
        return bool(node.get("properties")) or named

    def kind(self, node: Node) -> str:
        """The type of a value, in words."""
        node = self.resolve(node)
        if "enum" in node:
            return ", ".join(f"`{value}`" for value in node["enum"])
        if "const" in node:
            return f"`{json.dumps(node['const'])}`"
        if "anyOf" in node:
            return " or ".join(self.kind(option) for option in node["anyOf"])
        kind = node.get("type", "any value")
        if node.get("pattern") == TIME_SPAN:
            return "time span, `[d.]hh:mm:ss`"
        if kind == "array":
            return f"list of {self.kind(node.get('items', {}))}"
        return {"object": "object", "boolean": "true or false"}.get(kind, str(kind))

    def bounds(self, node: Node) -> str:
        """The limits of a value, in words."""
        node = self.resolve(node)
        words = [form.format(node[key]) for key, form in BOUNDS if key in node and form]
        return ", ".join(words)


def cell(text: str) -> str:
    """Text that cannot end a table cell."""
    return text.replace("|", "\\|").replace("\n", " ")


def row(reference: Reference, name: str, node: Node) -> str:
    """One key of a section."""
    default = node.get("default")
    if default is None:
        default = node.get(WHEN_UNSET)
    shown = "" if default is None or default in ({}, [], "") else f"`{json.dumps(default)}`"
    kind = ", ".join(filter(None, [reference.kind(node), reference.bounds(node)]))
    words = str(reference.resolve(node).get("description", "")).split("\n\n", 1)[0]
    return f"| `{name}` | {cell(kind)} | {cell(shown)} | {cell(words)} |"


def page() -> str:
    """The whole page."""
    reference = Reference()
    parts = [HEAD.rstrip()]
    for name, section in reference.sections("", reference.root):
        keys = {k: v for k, v in section["properties"].items() if not reference.is_section(v)}
        if not keys:
            continue
        words = str(section.get("description", "")).split("\n\n", 1)[0].replace("\n", " ")
        parts.append(f"\n## {name or 'Top level'}\n")
        parts += [f"{words}\n"] if words and name else []
        parts += ["| key | value | default | meaning |", "|---|---|---|---|"]
        parts += [row(reference, key, node) for key, node in keys.items()]
    return "\n".join(parts) + "\n"


def main() -> int:
    """Writes the page; with `--check` only says whether it is as it should be."""
    wanted = page()
    if sys.argv[1:] == ["--check"]:
        is_current = PAGE.exists() and PAGE.read_text() == wanted
        print("current" if is_current else f"run tools/{Path(__file__).name}: {PAGE.name} is stale")
        return 0 if is_current else 1
    PAGE.write_text(wanted)
    return 0


if __name__ == "__main__":
    sys.exit(main())
