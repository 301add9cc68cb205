"""Turns as a person sees them: a message in, text and tool calls out, one turn boundary."""

from __future__ import annotations

from tests.fakes.model import FakeModel
from tests.session_proc.conftest import Start
from tests.session_proc.host import ScriptedHost


async def test_a_message_is_answered(host: ScriptedHost, start: Start, model: FakeModel) -> None:
    start()
    await host.until(lambda seen: "ready" in seen.phases)
    input_id = host.admit("[[reply:hello there]]")
    await host.turn_completed()
    assert host.seen.text("text") == "hello there"
    assert list(host.seen.of_type("turn_completed")[0].input_ids) == [input_id]
    assert host.journal.names()[-2:] == ["TurnStarted", "TurnRecorded"]
    sent = model.requests[0].messages
    assert [message["role"] for message in sent] == ["system", "user"]
