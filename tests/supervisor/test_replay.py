"""Outputs made again from the journal."""

from __future__ import annotations

import pytest

from netclaw.core.errors import ErrorCategory
from netclaw.core.ids import CallId, InputId, TurnId
from netclaw.core.messages import AssistantMessage, Usage
from netclaw.core.session import events as ev
from netclaw.core.session.child_commands import BeginChild, CancelChild
from netclaw.core.session.commands import StopTurn
from netclaw.core.session.effects import Decision
from netclaw.core.session.events import Recorded, SessionEvent
from netclaw.core.session.outputs import ChildOutput, ConsentRequestOutput, ConsentUpdateOutput
from netclaw.core.tool_call import Attachment, OutcomeCategory, ToolCall, ToolReceipt, ToolResult
from netclaw.testing.people import ALICE, WAKE
from netclaw.testing.story import Story
from netclaw.wire.outputs import output_to_proto
from netclaw.wire.replay import Replay, number_outputs
from netclaw.wire.v1.common_pb2 import Output
from tests.core.session.runs import accepting, end_run, park, run_of, working

PROMPTS = ConsentRequestOutput | ConsentUpdateOutput
TURN = TurnId("t1")
CALL = ToolCall(call_id=CallId("c1"), provider_call_id="p1", name="file_read", arguments="secret")
STORY: tuple[SessionEvent, ...] = (
    ev.TurnStarted(turn_id=TURN, input_ids=(InputId("i1"),), authority=ALICE),
    ev.RoundRecorded(
        turn_id=TURN,
        round=0,
        message=AssistantMessage(text="Looking.", at=1, calls=(CALL,)),
        usage=Usage(input_tokens=10, output_tokens=1),
        model="m",
        is_text_released=True,
    ),
    ev.ToolBatchStarted(turn_id=TURN, call_ids=(CALL.call_id,)),
    ev.ToolResultRecorded(
        turn_id=TURN,
        result=ToolResult(
            call_id=CALL.call_id,
            text="42",
            receipt=ToolReceipt(category=OutcomeCategory.SUCCESS, duration_ms=5),
        ),
    ),
    ev.TurnRecorded(
        turn_id=TURN,
        message=AssistantMessage(text="It is 42.", at=2),
        outcome=ev.TurnOutcome.COMPLETED,
        usage=Usage(input_tokens=30, output_tokens=4),
        model="m",
        input_ids=(InputId("i1"),),
    ),
    ev.TitleSet(title="The answer", actor="model"),
    ev.TurnFailed(
        turn_id=TurnId("t2"),
        category=ErrorCategory.TIMEOUT,
        reference="r1",
        note="Too slow.",
        input_ids=(InputId("i2"),),
    ),
    ev.TurnFailed(
        turn_id=TurnId("t3"),
        category=ErrorCategory.INTERRUPTED,
        reference="r2",
        note="Stopped.",
        input_ids=(),
        is_person_told=False,
    ),
    ev.Compacted(
        kept_from_seq=1, notes="", tokens_before=9, tokens_after=3, trigger="x", kept_messages=2
    ),
)


def replayed(*events: SessionEvent, context_window: int = 0) -> list[tuple[int, Output]]:
    """Each output with the seq of its event."""
    replay = Replay(
        context_window=context_window,
        redact=lambda text: text.replace("secret", "[redacted]"),
    )
    return [
        (seq, output_to_proto(output))
        for seq, event in enumerate(events, 1)
        for output in replay.feed(
            Recorded(seq=seq, at=seq, incarnation=1, cause="test", event=event)
        )
    ]


@pytest.mark.requirement("supervisor.replay")
def test_a_turn_comes_back_with_its_texts_calls_results_usage_and_end() -> None:
    found = replayed(*STORY, context_window=1000)
    assert [(seq, output.type) for seq, output in found] == [
        (2, "text"),
        (2, "tool_call"),
        (2, "usage"),
        (4, "tool_result"),
        (5, "text"),
        (5, "usage"),
        (5, "turn_completed"),
        (6, "title"),
        (7, "error"),
        (7, "turn_completed"),
        (8, "turn_completed"),
        (9, "compaction"),
    ]
    by_type = {output.type: output for _, output in found[:7]}
    assert by_type["tool_call"].arguments == "[redacted]"
    assert by_type["tool_result"].tool_name == "file_read"
    assert by_type["text"].round == 1
    assert by_type["usage"].context_window == 1000
    assert by_type["turn_completed"].input_ids == ["i1"]


def test_text_that_was_not_released_stays_unseen() -> None:
    hidden = ev.RoundRecorded(
        turn_id=TURN,
        round=0,
        message=AssistantMessage(text="draft", at=1),
        usage=Usage(),
        model="m",
    )
    assert [output.type for _, output in replayed(hidden)] == ["usage"]


@pytest.mark.requirement("supervisor.replay")
def test_outputs_released_by_a_commit_get_the_seqs_a_replay_gives_them() -> None:
    rows = tuple((seq, type(event).__name__) for seq, event in enumerate(STORY, 1))
    expected = replayed(*STORY[:5])
    outputs = []
    for _, output in expected:
        copy = Output()
        copy.CopyFrom(output)
        outputs.append(copy)
    for begin, end in ((0, 3), (3, 4), (4, 7)):
        part = outputs[begin:end]
        first, last = expected[begin][0], expected[end - 1][0]
        number_outputs(part, rows[first - 1 : last])
    assert [output.seq for output in outputs] == [seq for seq, _ in expected]


def test_two_results_of_one_commit_are_numbered_apart_and_notices_not_at_all() -> None:
    outputs = [Output(type="tool_result"), Output(type="tool_result"), Output(type="notice")]
    number_outputs(outputs, ((4, "ToolResultRecorded"), (5, "ToolResultRecorded"), (6, "TitleSet")))
    assert [output.seq for output in outputs] == [4, 5, 0]


@pytest.mark.requirement("attach.copies")
def test_an_attached_file_follows_its_result_live_and_on_replay() -> None:
    attached = Attachment(path="/s/a.pdf", media_type="application/pdf", size_bytes=9)
    receipt = ToolReceipt(category=OutcomeCategory.SUCCESS, attachment=attached)
    results = [
        ev.ToolResultRecorded(
            turn_id=TURN, result=ToolResult(call_id=CallId(name), text="x", receipt=each)
        )
        for name, each in (
            ("c1", ToolReceipt(category=OutcomeCategory.SUCCESS)),
            ("c2", receipt),
            ("c3", receipt),
        )
    ]
    found = replayed(*results)
    assert [(seq, output.type) for seq, output in found] == [
        (1, "tool_result"),
        (2, "tool_result"),
        (2, "file"),
        (3, "tool_result"),
        (3, "file"),
    ]
    assert (found[2][1].path, found[2][1].size_bytes) == ("/s/a.pdf", 9)
    live = [Output(type=output.type) for _, output in found]
    number_outputs(live, tuple((seq, "ToolResultRecorded") for seq in (1, 2, 3)))
    assert [output.seq for output in live] == [1, 2, 2, 3, 3]


@pytest.mark.requirement("consent.replayed")
def test_a_prompt_that_was_seen_is_not_replayed_to_who_goes_on_after_it() -> None:
    outputs = [Output(type="tool_call"), *[Output(type="consent_request")] * 2]
    rows = ((4, "RoundRecorded"), (5, "ConsentRequested"), (6, "ConsentRequested"))
    copies = [Output(type=output.type) for output in outputs]
    number_outputs(copies, rows)
    assert [output.seq for output in copies] == [4, 5, 6]
    ends = [Output(type="consent_update"), Output(type="consent_update")]
    number_outputs(ends, ((7, "ConsentAnswered"), (8, "ConsentWithdrawn")))
    assert [output.seq for output in ends] == [7, 8]


@pytest.mark.requirement("consent.replayed")
def test_prompts_come_again_with_their_ends_as_they_were_released() -> None:
    story = Story()
    story.start()
    story.admit(by=ALICE)
    released = list(story.ask_consent(3).outputs)
    released += story.choose("once", by=ALICE, call=story.call_id(0)).outputs
    released += story.choose("refuse", by=ALICE, call=story.call_id(1)).outputs
    released += story.when(StopTurn(actor="U1")).outputs
    prompts = [item for item in released if isinstance(item, PROMPTS)]
    assert len(prompts) == 6
    replay = Replay()
    again = [output for row in story.journal for output in replay.feed(row)]
    assert [item for item in again if isinstance(item, PROMPTS)] == prompts


@pytest.mark.requirement("supervisor.replay")
def test_what_became_of_runs_comes_back_as_it_was_told() -> None:
    story = working(ALICE)
    released: list[object] = []

    def noted(decision: Decision) -> None:
        released.extend(item for item in decision.outputs if isinstance(item, ChildOutput))

    noted(story.when(accepting(story)))
    run_id = run_of(story).run_id
    noted(story.when(BeginChild(run_id=run_id, start=1)))
    noted(park(story, "c1"))
    call_id = run_of(story).requests[0].request.call_id
    noted(story.choose("once", call=call_id, by=ALICE))
    noted(story.when(CancelChild(run_id=run_id, actor="U1", authority=None)))
    noted(story.when(BeginChild(run_id=run_id, start=2)))
    noted(end_run(story))
    replay = Replay()
    again = [output for row in story.journal for output in replay.feed(row)]
    assert [item for item in again if isinstance(item, ChildOutput)] == released
    assert len(released) >= 5


def test_a_wake_that_had_nothing_to_tell_is_not_shown() -> None:
    story = Story()
    story.start()
    story.admit("wake", by=WAKE)
    assert story.state.turns == 1
    replayed = Replay()
    assert [replayed.feed(row) for row in story.journal if replayed.feed(row)] == []
