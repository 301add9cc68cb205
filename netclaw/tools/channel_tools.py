"""Tools that write to channels of the daemon's own accord, and find people and places there.

A model is told fixed sentences and ids; of a platform's own words it sees names alone, as data.
"""

from __future__ import annotations

import asyncio

from netclaw.core.errors import NetclawError
from netclaw.core.tool_call import OutcomeCategory
from netclaw.ports.channels import MAX_HITS, MAX_MESSAGE_CHARS, PostReport, PostState, Wanted
from netclaw.tools.faults import ToolFault
from netclaw.tools.schema import Arguments, Field, Kind
from netclaw.tools.session_answers import as_json, asked
from netclaw.tools.tool import NOT_PUBLIC, Outcome, Scope

ACKNOWLEDGE_S = 30.0
"""How long a call waits for the thread that its message begins."""
LOOK_S = 5.0
"""How long one question to the supervisor waits; after each the call has shown a sign of life."""
MAX_NAME = 100

SENT = "The message was sent. Its thread is a session of its own; replies there go to that session."
QUEUED = (
    "The message is kept and goes out as soon as the channel can take it. Do not send it again."
)
FAILED = "The channel did not take the message. It was not sent and will not be."
NOBODY = "Nobody of that name may be written to on this channel."
NO_PLACE = "No place of that name may be written to on this channel."


def _channel_field() -> Field:
    return Field(
        name="channel_key",
        kind=Kind.STRING,
        description="The channel: slack, discord, mattermost, or the name of another one.",
        is_required=True,
        max_chars=MAX_NAME,
    )


class SendChannelMessage:
    """Sent once: a call that was started is never run again, and its id names the message."""

    name = "send_channel_message"
    description = (
        "Posts a message to a place or person of a channel and so begins a new thread there, which"
        " is a session of its own. For a reply in this conversation just answer. The destination"
        " is an id, found with lookup_channel_destination or lookup_channel_user; only what the"
        " operator listed for the channel is written to."
    )
    audiences = NOT_PUBLIC
    fields: tuple[Field, ...] = (
        _channel_field(),
        Field(
            name="destination",
            kind=Kind.STRING,
            description="The id of the place or person.",
            is_required=True,
            max_chars=MAX_NAME,
        ),
        Field(
            name="text",
            kind=Kind.STRING,
            description="What to post, completely, in Markdown.",
            is_required=True,
            max_chars=MAX_MESSAGE_CHARS,
        ),
    )

    async def run(self, arguments: Arguments, scope: Scope) -> Outcome:
        """See `Tool`."""
        text = arguments.text("text")
        if not text.strip():
            raise ToolFault.invalid("The message is empty.")
        report = await asked(
            scope.context.channels.post(
                channel=arguments.text("channel_key"),
                destination=arguments.text("destination"),
                text=text,
            )
        )
        return _shown(await _until_over(report, scope))


async def _until_over(report: PostReport, scope: Scope) -> PostReport:
    loop = asyncio.get_running_loop()
    deadline = loop.time() + ACKNOWLEDGE_S
    while report.state is PostState.QUEUED and (left := deadline - loop.time()) > 0:
        try:
            report = await scope.context.channels.wait(min(left, LOOK_S))
        except NetclawError:
            return report  # it is kept, whatever the question met
        scope.context.on_item()
    return report


def _shown(report: PostReport) -> Outcome:
    if report.state is PostState.FAILED:
        return Outcome(
            text=as_json({"status": "failed", "note": FAILED}), category=OutcomeCategory.FAILURE
        )
    is_sent = report.state is PostState.SENT
    answer = {
        "status": report.state.value,
        "sessionKey": report.session_key or None,
        "note": SENT if is_sent else QUEUED,
    }
    return Outcome(text=as_json(answer))


class _Lookup:
    """What both look-ups share."""

    audiences = NOT_PUBLIC
    fields: tuple[Field, ...] = (
        _channel_field(),
        Field(
            name="name",
            kind=Kind.STRING,
            description="The name or a part of it.",
            is_required=True,
            max_chars=MAX_NAME,
        ),
    )
    wanted = Wanted.USERS
    nothing = NOBODY

    async def run(self, arguments: Arguments, scope: Scope) -> Outcome:
        """See `Tool`."""
        name = arguments.text("name").strip()
        if not name:
            raise ToolFault.invalid("The name is empty.")
        found = await asked(
            scope.context.channels.find(
                channel=arguments.text("channel_key"), wanted=self.wanted, text=name
            )
        )
        if not found.hits:
            return Outcome(text=self.nothing, category=OutcomeCategory.NOT_FOUND)
        hits = [{"id": hit.id, "name": hit.name} for hit in found.hits[:MAX_HITS]]
        return Outcome(text=as_json({"found": hits}))


class LookupChannelUser(_Lookup):
    """Finds people."""

    name = "lookup_channel_user"
    description = (
        "Finds people of a channel who may be written to, by name: at most ten, with their ids."
    )


class LookupChannelDestination(_Lookup):
    """Finds channels and rooms."""

    name = "lookup_channel_destination"
    description = (
        "Finds places of a channel that may be written to, by name: at most ten, with their ids."
    )
    wanted = Wanted.PLACES
    nothing = NO_PLACE
