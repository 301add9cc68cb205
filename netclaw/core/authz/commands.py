"""Judges one simple command: builtins, changes of directory, nested shells, everything else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from netclaw.core.authz import scan, shell_builtins
from netclaw.core.authz.candidates import Command, candidate_of
from netclaw.core.authz.facts import Invocation, Unresolved
from netclaw.core.authz.flow import Flow, State, inherited, is_sensitive, same
from netclaw.core.authz.redirects import Redirects
from netclaw.core.authz.shell_nodes import Node
from netclaw.core.authz.shell_paths import absolute, normal
from netclaw.core.authz.vocabulary import (
    BASHES,
    JUDGED_SHELLS,
    ONE_TOKEN,
    READERS_OF_NAMES,
    SHELL_WRAPPERS,
    SHELLS,
    SPECIAL_BUILTINS,
    UNRESOLVED_BUILTINS,
    WRAPPERS,
)
from netclaw.core.authz.words import WordFact

if TYPE_CHECKING:
    from netclaw.core.authz.walk import Walk

_COMMAND_OPTIONS = frozenset({"-c", "-lc", "-ec", "-lec", "-elc", "-euc", "-uc"})
_QUIET_OPTIONS = frozenset({"--norc", "--noprofile", "-e", "-u", "-l"})
_ENVIRONMENT = frozenset({"LANG", "LANGUAGE", "TZ", "TERM", "USER", "LOGNAME"})
"""Names that a command's environment may already hold: assigning one exports it."""

MAX_DEPTH = 4


def judge(walk: Walk, node: Node, redirects: Redirects, state: State, *, is_piped: bool) -> Flow:
    """The flow of a `CallExpr`; its candidates go to the collector."""
    reader = walk.reader(state)
    words = tuple(map(reader.read, node.many("Args")))
    assigned = _assignments(walk, node.many("Assigns"), state)
    values = tuple(value for _, value in assigned if value is not None)
    for word in (*words, *values, *redirects.words):
        walk.look_inside(word, state)
    walk.collector.directories.update(dict.fromkeys(state.directories or ()))
    if words:
        scan.note_command(walk.collector, words, state, walk.depth)
    if any(word.has_problem for word in words):
        scan.scan_tree(walk.collector, node, reader, state, walk.depth)
    is_foreign = not walk.is_bash and any("Append" in item.flags for item in node.many("Assigns"))
    is_assignment_proved = not is_foreign and all(
        _is_proved_name(item, name) for item, (name, _) in _pairs(node, assigned)
    )
    if not is_assignment_proved or any(value.has_problem for value in values):
        walk.exact(node, Unresolved.ASSIGNMENT, state)
        return same(state.unknown())
    if not words:
        return _assign(walk, node, redirects, state, assigned)
    return _run(walk, node, words, redirects, state, assigned, is_piped=is_piped)


Assigned = tuple[str, WordFact | None]


def _pairs(node: Node, assigned: Sequence[Assigned]) -> list[tuple[Node, Assigned]]:
    return list(zip(node.many("Assigns"), assigned, strict=True))


def _assignments(walk: Walk, items: Sequence[Node], state: State) -> list[Assigned]:
    """Names and values, each read after those before it."""
    made: list[Assigned] = []
    for item in items:
        name, value = item.one("Name"), item.one("Value")
        read = walk.reader(state).value(value) if value is not None else None
        made.append(((name.text() if name is not None else ""), read))
        state = state.with_value(made[-1][0], _known(item, read))
    return made


def _known(item: Node, value: WordFact | None) -> tuple[str, ...] | None:
    """The values that an assignment gives; None if they are not proved."""
    if "Append" in item.flags or (value is not None and not value.is_proved):
        return None
    return value.shapes if value is not None else ("",)


def _is_proved_name(item: Node, name: str) -> bool:
    is_plain = item.is_listed and "Naked" not in item.flags
    return is_plain and name != "" and not is_sensitive(name)


def _assign(
    walk: Walk, node: Node, redirects: Redirects, state: State, assigned: Sequence[Assigned]
) -> Flow:
    """Assignments alone: they run nothing, but a redirect beside them does something."""
    if redirects.files or redirects.unresolved is not None:
        walk.exact(node, Unresolved.SYNTAX, state)
        return same(state.unknown())
    for item, (name, value) in _pairs(node, assigned):
        state = state.with_value(name, _known(item, value))
        if _is_environment(walk, state, name):
            state = export(state, name, value.shapes if value is not None else ("",))
    return same(state)


def _is_environment(walk: Walk, state: State, name: str) -> bool:
    """Whether programs see the variable: it may have been in the environment from the start."""
    if name in _ENVIRONMENT or name.startswith("LC_"):
        return True
    is_launched = name in walk.collector.surroundings.variables
    return is_launched or any(name == exported for exported, _ in state.exports)


def export(state: State, name: str, shapes: Sequence[str]) -> State:
    """After a variable became part of the environment."""
    pairs = ((name, shape) for shape in shapes)
    return replace(state, exports=tuple(dict.fromkeys((*state.exports, *pairs))))


def _run(
    walk: Walk,
    node: Node,
    words: tuple[WordFact, ...],
    redirects: Redirects,
    state: State,
    assigned: Sequence[Assigned],
    *,
    is_piped: bool,
) -> Flow:
    program = words[0].literal
    if program is None or words[0].is_glob or not program:
        walk.exact(node, Unresolved.DYNAMIC_PROGRAM, state)
        return same(state.unknown())
    if program in UNRESOLVED_BUILTINS:
        walk.exact(node, Unresolved.BUILTIN, state)
        return same(state.unknown())
    pairs = [
        (name, shape) for name, value in assigned for shape in (value.shapes if value else ("",))
    ]
    is_kept = bool(assigned) and not walk.is_bash and program in SPECIAL_BUILTINS
    if is_kept or any(value is not None and not value.is_proved for _, value in assigned):
        walk.exact(node, Unresolved.ASSIGNMENT, state)
        return same(state)
    command = Command(
        text=walk.text(node),
        program=program,
        words=words,
        redirects=redirects,
        state=state,
        assignments=tuple(pairs),
    )
    if program == "cd":
        return _change_directory(walk, node, command, is_piped=is_piped)
    if _nested(walk, command):
        return same(state)
    if _is_opaque_shell(command):
        walk.exact(node, Unresolved.INPUT, state)
        return same(state)
    walk.collector.add(candidate_of(command, walk.collector))
    return same(_after(command))


def _after(command: Command) -> State:
    """What a builtin that assigns leaves behind."""
    if command.program not in READERS_OF_NAMES:
        return command.state
    names = shell_builtins.assigned_names(command.program, command.operands)
    return command.state.unknown() if names is None else command.state.without_values(names)


def _change_directory(walk: Walk, node: Node, command: Command, *, is_piped: bool) -> Flow:
    state, operands = command.state, command.operands
    target = operands[0] if operands else None
    shapes = target.shapes if target is not None else state.value("HOME")
    is_proved = len(operands) < 2 and shapes is not None and (target is None or target.is_proved)
    if is_piped or not is_proved or shapes is None or any(map(_is_odd_target, shapes)):
        walk.exact(node, Unresolved.DIRECTORY, state)
        return same(state.at(None))
    candidate = candidate_of(command, walk.collector)
    walk.collector.add(candidate)
    if state.directories is None or candidate.unresolved is not None:
        return same(state.at(None))
    reached = tuple(normal(path) for shape in shapes for path in absolute(shape, state.directories))
    walk.collector.directories.update(dict.fromkeys(reached))
    return Flow(ok=state.at(reached), failed=state)


def _is_odd_target(shape: str) -> bool:
    return shape == "" or shape.startswith("-")


def _nested(walk: Walk, command: Command) -> bool:
    """Judges a nested shell by its own text; false if the command is none."""
    wrapped = _wrapped(command)
    if wrapped is None:
        return False
    text = _command_text(wrapped)
    if (
        text is None
        or wrapped[0].literal not in JUDGED_SHELLS
        or walk.depth >= MAX_DEPTH
        or command.redirects.has_document
    ):
        return False
    if len(wrapped) < len(command.words):
        walk.collector.add(candidate_of(command, walk.collector))
    state = inherited(walk.collector.surroundings, command.state)
    for name, shape in command.assignments:
        state = export(state, name, (shape,))
    is_bash = wrapped[0].literal in BASHES
    walk.nested(text, command, state, is_bash=is_bash)
    return True


def _is_opaque_shell(command: Command) -> bool:
    """Whether a shell runs a text that is not judged: one that is wrapped, piped in or unproved."""
    if command.program in ONE_TOKEN and command.program not in SHELLS:
        return False  # a grant for `find` covers whatever it runs (reference, table row 30)
    shapes = tuple(word.shapes for word in command.words)
    if command.program in WRAPPERS:
        # From the first shell on: an option before it may have a value that is not known here.
        first = (at for at, values in enumerate(shapes) if not SHELLS.isdisjoint(values))
        shapes = shapes[next(first, len(shapes)) :]
    if scan.has_command_text(Invocation(words=shapes, texts=())):
        return True
    wrapped = _wrapped(command)
    return wrapped is not None and not any(map(_is_script, wrapped[1:]))


def _is_script(word: WordFact) -> bool:
    return not word.shapes[0].startswith(("-", "+"))


def _wrapped(command: Command) -> tuple[WordFact, ...] | None:
    """The words of a shell, itself named or behind `env`, `nohup` or `timeout`."""
    words = command.words
    if command.program in SHELL_WRAPPERS:
        behind = scan.behind([word.shapes for word in words])
        words = words[len(words) - len(behind[0]) :] if behind else words
    return words if words and words[0].literal in SHELLS else None


def _command_text(words: Sequence[WordFact]) -> str | None:
    """The text after `-c`, if it is proved and nothing but known options stands around it."""
    for at, word in enumerate(words[1:], start=1):
        text = word.literal
        if text in _COMMAND_OPTIONS:
            rest = words[at + 1 :]
            return rest[0].value if len(rest) == 1 else None
        if text not in _QUIET_OPTIONS:
            return None
    return None
