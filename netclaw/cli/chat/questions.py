"""Consent requests as a person at a terminal meets them: what is asked, and what counts as a reply.

Pure: nothing here writes, waits or asks the daemon.
"""

from __future__ import annotations

import string
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from netclaw.core.authority import Principal
from netclaw.core.authz.options import OptionKey, parse_key
from netclaw.core.session.consent_events import ConsentEffect, ConsentOption

if TYPE_CHECKING:
    from netclaw.wire.v1 import common_pb2 as pb
    from netclaw.wire.v1.common_pb2 import Output
    from netclaw.wire.v1.gateway_pb2 import PendingApproval

LETTERS = string.ascii_uppercase


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One open consent request; `requester` is empty if anybody may answer it."""

    call_id: str
    tool: str
    display: str
    options: tuple[ConsentOption, ...]
    candidates: tuple[str, ...] = ()
    cwd: str = ""
    requester: str = ""
    run_id: str = ""
    turn_id: str = ""
    speakers: tuple[str, ...] = ()
    seq: int = 0
    """Journal position of the request; a call may be asked for anew, with a higher one."""

    def is_for(self, person: str) -> bool:
        """Whether this person may allow the call (decision 48)."""
        return self.requester in ("", person)

    def lettered(self) -> Iterator[tuple[str, ConsentOption]]:
        """The options in their order, each with its letter."""
        return zip(LETTERS, self.options, strict=False)

    def chosen_by(self, reply: str) -> ConsentOption | None:
        """The option that a typed reply means: its letter, its label or its key."""
        typed = " ".join(reply.split()).casefold()
        for letter, option in self.lettered():
            if typed in (letter.casefold(), option.label.casefold(), option.key.casefold()):
                return option
        return None

    @property
    def refusal(self) -> ConsentOption | None:
        """What Esc chooses; every request offers it last (reference 5)."""
        refusing = (each for each in self.options if each.effect is ConsentEffect.REFUSE)
        return next(refusing, None)

    @property
    def span(self) -> str:
        """The letters that are answers: `A to D`."""
        letters = [letter for letter, _ in self.lettered()]
        return f"{letters[0]} to {letters[-1]}" if len(letters) > 1 else "".join(letters)

    @property
    def mark(self) -> str:
        """What stands before the reply while it is typed."""
        return f"{self.span}> "


def is_danger(option: ConsentOption) -> bool:
    """Whether the option is shown as one that reaches far: everywhere, or a refusal."""
    is_everywhere = parse_key(option.key) is OptionKey.EVERYWHERE
    return is_everywhere or option.effect is ConsentEffect.REFUSE


def question_of(output: Output) -> Question:
    """The question in a `consent_request` of a subscription."""
    return Question(
        call_id=output.call_id,
        tool=output.tool_name,
        display=output.text,
        options=tuple(map(_option, output.options)),
        candidates=tuple(output.candidates),
        cwd=output.path,
        requester=output.sender,
        run_id=output.run_id,
        turn_id="" if output.run_id else output.turn_id,
        speakers=tuple(output.speakers),
        seq=output.seq,
    )


def question_in(pending: PendingApproval) -> Question:
    """The question in a line of what is open; automation leaves its answer to anybody."""
    requester = pending.requester
    is_anybodys = requester.principal == Principal.AUTOMATION.value
    return Question(
        call_id=pending.call_id,
        tool=pending.tool,
        display=pending.display,
        options=tuple(map(_option, pending.options)),
        candidates=tuple(pending.candidates),
        cwd=pending.cwd,
        requester="" if is_anybodys else requester.sender_id,
        run_id=pending.run_id,
        turn_id="" if pending.run_id else pending.turn_id,
        speakers=tuple(pending.speakers),
        seq=pending.seq,
    )


def _option(option: pb.ConsentOption) -> ConsentOption:
    return ConsentOption(key=option.key, label=option.label, effect=effect_of(option.effect))


def effect_of(word: str) -> ConsentEffect:
    """The effect of an option; a word that is not known refuses."""
    return ConsentEffect.APPROVE if word == ConsentEffect.APPROVE.value else ConsentEffect.REFUSE
