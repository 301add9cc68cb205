"""Looks for everything that could be a command, wherever it stands: for denials alone.

Nothing here proves anything. Commands in constructs that are not listed, in substitutions, in
nested shells and in text that does not parse are all found, so that no wrapping hides a denial
(reference 11: 8, 19, 20).
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from netclaw.core.authz.collector import Collector
from netclaw.core.authz.decoding import close_classes, double_quoted, expand_braces, unquoted
from netclaw.core.authz.facts import Invocation
from netclaw.core.authz.flow import State, start
from netclaw.core.authz.shell_nodes import Node
from netclaw.core.authz.text_gate import MAX_UNPROVED_CHARS
from netclaw.core.authz.vocabulary import SHELLS, WRAPPERS, Wrapper
from netclaw.core.authz.words import WordFact, WordReader

MAX_DEPTH = 5
"""Shells within shells; deeper than that nothing is proved anyway."""

MAX_CHAIN = 40

MAX_WRAPPED = 8
"""Commands that one wrapper is searched for."""

_QUOTED = re.compile(r"\$?'([^']*)'?|\$?\"((?:[^\"\\]|\\.)*)\"?|((?:[^'\"\\]|\\.)+|\\)", re.DOTALL)
_WORD = re.compile(r"(?:'[^']*'|\"(?:[^\"\\]|\\.)*\"|\\.|[^\s;&|()<>`\"'\\])+", re.DOTALL)


def note_command(collector: Collector, words: Sequence[WordFact], state: State, depth: int) -> None:
    """Notes one command occurrence and looks into the shells that it starts."""
    note(
        collector,
        Invocation(
            words=tuple(word.shapes for word in words),
            texts=tuple(word.text for word in words),
            cwds=state.directories or (),
        ),
        depth,
    )


def note(collector: Collector, invocation: Invocation, depth: int) -> None:
    """Notes words that may be a command; a nested `-c` text is scanned as well."""
    collector.invocations.append(invocation)
    for shapes in invocation.words:
        collector.mentions.extend(shapes)
    for text in nested_texts(invocation):
        scan_source(collector, text, depth + 1)


def scan_tree(
    collector: Collector, node: Node, reader: WordReader, state: State, depth: int
) -> None:
    """Notes every command below a node, listed or not."""
    for found in node.every():
        if found.kind in ("CallExpr", "DeclClause"):
            words = [reader.read(word) for word in found.many("Args") if word.kind == "Word"]
            if words:
                note_command(collector, words, state, depth)
        if found.kind in ("Word", "Redirect"):
            _note_text(collector, found, reader)


def _note_text(collector: Collector, node: Node, reader: WordReader) -> None:
    words = node.many("Hdoc") if node.kind == "Redirect" else (node,)
    for word in words:
        collector.mentions.extend(reader.read(word).shapes)


def scan_source(collector: Collector, source: str, depth: int) -> None:
    """Notes what looks like a command in a text that may or may not parse."""
    if depth > MAX_DEPTH or not source.strip():
        return
    parsed = collector.parsed(source)
    if parsed is None:
        return
    if parsed.tree is None and len(source) > MAX_UNPROVED_CHARS:
        collector.is_too_long = True
    elif parsed.tree is None:
        collector.mentions.append(source)
        for loose in (*parsed.loose, *_lines(source)):
            words = tuple((rough(text),) for text in loose)
            note(collector, Invocation(words=words, texts=loose), depth)
    elif depth:
        surroundings = collector.surroundings
        state = start(surroundings)
        reader = WordReader(state, source.encode("utf-8", "replace"), surroundings.shell_home)
        scan_tree(collector, parsed.tree, reader, state, depth)


def _lines(source: str) -> list[tuple[str, ...]]:
    """The words at the start of each line, for text that no parser accepts at all."""
    found = (tuple(_WORD.findall(line)) for line in source.splitlines()[:200])
    return [words for words in found if words]


def rough(text: str) -> str:
    """A word without its quotes, as a shape; its expansions stay text."""
    made = []
    for found in _QUOTED.finditer(text):
        single, double, plain = found.groups()
        if single is not None:
            made.append(single)
        elif double is not None:
            made.append(double_quoted(double))
        else:
            made.append(unquoted(plain) or "")
    shape = close_classes("".join(made))
    return (expand_braces(shape) or (shape,))[0]


def nested_texts(invocation: Invocation) -> list[str]:
    """The texts that an invocation hands to a shell of the same language, wrapped or not."""
    found = []
    for words in unwrapped(invocation.words):
        if words and any(shape in SHELLS for shape in words[0]):
            found.extend(_after_c(words[1:]))
        elif words and "eval" in words[0]:
            found.append(" ".join(word[0] for word in words[1:]))
        elif words and "trap" in words[0]:
            found.extend(shape for word in words[1:2] for shape in word)
    return found


def has_command_text(invocation: Invocation) -> bool:
    """Whether a shell is handed a text, however deeply it is wrapped."""
    return any(
        bool(words) and not SHELLS.isdisjoint(words[0]) and _after_c(words[1:])
        for words in unwrapped(invocation.words)
    )


def _after_c(words: Sequence[tuple[str, ...]]) -> list[str]:
    for at, word in enumerate(words):
        is_command_flag = word[0].startswith("-") and not word[0].startswith("--")
        if is_command_flag and "c" in word[0] and at + 1 < len(words):
            return list(words[at + 1])
    return []


def unwrapped(words: Sequence[tuple[str, ...]]) -> list[Sequence[tuple[str, ...]]]:
    """The words as a command, and again behind every wrapper at their start.

    Of wrappers within wrappers only the first words are kept: what ends the chain is whole.
    """
    found: list[Sequence[tuple[str, ...]]] = [words]
    pending = [words]
    while pending:
        current = pending.pop()
        for inner in behind(current) if current else ():
            is_wrapper = bool(inner) and _wrapper_of(inner) is not None
            pending.extend([inner] if is_wrapper else [])
            if not is_wrapper or len(found) < MAX_CHAIN:
                found.append(inner[:MAX_CHAIN] if is_wrapper else inner)
    return found


def _wrapper_of(words: Sequence[tuple[str, ...]]) -> Wrapper | None:
    return WRAPPERS.get(words[0][0].rpartition("/")[2].lower())


def behind(words: Sequence[tuple[str, ...]]) -> list[Sequence[tuple[str, ...]]]:
    """What the wrapper at the start of some words would run; empty if there is none."""
    wrapper = _wrapper_of(words)
    if wrapper is None:
        return []
    if wrapper.after:
        found = [at for at, word in enumerate(words) if wrapper.after.intersection(word)]
        return [words[at + 1 :] for at in found[:MAX_WRAPPED]]
    at, operands = 1, wrapper.operands
    while at < len(words):
        text = words[at][0]
        if text.startswith("-"):
            at += 2 if text in wrapper.valued else 1
        elif wrapper.takes_assignments and "=" in text:
            at += 1
        elif operands:
            operands -= 1
            at += 1
        else:
            break
    return [words[at:]]
