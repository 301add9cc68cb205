"""`netclaw sessions`: list, read and steer sessions."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from netclaw.cli.app import App, JsonRow, JsonValue, printable
from netclaw.cli.client import DaemonClient, UnaryCall
from netclaw.cli.command import Entry, LazyGroup, command
from netclaw.cli.completions import session_ids
from netclaw.cli.history import read_history
from netclaw.cli.params import ROWS, SEQ
from netclaw.cli.rows import (
    detail_row,
    history_row,
    journal_row,
    phase_of,
    session_row,
    when,
)
from netclaw.cli.signal_rows import all_watches, watches_of
from netclaw.cli.words import ago, context_use, count, moment, shorten
from netclaw.core.ids import parse_session_id

if TYPE_CHECKING:
    from netclaw.wire.v1 import admin_pb2, common_pb2, gateway_pb2

_HERE = "netclaw.cli.commands.sessions"
_STEER = "netclaw.cli.commands.session_steering"
_WATCH = "netclaw.cli.commands.session_watch"
_ADOPT = "netclaw.cli.commands.session_adoption"
_LABELS = {
    "pid": "process",
    "incarnation": "start number",
    "pendingInputs": "messages waiting",
    "lastActivityAt": "last active",
    "headSeq": "journal position",
    "tokens": "tokens of all turns",
    "context": "context in use",
    "openApprovals": "calls to decide",
    "jobs": "background jobs",
    "openChildRuns": "open sub-agents",
    "watchers": "watched by",
    "openNotices": "not told yet of",
    "upstream": "adopted from",
    "upstreamOthers": "adopted also by",
}
PAGE = 1000
TITLE_WIDTH = 32
COLUMNS = (
    *("id", "title", "phase", "context", "turns", "waiting", "last active"),
    *("channel", "audience", "version", "pid"),
)
STEER_TIMEOUT_S = 90.0
"""Draining a session takes up to its budget, and 18 s more with a child run."""

sessions = LazyGroup(
    "sessions",
    {
        "list": Entry(f"{_HERE}:list_sessions", "List all sessions."),
        "show": Entry(f"{_HERE}:show", "Show one session: process, storage, tokens, open work."),
        "history": Entry(f"{_HERE}:history", "Read the conversation."),
        "journal": Entry(f"{_HERE}:journal", "Read the journal as it is stored."),
        "attach": Entry(f"{_WATCH}:attach", "Watch a session live."),
        "inject": Entry(f"{_WATCH}:inject", "Deliver a message as an adapter would."),
        "adopt": Entry(f"{_ADOPT}:adopt", "Go on from a transcript of another program."),
        "stop": Entry(f"{_STEER}:stop", "End its process gracefully; the next message wakes it."),
        "restart": Entry(f"{_STEER}:restart", "Drain and start it again; lifts a quarantine."),
        "kill": Entry(f"{_STEER}:kill", "Kill its process at once; open work is taken up again."),
        "compact": Entry(f"{_STEER}:compact_session", "Shorten its history now."),
        "reset": Entry(f"{_STEER}:reset", "Begin a new life: empty history, files stay."),
        "delete": Entry(f"{_STEER}:delete", "Remove it; its files move to the trash."),
    },
    default="list",
    summary="List, read, watch and steer sessions. Without a further word it lists them.",
    examples=(
        "netclaw sessions",
        "netclaw sessions show cli/abcdefghij --json",
        "netclaw sessions attach notes --filter text,tool-calls",
        "netclaw sessions kill notes",
    ),
)

session_id = click.argument("session_id", metavar="ID", shell_complete=session_ids)


def steer(
    app: App,
    identifier: str,
    method: str,
    *,
    timeout_s: float = STEER_TIMEOUT_S,
) -> gateway_pb2.SessionRow:
    """Call one of the operator's methods that take a session and return its row."""
    parse_session_id(identifier)
    with DaemonClient(app.home) as client:
        from netclaw.wire.v1.admin_pb2 import SessionRef

        call: UnaryCall[admin_pb2.SessionRef, gateway_pb2.SessionRow] = getattr(
            client.admin, method
        )
        return client.call(call, SessionRef(session_id=identifier), timeout_s=timeout_s)


@command("list", examples=("netclaw sessions list", "netclaw sessions list --children --json"))
@click.option("--children", "with_children", is_flag=True, help="The sessions of child runs, too.")
def list_sessions(app: App, *, with_children: bool) -> None:
    """List all sessions: title, phase, how full the context is, what waits.

    The last active come first; with --json they are in the order of their ids. A narrow terminal
    is shown fewer columns; --json has all that is known.
    """
    rows = _all_rows(app, with_children=with_children)
    if app.is_json:
        app.emit([session_row(row) for row in rows])
        return
    if not rows:
        app.say("no sessions yet; begin one with `netclaw chat`")
        return
    app.table(
        COLUMNS,
        (
            (
                row.id,
                shorten(row.title, TITLE_WIDTH) or "-",
                phase_of(row),
                _context(row),
                count(row.turns),
                str(row.pending_inputs),
                ago(row.last_activity_at_ms),
                row.channel,
                row.audience,
                str(row.state_version or "-"),
                str(row.pid or "-"),
            )
            for row in sorted(rows, key=lambda row: -row.last_activity_at_ms)
        ),
        expendable=("pid", "version", "audience", "channel", "turns", "title", "waiting"),
    )


def _context(row: gateway_pb2.SessionRow) -> str:
    return context_use(row.context_tokens, row.context_window) if row.context_tokens else "-"


def _all_rows(app: App, *, with_children: bool) -> list[gateway_pb2.SessionRow]:
    rows: list[gateway_pb2.SessionRow] = []
    with DaemonClient(app.home) as client:
        from netclaw.wire.v1.gateway_pb2 import ListSessionsRequest

        while True:
            after = rows[-1].id if rows else ""
            request = ListSessionsRequest(limit=PAGE, after_id=after, with_children=with_children)
            page = client.call(client.gateway.ListSessions, request).sessions
            rows.extend(page)
            if len(page) < PAGE:
                return rows


@command("show", examples=("netclaw sessions show notes", "netclaw sessions show notes --json"))
@session_id
def show(app: App, *, session_id: str) -> None:
    """Show one session: its process, files, tokens, open work, its goal and who watches it."""
    parse_session_id(session_id)
    with DaemonClient(app.home) as client:
        from netclaw.wire.v1.gateway_pb2 import GetSessionRequest

        detail = client.call(client.gateway.GetSession, GetSessionRequest(session_id=session_id))
        pairs = all_watches(client, session_id)
    row = detail_row(detail) | watches_of(session_id, pairs)
    if app.is_json:
        app.emit(row)
        return
    for key in ("contextTokens", "contextWindow", "lastInputTokens"):
        row.pop(key, None)
    row["lastActivityAt"] = moment(detail.row.last_activity_at_ms)
    if detail.row.goal:
        row["goal"] = f"{detail.row.goal} ({row.pop('goalStatus', '')})"
    if detail.last_input_tokens:
        row["context"] = context_use(detail.last_input_tokens, detail.context_window)
    _print_fields(app, row, 0)
    if detail.upstream_others:
        app.note("a transcript that several sessions adopted is followed for none of them")
    if detail.open_approvals:
        app.say("decide about them: netclaw approvals pending")


def _print_fields(app: App, row: JsonRow, indent: int) -> None:
    for key, value in row.items():
        if isinstance(value, dict):
            app.say(f"{' ' * indent}{_label(key)}")
            _print_fields(app, value, indent + 2)
        elif value not in ("", []):
            app.say(f"{' ' * indent}{_label(key):<20}{printable(_field(value))}")


def _label(key: str) -> str:
    """The key of a row as a person says it."""
    words = "".join(f" {char.lower()}" if char.isupper() else char for char in key)
    return _LABELS.get(key, words)


def _field(value: JsonValue) -> str:
    if isinstance(value, list):
        return ", ".join(str(item) for item in value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)


@command(
    "history", examples=("netclaw sessions history notes", "netclaw sessions history notes --json")
)
@session_id
@click.option("--limit", type=ROWS, default=0, help="Only the newest so many.")
def history(app: App, *, session_id: str, limit: int) -> None:
    """Read the conversation as the model sees it: messages, tool calls, results."""
    parse_session_id(session_id)
    with DaemonClient(app.home) as client:
        items = read_history(client, session_id, limit=limit)
    if app.is_json:
        app.emit([history_row(item) for item in items])
        return
    for item in items:
        _print_item(app, item)


_ROLE_STYLE = {"user": "cyan", "assistant": "green", "tool": "dim", "note": "yellow"}


def _print_item(app: App, item: gateway_pb2.HistoryItem) -> None:
    who = f"{item.role} ({item.sender})" if item.sender else item.role
    at = moment(item.at_ms) if item.at_ms else ""
    app.say(app.style(f"{printable(who)}  {at}".rstrip(), _ROLE_STYLE.get(item.role, "bold")))
    if item.text:
        app.say(_indented(printable(item.text, keep_lines=True)))
    for call in item.tool_calls:
        app.say(
            _indented(printable(f"[tool:call] {call.tool_name} {shorten(call.arguments, 200)}"))
        )
    app.say()


def _indented(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.splitlines())


@command(
    "journal",
    examples=(
        "netclaw sessions journal notes",
        "netclaw sessions journal notes --since 120 --json",
        "netclaw sessions journal notes | grep ToolBatchStarted",
    ),
)
@session_id
@click.option("--since", type=SEQ, default=0, help="Only rows after this seq.")
def journal(app: App, *, session_id: str, since: int) -> None:
    """Read the journal as it is stored.

    Prints JSON lines with --json or when the output is no terminal.
    """
    parse_session_id(session_id)
    is_lines = app.is_json or not sys.stdout.isatty()
    with DaemonClient(app.home) as client:
        from netclaw.wire.batches import joined_rows
        from netclaw.wire.v1.admin_pb2 import ReadJournalRequest

        request = ReadJournalRequest(session_id=session_id, since_seq=since)
        for row in joined_rows(client.stream(client.admin.ReadJournal, request)):
            if is_lines:
                app.emit(journal_row(row))
            else:
                _print_journal_row(app, row)


def _print_journal_row(app: App, row: common_pb2.JournalRow) -> None:
    payload = shorten(row.payload.decode("utf-8", "replace"), 160)
    head = app.style(f"{row.seq:>6}  {when(row.at_ms) or '':<24}  {row.type:<18}", "bold")
    app.say(f"{head}  {printable(payload)}")
