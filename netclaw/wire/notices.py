"""Open notices of a watcher on their way to its process."""

from __future__ import annotations

from collections.abc import Iterable

from netclaw.core.ids import SessionId
from netclaw.core.session.commands import NoticesChanged
from netclaw.core.signals.cursors import Notice, NoticeChange
from netclaw.wire.v1 import session_host_pb2 as pb


def notice_to_proto(notice: Notice) -> pb.Notice:
    """An open notice."""
    return pb.Notice(target=notice.target, since=notice.since, mark=notice.mark)


def notice_from_proto(message: pb.Notice) -> Notice:
    """An open notice."""
    return Notice(target=SessionId(message.target), since=message.since, mark=message.mark)


def change_to_proto(change: NoticeChange) -> pb.NoticeChange:
    """What became of the notice about one target."""
    if change.notice is None:
        return pb.NoticeChange(notice=pb.Notice(target=change.target))
    return pb.NoticeChange(notice=notice_to_proto(change.notice), open=True)


def change_from_proto(message: pb.NoticeChange) -> NoticesChanged:
    """The same as the watcher's rules take it."""
    notice = notice_from_proto(message.notice)
    return NoticesChanged(target=notice.target, notice=notice if message.open else None)


def put_into(welcome: pb.Welcome, changes: Iterable[NoticeChange]) -> None:
    """Bring the notices of a Welcome up to date; of several changes of a target the last counts."""
    newest = {change.target: change for change in changes}
    if not newest:
        return
    kept = [
        pb.Notice.FromString(item.SerializeToString())
        for item in welcome.notices
        if item.target not in newest
    ]
    opened = [notice_to_proto(item.notice) for item in newest.values() if item.notice is not None]
    del welcome.notices[:]
    welcome.notices.extend((*kept, *opened))
