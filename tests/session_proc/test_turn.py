"""Turns as a person sees them: a message in, text and tool calls out, one turn boundary."""

from __future__ import annotations

import asyncio
import stat
from dataclasses import replace
from pathlib import Path

import pytest

from netclaw.core.exit_codes import ExitCode
from netclaw.core.session.events import RoundRecorded, TurnFailed, TurnRecorded
from netclaw.core.session.outputs import OutputFilter
from netclaw.core.settings import SessionSettings, SessionTuning
from tests.fakes.model import FakeModel
from tests.session_proc.conftest import Start, model_settings
from tests.session_proc.host import ScriptedHost
from tests.session_proc.tools import ScriptedTools


def unhurried(settings: SessionSettings) -> SessionSettings:
    """Deltas wait so long that a short answer ends before they are due."""
    return replace(settings, tuning=SessionTuning(output_flush_s=30.0))


def mode_of(folder: str) -> int:
    """The permission bits of a folder."""
    return stat.S_IMODE(Path(folder).stat().st_mode)


@pytest.mark.requirement("session_proc.turn")
async def test_a_message_is_answered(host: ScriptedHost, start: Start, model: FakeModel) -> None:
    start()
    await host.until(lambda seen: "ready" in seen.phases)
    input_id = host.admit("[[reply:hello there]]")
    await host.turn_completed()
    assert host.seen.text("text") == "hello there"
    assert list(host.seen.of_type("turn_completed")[0].input_ids) == [input_id]
    assert host.journal.names()[-2:] == ["TurnStarted", "TurnRecorded"]
    sent = model.requests[0].messages
    assert [message["role"] for message in sent] == ["system", "user", "user"]


@pytest.mark.requirement("session_proc.one-frame-end")
async def test_the_end_of_a_turn_is_one_frame(host: ScriptedHost, start: Start) -> None:
    host.settings = unhurried(host.settings)
    start()
    host.admit("[[reply:short]]")
    await host.turn_completed()
    last = host.seen.appends[-1]
    assert [event.type for event in last.events] == ["TurnRecorded"]
    assert [output.type for output in last.outputs] == [
        "text_delta",
        "text",
        "usage",
        "turn_completed",
        "processing",
    ]


@pytest.mark.requirement("session_proc.early-call")
async def test_the_model_is_asked_while_the_start_is_being_committed(
    host: ScriptedHost, start: Start, model: FakeModel
) -> None:
    start()
    await host.until(lambda seen: "ready" in seen.phases)
    host.hold_appends.clear()
    host.admit("[[reply:x]]")
    await model.wait_for_requests(1)
    assert "TurnStarted" not in host.journal.names()
    host.hold_appends.set()
    await host.turn_completed()


@pytest.mark.requirement("session_proc.tools")
async def test_a_tool_is_run_and_its_result_shown_to_the_model(
    host: ScriptedHost, start: Start, model: FakeModel, tools: ScriptedTools
) -> None:
    start()
    host.admit('[[tool:say {"key":"a"}]] [[results]]')
    await host.turn_completed()
    assert tools.started == {"a": 1}
    assert host.seen.text("text") == "results: done a"
    assert [output.tool_name for output in host.seen.of_type("tool_call")] == ["say"]
    assert host.seen.of_type("tool_result")[0].text == "done a"
    assert host.journal.names()[1:] == [
        "TurnStarted",
        "RoundRecorded",
        "ToolBatchStarted",
        "ToolResultRecorded",
        "TurnRecorded",
    ]
    assert [tool["function"]["name"] for tool in model.requests[0].body["tools"]] == [
        "say",
        "wait",
        "drip",
        "tree",
    ]


async def test_arguments_are_shown_redacted_and_huge_ones_short(
    host: ScriptedHost, start: Start, tools: ScriptedTools
) -> None:
    host.redactions = ("a-secret-of-this-home",)
    start()
    body = "z" * 100_000
    host.admit(
        '[[tool:say {"key":"a","note":"a-secret-of-this-home"}]]'
        f'[[tool:say {{"key":"b","body":"{body}"}}]] [[reply:done]]'
    )
    await host.turn_completed()
    small, huge = (output.arguments for output in host.seen.of_type("tool_call"))
    assert small == '{"key":"a","note":"[redacted]"}'
    assert huge.startswith('{"key": "b", "body": "<100000 characters, sha256 ')
    assert tools.started == {"a": 1, "b": 1}


@pytest.mark.requirement("session_proc.tools")
async def test_calls_of_one_batch_run_side_by_side(
    host: ScriptedHost, start: Start, tools: ScriptedTools
) -> None:
    start()
    host.admit('[[tool:wait {"key":"a"}]] [[tool:wait {"key":"b"}]] [[results]]')
    await tools.until_started(2)
    tools.gate("b").set()
    await host.until(lambda seen: len(seen.of_type("tool_result")) == 1)
    tools.gate("a").set()
    await host.turn_completed()
    assert host.seen.text("text") == "results: done a | done b"


@pytest.mark.requirement("session_proc.tool-trees")
async def test_a_tool_waits_until_its_tree_was_acknowledged(
    host: ScriptedHost, start: Start, tools: ScriptedTools
) -> None:
    host.acks_trees = False
    start()
    host.admit('[[tool:tree {"key":"t"}]] [[reply:end]]')
    await host.until(lambda seen: any(f.HasField("tool_tree") for f in seen.frames))
    opened = next(f.tool_tree for f in host.seen.frames if f.HasField("tool_tree"))
    assert (opened.pid, opened.start_ticks, opened.opened) == (4242, 77, True)
    assert tools.ended.total() == 0
    host.acknowledge_tree(opened.call_id)
    await host.turn_completed()
    trees = [f.tool_tree.opened for f in host.seen.frames if f.HasField("tool_tree")]
    assert trees == [True, False]


@pytest.mark.requirement("session_proc.tools")
async def test_a_call_gets_the_turns_authority_and_a_safe_temporary_folder(
    host: ScriptedHost, start: Start, tools: ScriptedTools
) -> None:
    start()
    host.admit('[[tool:say {"key":"a"}]] [[reply:end]]', sender="anna")
    await host.turn_completed()
    context = tools.contexts[0]
    assert context.authority.requester.sender_id == "anna"
    assert context.is_attended
    for folder in (context.storage.tmp, context.storage.workspace):
        assert mode_of(folder) == 0o700
    await host.until(lambda seen: seen.phases[-1] == "ready")
    await host.settled()
    facts = context.facts()
    assert (facts.session_id, facts.model, facts.head_seq) == (
        "cli/abcdefghij",
        "fake-model",
        host.journal.head,
    )


async def test_a_tool_is_not_run_over_an_unsafe_temporary_folder(
    host: ScriptedHost, start: Start, tools: ScriptedTools, short_tmp: Path
) -> None:
    (short_tmp / "elsewhere").mkdir()
    (short_tmp / "netclaw-0").symlink_to(short_tmp / "elsewhere")
    start()
    host.admit('[[tool:say {"key":"a"}]] [[results]]')
    await host.turn_completed()
    assert tools.started.total() == 0
    assert "temporary folder is not safe" in host.seen.text("text")
    assert list((short_tmp / "elsewhere").iterdir()) == []


@pytest.mark.requirement("session_proc.streaming")
async def test_text_streams_after_its_output_started(
    host: ScriptedHost, start: Start, model: FakeModel
) -> None:
    start()
    host.admit("[[tokens:40]] [[gate_after:20:half]]")
    await host.until(lambda seen: bool(seen.of_type("text_delta")))
    model.gates.open("half")
    await host.turn_completed()
    names = host.journal.names()
    assert names[1:] == ["TurnStarted", "OutputStarted", "TurnRecorded"]
    order = [
        "OutputStarted" if frame.HasField("append") else "delta"
        for frame in host.seen.frames
        if any(event.type == "OutputStarted" for event in frame.append.events)
        or any(output.type == "text_delta" for output in frame.output.outputs)
    ]
    assert order[:2] == ["OutputStarted", "delta"]
    assert host.seen.text("text_delta") == host.seen.text("text")


@pytest.mark.requirement("session_proc.streaming")
async def test_deltas_are_joined(host: ScriptedHost, start: Start) -> None:
    start()
    host.admit("[[tokens:3000]]")
    await host.turn_completed()
    frames = [f for f in host.seen.frames if f.HasField("output")]
    assert host.seen.text("text_delta") == host.seen.text("text")
    assert len(frames) < 100


@pytest.mark.requirement("session_proc.streaming")
async def test_nobody_who_streams_means_no_output_started(host: ScriptedHost, start: Start) -> None:
    host.interest = OutputFilter.TEXT
    start()
    host.admit("[[think_tokens:20]] [[tokens:40]] [[pace:2]]")
    await host.turn_completed()
    assert "OutputStarted" not in host.journal.names()
    assert host.seen.of_type("text_delta") == []
    assert host.seen.of_type("thinking_delta") == []
    assert len(host.seen.of_type("text")) == 1


@pytest.mark.requirement("session_proc.streaming")
async def test_who_comes_late_gets_the_round_from_its_start(
    host: ScriptedHost, start: Start, model: FakeModel
) -> None:
    host.interest = OutputFilter(0)
    start()
    host.admit("[[tokens:40]] [[gate_after:20:half]]")
    await model.gates.wait_for_arrival("half")
    host.change_interest(OutputFilter.ALL)
    await host.until(lambda seen: bool(seen.of_type("text_delta")))
    model.gates.open("half")
    await host.turn_completed()
    assert host.seen.text("text_delta") == host.seen.text("text")


async def test_thinking_streams_without_an_output_started(
    host: ScriptedHost, start: Start, model: FakeModel
) -> None:
    start()
    host.admit("[[think:let me see]] [[reply:yes]] [[gate_after:3:pause]]")
    await model.gates.wait_for_arrival("pause")
    await host.until(lambda seen: seen.text("thinking_delta") == "let me see")
    assert "OutputStarted" not in host.journal.names()
    model.gates.open("pause")
    await host.turn_completed()
    recorded = host.journal.events()[-1]
    assert isinstance(recorded, TurnRecorded)
    assert (recorded.message.text, recorded.message.thinking) == ("yes", "let me see")


async def test_preamble_of_a_tool_round_streams_before_the_calls(
    host: ScriptedHost, start: Start
) -> None:
    host.settings = unhurried(host.settings)
    start()
    host.admit('[[reply:I look it up.]] [[tool:say {"key":"a"}]] [[reply:Done.]]')
    await host.turn_completed()
    shown = [
        (output.type, output.text)
        for output in host.seen.outputs
        if output.type in ("text_delta", "text", "tool_call")
    ]
    assert shown == [
        ("text_delta", "I look it up."),
        ("text", "I look it up."),
        ("tool_call", ""),
        ("text_delta", "Done."),
        ("text", "Done."),
    ]


async def test_a_preamble_that_rides_along_is_recorded_as_released(
    host: ScriptedHost, start: Start
) -> None:
    host.interest = OutputFilter.TEXT_STREAMING
    host.settings = unhurried(host.settings)
    start()
    host.admit('[[reply:I look it up.]] [[tool:say {"key":"a"}]] [[reply:Done.]]')
    await host.turn_completed()
    deltas = [output.text for output in host.seen.of_type("text_delta")]
    assert deltas == ["I look it up.", "Done."]
    assert "OutputStarted" not in host.journal.names()
    rounds = [event for event in host.journal.events() if isinstance(event, RoundRecorded)]
    assert [event.is_text_released for event in rounds] == [True]


@pytest.mark.requirement("session_proc.cut-reply")
async def test_a_reply_cut_at_its_limit_leaves_nothing(host: ScriptedHost, start: Start) -> None:
    start()
    host.admit("[[reply:half a sen]] [[finish:length]]")
    await host.turn_completed()
    failed = host.journal.events()[-1]
    assert isinstance(failed, TurnFailed)
    assert failed.category == "ModelBehavior"
    assert "half a sen" not in str(host.seen.outputs) + str(failed)


async def test_two_messages_are_two_turns_in_order(host: ScriptedHost, start: Start) -> None:
    start()
    first = host.admit("[[reply:one]]")
    second = host.admit("[[reply:two]]", sender="another")
    await host.turn_completed(2)
    assert [list(o.input_ids) for o in host.seen.of_type("turn_completed")] == [[first], [second]]
    assert [o.text for o in host.seen.of_type("text")] == ["one", "two"]


@pytest.mark.requirement("session_proc.no-model")
async def test_without_a_model_each_message_is_told_so(
    host: ScriptedHost, start: Start, settings: SessionSettings
) -> None:
    host.settings = replace(settings, main_model=None)
    start()
    host.admit("hello")
    await host.turn_completed()
    error = host.seen.of_type("error")[0]
    assert error.text.startswith("No usable model is configured")
    assert error.reference


@pytest.mark.requirement("session_proc.fallback")
async def test_the_fallback_is_asked_while_nothing_was_streamed(
    host: ScriptedHost, start: Start, settings: SessionSettings, model: FakeModel
) -> None:
    dead = model_settings("http://127.0.0.1:9/v1")
    host.settings = replace(settings, main_model=dead, fallback_model=settings.main_model)
    start()
    model.rule("hi", "[[reply:from the fallback]]")
    host.admit("hi")
    await host.turn_completed()
    assert host.seen.text("text") == "from the fallback"


@pytest.mark.requirement("session_proc.fallback")
async def test_no_fallback_once_something_was_streamed(
    host: ScriptedHost, start: Start, settings: SessionSettings, model: FakeModel
) -> None:
    host.settings = replace(settings, fallback_model=settings.main_model)
    start()
    host.admit("[[tokens:10]] [[cut:5]]")
    await host.turn_completed()
    assert model.request_count == 1
    assert host.seen.of_type("error")[0].category == "ProviderFailure"


async def test_credentials_reach_the_provider_and_nothing_else(
    short_tmp: Path, host: ScriptedHost, start: Start, model: FakeModel
) -> None:
    secret = "a-credential-of-this-home"
    host.credentials = {"fake": secret}
    host.watch(start())
    host.admit(f"[[reply:echo {secret}]] ")
    await host.turn_completed()
    assert model.requests[0].headers["Authorization"] == f"Bearer {secret}"
    host.command("passivate", reason="test")
    await host.ended()
    log = (short_tmp / "root" / "logs" / "session.log").read_text()
    assert secret not in log
    assert "[redacted]" in log


async def test_the_session_passivates_when_told(host: ScriptedHost, start: Start) -> None:
    process = start()
    host.admit("[[reply:x]]")
    await host.turn_completed()
    host.command("passivate", reason="operator")
    async with asyncio.timeout(15):
        assert await process is ExitCode.PASSIVATED
    assert host.journal.names()[-1] == "Passivated"
    assert host.journal.snapshot_seq == host.journal.head
