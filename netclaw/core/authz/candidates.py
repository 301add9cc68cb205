"""Makes the candidate of one ordinary command: its phrase, its paths, and what is not proved."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from netclaw.core.authz import shell_builtins
from netclaw.core.authz.collector import Collector
from netclaw.core.authz.decoding import shown
from netclaw.core.authz.facts import Candidate, Unresolved, WordFix
from netclaw.core.authz.flow import State
from netclaw.core.authz.phrases import is_settled, phrase_of
from netclaw.core.authz.redirects import Redirects
from netclaw.core.authz.shell_paths import PathFinder, absolute, normal
from netclaw.core.authz.text_gate import is_printable_word
from netclaw.core.authz.vocabulary import (
    INTERPRETERS,
    READ_ONLY_PROGRAMS,
    SHELL_WRAPPERS,
)
from netclaw.core.authz.words import WordFact
from netclaw.core.tool_call import FileOperation


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """One simple command whose program is literal, at one point of the analysis."""

    text: str
    program: str
    words: tuple[WordFact, ...]
    """The program's word first."""
    redirects: Redirects
    state: State
    assignments: tuple[tuple[str, str], ...]
    """Those that precede the command, before what was exported."""

    @property
    def operands(self) -> tuple[WordFact, ...]:
        """The words after the program."""
        return self.words[1:]


def candidate_of(command: Command, collector: Collector) -> Candidate:
    """The candidate; `unresolved` says why its effect is not proved, if it is not."""
    directories = command.state.directories or ()
    finder = PathFinder(collector, directories)
    _find_paths(command, finder)
    found = finder.found()
    is_exempt = shell_builtins.is_exempt(command.program, command.operands)
    is_exempt = is_exempt and not command.redirects.writes and not command.redirects.has_document
    program, fix, is_one = _program(command)
    phrase = phrase_of(program, command.operands, finder.names_file)
    unresolved = _unresolved(command, is_exempt=is_exempt) or found.unresolved
    is_settled_now = found.fix is not None or _is_settled(command, phrase, is_exempt=is_exempt)
    if unresolved is None and not is_settled_now:
        unresolved = Unresolved.WORD_SHAPE
    if (fix is not None or not is_one) and unresolved is None:
        unresolved = Unresolved.DYNAMIC_PROGRAM
    return Candidate(
        text=command.text,
        phrase=phrase,
        argv=tuple(_shown(word) for word in command.words),
        cwds=directories,
        paths=found.uses,
        assignments=(*command.state.exports, *command.assignments),
        has_redirect=command.redirects.writes or _is_fed(command),
        is_exempt=is_exempt and unresolved is None,
        unresolved=unresolved,
        fix=fix or (found.fix if unresolved is None else None),
    )


def _shown(word: WordFact) -> str:
    """A word for the catalogues; one with several values matches nothing there."""
    return shown(word.shapes[0]) if len(word.shapes) == 1 else ""


def _find_paths(command: Command, finder: PathFinder) -> None:
    for target, operation in command.redirects.files:
        finder.look_at([target], operation, is_certain=True)
    program = command.words[0]
    if "/" in command.program:
        finder.look_at([program], FileOperation.WRITE, is_certain=True)
    if shell_builtins.is_output(command.program):
        return
    is_reader = command.program in READ_ONLY_PROGRAMS and not command.assignments
    for word in command.operands:
        is_exact = is_reader and word.is_proved and not word.shapes[0].startswith("-")
        operation = FileOperation.READ if is_exact else FileOperation.WRITE
        finder.look_at([word], operation)


def _program(command: Command) -> tuple[str, WordFix | None, bool]:
    """The program as grants name it, the rewrite that would let them, and whether it is one."""
    if "/" not in command.program:
        return command.program, None, True
    if command.words[0].text.startswith("~"):
        return command.program, WordFix.FULL_PROGRAM_PATH, True
    paths = {normal(path) for path in absolute(command.program, command.state.directories or ())}
    return min(paths, default=command.program), None, len(paths) == 1


def _is_fed(command: Command) -> bool:
    """Whether a document goes to a program that does more than print it."""
    return command.redirects.has_document and command.program != "cat"


def _is_settled(command: Command, phrase: tuple[str, ...], *, is_exempt: bool) -> bool:
    if is_exempt:
        return True
    return is_settled(command.program, command.operands) and all(map(is_printable_word, phrase))


def _unresolved(command: Command, *, is_exempt: bool) -> Unresolved | None:
    redirects, words = command.redirects, command.words
    if redirects.unresolved is not None:
        return redirects.unresolved
    if command.state.directories is None:
        return Unresolved.DIRECTORY
    if shell_builtins.is_trap(command.program, command.operands):
        return Unresolved.BUILTIN
    if redirects.has_document and _is_program_text(command):
        return Unresolved.INPUT
    if command.program in SHELL_WRAPPERS and _changes_environment(command.operands):
        return Unresolved.ASSIGNMENT
    return None if is_exempt else _unproved_word(words)


def _unproved_word(words: Sequence[WordFact]) -> Unresolved | None:
    if any(word.has_problem or word.has_brace for word in words):
        return Unresolved.SYNTAX
    if any(word.is_unknown or word.may_split for word in words):
        return Unresolved.DYNAMIC_WORD
    return None


def _is_program_text(command: Command) -> bool:
    """Whether a document is more than fixed text for a program that was given nothing else."""
    is_bare = not command.operands
    return command.redirects.is_expanding or not is_bare or command.program in INTERPRETERS


def _changes_environment(operands: Sequence[WordFact]) -> bool:
    """Whether words of `env` and its like assign or take text apart."""
    for word in operands:
        text = word.shapes[0]
        if "=" in text and not text.startswith("-"):
            return True
        if text.startswith(("-S", "--split-string", "-i", "-u")) or text == "-":
            return True
        if not text.startswith("-") and not text[:1].isdigit():
            return False
    return False
