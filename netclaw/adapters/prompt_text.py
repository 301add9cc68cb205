"""The words of consent prompts in threads: what is asked, and how it ended. Pure."""

from __future__ import annotations

import re

from netclaw.adapters.letters import Choice, lettered
from netclaw.adapters.splitting import split
from netclaw.wire.v1.gateway_pb2 import PendingApproval

DANGEROUS = frozenset(("approve_everywhere", "approve_assignment_everywhere_v1", "deny"))
"""Options whose button warns (reference "consent")."""
REFUSE = "refuse"
_LONG_RUN = re.compile("`{9}(?=`)")
_BREAK = "\u200b"
LABEL_CHARS = 76
STALE = "This request is no longer open. Nothing follows from the button."
NOT_YOURS = "Only the person who asked may answer this request."
NOT_ONE = "Several requests are open here: press a button of the one that you mean."
_ENDS = {"approved": "Approved", "refused": "Refused", "withdrawn": "Withdrawn"}


def choices_of(approval: PendingApproval) -> tuple[Choice, ...]:
    """The options in their fixed order, with labels that every platform takes."""
    return tuple(
        Choice(key=option.key, label=option.label[:LABEL_CHARS]) for option in approval.options
    )


def refusal_of(approval: PendingApproval) -> str:
    """The key of the option that refuses; empty if none does."""
    return next((option.key for option in approval.options if option.effect == REFUSE), "")


def question(approval: PendingApproval, limit: int, *, has_buttons: bool) -> tuple[str, ...]:
    """What is asked, whole, in parts of at most `limit` units; the last one takes the buttons.

    Nothing is shortened: a person must see all of what they let run.
    """
    lines = [_headline(approval), _fenced(approval.display or approval.tool)]
    if approval.cwd:
        lines.append(f"In `{_plain(approval.cwd)}`")
    if approval.candidates and list(approval.candidates) != [approval.display]:
        lines.append(f"Consent is asked for: {', '.join(map(_code, approval.candidates))}")
    if approval.speakers:
        lines.append("The turn was shown words of others: " + ", ".join(approval.speakers))
    choices = choices_of(approval)
    if not has_buttons:
        lines += ["Answer with one letter:", *lettered(choices)]
    return split("\n".join(lines), limit)


def asked_again(approval: PendingApproval) -> str:
    """What follows an answer that names no option."""
    return "\n".join(("Please answer with one letter:", *lettered(choices_of(approval))))


def result(last_part: str, end: str, option: str, limit: int) -> str:
    """The last part of a prompt once the session took its answer up.

    `end` is the outcome of the ConsentUpdate, empty for a session that is gone; `option` the label
    of the answer, as far as it was given here.
    """
    word = _ENDS.get(end)
    if word is None:
        line = STALE
    elif option and end == "approved":
        line = f"**{word}**: {option}."
    else:
        line = f"**{word}**."
    whole = f"{last_part}\n{line}"
    return whole if len(split(whole, limit)) == 1 else line


def _headline(approval: PendingApproval) -> str:
    who = "A helper run asks" if approval.run_id else "May I"
    return f"**{who}**: `{_plain(approval.tool)}`"


def _fenced(text: str) -> str:
    """Text as code that nothing in it can end, nor a cut between two posts.

    Longer marks would be no fence to `split`: long runs of them are shown with breaks of no width.
    """
    text = _LONG_RUN.sub(lambda run: f"{run[0]}{_BREAK}", text)
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    mark = "`" * max(3, longest + 1)
    return f"{mark}\n{text}\n{mark}"


def _code(text: str) -> str:
    return f"`{_plain(text)}`"


def _plain(text: str) -> str:
    """Text that ends no inline code and begins no line."""
    return " ".join(text.replace("`", "'").split())
