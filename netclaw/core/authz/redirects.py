"""Judges the redirects of a command: what they open, feed or only duplicate (reference 3)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from netclaw.core.authz.facts import Unresolved
from netclaw.core.authz.shell_nodes import Node
from netclaw.core.authz.words import WordFact, WordReader
from netclaw.core.tool_call import FileOperation

_DUPLICATE = re.compile(r"[0-9]*-?")
_DESCRIPTOR = re.compile(r"[0-9]*")
_NETWORK = ("/dev/tcp/", "/dev/udp/")
_NULL = "/dev/null"
_QUOTED = ("SglQuoted", "DblQuoted")


@dataclass(frozen=True, slots=True, kw_only=True)
class Redirects:
    """All redirects of one command, and those of the compounds around it."""

    files: tuple[tuple[WordFact, FileOperation], ...] = ()
    words: tuple[WordFact, ...] = ()
    """Every word of a redirect, documents included: substitutions in them run."""
    has_document: bool = False
    is_expanding: bool = False
    """A document or here-string that is not fixed text."""
    unresolved: Unresolved | None = None

    @property
    def writes(self) -> bool:
        """Whether a file is opened for writing."""
        return any(operation is FileOperation.WRITE for _, operation in self.files)

    def within(self, outer: Redirects) -> Redirects:
        """With the redirects of a compound command around it."""
        return Redirects(
            files=(*self.files, *outer.files),
            words=self.words,
            has_document=self.has_document or outer.has_document,
            is_expanding=self.is_expanding or outer.is_expanding,
            unresolved=self.unresolved or outer.unresolved,
        )


NONE = Redirects()


def read_redirects(nodes: Sequence[Node], reader: WordReader) -> Redirects:
    """The facts of the redirects of one statement."""
    made = NONE
    for node in nodes:
        made = _one(node, reader).within(made)
    words = [word for node in nodes for word in _words(node, reader)]
    return Redirects(
        files=made.files,
        words=tuple(words),
        has_document=made.has_document,
        is_expanding=made.is_expanding,
        unresolved=made.unresolved,
    )


def _words(node: Node, reader: WordReader) -> list[WordFact]:
    document = node.one("Hdoc")
    found = [reader.read(word) for word in node.many("Word") if document is None]
    if document is not None:
        found.append(reader.document(document, is_literal=_is_quoted_marker(node)))
    return found


def _one(node: Node, reader: WordReader) -> Redirects:
    descriptor = node.one("N")
    is_named = descriptor is not None and not _DESCRIPTOR.fullmatch(descriptor.text())
    words = _words(node, reader)
    if not node.is_listed or is_named or len(words) != 1:
        return Redirects(unresolved=Unresolved.SYNTAX)
    word, operator = words[0], node.text("Op")
    if operator in ("<<", "<<-", "<<<"):
        problem = Unresolved.SYNTAX if word.has_problem else None
        return Redirects(has_document=True, is_expanding=not word.is_literal, unresolved=problem)
    return _file(word, operator)


def _is_quoted_marker(node: Node) -> bool:
    """Whether any part of a heredoc's end marker is quoted: then its body is fixed text."""
    parts = [part for marker in node.many("Word") for part in marker.many("Parts")]
    return any(part.kind in _QUOTED or "\\" in part.text() for part in parts)


def _file(word: WordFact, operator: str) -> Redirects:
    target = word.literal
    if operator in (">&", "<&") and target is not None and _DUPLICATE.fullmatch(target):
        return NONE
    if target == _NULL:
        return NONE
    is_one_file = word.is_proved and not word.is_glob
    if not is_one_file or any(shape.startswith(_NETWORK) for shape in word.shapes):
        return Redirects(unresolved=Unresolved.DYNAMIC_WORD, files=((word, FileOperation.WRITE),))
    operation = FileOperation.READ if operator == "<" else FileOperation.WRITE
    return Redirects(files=((word, operation),))
