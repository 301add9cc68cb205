"""Tools that write to channels and find names there: what they ask, and what a model is told."""

from __future__ import annotations

import json
from collections import deque
from dataclasses import replace

import pytest

from netclaw.core.authority import Audience
from netclaw.core.errors import DeniedByPolicyError, NetclawError, OperationTimeoutError
from netclaw.core.tool_call import OutcomeCategory, ToolResult
from netclaw.ports.channels import Hit, Hits, PostReport, PostState, Wanted
from netclaw.ports.tool import ToolContext
from netclaw.tools import channel_tools
from netclaw.tools.channel_tools import FAILED, NO_PLACE, NOBODY, QUEUED, SENT
from netclaw.tools.factory import Delegation, core_tools, deferred_tools
from tests.tools.rig import NoShell, Rig

LOADED = ("send_channel_message", "lookup_channel_user", "lookup_channel_destination")
WAITING = PostReport(state=PostState.QUEUED)


class Channels:
    """Answers as a test says."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, ...]] = []
        self.posted: PostReport | NetclawError = WAITING
        self.waits: deque[PostReport | NetclawError] = deque()
        self.hits = Hits()

    async def post(self, *, channel: str, destination: str, text: str) -> PostReport:
        """See `Channels`."""
        self.calls.append((channel, destination, text))
        if isinstance(self.posted, NetclawError):
            raise self.posted
        return self.posted

    async def wait(self, patience_s: float) -> PostReport:
        """See `Channels`."""
        del patience_s
        found = self.waits.popleft()
        if isinstance(found, NetclawError):
            raise found
        return found

    async def find(self, *, channel: str, wanted: Wanted, text: str) -> Hits:
        """See `Channels`."""
        self.calls.append((channel, wanted.value, text))
        return self.hits


@pytest.fixture
def channels(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> Channels:
    """What the rig's session asks; its model has loaded the tools."""
    made = Channels()
    really = rig.context
    rig.loaded = LOADED

    def context() -> ToolContext:
        return replace(really(), channels=made)

    monkeypatch.setattr(rig, "context", context)
    return made


async def look(rig: Rig, tool: str, name: str) -> ToolResult:
    """Look a name up."""
    return await rig.call_raw(tool, json.dumps({"channel_key": "slack", "name": name}))


@pytest.mark.requirement("channel_sends.acl")
def test_they_are_loaded_first_and_never_shown_to_the_public(rig: Rig) -> None:
    assert not set(LOADED) & set(rig.names())
    rig.loaded = LOADED
    assert set(rig.names()) > set(LOADED)
    rig.audience = Audience.PUBLIC
    assert not set(LOADED) & set(rig.names())


@pytest.mark.requirement("channel_sends.child")
def test_a_run_has_none_of_them() -> None:
    own = Delegation.OWN_RUN
    names = {tool.name for tool in (*core_tools(NoShell(), own), *deferred_tools(own))}
    assert not names & {*LOADED, "attach_file"}
    assert "sessions_send" in names


@pytest.mark.requirement("channel_sends.words")
async def test_a_sent_message_names_its_session(rig: Rig, channels: Channels) -> None:
    channels.waits += [WAITING, PostReport(state=PostState.SENT, session_key="C1/7")]
    result = await rig.call(
        "send_channel_message", channel_key="slack", destination="C1", text="hello"
    )
    assert channels.calls == [("slack", "C1", "hello")]
    answer = json.loads(result.text)
    assert answer == {"status": "sent", "sessionKey": "C1/7", "note": SENT}


@pytest.mark.requirement("channel_sends.words")
async def test_what_became_of_it_is_one_of_three_sentences(
    rig: Rig, channels: Channels, monkeypatch: pytest.MonkeyPatch
) -> None:
    sending = {"channel_key": "slack", "destination": "C1", "text": "hello"}
    channels.waits.append(PostReport(state=PostState.FAILED))
    failed = await rig.call("send_channel_message", **sending)
    assert json.loads(failed.text) == {"status": "failed", "note": FAILED}
    assert failed.receipt.category is OutcomeCategory.FAILURE
    channels.waits.append(OperationTimeoutError("No answer."))
    kept = await rig.call("send_channel_message", **sending)
    assert json.loads(kept.text) == {"status": "queued", "note": QUEUED}
    monkeypatch.setattr(channel_tools, "ACKNOWLEDGE_S", 0.0)
    late = await rig.call("send_channel_message", **sending)
    assert json.loads(late.text)["status"] == "queued"
    channels.posted = DeniedByPolicyError("Not listed.")
    refused = await rig.call("send_channel_message", **sending)
    assert refused.receipt.category is OutcomeCategory.ACCESS_DENIED
    empty = await rig.call("send_channel_message", **{**sending, "text": "  "})
    assert empty.receipt.category is OutcomeCategory.INVALID_INPUT


@pytest.mark.requirement("channel_sends.lookup")
async def test_names_are_data(rig: Rig, channels: Channels) -> None:
    channels.hits = Hits(hits=(Hit(id="U1", name='Ann "x"'),) * 12)
    found = await look(rig, "lookup_channel_user", " ann ")
    assert json.loads(found.text) == {"found": [{"id": "U1", "name": 'Ann "x"'}] * 10}
    channels.hits = Hits()
    nobody = await look(rig, "lookup_channel_user", "ann")
    assert (nobody.text, nobody.receipt.category) == (NOBODY, OutcomeCategory.NOT_FOUND)
    nowhere = await look(rig, "lookup_channel_destination", "ops")
    assert nowhere.text == NO_PLACE
    assert channels.calls == [
        ("slack", "users", "ann"),
        ("slack", "users", "ann"),
        ("slack", "places", "ops"),
    ]
