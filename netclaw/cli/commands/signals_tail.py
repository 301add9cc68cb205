"""`netclaw signals tail`: what happens in all sessions, as it happens."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from netclaw.cli.app import App, printable
from netclaw.cli.chat.interrupts import POLL_S, Interrupts
from netclaw.cli.client import DaemonClient
from netclaw.cli.command import command
from netclaw.cli.completions import any_session_ids
from netclaw.cli.params import SEQ
from netclaw.cli.signal_feed import SignalFeed
from netclaw.cli.signal_rows import actor, signal_row, what
from netclaw.cli.words import clock, counted
from netclaw.core.ids import parse_session_id

if TYPE_CHECKING:
    from netclaw.wire.v1.admin_pb2 import SignalRow, SignalsTail

SESSION_WIDTH = 48
"""Wider ids push their own line to the right and no other."""
_COLOUR = {"human": "yellow", "agent": "cyan", "system": "dim"}


@command(
    "tail",
    examples=(
        "netclaw signals tail",
        "netclaw signals tail release --since 12",
        "netclaw signals tail --json",
    ),
)
@click.argument("session_id", metavar="[ID]", default="", shell_complete=any_session_ids)
@click.option("--since", type=SEQ, help="Begin with what is kept after this state version.")
def tail(app: App, *, session_id: str, since: int | None) -> None:
    """Follow what changes in every session, or in one, until Ctrl-C.

    A line for each change: when, in which session, who did it, what it was. With --json a JSON
    value a line. It goes on by itself after a restart of the daemon, and misses nothing.
    """
    if session_id:
        parse_session_id(session_id)
    view = _View(app, is_one=bool(session_id))
    client = DaemonClient(app.home)
    feed: SignalFeed | None = None
    # Counted and not raised: an exception amid gRPC's own code can leave it waiting for ever.
    interrupts = Interrupts(lambda: feed is None or feed.is_connected)
    try:
        with interrupts:
            feed = SignalFeed(client, app.home, session_id, since=since, tell=app.note)
            for batch in feed.watch(POLL_S):
                if interrupts.count:
                    return
                if batch is not None:
                    view.show(batch)
    except KeyboardInterrupt:
        return
    finally:
        if feed is not None:
            feed.close()
        else:
            client.__exit__(None, None, None)


class _View:
    """Writes changes as lines, for people or as JSON."""

    def __init__(self, app: App, *, is_one: bool) -> None:
        self._app = app
        self._is_one = is_one
        self._width = 0

    def show(self, batch: SignalsTail) -> None:
        """Show what the daemon sent, in its order."""
        if batch.HasField("head") and os.isatty(1):
            self._app.note(f"changes after {batch.head} as they come; Ctrl-C leaves")
        if batch.gap:
            self._remark({"historyGap": True}, "some of what was asked for is not kept any more")
        for event in batch.events:
            if self._app.is_json:
                self._app.emit(signal_row(event))
            else:
                self._app.say(self._line(event))
        if batch.missed:
            words = f"{counted(batch.missed, 'change')} not shown: this reader was too slow"
            self._remark({"missed": batch.missed}, words)

    def _remark(self, row: dict[str, int | bool], words: str) -> None:
        if self._app.is_json:
            self._app.emit({**row})
        else:
            self._app.say(self._app.style(f"! {words}", "yellow"))

    def _line(self, event: SignalRow) -> str:
        style = self._app.style
        session = "" if self._is_one else self._session(event)
        by = style(printable(actor(event)), _COLOUR.get(event.actor_type, "dim"))
        return (
            f"{style(clock(event.occurred_at_ms), 'dim')}  {session}{by}: {printable(what(event))}"
        )

    def _session(self, event: SignalRow) -> str:
        """The id, in a column that grows to the widest seen."""
        name = printable(event.session_id)
        self._width = max(self._width, min(len(name), SESSION_WIDTH))
        return f"{self._app.style(name.ljust(self._width), 'bold')}  "
