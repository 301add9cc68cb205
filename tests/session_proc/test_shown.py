"""What subscribers see live is what they see on replay."""

from __future__ import annotations

import pytest

from netclaw.core.session.evolve import replay
from netclaw.core.session.outputs import OutputFilter
from netclaw.core.session.state import SessionState
from netclaw.observe.redact import Redactor
from netclaw.supervisor.rows import history_item
from netclaw.wire.outputs import output_to_proto
from netclaw.wire.replay import Replay
from netclaw.wire.v1 import common_pb2 as pb
from tests.session_proc.conftest import Start
from tests.session_proc.host import ScriptedHost

KNOWN = "the-configured-secret"
SHAPED = "ghp_0123456789abcdefghijABCDEFGHIJ"


@pytest.mark.requirement("session_proc.shown-once")
async def test_arguments_and_text_are_the_same_live_on_replay_and_in_the_history(
    host: ScriptedHost, start: Start
) -> None:
    host.interest = OutputFilter.TEXT | OutputFilter.TOOL_CALLS
    host.redactions = (KNOWN,)
    start()
    call = f'[[tool:say {{"key":"{KNOWN} {SHAPED}"}}]]'
    host.admit(f"[[reply:Taking {SHAPED}.]] {call} [[reply:Never paste {KNOWN}.]]")
    await host.turn_completed()
    redact = Redactor(host.redactions)
    past = Replay(redact=redact)
    replayed = [
        output_to_proto(output) for row in host.journal.recorded() for output in past.feed(row)
    ]

    def shown(outputs: list[pb.Output]) -> list[tuple[str, str]]:
        return [
            (output.type, output.text or output.arguments)
            for output in outputs
            if output.type in ("text", "tool_call")
        ]

    live = shown(host.seen.outputs)
    assert shown(replayed) == live
    assert ("tool_call", '{"key":"[redacted] [redacted]"}') in live
    assert ("text", f"Never paste {KNOWN}.") in live, "what a model says is said as it is"
    items = [history_item(m, redact) for m in rebuilt(host).history]
    said = [item.text for item in items if item.role == "assistant"]
    assert said == [text for kind, text in live if kind == "text"]
    asked = [call.arguments for item in items for call in item.tool_calls]
    assert asked == [text for kind, text in live if kind == "tool_call"]


def rebuilt(host: ScriptedHost) -> SessionState:
    """The state as its journal says."""
    return replay(SessionState(), host.journal.recorded())
