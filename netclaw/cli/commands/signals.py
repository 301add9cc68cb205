"""`netclaw signals`: what changed in sessions, and who is told of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from netclaw.cli.app import App, printable
from netclaw.cli.client import DaemonClient
from netclaw.cli.command import Entry, LazyGroup, command
from netclaw.cli.completions import any_session_ids
from netclaw.cli.params import SEQ
from netclaw.cli.signal_rows import (
    actor,
    all_watches,
    changes_row,
    is_open,
    watch_row,
    what,
)
from netclaw.cli.words import counted, moment
from netclaw.core.ids import parse_session_id

if TYPE_CHECKING:
    from netclaw.wire.v1.admin_pb2 import ShowSignalsResponse, WatchRequest, WatchRow

_HERE = "netclaw.cli.commands.signals"

signals = LazyGroup(
    "signals",
    {
        "show": Entry(f"{_HERE}:show", "Say what changed in a session after a version."),
        "tail": Entry(
            "netclaw.cli.commands.signals_tail:tail", "Follow changes of every session live."
        ),
        "watch": Entry(f"{_HERE}:watch", "Have one session told of what others do in another."),
        "unwatch": Entry(f"{_HERE}:unwatch", "End that."),
        "watches": Entry(f"{_HERE}:watches", "List who watches whom."),
    },
    summary="See what changed in sessions, and which sessions are told of it.",
    examples=(
        "netclaw signals tail",
        "netclaw signals show release --since 12",
        "netclaw signals watch planner release",
        "netclaw signals watches planner",
    ),
)

target_id = click.argument("session_id", metavar="ID", shell_complete=any_session_ids)
watcher_argument = click.argument("watcher", shell_complete=any_session_ids)
target_argument = click.argument("target", shell_complete=any_session_ids)


@command(
    "show", examples=("netclaw signals show release", "netclaw signals show release --since 12")
)
@target_id
@click.option("--since", type=SEQ, default=0, help="Only what came after this state version.")
def show(app: App, *, session_id: str, since: int) -> None:
    """Say what changed in a session: at most 200 changes, the oldest first.

    Looking changes nothing about what a watcher is told. Messages themselves are not recorded,
    `netclaw sessions history ID` has them.
    """
    parse_session_id(session_id)
    with DaemonClient(app.home) as client:
        from netclaw.wire.v1.admin_pb2 import ShowSignalsRequest

        request = ShowSignalsRequest(session_id=session_id, since=since)
        found = client.call(client.admin.ShowSignals, request)
    if app.is_json:
        app.emit(changes_row(found))
        return
    _print_changes(app, session_id, since, found)


def _print_changes(app: App, session_id: str, since: int, found: ShowSignalsResponse) -> None:
    if not found.state_version:
        app.say("nothing was recorded: state version 0")
        return
    app.say(f"state version {found.state_version}")
    if found.gap:
        app.say(app.style(f"! some of what came after {since} is not kept any more", "yellow"))
    if not found.events:
        app.say(f"nothing is kept after {since}" if found.gap else f"no change after {since}")
        return
    app.table(
        ("sequence", "when", "by", "what"),
        (
            (str(each.sequence), moment(each.occurred_at_ms), actor(each), what(each))
            for each in found.events
        ),
    )
    if found.truncated:
        last = found.events[-1].sequence
        app.say(f"there are more: netclaw signals show {printable(session_id)} --since {last}")


@command("watch", examples=("netclaw signals watch planner release",))
@watcher_argument
@target_argument
def watch(app: App, *, watcher: str, target: str) -> None:
    """Have WATCHER told when somebody else acts in TARGET, from now on.

    It is told in its next turn, once; if it is no child run it is woken for that. A watch that is
    there already stays as it is. It gives WATCHER no right to read TARGET.
    """
    with DaemonClient(app.home) as client:
        is_watched = client.call(client.admin.WatchSession, _pair(watcher, target)).watched
    if app.is_json:
        app.emit({"watched": is_watched})
    elif is_watched:
        app.say(printable(f"{watcher} watches {target}"))
    else:
        app.say(printable(f"{watcher} does not watch {target}: nothing was begun"))


@command("unwatch", examples=("netclaw signals unwatch planner release",))
@watcher_argument
@target_argument
def unwatch(app: App, *, watcher: str, target: str) -> None:
    """End the watch of WATCHER on TARGET, and with it a notice that was not told yet.

    A session that handed a task to TARGET is told of it again at the next change.
    """
    with DaemonClient(app.home) as client:
        found = client.call(client.admin.UnwatchSession, _pair(watcher, target))
    if app.is_json:
        app.emit({"watched": found.watched, "wasWatched": found.was_watched})
    elif found.was_watched:
        app.say(printable(f"{watcher} does not watch {target} any more"))
    else:
        app.say(printable(f"{watcher} did not watch {target}"))


def _pair(watcher: str, target: str) -> WatchRequest:
    from netclaw.wire.v1.admin_pb2 import WatchRequest

    parse_session_id(watcher)
    parse_session_id(target)
    return WatchRequest(watcher=watcher, target=target)


@command("watches", examples=("netclaw signals watches", "netclaw signals watches planner --json"))
@click.argument("session_id", metavar="[ID]", default="", shell_complete=any_session_ids)
def watches(app: App, *, session_id: str) -> None:
    """List who watches whom; with an ID only what that session watches or is watched by."""
    if session_id:
        parse_session_id(session_id)
    with DaemonClient(app.home) as client:
        rows = all_watches(client, session_id)
    if app.is_json:
        app.emit([watch_row(row) for row in rows])
        return
    if not rows:
        nobody = (
            f"{printable(session_id)} watches nobody and nobody watches it"
            if session_id
            else "nobody watches"
        )
        app.say(f"{nobody}; begin with `netclaw signals watch WATCHER TARGET`")
        return
    app.table(
        ("watcher", "target", "knows", "newest", "notice"),
        (
            (row.watcher, row.target, str(row.last_seen), str(row.material), _notice(row))
            for row in rows
        ),
        expendable=("newest", "knows"),
    )
    waiting = sum(map(is_open, rows))
    if waiting:
        app.note(f"{counted(waiting, 'notice')} to be told in the watcher's next turn")


def _notice(row: WatchRow) -> str:
    return f"waits (since {row.last_seen})" if is_open(row) else "-"
