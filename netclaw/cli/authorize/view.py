"""A decision as a script reads it, and as a person does."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from netclaw.cli.app import JsonRow, JsonValue, compact, printable
from netclaw.cli.authorize.why import NEVER_OPENED, cover_line, mode_line, rule_lines, summary
from netclaw.cli.chat.questions import LETTERS, is_danger
from netclaw.cli.words import shorten
from netclaw.core.authz.profiles import SHELL
from netclaw.core.authz.reasons import Coverage, DenyReason
from netclaw.core.session.rulings import Outcome

if TYPE_CHECKING:
    from netclaw.cli.app import App
    from netclaw.cli.authorize.rehearsal import Explained
    from netclaw.core.authz.facts import Candidate
    from netclaw.core.authz.sandbox_access import SandboxAccess

_WORDS = {
    Outcome.ALLOWED: ("ALLOWED", "green"),
    Outcome.REQUIRES_CONSENT: ("ASKS", "yellow"),
    Outcome.REQUIRES_CORRECTION: ("CORRECTS", "yellow"),
    Outcome.DENIED: ("DENIED", "red"),
}
_PHRASE_WIDTH = 48
_AFTER_MODE = (DenyReason.POLICY_DENY, DenyReason.UNATTENDED, DenyReason.STORE_UNAVAILABLE)
"""Denials that the consent mode has a part in; the others come before it is looked at."""


def explained_row(explained: Explained) -> JsonRow:
    """As `--json` prints it."""
    decision = explained.decision
    access = explained.access
    return compact(
        {
            "outcome": decision.outcome.value,
            "reason": decision.code,
            "candidates": [
                {
                    "phrase": item.candidate.display,
                    "exact": is_exact(item.candidate),
                    "coverage": item.coverage.value,
                }
                for item in decision.candidates
            ],
            "options": [option.key for option in decision.options],
            "sandbox": _sandbox_row(explained, access) if access is not None else None,
        }
    )


def is_exact(candidate: Candidate) -> bool:
    """Whether consent for it is for its exact text, and not for its words."""
    return candidate.unresolved is not None or not candidate.phrase


def _sandbox_row(explained: Explained, access: SandboxAccess) -> JsonRow:
    writable: list[JsonValue] = [*writable_folders(explained, access)]
    row: JsonRow = {"write": writable, "network": access.has_network}
    if access.credentials:
        row |= {"credentials": [*access.credentials]}
    return row if access.is_confined else row | {"confined": False}


def writable_folders(explained: Explained, access: SandboxAccess) -> list[str]:
    """Every folder the kernel would let the command write, beside the session's own."""
    if not access.is_confined:
        return ["/"]
    found = explained.evaluation
    project = found.policy.roots.project if found is not None else None
    own = [project.resolved] if project is not None and not project.is_read_only else []
    there = (path for path in access.configured if Path(path).is_dir())
    return [*dict.fromkeys((*own, *access.writable, *there))]


def show(app: App, explained: Explained) -> None:
    """Print it for a person."""
    for line in _lines(app, explained):
        app.say(line)


def _lines(app: App, explained: Explained) -> Iterator[str]:
    found, decision = explained.evaluation, explained.decision
    word, colour = _WORDS[decision.outcome]
    sentence, *more = summary(decision).split("\n")
    yield f"{app.style(word, colour, 'bold')}  {sentence}"
    yield from (f"  {line}" for line in more)
    if decision.deny is DenyReason.SHELL_DISABLED and explained.rules_fault:
        yield f"  {printable(explained.rules_fault)}"
    for line in rule_lines(found) if found is not None else (NEVER_OPENED,):
        yield f"  {printable(line)}"
    yield ""
    yield from _facts(app, explained)
    if decision.candidates and found is not None:
        yield from _section(app, "commands" if found.request.tool == SHELL else "call")
        phrases = [_phrase(item.candidate) for item in decision.candidates]
        room = max(map(len, phrases))
        for item, phrase in zip(decision.candidates, phrases, strict=True):
            is_open = item.coverage is Coverage.NONE
            mark = app.style("ask", "yellow") if is_open else app.style("ok ", "green")
            why = app.style(printable(cover_line(found, item)), "dim")
            yield f"  {mark}  {phrase:<{room}}  {why}"
    if decision.options:
        yield from _section(app, "would be asked")
        room = max(len(option.label) for option in decision.options)
        for letter, option in zip(LETTERS, decision.options, strict=False):
            padded = f"{option.label:<{room}}"
            label = app.style(padded, "red") if is_danger(option) else padded
            yield f"  {letter}  {label}  {app.style(option.key, 'dim')}"
    if explained.access is not None:
        is_certain = decision.outcome is Outcome.ALLOWED
        yield from _section(app, "the kernel" if is_certain else "the kernel, once allowed")
        yield from _kernel(app, explained, explained.access)


def _phrase(candidate: Candidate) -> str:
    return printable(shorten(candidate.display, _PHRASE_WIDTH))


def _section(app: App, name: str) -> Iterator[str]:
    yield ""
    yield app.style(name, "bold")


def _facts(app: App, explained: Explained) -> Iterator[str]:
    asked, decision, found = explained.asked, explained.decision, explained.evaluation
    is_mode_reached = decision.deny in _AFTER_MODE or decision.outcome is not Outcome.DENIED
    facts = [
        ("tool", asked.tool),
        ("audience", asked.audience.value),
        ("folder", asked.folder + ("" if explained.project else " (no project directory)")),
        ("answers", "somebody is there" if asked.is_attended else "nobody is there"),
        ("mode", mode_line(found) if found is not None and is_mode_reached else ""),
        ("reason", decision.code),
    ]
    for name, value in facts:
        if not value:
            continue
        yield _fact(app, name, value)


def _kernel(app: App, explained: Explained, access: SandboxAccess) -> Iterator[str]:
    if not access.is_confined:
        yield "  no sandbox: the command may do all that you may (Tools.ShellMode is HostAllowed)"
        return
    writable = ["the session's own folders", *writable_folders(explained, access)]
    for at, folder in enumerate(writable):
        yield _fact(app, "" if at else "write", folder)
    for path in access.readable:
        yield _fact(app, "also read", path)
    for path in access.credentials:
        yield _fact(app, "secrets", f"{path} (read-only, for you let it run)")
    yield _fact(app, "network", "on" if access.has_network else "off")


def _fact(app: App, name: str, value: str) -> str:
    return f"  {app.style(f'{name:<9}', 'dim')} {printable(value)}"
