"""Frames in pieces, outputs and rows on the wire."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netclaw.core.authority import DeliveryTarget, SourceKind
from netclaw.core.errors import ErrorCategory, InvalidArgumentError, TooLargeError
from netclaw.core.ids import CallId, InputId, JobId, RunId, TurnId
from netclaw.core.messages import MediaRef, Usage
from netclaw.core.session import outputs as out
from netclaw.core.session.child_events import ChildState
from netclaw.core.session.consent_events import ConsentEffect, ConsentOption
from netclaw.core.session.events import InputAdmitted, OutboxRow, TurnOutcome
from netclaw.core.session.job_events import JobState
from netclaw.core.session.outputs import FILTER_OF, Output, OutputFilter
from netclaw.core.session.phase import Phase
from netclaw.core.tool_call import OutcomeCategory
from netclaw.ports.journal import EventDraft, JournalRow
from netclaw.testing.people import ALICE
from netclaw.wire import chunks, convert
from netclaw.wire.journal_codec import encode_event
from netclaw.wire.outputs import FILTER_BIT, output_from_proto, output_to_proto
from netclaw.wire.v1 import common_pb2, session_host_pb2

TURN = TurnId("t1")
CALL = CallId("c1")

EVERY_OUTPUT: tuple[Output, ...] = (
    out.TextOutput(turn_id=TURN, text="done", round=2),
    out.TextDelta(turn_id=TURN, text="do", round=2),
    out.ThinkingDelta(turn_id=TURN, text="hm", round=0),
    out.ToolCallOutput(turn_id=TURN, call_id=CALL, name="shell_execute", arguments="{}"),
    out.ToolResultOutput(
        turn_id=TURN,
        call_id=CALL,
        name="shell_execute",
        outcome=OutcomeCategory.TIMEOUT,
        text="late",
        duration_ms=90_000,
    ),
    out.UsageOutput(
        turn_id=TURN,
        usage=Usage(input_tokens=1, output_tokens=2, cached_input_tokens=3, reasoning_tokens=4),
        context_window=128_000,
        context_tokens=1_024,
    ),
    out.FileOutput(turn_id=TURN, path="/a/b", media_type="text/plain", size_bytes=9),
    out.ProcessingOutput(phase=Phase.COMPACTING, buffered_inputs=3),
    out.RetryOutput(turn_id=TURN, sentence="It is busy.", wait_s=2.0),
    out.TitleOutput(title="A title"),
    out.ErrorOutput(
        turn_id=None,
        category=ErrorCategory.STORAGE,
        sentence="no room",
        reference="r1",
        input_ids=(InputId("i1"),),
    ),
    out.NoticeOutput(sentence="restarting", kind="restarting"),
    out.CompactionOutput(tokens_before=100, tokens_after=50, kept_messages=6),
    out.ConsentRequestOutput(
        turn_id=TURN,
        call_id=CALL,
        tool="shell_execute",
        display="git push",
        candidates=("git push",),
        options=(ConsentOption(key="once", label="Once", effect=ConsentEffect.APPROVE),),
        sender_id="U1",
        run_id=RunId("run1"),
        cwd="/home/u/project",
        adopted_speakers=("U2", "U3"),
    ),
    out.ConsentUpdateOutput(
        turn_id=TURN, call_id=CALL, end=out.ConsentEnd.REFUSED, answerer="U1", run_id=None
    ),
    out.ChildOutput(
        run_id=RunId("run1"),
        agent="researcher",
        state=ChildState.LOST,
        reason="owner_restarted",
        result_path="/w/result.md",
    ),
    out.JobOutput(job_id=JobId("j1"), state=JobState.RUNNING, command="make", log_path="/l"),
    out.JobOutput(
        job_id=JobId("j1"), state=JobState.FAILED, command="make", log_path="/l", exit_code=0
    ),
    out.TurnCompletedOutput(
        turn_id=TURN,
        input_ids=(InputId("i1"), InputId("i2")),
        outcome=TurnOutcome.STOPPED,
        open_child_runs=("run1",),
    ),
    out.TurnCompletedOutput(turn_id=TURN, input_ids=(), outcome=None),
)


@pytest.mark.requirement("supervisor.outputs")
@pytest.mark.parametrize("output", EVERY_OUTPUT, ids=lambda output: type(output).__name__)
def test_an_output_comes_back_as_it_was(output: Output) -> None:
    serialized = output_to_proto(output).SerializeToString()
    assert output_from_proto(common_pb2.Output.FromString(serialized)) == output


def test_every_class_of_output_is_tried_here_and_has_its_filter_bit() -> None:
    assert {type(output) for output in EVERY_OUTPUT} == set(FILTER_OF)
    for output in EVERY_OUTPUT:
        word = output_to_proto(output).type
        assert OutputFilter(FILTER_BIT[word]) == (FILTER_OF[type(output)] or OutputFilter(0))


@pytest.mark.parametrize(
    "message",
    [
        common_pb2.Output(type="resync", seq=3),
        common_pb2.Output(type="processing", phase="dreaming"),
        common_pb2.Output(type="tool_result", outcome="Sideways"),
    ],
)
def test_what_is_no_output_of_the_core_is_refused(message: common_pb2.Output) -> None:
    with pytest.raises(InvalidArgumentError):
        output_from_proto(message)


def test_rows_drafts_media_targets_and_outbox_rows_come_back_as_they_were() -> None:
    admitted = InputAdmitted(
        input_id=InputId("i1"), source_message_id=None, text="hi", authority=ALICE, attended=True
    )
    draft = encode_event(admitted)
    row = JournalRow(
        seq=7,
        at=1234,
        type=draft.type,
        version=draft.version,
        incarnation=3,
        cause="supervisor",
        payload=draft.payload,
    )
    assert convert.row_from_proto(convert.row_to_proto(row)) == row
    assert convert.recorded_of(row) == convert.recorded_of(convert.row_to_proto(row))
    assert convert.recorded_of(row).event == admitted
    assert convert.draft_from_proto(convert.draft_to_proto(draft)) == EventDraft(
        type=draft.type, version=draft.version, payload=draft.payload
    )
    media = MediaRef(upload_id="u1", media_type="image/png", size_bytes=4, name="a.png")
    assert convert.media_from_proto(convert.media_to_proto(media)) == media
    outbox = OutboxRow(
        target=DeliveryTarget(channel=SourceKind.SLACK, address="C1/2"),
        text="hello",
        turn_id=TURN,
        input_ids=(InputId("i1"),),
    )
    assert convert.outbox_from_proto(convert.outbox_to_proto(outbox)) == outbox
    with pytest.raises(InvalidArgumentError):
        convert.target_from_proto(common_pb2.DeliveryTarget(channel="pigeon", address="x"))


@pytest.mark.requirement("supervisor.chunks")
@given(
    size=st.sampled_from([0, 1, chunks.FRAME_LIMIT, chunks.FRAME_LIMIT + 1, 9_000_000]),
    byte=st.binary(min_size=1, max_size=1),
)
def test_pieces_join_to_the_frame_and_only_the_last_is_marked(size: int, byte: bytes) -> None:
    whole = byte * size
    pieces = list(chunks.split(whole))
    assert [piece.last for piece in pieces] == [False] * (len(pieces) - 1) + [True]
    assert max(len(piece.data) for piece in pieces) <= chunks.FRAME_LIMIT
    joiner = chunks.ChunkJoiner()
    joined = [joiner.add(piece) for piece in pieces]
    assert joined[:-1] == [None] * (len(pieces) - 1)
    assert joined[-1] == whole
    assert not joiner.is_in_progress


def test_a_small_frame_stays_whole_and_a_large_one_becomes_chunks() -> None:
    small = session_host_pb2.ToHost(pong=session_host_pb2.Pong(number=1))
    assert list(chunks.to_host_frames(small)) == [small]
    large = session_host_pb2.ToHost(
        append=session_host_pb2.Append(
            snapshot=session_host_pb2.Snapshot(payload=b"x" * (chunks.FRAME_LIMIT + 5))
        )
    )
    frames = list(chunks.to_host_frames(large))
    assert [frame.WhichOneof("body") for frame in frames] == ["chunk", "chunk"]
    joiner = chunks.ChunkJoiner()
    whole = [joiner.add(frame.chunk) for frame in frames][-1]
    assert whole is not None
    assert session_host_pb2.ToHost.FromString(whole) == large


def test_a_joiner_refuses_what_is_too_large_or_empty_and_starts_anew() -> None:
    joiner = chunks.ChunkJoiner(limit=10)
    assert joiner.add(session_host_pb2.Chunk(data=b"123456")) is None
    with pytest.raises(TooLargeError):
        joiner.add(session_host_pb2.Chunk(data=b"123456"))
    with pytest.raises(InvalidArgumentError):
        joiner.add(session_host_pb2.Chunk())
    assert joiner.add(session_host_pb2.Chunk(data=b"ok", last=True)) == b"ok"
