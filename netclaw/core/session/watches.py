"""What a session that watches others has to tell its model, and when (decisions 53 and 54).

There is no queue: the open notices are part of what this process knows, each turn that calls a
model takes the oldest of them, and its TurnStarted consumes them. A wake is an input like any
other; with nothing left to tell it ends without a word.
"""

from __future__ import annotations

from dataclasses import replace

from netclaw.core.authority import SourceKind
from netclaw.core.session import sentences
from netclaw.core.session.commands import NoticesChanged
from netclaw.core.session.draft import Draft
from netclaw.core.session.events import NoticeMark
from netclaw.core.session.open_work import Delivery
from netclaw.core.session.outputs import NoticeOutput
from netclaw.core.session.state import BufferedInput, OpenTurn
from netclaw.core.signals import notices
from netclaw.core.signals.cursors import Notice


def change_notices(draft: Draft, command: NoticesChanged) -> None:
    """Keep the open notice of each target; the next turn tells of it."""
    others = (item for item in draft.runtime.notices if item.target != command.target)
    now = () if command.notice is None else (command.notice,)
    draft.runtime = replace(draft.runtime, notices=(*others, *now))


def take_notices(draft: Draft) -> tuple[NoticeMark, ...]:
    """What the turn that begins tells of; the rest waits for the next one."""
    told = notices.due(draft.runtime.notices)
    rest = tuple(item for item in draft.runtime.notices if item not in told)
    draft.runtime = replace(draft.runtime, notices=rest)
    return tuple(NoticeMark(target=item.target, mark=item.mark, since=item.since) for item in told)


def said_of(marks: tuple[NoticeMark, ...], item: BufferedInput | Delivery) -> NoticeOutput:
    """What people who look on are told of a turn that tells of changes: nobody wrote a wake."""
    is_wake = (
        isinstance(item, BufferedInput)
        and item.admitted.authority.provenance.source_kind is SourceKind.SIGNAL
    )
    targets = [mark.target for mark in marks]
    sentence = sentences.changes_told(targets, is_wake=is_wake)
    return NoticeOutput(sentence=sentence, kind="wake" if is_wake else "changes")


def give_back(draft: Draft, turn: OpenTurn) -> None:
    """The turn ends before its first round: what it told of is open again, with its lines.

    The next turn may begin in the same append, before anybody else can say so. A notice that
    opened meanwhile is taken up by the former line.
    """
    if turn.rounds:
        return
    waiting = {item.target: item for item in draft.runtime.notices}
    for told in turn.notices:
        later = waiting.get(told.target)
        mark = told.mark if later is None else later.mark
        waiting[told.target] = Notice(target=told.target, since=told.since, mark=mark)
    draft.runtime = replace(draft.runtime, notices=tuple(waiting.values()))


def is_needless(draft: Draft, item: BufferedInput) -> bool:
    """Whether the input is a wake and an earlier turn told of everything already."""
    source = item.admitted.authority.provenance.source_kind
    return source is SourceKind.SIGNAL and not draft.runtime.notices
