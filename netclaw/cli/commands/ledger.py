"""`netclaw ledger`: received, admitted, answered, delivered."""

from __future__ import annotations

import click

from netclaw.cli.app import App
from netclaw.cli.client import DaemonClient
from netclaw.cli.command import command
from netclaw.cli.completions import session_ids
from netclaw.cli.params import Count
from netclaw.cli.rows import ledger_row
from netclaw.cli.words import moment
from netclaw.core.ids import parse_session_id

ENTRIES = Count(10_000, lowest=1)


@command("ledger", examples=("netclaw ledger notes", "netclaw ledger notes --limit 5 --json"))
@click.argument("session_id", metavar="ID", shell_complete=session_ids)
@click.option(
    "--limit", type=ENTRIES, default=200, help="Only the newest so many; 200 if not given."
)
def ledger(app: App, *, session_id: str, limit: int) -> None:
    """Say what became of each message of a session, the newest last."""
    parse_session_id(session_id)
    with DaemonClient(app.home) as client:
        from netclaw.wire.v1.gateway_pb2 import GetLedgerRequest

        request = GetLedgerRequest(session_id=session_id, limit=limit)
        entries = client.call(client.gateway.GetLedger, request).entries
    if app.is_json:
        app.emit([ledger_row(entry) for entry in entries])
        return
    app.table(
        ("input", "message id", "source", "received", "admitted", "outcome", "turn", "deliveries"),
        (
            (
                entry.input_id,
                entry.source_message_id or "-",
                entry.source,
                moment(entry.received_at_ms),
                moment(entry.admitted_at_ms),
                entry.outcome,
                entry.turn_id or "-",
                ", ".join(f"{each.channel} {each.state}" for each in entry.deliveries) or "-",
            )
            for entry in entries
        ),
    )
