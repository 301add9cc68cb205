"""Judges builtins whose operands bash evaluates, and the commands exempt from coverage.

Traps that no parser sees (feasibility, "Bash traps"): `printf -v`, `printf %n`, `[ -v 'a[$(x)]' ]`,
`read 'a[$(x)]'`, `[[ x -eq 'a[$(x)]' ]]`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from netclaw.core.authz.deny_rules import CatalogueError
from netclaw.core.authz.exempt_catalogue import EXEMPT_COMMANDS, ExemptCommand, ExemptKind
from netclaw.core.authz.flow import NAME, is_sensitive
from netclaw.core.authz.shell_nodes import Node
from netclaw.core.authz.vocabulary import READERS_OF_NAMES, SET_OPTIONS
from netclaw.core.authz.words import WordFact, WordReader

_ASSIGNING_FORMAT = re.compile(r"%[-+ #0'*.0-9hlLqjzt]*n")
_INTEGER = re.compile(r"-?[0-9]+")
_FILE_TESTS = frozenset(f"-{letter}" for letter in "abcdefghknprsuwxzGLNOS")
_STRING_TESTS = frozenset({"=", "==", "!=", "<", ">", "-nt", "-ot", "-ef"})
_NUMBER_TESTS = frozenset({"-eq", "-ne", "-lt", "-le", "-gt", "-ge"})
_JOINS = frozenset({"&&", "||"})


def is_output_harmless(words: Sequence[WordFact]) -> bool:
    """Whether operands can only be printed: nothing in them runs or is read as a file name."""
    return not any(
        word.has_problem or word.has_brace or word.may_glob or word.is_glob for word in words
    )


def is_trap(program: str, words: Sequence[WordFact]) -> bool:
    """Whether a builtin may evaluate or assign more than its words say; `words` are operands."""
    if program == "printf":
        return _is_printf_trap(words)
    if program in ("test", "["):
        return not _are_test_operands(program, words)
    if program == "set":
        return not all(SET_OPTIONS.fullmatch(word.literal or "") for word in words) or not words
    if program in READERS_OF_NAMES:
        return assigned_names(program, words) is None
    if program == "wait":
        return any((word.literal or "-p").startswith("-") for word in words)
    return program == "command" and (not words or words[0].literal not in ("-v", "-V"))


def is_exempt(program: str, words: Sequence[WordFact]) -> bool:
    """Whether a command without redirects needs no coverage (reference "Exempt output commands").

    Traps are to be ruled out before.
    """
    kind = EXEMPT.get(program)
    if kind is ExemptKind.OUTPUT:
        return is_output_harmless(words)
    if kind is ExemptKind.JUMP:
        return all(_INTEGER.fullmatch(word.literal or "") for word in words)
    return kind is ExemptKind.TEST


def is_output(program: str) -> bool:
    """Whether a program only prints its operands, so that they name no paths."""
    return EXEMPT.get(program) is ExemptKind.OUTPUT


def assigned_names(program: str, words: Sequence[WordFact]) -> frozenset[str] | None:
    """The variables that a reading builtin assigns; None if that is not proved."""
    options = READERS_OF_NAMES[program]
    names = set()
    for word in words:
        text = word.literal or ""
        if options.fullmatch(text):
            continue
        if not NAME.fullmatch(text) or is_sensitive(text):
            return None
        names.add(text)
    return frozenset(names)


def is_test_harmless(node: Node, reader: WordReader) -> bool:
    """Whether a `[[ .. ]]` only compares proved operands."""
    if not node.is_listed:
        return False
    if node.kind == "Word":
        word = reader.read(node)
        return not word.has_problem and not word.is_unknown and _has_no_subscript(word)
    below = [*node.many("X"), *node.many("Y")]
    if not _is_known_test(node, below, reader):
        return False
    return all(is_test_harmless(child, reader) for child in below)


def _is_known_test(node: Node, below: Sequence[Node], reader: WordReader) -> bool:
    operator = node.text("Op")
    if node.kind in ("TestClause", "ParenTest"):
        return bool(below)
    if node.kind == "UnaryTest":
        return operator in _FILE_TESTS or operator == "!"
    if operator in _NUMBER_TESTS:
        return all(_is_integer(child, reader) for child in below)
    return operator in _STRING_TESTS or operator in _JOINS


def _is_integer(node: Node, reader: WordReader) -> bool:
    if node.kind != "Word":
        return False
    return all(map(_INTEGER.fullmatch, reader.read(node).shapes))


def _has_no_subscript(word: WordFact) -> bool:
    return not any("[" in shape for shape in word.shapes)


def _is_printf_trap(words: Sequence[WordFact]) -> bool:
    text = words[0].literal if words else None
    if text is None or text.startswith("-"):
        return True
    return _ASSIGNING_FORMAT.search(text.replace("%%", "")) is not None


def _are_test_operands(program: str, words: Sequence[WordFact]) -> bool:
    operands = list(words)
    if program == "[" and (not operands or operands.pop().literal != "]"):
        return False
    return all(word.is_proved and _has_no_subscript(word) for word in operands)


EXEMPT: Mapping[str, ExemptKind] = {entry.name: entry.kind for entry in EXEMPT_COMMANDS}


def check_exempt(entries: Iterable[ExemptCommand]) -> None:
    """Whether each entry of the catalogue agrees with its examples. Raises `CatalogueError`."""
    for entry in entries:
        examples = [*((text, True) for text in entry.match)]
        examples += [(text, False) for text in entry.not_match]
        wrong = [text for text, expected in examples if _is_example(entry, text) is not expected]
        if wrong:
            raise CatalogueError(f"the exempt command {entry.name!r} fails its examples {wrong}")


def _is_example(entry: ExemptCommand, text: str) -> bool:
    program, *operands = text.split(" ")
    words = [WordFact(text=operand, shapes=(operand,)) for operand in operands]
    is_named = program == entry.name and EXEMPT.get(program) is entry.kind
    return is_named and not is_trap(program, words) and is_exempt(program, words)


check_exempt(EXEMPT_COMMANDS)
