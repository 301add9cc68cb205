"""Turns a shell word into facts: its possible values, and what about it is not proved."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterable
from dataclasses import dataclass

from netclaw.core.authz import arithmetic
from netclaw.core.authz.decoding import (
    ANY,
    CLASS,
    STAR,
    UNKNOWN,
    ansi_c,
    close_classes,
    double_quoted,
    expand_braces,
    has_glob,
    is_plain,
    unquoted,
    without_braces,
)
from netclaw.core.authz.flow import NAME, State
from netclaw.core.authz.shell_nodes import Node

MAX_VALUES = 256
"""More value combinations than this in one command are not judged (reference 3)."""

_SPECIAL = re.compile(r"[?#$!@*0-9-]|[1-9][0-9]*")
_UNSPLIT = frozenset("?#$!")
"""Special parameters that are numbers: they neither split nor glob."""
_OPERATORS = frozenset((":-", "-", ":+", "+", ":?", "?", "#", "##", "%", "%%"))
_QUOTES = frozenset("'\"\\`")
_ASSIGNED_TILDE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\+?=(.*:)?~")


@dataclass(frozen=True, slots=True, kw_only=True)
class WordFact:
    """One word. `shapes` are all its values, with markers where text is not proved."""

    text: str
    shapes: tuple[str, ...]
    is_literal: bool = True
    """No expansion takes part in it."""
    is_quoted: bool = False
    has_problem: bool = False
    """It holds something that is not listed, or that may run or assign."""
    has_brace: bool = False
    may_split: bool = False
    """It may become no word, several, or file names."""
    may_glob: bool = False
    """It may split because of a variable or a pattern, and not only by the output of a command."""
    has_too_many_values: bool = False
    substitutions: tuple[Node, ...] = ()
    alternatives: tuple[str, ...] = ()
    """Shapes of the words inside `${..}`, such as a default: any of them may take its place."""

    @property
    def is_proved(self) -> bool:
        """Whether every value is known text."""
        if self.has_problem or self.may_split or self.has_brace:
            return False
        return all(map(is_plain, self.shapes))

    @property
    def is_glob(self) -> bool:
        """Whether file names may take its place."""
        return any(map(has_glob, self.shapes))

    @property
    def value(self) -> str | None:
        """The one proved value, by whatever way it is known; None if there are several."""
        return self.shapes[0] if len(self.shapes) == 1 and self.is_proved else None

    @property
    def is_unknown(self) -> bool:
        """Whether a part of it may be any text."""
        return any(UNKNOWN in shape for shape in self.shapes)

    @property
    def literal(self) -> str | None:
        """The one value of a word without expansions; None for any other."""
        return self.shapes[0] if self.is_literal and self.is_proved else None


class WordReader:
    """Reads words at one point of a command; `is_bash` is false in a nested plain `sh`."""

    def __init__(self, state: State, source: bytes, home: str, *, is_bash: bool = True) -> None:
        self.state = state
        self.home = home
        self.is_bash = is_bash
        self._source = source

    def read(self, node: Node) -> WordFact:
        """An argument or a redirect's target."""
        return _Word(self, is_value=False).fact(node, self.text(node))

    def value(self, node: Node) -> WordFact:
        """The value of an assignment: it neither splits nor globs, and has no braces."""
        return _Word(self, is_value=True).fact(node, self.text(node))

    def document(self, node: Node, *, is_literal: bool) -> WordFact:
        """The body of a heredoc."""
        text = self.text(node)
        if is_literal:
            return WordFact(text=text, shapes=(text,), is_quoted=True)
        return _Word(self, is_value=True).document(node, text)

    def text(self, node: Node) -> str:
        """The source text of a node."""
        return self._source[node.start : node.end].decode("utf-8", "replace")


class _Word:
    """Gathers one word; thrown away afterwards."""

    def __init__(self, reader: WordReader, *, is_value: bool) -> None:
        self._reader = reader
        self._state = reader.state
        self._is_value = is_value
        self._pieces: list[tuple[str, ...]] = []
        self._substitutions: list[Node] = []
        self._alternatives: list[str] = []
        self._is_literal = True
        self._is_quoted = False
        self._has_problem = False
        self._may_split = False
        self._may_glob = False

    def fact(self, node: Node, text: str) -> WordFact:
        """The facts of a word node."""
        self._has_problem |= not node.is_listed
        for at, part in enumerate(node.many("Parts")):
            self._part(part, is_first=at == 0, is_only=len(node.many("Parts")) == 1)
        return self._made(text)

    def document(self, node: Node, text: str) -> WordFact:
        """The facts of an expanding heredoc."""
        for part in node.many("Parts"):
            self._inside(part, escapes="$`\\")
        return self._made(text)

    def _made(self, text: str) -> WordFact:
        has_too_many = math.prod(map(len, self._pieces)) > MAX_VALUES
        shapes: tuple[str, ...] = (UNKNOWN,)
        if not has_too_many:
            joined = ("".join(pieces) for pieces in itertools.product(*self._pieces))
            shapes = tuple(dict.fromkeys(map(close_classes, joined)))
        shapes, has_brace = _braced(shapes)
        is_mixed = not self._is_literal and any(map(has_glob, shapes)) and self._is_composed
        return WordFact(
            text=text,
            shapes=shapes,
            is_literal=self._is_literal,
            is_quoted=self._is_quoted,
            has_problem=self._has_problem,
            has_brace=has_brace,
            may_split=self._may_split or self._may_glob or is_mixed,
            may_glob=self._may_glob or is_mixed,
            has_too_many_values=has_too_many,
            substitutions=tuple(self._substitutions),
            alternatives=tuple(self._alternatives),
        )

    @property
    def _is_composed(self) -> bool:
        """Whether more than one part has text: a glob among them matches other names."""
        return sum(piece != ("",) for piece in self._pieces) > 1

    def _part(self, part: Node, *, is_first: bool, is_only: bool) -> None:
        self._has_problem |= not part.is_listed
        if part.kind == "Lit":
            self._literal(part.text(), is_first=is_first, is_only=is_only)
        elif part.kind == "SglQuoted":
            self._single_quoted(part)
        elif part.kind == "DblQuoted":
            self._is_quoted = True
            self._add("")
            for inner in part.many("Parts"):
                self._inside(inner, escapes='$`"\\')
        else:
            self._expansion(part, is_split=not self._is_value)

    def _literal(self, text: str, *, is_first: bool, is_only: bool) -> None:
        if is_first and text.startswith("~"):
            prefix, slash, rest = text.partition("/")
            if prefix == "~" and (slash or is_only) and self._state.value("HOME"):
                self._add(self._reader.home)
                text = slash + rest
            else:
                self._has_problem = True
        self._has_problem |= _ASSIGNED_TILDE.match(text) is not None
        self._has_problem |= self._is_value and ":~" in text
        shape = unquoted(text)
        self._has_problem |= shape is None
        if self._is_value and shape is not None:
            shape = _without_globs(without_braces(shape))
        self._is_quoted |= "\\" in text
        self._add(shape if shape is not None else UNKNOWN)

    def _single_quoted(self, part: Node) -> None:
        self._is_quoted = True
        if "Dollar" not in part.flags:
            self._add(part.text())
            return
        decoded = ansi_c(part.text())
        self._has_problem |= decoded is None or not self._reader.is_bash
        self._add(decoded if decoded is not None else UNKNOWN)

    def _inside(self, part: Node, *, escapes: str) -> None:
        if part.kind == "Lit":
            self._add(double_quoted(part.text(), escapes=escapes))
        else:
            self._expansion(part, is_split=False)

    def _expansion(self, part: Node, *, is_split: bool) -> None:
        self._is_literal = False
        self._has_problem |= not part.is_listed
        if part.kind == "ParamExp":
            self._parameter(part, is_split=is_split)
            return
        if part.kind == "CmdSubst":
            self._substitute(part)
        else:
            self._has_problem |= part.kind != "ArithmExp" or not arithmetic.is_proved(
                part, self._state
            )
            self._collect(part)
        self._may_split |= is_split and part.kind != "ArithmExp"
        self._add(UNKNOWN)

    def _parameter(self, part: Node, *, is_split: bool) -> None:
        name_node = part.one("Param")
        name = name_node.text() if name_node is not None else ""
        is_plain_use = not (part.many("Exp") or part.many("Repl") or "Length" in part.flags)
        if not NAME.fullmatch(name):
            self._has_problem |= _SPECIAL.fullmatch(name) is None
        self._collect(part)
        values = self._state.value(name) if is_plain_use else None
        if values is None:
            self._may_glob |= is_split and name not in _UNSPLIT and "Length" not in part.flags
            self._add(UNKNOWN)
            return
        self._may_glob |= is_split and not all(map(_is_one_word, values))
        self._add(*values)

    def _collect(self, part: Node) -> None:
        """Finds what runs inside an expansion, and what in there is not listed."""
        for group in part.children.values():
            for node in group:
                if node.kind == "CmdSubst":
                    self._substitute(node)
                    continue
                self._has_problem |= not self._is_harmless(node)
                if node.kind == "Word":
                    self._alternatives.extend(self._reader.read(node).shapes)
                self._collect(node)

    def _substitute(self, node: Node) -> None:
        """A substitution: what it runs is judged apart.

        Backslashes in backquotes are taken away before anything reads the text, so that parsers
        differ over what is left.
        """
        self._substitutions.append(node)
        self._has_problem |= "Backquotes" in node.flags and "\\" in self._reader.text(node)

    def _is_harmless(self, node: Node) -> bool:
        """Whether a part of `${..}` only yields text.

        Quotes in there mean one thing in a quoted word and another in a plain one, and parsers
        disagree with bash over where such an expansion ends.
        """
        if node.kind == "Expansion" and node.text("Op") not in _OPERATORS:
            return False
        if node.kind in ("SglQuoted", "DblQuoted") or not _QUOTES.isdisjoint(node.text()):
            return False
        is_computed = node.kind != "ArithmExp" or arithmetic.is_proved(node, self._state)
        return node.is_listed and is_computed

    def _add(self, *values: str) -> None:
        self._pieces.append(values)


def _braced(shapes: Iterable[str]) -> tuple[tuple[str, ...], bool]:
    """The words that braces make, and whether there are any braces to be expanded."""
    made: list[str] = []
    has_brace = False
    for shape in shapes:
        words = expand_braces(shape)
        has_brace |= words is None or len(words) > 1
        made.extend(words if words is not None else (UNKNOWN,))
    return tuple(dict.fromkeys(made)), has_brace


def _without_globs(shape: str) -> str:
    return shape.replace(STAR, "*").replace(ANY, "?").replace(CLASS, "[")


def _is_one_word(value: str) -> bool:
    """Whether an unquoted value stays one word that is no glob."""
    return value != "" and is_plain(value) and not any(char in value for char in " \t\n*?[\\")
