"""Reads slash commands: what a person says to netclaw itself and not to the model (S0).

A message is a command only if the whole of it is one: `/help me` is a sentence for the model, and
so is a word that is no command. `//status` says `/status` to the model.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from netclaw.core.authority import Authenticity, Authority, Principal

MARK = "/"


class CommandName(StrEnum):
    """The commands there are."""

    HELP = "help"
    STATUS = "status"
    TITLE = "title"
    COMPACT = "compact"
    STOP = "stop"


@dataclass(frozen=True, slots=True, kw_only=True)
class SlashCommand:
    """A message that is a command, with the text behind its name."""

    name: CommandName
    argument: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandSpec:
    """What a command is for and who may use it."""

    usage: str
    summary: str
    takes_text: bool = False
    changes_session: bool = False
    """Not for an untrusted person."""


COMMANDS: dict[CommandName, CommandSpec] = {
    CommandName.HELP: CommandSpec(usage="/help", summary="this list"),
    CommandName.STATUS: CommandSpec(
        usage="/status", summary="how long the conversation is and what waits in it"
    ),
    CommandName.TITLE: CommandSpec(
        usage="/title TEXT",
        summary="name the conversation; without a text the model names it again",
        takes_text=True,
        changes_session=True,
    ),
    CommandName.COMPACT: CommandSpec(
        usage="/compact", summary="shorten the conversation now", changes_session=True
    ),
    CommandName.STOP: CommandSpec(usage="/stop", summary="end what netclaw is working on"),
}

ESCAPE_HINT = "//status says /status to the model; any other /word goes to it as it is."


def parse(text: str) -> SlashCommand | None:
    """The command that a message is, or None for what goes to the model."""
    line = text.strip()
    if not line.startswith(MARK) or "\n" in line:
        return None
    word, *rest = line.split(maxsplit=1)
    try:
        name = CommandName(word[len(MARK) :].casefold())
    except ValueError:
        return None
    argument = "".join(rest)
    return SlashCommand(name=name, argument=argument) if _fits(name, argument) else None


def spoken(text: str) -> str:
    """What the model is told for a message: the mark that kept it from being a command is gone."""
    is_escaped = text.lstrip().startswith(MARK + MARK) and parse(text.lstrip()[len(MARK) :])
    return text.replace(MARK, "", 1) if is_escaped else text


def may_use(name: CommandName, authority: Authority) -> bool:
    """Whether whoever sent a message may use the command."""
    return not COMMANDS[name].changes_session or is_trusted(authority)


def is_trusted(authority: Authority) -> bool:
    """Whether netclaw does as the sender says: the operator, a listed person, a known machine."""
    principal = authority.requester.principal
    if principal is Principal.AUTOMATION:
        return authority.provenance.authenticity is not Authenticity.UNVERIFIED
    return principal is not Principal.UNTRUSTED


def help_lines(authority: Authority) -> Iterable[str]:
    """The commands that this sender may use."""
    specs = [spec for name, spec in COMMANDS.items() if may_use(name, authority)]
    width = max(len(spec.usage) for spec in specs)
    yield from (f"{spec.usage:<{width}}  {spec.summary}" for spec in specs)
    yield ESCAPE_HINT


def _fits(name: CommandName, argument: str) -> bool:
    return not argument or COMMANDS[name].takes_text
