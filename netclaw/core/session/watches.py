"""What a session that watches others has to tell its model, and when (decisions 53 and 54).

There is no queue: the open notices are part of what this process knows, each turn that calls a
model takes the oldest of them, and its TurnStarted consumes them. A wake is an input like any
other; with nothing left to tell it ends without a word.
"""

from __future__ import annotations

from dataclasses import replace

from netclaw.core.authority import SourceKind
from netclaw.core.session.commands import NoticesChanged
from netclaw.core.session.draft import Draft
from netclaw.core.session.events import NoticeMark
from netclaw.core.session.state import BufferedInput
from netclaw.core.signals import notices


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


def is_needless(draft: Draft, item: BufferedInput) -> bool:
    """Whether the input is a wake and an earlier turn told of everything already."""
    source = item.admitted.authority.provenance.source_kind
    return source is SourceKind.SIGNAL and not draft.runtime.notices
