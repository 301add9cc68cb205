"""`netclaw sessions attach|inject`: watch a session, deliver a message to it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from netclaw.cli.app import App, compact
from netclaw.cli.chat.feed import SessionFeed
from netclaw.cli.chat.interrupts import POLL_S, Interrupts
from netclaw.cli.client import DaemonClient
from netclaw.cli.command import command
from netclaw.cli.commands.sessions import session_id as identifier
from netclaw.cli.output_rows import output_row
from netclaw.cli.params import FILTER_WORDS, OUTPUT_FILTER, SEQ
from netclaw.core.errors import DeliveryUnconfirmedError
from netclaw.core.ids import parse_session_id

if TYPE_CHECKING:
    from netclaw.wire.v1.gateway_pb2 import GetSessionRequest

SOURCES = ("cli", "slack", "discord", "mattermost", "webhook", "reminder")
PRINCIPALS = ("operator", "trusted", "untrusted", "automation")
AUDIENCES = ("Personal", "Team", "Public")
AUTHENTICITIES = ("LocalProcess", "Verified", "Unverified")
DEFAULT_FILTER = ",".join(FILTER_WORDS)


@command(
    "attach",
    examples=(
        "netclaw sessions attach notes",
        "netclaw sessions attach notes --filter text,tool-calls --json",
        "netclaw sessions attach notes --after 0 --json",
    ),
)
@identifier
@click.option(
    "--filter",
    "bits",
    type=OUTPUT_FILTER,
    default=DEFAULT_FILTER,
    help=f"Some of {DEFAULT_FILTER}.",
)
@click.option("--after", type=SEQ, help="Replay what is stored after this seq first.")
def attach(app: App, *, session_id: str, bits: int, after: int | None) -> None:
    """Watch a session until Ctrl-C.

    Prints JSON lines with --json or when the output is no terminal. Ends of turns, errors, titles
    and compactions are shown whatever the filter.
    """
    parse_session_id(session_id)
    home = app.home
    view = None
    if not app.is_json and sys.stdout.isatty():
        from netclaw.cli.chat.attached import AttachedView

        view = AttachedView(app, session_id)
    client = DaemonClient(home)
    feed: SessionFeed | None = None
    tell = app.note if view is None else view.tell
    # Counted and not raised: an exception amid gRPC's own code can leave it waiting for ever.
    interrupts = Interrupts(lambda: feed is None or feed.is_connected)
    try:
        with interrupts:
            found = client.call(client.gateway.GetSession, _session(session_id))
            feed = SessionFeed(
                client, home, session_id, filter_bits=bits, after_seq=after, tell=tell
            )
            if view is not None:
                view.run(feed, found, interrupts)
                return
            for output in feed.watch(lambda: POLL_S):
                if interrupts.count:
                    return
                if output is not None:
                    app.emit(output_row(output))
    except KeyboardInterrupt:
        return
    finally:
        if feed is not None:
            feed.close()
        else:
            client.__exit__(None, None, None)


def _session(session_id: str) -> GetSessionRequest:
    from netclaw.wire.v1.gateway_pb2 import GetSessionRequest

    return GetSessionRequest(session_id=session_id)


@command(
    "inject",
    examples=(
        'netclaw sessions inject notes "ping" --source cli --sender me --principal operator',
        'netclaw sessions inject C1/17.2 "hi" --source slack --sender U1 --principal trusted',
    ),
)
@identifier
@click.argument("text")
@click.option("--source", type=click.Choice(SOURCES), required=True, help="Where it comes from.")
@click.option("--sender", metavar="WHO", required=True, help="Canonical id of the sender there.")
@click.option("--principal", type=click.Choice(PRINCIPALS), required=True, help="Class of sender.")
@click.option("--audience", type=click.Choice(AUDIENCES), default=None, help="Only narrows.")
@click.option(
    "--message-id", metavar="M", default="", help="Id at the source; makes a resend safe."
)
@click.option("--boundary", metavar="B", default="", help="Scope, such as slack:T1/C1.")
@click.option("--authenticity", type=click.Choice(AUTHENTICITIES), default=None, help="How sure.")
@click.option("--attended", is_flag=True, help="A person is there to answer consent requests.")
def inject(
    app: App,
    *,
    session_id: str,
    text: str,
    source: str,
    sender: str,
    principal: str,
    audience: str | None,
    message_id: str,
    boundary: str,
    authenticity: str | None,
    attended: bool,
) -> None:
    """Deliver a message as an adapter would, never with more authority than yours.

    An unknown session is created. Returns when the message is durable, not when it is answered.
    """
    parse_session_id(session_id)
    with DaemonClient(app.home) as client:
        from netclaw.wire.v1.common_pb2 import Sender
        from netclaw.wire.v1.gateway_pb2 import SendUserMessageRequest

        request = SendUserMessageRequest(
            session_id=session_id,
            text=text,
            sender=Sender(
                sender_id=sender,
                principal=principal,
                audience=audience or "",
                source_kind=source,
                authenticity=authenticity or "",
                boundary=boundary,
            ),
            source_message_id=message_id,
            attended=attended,
            create=True,
        )
        try:
            admitted = client.call(client.admin.Inject, request, is_send=True)
        except DeliveryUnconfirmedError as error:
            raise DeliveryUnconfirmedError(
                f"Delivery unconfirmed: {error.sentence}",
                fix=f"Look it up with `netclaw ledger {session_id}` before sending it again.",
            ) from None
    if app.is_json:
        app.emit(
            compact(
                {
                    "admitted": True,
                    "inputId": admitted.input_id,
                    "seq": admitted.seq,
                    "duplicate": admitted.duplicate,
                    "notice": admitted.notice or None,
                }
            )
        )
        return
    word = "was admitted before" if admitted.duplicate else "admitted"
    app.say(f"{word}: input {admitted.input_id}, seq {admitted.seq}")
    if admitted.notice:
        app.note(admitted.notice)
