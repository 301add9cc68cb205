"""Changes one value in the text of a document and leaves every other character where it is."""

from __future__ import annotations

import json
import re

from netclaw.config.jsonc_tree import Array, Json, Member, Node, Object, Scalar

_INDENT = "  "
_LINE_START = re.compile(r"(?:^|\n)([ \t]*)\Z")

Path = tuple[str | int, ...]
"""Exact keys as they stand in the document, and list positions."""


def replace(text: str, tree: Node, path: Path, value: Json) -> str:
    """The text with the value at `path` set; missing sections are added."""
    node = tree
    for depth, part in enumerate(path):
        found = child(node, part)
        if found is None:
            return _insert(text, node, part, _nested(path[depth + 1 :], value))
        node = found
    indent = _indent_at(text, node.start)
    return text[: node.start] + _dump(value, indent) + text[node.end :]


def remove(text: str, tree: Node, path: Path) -> str:
    """The text without the entry at `path`, which exists, and without its comma and line."""
    parent = tree
    for part in path[:-1]:
        found = child(parent, part)
        if found is None:
            return text
        parent = found
    spans = _spans(parent)
    if str(path[-1]) not in spans:
        return text
    start, end = spans[str(path[-1])]
    before = [span for span in spans.values() if span[0] < start]
    after = _comma_after(text, end)
    if after is not None:
        return _drop_line(text, start, after)
    comma = _comma_after(text, before[-1][1]) if before else None
    text = _drop_line(text, start, end)
    # The entry before is the last one now; its comma stands further up, so its place holds.
    return text if comma is None else text[: comma - 1] + text[comma:]


def child(node: Node, part: str | int) -> Node | None:
    """The value of a key or list position, None if there is none."""
    if isinstance(node, Object):
        return next((member.value for member in node.members if member.key == str(part)), None)
    if isinstance(node, Array) and isinstance(part, int) and part < len(node.items):
        return node.items[part]
    return None


def _spans(node: Node) -> dict[str, tuple[int, int]]:
    """Where each entry of an object or list stands, its key included."""
    if isinstance(node, Object):
        return {member.key: (member.start, member.value.end) for member in node.members}
    items = node.items if isinstance(node, Array) else []
    return {str(at): (item.start, item.end) for at, item in enumerate(items)}


def _nested(path: Path, value: Json) -> Json:
    for part in reversed(path):
        value = [value] if isinstance(part, int) else {part: value}
    return value


def _insert(text: str, node: Node, key: str | int, value: Json) -> str:
    """Add an entry at the end of an object or list; a scalar in the way is replaced."""
    if isinstance(node, Scalar):
        indent = _indent_at(text, node.start)
        return text[: node.start] + _dump(_nested((key,), value), indent) + text[node.end :]
    outer = _indent_at(text, node.start)
    spans = list(_spans(node).values())
    label = f"{json.dumps(str(key), ensure_ascii=False)}: " if isinstance(node, Object) else ""
    if not spans:
        inner = outer + _INDENT
        entry = f"\n{inner}{label}{_dump(value, inner)}"
        # Comments inside an empty section stay in front of the new entry.
        body = text[node.start + 1 : node.end - 1].rstrip()
        return f"{text[: node.start + 1]}{body}{entry}\n{outer}{text[node.end - 1 :]}"
    last_start, last_end = spans[-1]
    is_multiline = "\n" in text[node.start : last_start]
    inner = _indent_at(text, last_start) if is_multiline else outer
    comma = _comma_after(text, last_end)
    break_ = f"\n{inner}" if is_multiline else " "
    entry = f"{break_}{label}{_dump(value, inner)}"
    if comma is not None:
        at = _end_of_remark(text, comma)
        return f"{text[:at]}{entry},{text[at:]}"
    at = _end_of_remark(text, last_end)
    return f"{text[:last_end]},{text[last_end:at]}{entry}{text[at:]}"


def _end_of_remark(text: str, position: int) -> int:
    """After a comment on the same line, so that a remark stays with the value it is about."""
    found = re.compile(r"[ \t]*(?://[^\r\n]*|/\*[^\r\n]*?\*/[ \t]*(?=\r?\n))").match(text, position)
    return found.end() if found else position


def _comma_after(text: str, position: int) -> int | None:
    """The position behind the comma that follows, comments between skipped."""
    found = re.compile(r"(?:[ \t\r\n]+|//[^\r\n]*|/\*.*?\*/)*,", re.DOTALL).match(text, position)
    return found.end() if found else None


def _indent_at(text: str, position: int) -> str:
    """The indentation of the line that a position is on."""
    line = text[text.rfind("\n", 0, position) + 1 : position]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _dump(value: Json, indent: str) -> str:
    dumped = json.dumps(value, indent=2, ensure_ascii=False)
    return dumped.replace("\n", f"\n{indent}")


def _drop_line(text: str, start: int, end: int) -> str:
    """Cut a span, and its whole line if nothing else is left on it."""
    line = _LINE_START.search(text[:start])
    if line is not None:
        rest = re.compile(r"[ \t]*(?=\r?\n)").match(text, end)
        if rest is not None:
            start = line.start(1)
            end = rest.end()
            if text.startswith("\r\n", end):
                end += 2
            elif text.startswith("\n", end):
                end += 1
    return text[:start] + text[end:]


def member_key(node: Node, folded: str) -> str | None:
    """The key of an object as it is written, found without regard to letter case."""
    if not isinstance(node, Object):
        return None
    members: list[Member] = node.members
    return next((each.key for each in members if each.key.casefold() == folded.casefold()), None)
