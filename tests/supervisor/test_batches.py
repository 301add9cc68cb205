"""Cutting what clients read and joining it again, for every shape at small limits."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from netclaw.wire import batches
from netclaw.wire.batches import (
    BatchJoiner,
    joined_items,
    joined_rows,
    split_item,
    split_outputs,
    split_row,
)
from netclaw.wire.v1.common_pb2 import JournalRow, Output, OutputBatch
from netclaw.wire.v1.gateway_pb2 import HistoryCall, HistoryItem

LIMIT = 700
TEXTS = st.text(st.sampled_from("aé\U0001f600"), max_size=300)
OUTPUTS = st.lists(
    st.builds(
        Output,
        type=st.sampled_from(["text", "tool_call", "text_delta"]),
        seq=st.integers(0, 3),
        text=TEXTS,
        arguments=TEXTS,
        input_ids=st.lists(st.just("i1"), max_size=2),
    ),
    max_size=12,
)
SMALL = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pieces of a few characters."""
    monkeypatch.setattr(batches, "PIECE_CHARS", 40)
    monkeypatch.setattr(batches, "PIECE_BYTES", 200)
    monkeypatch.setattr(batches, "WHOLE_BYTES", 300)


def copies(outputs: list[Output]) -> list[Output]:
    """Outputs that nobody else changes."""
    return [Output.FromString(output.SerializeToString()) for output in outputs]


@pytest.mark.requirement("supervisor.message-size")
@pytest.mark.usefixtures("small_pieces")
@SMALL
@given(OUTPUTS)
def test_outputs_come_back_whole_and_a_batch_says_where_one_may_resume(
    outputs: list[Output],
) -> None:
    outputs.sort(key=lambda output: output.seq)
    cut = list(split_outputs(copies(outputs), limit=LIMIT))
    assert all(batch.ByteSize() <= LIMIT for batch in cut)
    for batch, following in pairwise(cut):
        if not batch.more:
            assert not batch.outputs[-1].more
            last, first = batch.outputs[-1].seq, following.outputs[0].seq
            assert last != first or not last
    joiner = BatchJoiner()
    sent = [OutputBatch.FromString(batch.SerializeToString()) for batch in cut]
    assert [output for batch in sent for output in joiner.feed(batch)] == outputs


@pytest.mark.requirement("supervisor.message-size")
@pytest.mark.usefixtures("small_pieces")
def test_a_resync_ends_what_was_not_told_whole() -> None:
    first = next(split_outputs([Output(type="text", seq=3, text="x" * 2000)], limit=LIMIT))
    assert first.more
    joiner = BatchJoiner()
    assert joiner.feed(first) == []
    resync = Output(type="resync", seq=2)
    assert joiner.feed(OutputBatch(outputs=[resync])) == [resync]
    assert joiner.feed(OutputBatch(outputs=[Output(type="text", text="next")]))[0].text == "next"


@pytest.mark.requirement("supervisor.history-pages")
@pytest.mark.usefixtures("small_pieces")
@SMALL
@given(st.lists(st.tuples(TEXTS, st.lists(TEXTS, max_size=4)), max_size=4))
def test_chat_items_come_back_whole(shapes: list[tuple[str, list[str]]]) -> None:
    items = [
        HistoryItem(
            role="assistant",
            text=text,
            at_ms=7,
            tool_calls=[HistoryCall(call_id="c", arguments=arguments) for arguments in calls],
        )
        for text, calls in shapes
    ]
    pieces = [
        HistoryItem.FromString(piece.SerializeToString())
        for item in items
        for piece in split_item(item)
    ]
    assert list(joined_items(pieces)) == items


@pytest.mark.requirement("supervisor.message-size")
@pytest.mark.usefixtures("small_pieces")
def test_journal_rows_come_back_whole() -> None:
    rows = [JournalRow(seq=n, type="T", payload=b"x" * n) for n in (0, 1, 299, 300, 301, 1000)]
    kept = [JournalRow.FromString(row.SerializeToString()) for row in rows]
    pieces = [piece for row in rows for piece in split_row(row)]
    assert len(pieces) == 11
    assert list(joined_rows(pieces)) == kept
