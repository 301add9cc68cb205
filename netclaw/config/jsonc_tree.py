"""Parses JSON with comments and trailing commas into a tree that knows where everything stands.

Places make two things possible: an error can name line and column, and an edit can change one
value without touching the comments around it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

MAX_DEPTH = 64
_SKIP = re.compile(r"(?:[ \t\r\n]+|//[^\r\n]*|/\*.*?\*/)+", re.DOTALL)
_STRING_BODY = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*+')
_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?")
_WORD = re.compile(r"[A-Za-z_]+")
_WORDS: dict[str, bool | None] = {"true": True, "false": False, "null": None}

Json = dict[str, "Json"] | list["Json"] | str | int | float | bool | None


class JsoncError(ValueError):
    """The text is no JSON with comments: what is wrong, and where (both counted from 1)."""

    def __init__(self, text: str, position: int, problem: str) -> None:
        before = text[:position]
        self.line = before.count("\n") + 1
        self.column = position - (before.rfind("\n") + 1) + 1
        self.problem = problem
        super().__init__(f"line {self.line}, column {self.column}: {problem}")


@dataclass(slots=True)
class Node:
    """A value and its place: `text[start:end]`."""

    start: int
    end: int


@dataclass(slots=True)
class Scalar(Node):
    """A string, number, true, false or null."""

    value: str | int | float | bool | None


@dataclass(slots=True)
class Array(Node):
    """A list in square brackets."""

    items: list[Node] = field(default_factory=list)


@dataclass(slots=True)
class Member:
    """One key of an object; `start` is that of the key's opening quote."""

    start: int
    key: str
    value: Node


@dataclass(slots=True)
class Object(Node):
    """An object in curly brackets; keys are distinct."""

    members: list[Member] = field(default_factory=list)


def plain(node: Node) -> Json:
    """The value without its places."""
    match node:
        case Scalar():
            return node.value
        case Array():
            return [plain(item) for item in node.items]
        case Object():
            return {member.key: plain(member.value) for member in node.members}
        case _:
            raise TypeError(node)


def parse(text: str) -> Node:
    """The tree of a whole document. Raises `JsoncError`."""
    reader = _Reader(text)
    node = reader.value(reader.skip(0), 0)
    rest = reader.skip(node.end)
    if rest != len(text):
        raise JsoncError(text, rest, "nothing may follow the end of the document")
    return node


class _Reader:
    """Recursive descent over the text; each method takes a position and returns a node."""

    def __init__(self, text: str) -> None:
        self._text = text

    def skip(self, position: int) -> int:
        """The next position that is neither space nor comment."""
        found = _SKIP.match(self._text, position)
        position = found.end() if found else position
        if self._text.startswith("/*", position):
            raise JsoncError(self._text, position, "this comment has no end")
        return position

    def value(self, position: int, depth: int) -> Node:
        """The value that begins here."""
        if depth > MAX_DEPTH:
            raise JsoncError(self._text, position, f"nested deeper than {MAX_DEPTH} levels")
        match self._text[position : position + 1]:
            case "{":
                return self._object(position, depth)
            case "[":
                return self._array(position, depth)
            case '"':
                value, end = self._string(position)
                return Scalar(position, end, value)
            case "":
                raise JsoncError(self._text, position, "a value is missing: the text ends here")
            case _:
                return self._bare(position)

    def _string(self, position: int) -> tuple[str, int]:
        body = _STRING_BODY.match(self._text, position)
        end = body.end() if body else position
        if not self._text.startswith('"', end):
            is_control = end < len(self._text) and self._text[end] not in "\r\n"
            at, problem = (end, "a control character") if is_control else (position, "no end")
            raise JsoncError(self._text, at, f"this text has {problem}")
        try:
            value: str = json.loads(self._text[position : end + 1])
        except json.JSONDecodeError as error:
            at = position + error.pos
            raise JsoncError(self._text, at, "this escape is not valid") from None
        if not value.isascii() and any("\ud800" <= char <= "\udfff" for char in value):
            raise JsoncError(self._text, position, "this text is not valid Unicode")
        return value, end + 1

    def _bare(self, position: int) -> Scalar:
        number = _NUMBER.match(self._text, position)
        if number:
            try:
                return Scalar(position, number.end(), json.loads(number[0]))
            except ValueError:  # more digits than Python converts
                raise JsoncError(self._text, position, "this number is too long") from None
        word = _WORD.match(self._text, position)
        if word and word[0] in _WORDS:
            return Scalar(position, word.end(), _WORDS[word[0]])
        raise JsoncError(self._text, position, "a value is expected here")

    def _object(self, position: int, depth: int) -> Object:
        node = Object(position, position)
        seen: set[str] = set()
        for at in self._elements(node, "}"):
            if self._text[at] != '"':
                raise JsoncError(self._text, at, "a key in double quotes is expected here")
            key, after = self._string(at)
            if key in seen:
                raise JsoncError(self._text, at, f'the key "{key}" is given twice')
            seen.add(key)
            colon = self.skip(after)
            if not self._text.startswith(":", colon):
                raise JsoncError(self._text, colon, "a colon is expected here")
            value = self.value(self.skip(colon + 1), depth + 1)
            node.members.append(Member(at, key, value))
            node.end = value.end
        return node

    def _array(self, position: int, depth: int) -> Array:
        node = Array(position, position)
        for at in self._elements(node, "]"):
            item = self.value(at, depth + 1)
            node.items.append(item)
            node.end = item.end
        return node

    def _elements(self, node: Node, close: str) -> Iterator[int]:
        """Where each element begins; the consumer leaves the element's end in `node.end`."""
        at = self.skip(node.start + 1)
        while not self._text.startswith(close, at):
            if at == len(self._text):
                raise JsoncError(self._text, at, f'a "{close}" is missing: the text ends here')
            yield at
            at = self.skip(node.end)
            if self._text.startswith(",", at):
                at = self.skip(at + 1)
            elif at < len(self._text) and not self._text.startswith(close, at):
                raise JsoncError(self._text, at, f'a comma or "{close}" is expected here')
        node.end = at + 1
