"""A round's tool calls: pairing, launching, results, boundary."""

from __future__ import annotations

from dataclasses import replace

import pytest

from netclaw.core.messages import AssistantMessage, ToolMessage
from netclaw.core.redaction import redact_shapes
from netclaw.core.session import tool_batch
from netclaw.core.session.commands import BeginOutput
from netclaw.core.session.draft import Draft
from netclaw.core.session.effects import CallModel, ReleaseDeltas, RunTool
from netclaw.core.session.events import (
    OutputStarted,
    RoundRecorded,
    ToolBatchStarted,
    ToolResultRecorded,
)
from netclaw.core.session.outputs import (
    FileOutput,
    OutputFilter,
    TextOutput,
    ToolCallOutput,
    ToolResultOutput,
    UsageOutput,
)
from netclaw.core.tool_call import Attachment, OutcomeCategory
from netclaw.testing.matchers import containing, like
from netclaw.testing.story import SHELL, USAGE, Story


def asked(interest: OutputFilter = OutputFilter(0)) -> Story:
    story = Story(interest=interest)
    story.start()
    story.admit()
    return story


@pytest.mark.requirement("core.batch-start")
def test_round_and_batch_start_are_one_append_before_any_call_runs() -> None:
    story = asked(OutputFilter.TEXT)
    decision = story.call_tools(2, text="Looking.")
    ids = tuple(item.call.call_id for item in story.launched)
    assert decision.events == (
        like(RoundRecorded, round=0, usage=USAGE, model="test-model"),
        like(ToolBatchStarted, call_ids=ids),
    )
    assert decision.outputs == (
        like(TextOutput, text="Looking.", round=0),
        like(UsageOutput, usage=USAGE),
        like(ToolCallOutput, call_id=ids[0], name="shell_execute"),
        like(ToolCallOutput, call_id=ids[1]),
    )
    assert decision.effects == (like(RunTool), like(RunTool))
    assert len(set(ids)) == 2


@pytest.mark.requirement("core.preamble-recorded")
@pytest.mark.parametrize("interest", [OutputFilter(0), OutputFilter.TEXT, OutputFilter.ALL])
def test_a_preamble_is_shown_exactly_if_it_is_recorded_as_released(interest: OutputFilter) -> None:
    decision = asked(interest).call_tools(text="Looking.")
    (recorded,) = (event for event in decision.events if isinstance(event, RoundRecorded))
    is_shown = any(isinstance(output, TextOutput) for output in decision.outputs)
    assert recorded.is_text_released is is_shown is bool(interest)


@pytest.mark.requirement("core.call-ids")
def test_calls_get_ids_of_our_own_even_when_the_provider_doubles_its_ids() -> None:
    story = asked()
    story.when(story.answered(calls=(SHELL, SHELL)))
    calls = [item.call for item in story.launched]
    assert [call.provider_call_id for call in calls] == ["call_0", "call_0"]
    assert calls[0].call_id != calls[1].call_id


@pytest.mark.requirement("core.batch-boundary")
def test_the_next_model_call_waits_for_every_result() -> None:
    story = asked()
    story.call_tools(2)
    first = story.when(story.tool_ended(1, text="second first"))
    assert first.events == (like(ToolResultRecorded),)
    assert first.effects == ()
    assert first.outputs == (like(ToolResultOutput, text="second first", name="shell_execute"),)
    last = story.when(story.tool_ended(0, text="first last"))
    assert last.effects == (like(CallModel, token=story.model_token, round=1),)
    assert story.messages[-3:] == (
        like(AssistantMessage),
        like(ToolMessage, text="first last"),
        like(ToolMessage, text="second first"),
    )


@pytest.mark.requirement("core.late-results")
def test_a_result_counts_only_with_the_token_of_its_launch() -> None:
    story = asked()
    story.call_tools(2)
    good = story.tool_ended(0)
    other = story.tool_ended(1)
    for stale in (
        replace(good, token=other.token),
        replace(good, result=other.result),
    ):
        assert story.when(stale).events == ()
    assert story.when(good).events == (like(ToolResultRecorded),)
    assert story.when(good).events == ()
    assert len(story.runtime.running) == 1


def test_a_result_without_a_turn_is_dropped() -> None:
    story = asked()
    story.call_tools()
    late = story.tool_ended()
    story.finish_tools()
    story.answer()
    assert story.when(late).events == ()


@pytest.mark.requirement("core.argument-fault")
def test_a_call_with_unusable_arguments_is_answered_and_never_run() -> None:
    story = asked()
    faulty = replace(SHELL, provider_call_id="bad", fault="The text is no JSON.")
    decision = story.when(story.answered(calls=(faulty, SHELL)))
    good_id = story.launched[0].call.call_id
    assert decision.events == (
        like(RoundRecorded),
        like(ToolResultRecorded),
        like(ToolBatchStarted, call_ids=(good_id,)),
    )
    assert [type(item) for item in decision.effects] == [RunTool]
    assert (
        like(
            ToolResultOutput,
            outcome=OutcomeCategory.INVALID_INPUT,
            text=containing("no JSON", "not run"),
        )
        in decision.outputs
    )


@pytest.mark.requirement("core.argument-fault")
def test_with_only_unusable_calls_the_model_is_asked_again_at_once() -> None:
    story = asked()
    decision = story.when(story.answered(calls=(replace(SHELL, fault="Nonsense."),)))
    assert decision.events == (like(RoundRecorded), like(ToolResultRecorded))
    assert decision.effects == (like(CallModel, round=1),)
    assert story.state.turn == like(type(story.state.turn), has_launched=False)


@pytest.mark.requirement("core.text-out")
@pytest.mark.parametrize(
    ("interest", "text", "is_released"),
    [
        (OutputFilter.TEXT, "Looking.", True),
        (OutputFilter.TEXT_STREAMING, "Looking.", True),
        (OutputFilter.TEXT, " ", False),
        (OutputFilter.TOOL_CALLS, "Looking.", False),
    ],
)
def test_a_preamble_counts_as_seen_only_if_somebody_reads_texts(
    interest: OutputFilter, text: str, is_released: bool
) -> None:
    story = asked(interest)
    decision = story.call_tools(text=text)
    assert decision.events[0] == like(RoundRecorded, is_text_released=is_released)
    assert story.state.turn == like(type(story.state.turn), has_text_out=is_released)


@pytest.mark.requirement("core.output-started")
def test_deltas_leave_after_output_started_and_only_if_somebody_would_see_them() -> None:
    story = asked(OutputFilter.TEXT)
    token = story.model_token
    hidden = story.when(BeginOutput(token=token))
    assert (hidden.events, hidden.effects) == ((), ())
    story.runtime = replace(story.runtime, interest=OutputFilter.TEXT_STREAMING)
    decision = story.when(BeginOutput(token=token))
    assert decision.events == (like(OutputStarted, round=0),)
    assert decision.effects == (ReleaseDeltas(token=token),)
    again = story.when(BeginOutput(token=token))
    assert (again.events, again.effects) == ((), (ReleaseDeltas(token=token),))


def test_a_stale_begin_of_output_is_dropped() -> None:
    story = asked(OutputFilter.ALL)
    token = story.model_token
    story.answer()
    assert story.when(BeginOutput(token=token)).effects == ()
    story.admit()
    assert story.when(BeginOutput(token=token)).effects == ()


@pytest.mark.requirement("core.redacted-arguments")
def test_subscribers_see_arguments_without_secrets_and_the_tool_gets_them_whole() -> None:
    story = asked()
    secret = "ghp_" + "a1B2" * 9
    call = replace(SHELL, arguments=f'{{"command":"curl -H {secret}"}}')
    decision = story.when(story.answered(calls=(call,)))
    shown = next(item for item in decision.outputs if isinstance(item, ToolCallOutput))
    assert secret not in shown.arguments
    assert secret in story.launched[0].call.arguments


@pytest.mark.requirement("core.storable")
def test_text_that_no_journal_can_hold_is_mended_before_it_is_recorded() -> None:
    story = asked()
    call = replace(SHELL, name="n\ud800", arguments='"\ud83d\ude00"', provider_call_id="\udc00")
    story.when(story.answered("half \ud800", calls=(call,), thinking="\ud800"))
    story.when(story.tool_ended(text="file \udcff.txt"))
    story.when(story.answered("done \ud83d\ude00"))
    for event in story.events():
        repr(event).encode()
        assert "\\ud" not in repr(event)
    assert story.launched == ()
    assert story.messages[-1] == like(AssistantMessage, text="done \N{GRINNING FACE}")
    assert story.messages[-2] == like(ToolMessage, text="file \N{REPLACEMENT CHARACTER}.txt")


def test_without_an_open_turn_there_is_no_boundary_to_pass() -> None:
    story = Story()
    draft = Draft(
        story.state,
        story.runtime,
        now_ms=0,
        make_id=story.make_id,
        settings=story.settings,
        redact=redact_shapes,
    )
    tool_batch.pass_boundary_if_reached(draft)
    assert draft.decision().events == ()


@pytest.mark.requirement("attach.copies")
def test_an_attached_file_is_told_of_right_after_its_result() -> None:
    story = asked()
    story.call_tools(1)
    ended = story.tool_ended(0)
    attached = Attachment(path="/s/a.pdf", media_type="application/pdf", size_bytes=9)
    receipt = replace(ended.result.receipt, attachment=attached)
    decision = story.when(replace(ended, result=replace(ended.result, receipt=receipt)))
    told = [output for output in decision.outputs if isinstance(output, FileOutput)]
    assert told == [like(FileOutput, path="/s/a.pdf", media_type="application/pdf", size_bytes=9)]
    kinds = [type(output) for output in decision.outputs]
    assert kinds.index(FileOutput) == kinds.index(ToolResultOutput) + 1
