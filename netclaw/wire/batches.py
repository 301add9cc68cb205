"""Cuts what a client reads into messages it can take, and joins them again.

gRPC clients take 4 MiB unless they ask for more, so nothing that leaves the public socket is
larger than `PUBLIC_LIMIT`. What belongs to one journal position stays in one message where that
is possible; where it is not, the message says that it goes on.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from netclaw.wire.outputs import RESYNC
from netclaw.wire.v1.common_pb2 import JournalRow, Output, OutputBatch
from netclaw.wire.v1.gateway_pb2 import HistoryCall, HistoryItem

PUBLIC_LIMIT = 7 * 512 * 1024
"""Bytes of one message on the public socket: what a plain client takes, less room for frames."""
WHOLE_BYTES = PUBLIC_LIMIT - 4096
"""What is not larger is never cut: only who reads larger things needs to know of pieces."""
PIECE_CHARS = 256 * 1024
"""Characters of one piece of a text: at most 1 MiB of UTF-8."""
PIECE_BYTES = 1024 * 1024


def split_outputs(outputs: Sequence[Output], *, limit: int = PUBLIC_LIMIT) -> Iterator[OutputBatch]:
    """Batches of at most `limit` bytes, which is more than two pieces.

    A batch ends inside a journal position only if that position alone does not fit; then it says
    `more`, and a reader may resume only before that position.
    """
    batch, size = OutputBatch(), 0
    for fact in _by_position(outputs):
        pieces, sizes = fact, [_size_in_batch(output) for output in fact]
        if sum(sizes) > limit:
            pieces = [piece for output in fact for piece in _pieces(output)]
            sizes = [_size_in_batch(piece) for piece in pieces]
        if size and size + sum(sizes) > limit:
            yield batch
            batch, size = OutputBatch(), 0
        for piece, piece_size in zip(pieces, sizes, strict=True):
            if size and size + piece_size > limit:
                batch.more = True
                yield batch
                batch, size = OutputBatch(), 0
            batch.outputs.append(piece)
            size += piece_size
    if size:
        yield batch


def _by_position(outputs: Iterable[Output]) -> Iterator[list[Output]]:
    """What belongs to one journal position, with the ephemeral outputs that came among it."""
    fact: list[Output] = []
    seq = 0
    for output in outputs:
        if output.seq not in (0, seq) and fact:
            yield fact
            fact = []
        seq = output.seq or seq
        fact.append(output)
    if fact:
        yield fact


def _size_in_batch(output: Output) -> int:
    return output.ByteSize() + 8


def _pieces(output: Output) -> Iterator[Output]:
    if output.ByteSize() <= PIECE_BYTES:
        yield output
        return
    text, arguments = output.text, output.arguments
    frame = Output()
    frame.CopyFrom(output)
    frame.ClearField("text")
    frame.ClearField("arguments")
    pieces = [(piece, "") for piece in _cut(text)] + [("", piece) for piece in _cut(arguments)]
    for number, (text_piece, arguments_piece) in enumerate(pieces, 1):
        piece = Output(text=text_piece, arguments=arguments_piece, more=number < len(pieces))
        piece.MergeFrom(frame)
        yield piece


def _cut(text: str) -> list[str]:
    return [text[begin : begin + PIECE_CHARS] for begin in range(0, len(text), PIECE_CHARS)]


class BatchJoiner:
    """Undoes `split_outputs` for the batches of one subscription."""

    def __init__(self) -> None:
        self._waiting: list[Output] = []

    def feed(self, batch: OutputBatch) -> list[Output]:
        """The whole outputs that this batch completes; none while more of a position is due."""
        if any(output.type == RESYNC for output in batch.outputs):
            # The rest of what waits was dropped with the queue it was in.
            self._waiting.clear()
        if not self._waiting and not batch.more:
            return list(joined_outputs(batch.outputs))
        self._waiting.extend(batch.outputs)
        if batch.more:
            return []
        outputs, self._waiting = self._waiting, []
        return list(joined_outputs(outputs))


def joined_outputs(outputs: Iterable[Output]) -> Iterator[Output]:
    """Outputs with their pieces put together."""
    pieces: list[Output] = []
    for output in outputs:
        pieces.append(output)
        if not output.more:
            yield _join_output(pieces)
            pieces = []
    if pieces:
        yield _join_output(pieces)


def _join_output(pieces: list[Output]) -> Output:
    whole = pieces[-1]
    if len(pieces) > 1:
        whole.text = "".join([piece.text for piece in pieces])
        whole.arguments = "".join([piece.arguments for piece in pieces])
    return whole


def split_item(item: HistoryItem) -> list[HistoryItem]:
    """A chat item, or the pieces of a large one: first its text, then its calls."""
    if item.ByteSize() <= WHOLE_BYTES:
        return [item]
    parts: list[HistoryItem] = [HistoryItem(text=text) for text in _cut(item.text)]
    parts.extend(HistoryItem(tool_calls=calls) for calls in _groups(item.tool_calls))
    frame = HistoryItem()
    frame.CopyFrom(item)
    frame.ClearField("text")
    frame.ClearField("tool_calls")
    for number, part in enumerate(parts, 1):
        part.MergeFrom(frame)
        part.more = number < len(parts)
    return parts


def _groups(calls: Iterable[HistoryCall]) -> Iterator[list[HistoryCall]]:
    group: list[HistoryCall] = []
    size = 0
    for call in calls:
        if group and size + call.ByteSize() > PIECE_BYTES:
            yield group
            group, size = [], 0
        group.append(call)
        size += call.ByteSize()
    if group:
        yield group


def joined_items(items: Iterable[HistoryItem]) -> Iterator[HistoryItem]:
    """Chat items with their pieces put together; oldest first."""
    pieces: list[HistoryItem] = []
    for item in items:
        pieces.append(item)
        if not item.more:
            yield _join_item(pieces)
            pieces = []
    if pieces:
        yield _join_item(pieces)


def _join_item(pieces: list[HistoryItem]) -> HistoryItem:
    whole = pieces[-1]
    if len(pieces) > 1:
        whole.text = "".join([piece.text for piece in pieces])
        calls = [call for piece in pieces[:-1] for call in piece.tool_calls]
        calls.extend(whole.tool_calls)
        whole.ClearField("tool_calls")
        whole.tool_calls.extend(calls)
    return whole


def split_row(row: JournalRow) -> Iterator[JournalRow]:
    """A journal row, or the rows that carry its payload in pieces."""
    payload = row.payload
    if len(payload) <= WHOLE_BYTES:
        yield row
        return
    for begin in range(0, len(payload), PIECE_BYTES):
        end = begin + PIECE_BYTES
        piece = JournalRow()
        row.payload = payload[begin:end]
        piece.CopyFrom(row)
        piece.more = end < len(payload)
        yield piece


def joined_rows(rows: Iterable[JournalRow]) -> Iterator[JournalRow]:
    """Journal rows with their payloads put together."""
    payloads: list[bytes] = []
    for row in rows:
        payloads.append(row.payload)
        if row.more:
            continue
        if len(payloads) > 1:
            row.payload = b"".join(payloads)
        payloads = []
        yield row
