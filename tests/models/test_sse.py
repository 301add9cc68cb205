"""The event stream reader: every form of the format, every cut, bounded memory."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netclaw.models.sse import KEEPALIVE, SseDecoder, SseOverflowError


def decode(*chunks: bytes) -> list[bytes]:
    decoder = SseDecoder()
    events = [event for chunk in chunks for event in decoder.feed(chunk)]
    return events + decoder.finish()


@pytest.mark.requirement("models.sse-forms")
@pytest.mark.parametrize(
    ("stream", "events"),
    [
        (b"data: a\n\ndata: b\n\n", [b"a", b"b"]),
        (b"data: a\r\n\r\ndata: b\r\n\r\n", [b"a", b"b"]),
        (b"data: a\r\rdata: b\r\r", [b"a", b"b"]),
        (b"data:a\n\n", [b"a"]),
        (b"data:  a\n\n", [b" a"]),
        (b"data: a\ndata: b\n\n", [b"a\nb"]),
        (b": ping\n\ndata: a\n\n", [KEEPALIVE, b"a"]),
        (b"event: x\nid: 1\nretry: 5\ndata: a\n\n", [b"a"]),
        (b"event: ping\n\n", []),
        (b"data\n\n", [KEEPALIVE]),
        (b"\xef\xbb\xbfdata: a\n\n", [b"a"]),
        (b"\n\n\ndata: a\n\n\n\n", [b"a"]),
        (b"datax: a\n\ndata: b\n\n", [b"b"]),
        (b"data: no blank line at the end", [b"no blank line at the end"]),
        (b"data: a\r", [b"a"]),
        (b"", []),
        (b"data: \xff\xfe\n\n", [b"\xff\xfe"]),
    ],
)
def test_every_form_of_the_format_is_understood(stream: bytes, events: list[bytes]) -> None:
    assert decode(stream) == events


PIECES = st.sampled_from(
    [
        b"data: ",
        b"data:",
        b"data",
        b"x",
        b"{}",
        b": c",
        b"\n",
        b"\r",
        b"\r\n",
        b"\n\n",
        b"event: e",
        b"\xff",
    ]
)


@pytest.mark.requirement("models.sse-forms")
@given(stream=st.lists(PIECES, max_size=40).map(b"".join), data=st.data())
def test_however_the_bytes_are_cut_the_events_are_the_same(
    stream: bytes, data: st.DataObject
) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=12)))
    edges = [0, *cuts, len(stream)]
    chunks = [stream[a:b] for a, b in pairwise(edges)]
    bytewise = [bytes((value,)) for value in stream]
    assert decode(*chunks) == decode(stream) == decode(*bytewise)


@pytest.mark.requirement("models.sse-bounded")
@pytest.mark.parametrize(
    "chunk", [b"x" * 50, b"data: " + b"x" * 200 + b"\n\n", b"data: x\n" * 40, b"data\n" * 120]
)
def test_an_event_without_end_is_refused_before_it_fills_memory(chunk: bytes) -> None:
    decoder = SseDecoder(max_event_bytes=100)

    def feed_thrice() -> None:
        for _ in range(3):
            decoder.feed(chunk)

    with pytest.raises(SseOverflowError):
        feed_thrice()


@pytest.mark.requirement("models.sse-bounded")
def test_an_event_of_very_many_small_pieces_is_put_together() -> None:
    """Whoever copies what is there for each piece copies a million megabytes, and never ends."""
    pieces = 250_000
    decoder = SseDecoder(max_event_bytes=pieces * 64 + 100)
    decoder.feed(b"data: ")
    for _ in range(pieces):
        decoder.feed(b"x" * 64)
    assert len(decoder.feed(b"\n\n")[0]) == pieces * 64
