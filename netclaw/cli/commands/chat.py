"""`netclaw chat`: a conversation, or one message with -p."""

from __future__ import annotations

import sys

import click

from netclaw.cli.app import App
from netclaw.cli.command import command
from netclaw.cli.completions import session_ids
from netclaw.core.errors import InvalidArgumentError
from netclaw.core.ids import parse_session_id


@command(
    "chat",
    examples=(
        "netclaw chat",
        "netclaw chat --resume notes",
        'netclaw chat -p "How full is this disk?" --json',
        "git diff | netclaw chat -p - --resume review",
    ),
)
@click.option("-p", "--prompt", metavar="TEXT", help="Send one message and print the answer.")
@click.option(
    "-r",
    "--resume",
    metavar="ID",
    default=None,
    shell_complete=session_ids,
    help="Go on with this session; a new name without a slash begins one.",
)
@click.option(
    "--message-id",
    metavar="M",
    default="",
    help="Your id of this message (with -p): sending it again never doubles it.",
)
@click.option(
    "--to-channel", is_flag=True, help="Answer in the session's channel too, not only here."
)
def chat(
    app: App, *, prompt: str | None, resume: str | None, message_id: str, to_channel: bool
) -> int:
    """Talk to a session.

    Without -p this is a conversation: Ctrl-C stops the turn, Ctrl-D leaves. With -p one message is
    sent and its answer printed; -p - reads the message from standard input. Exit code 0: answered,
    1: failed or not confirmed, 2: wrong usage, 130: ended by Ctrl-C. Tool calls that need consent
    are denied with -p.
    """
    if resume is not None:
        parse_session_id(resume)
    if prompt is not None:
        from netclaw.cli.chat.headless import HeadlessChat, Message

        text = _read_stdin() if prompt == "-" else prompt
        return HeadlessChat(
            app,
            Message(
                text=text, resume=resume or "", message_id=message_id, is_to_channel=to_channel
            ),
        ).run()
    if app.is_json or message_id:
        raise click.UsageError("--json and --message-id need -p TEXT.")
    if not sys.stdin.isatty() or not sys.stdout.isatty():
        raise click.UsageError("A conversation needs a terminal; use -p TEXT elsewhere.")
    from netclaw.cli.chat.interactive import run_chat

    return run_chat(app, resume=resume or "", is_to_channel=to_channel)


def _read_stdin() -> str:
    try:
        return sys.stdin.buffer.read().decode("utf-8")
    except UnicodeDecodeError:
        raise InvalidArgumentError("The message on standard input is not valid UTF-8.") from None
