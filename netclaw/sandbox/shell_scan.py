"""Finds what looks like a command in text that has no proved tree, with tree-sitter.

Only denials use it: it accepts broken text, and text that bash refuses (decision 38).
"""

from __future__ import annotations

from functools import cache

import tree_sitter
import tree_sitter_bash

MAX_COMMANDS = 2000
MAX_WORDS = 60
"""Words of one command that a denial looks at, where nothing is proved anyway."""

_WORD_KINDS = """
    command_name word string raw_string ansi_c_string concatenation number simple_expansion
    expansion string_content command_substitution heredoc_start
"""
_WORDS = frozenset(_WORD_KINDS.split())


@cache
def _parser() -> tree_sitter.Parser:
    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language()))


def loose_commands(source: str) -> tuple[tuple[str, ...], ...]:
    """The words, as they are written, of everything that could be a command.

    Words that lie in a part with errors are taken as one command each from every start.
    """
    root = _parser().parse(source.encode("utf-8", "replace")).root_node
    found: list[tuple[str, ...]] = []
    pending = [root]
    while pending and len(found) < MAX_COMMANDS:
        node = pending.pop()
        pending.extend(reversed(node.children))
        words = [_text(child) for child in node.children if child.type in _WORDS]
        if node.type == "command" and words:
            found.append(tuple(words[:MAX_WORDS]))
        elif node.type == "ERROR":
            starts = range(min(len(words), MAX_COMMANDS))
            found.extend(tuple(words[at : at + MAX_WORDS]) for at in starts)
    return tuple(found[:MAX_COMMANDS])


def _text(node: tree_sitter.Node) -> str:
    return node.text.decode("utf-8", "replace") if node.text is not None else ""
