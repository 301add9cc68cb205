"""The gate of deltas alone: what is held, what leaves, and when."""

from __future__ import annotations

import asyncio

import pytest

from netclaw.core.ids import TurnId
from netclaw.core.session.outputs import Output, OutputFilter, TextDelta, ThinkingDelta
from netclaw.core.settings import SessionTuning
from netclaw.session_proc.delta_gate import DeltaGate

STREAMING = OutputFilter.TEXT_STREAMING | OutputFilter.THINKING


class Watched:
    """A gate and what it did."""

    def __init__(
        self, *, interest: OutputFilter = STREAMING, flush_s: float = 0.005, flush_bytes: int = 100
    ) -> None:
        self.sent: list[Output] = []
        self.asked = asyncio.Event()
        self.asks = 0
        self.gate = DeltaGate(
            turn_id=TurnId("t"),
            round_index=2,
            tuning=SessionTuning(output_flush_s=flush_s, output_flush_bytes=flush_bytes),
            interest=interest,
            emit=self.sent.extend,
            ask=self._ask,
        )

    def _ask(self) -> None:
        self.asks += 1
        self.asked.set()

    @property
    def text(self) -> str:
        """The text that left."""
        return "".join(output.text for output in self.sent if isinstance(output, TextDelta))


async def test_text_is_held_until_it_is_released() -> None:
    watched = Watched()
    watched.gate.add_text("one ")
    await watched.asked.wait()
    watched.gate.add_text("two ")
    assert watched.sent == []
    watched.gate.release()
    assert watched.sent == [TextDelta(turn_id=TurnId("t"), text="one two ", round=2)]
    watched.gate.add_text("three")
    watched.gate.end()
    assert watched.text == "one two three"
    assert watched.asks == 1
    assert watched.gate.remainder() is None


async def test_a_full_gate_does_not_wait_for_its_timer() -> None:
    watched = Watched(flush_s=60)
    watched.gate.add_text("x" * 99)
    assert watched.asks == 0
    watched.gate.add_text("x")
    assert watched.asks == 1
    watched.gate.release()
    watched.gate.add_text("y" * 100)
    assert watched.text == "x" * 100 + "y" * 100


async def test_a_short_answer_asks_for_nothing_and_stays_for_the_append() -> None:
    watched = Watched(flush_s=60)
    watched.gate.add_text("short")
    watched.gate.end()
    assert (watched.asks, watched.sent) == (0, [])
    first = watched.gate.remainder()
    assert first is not None
    assert first == watched.gate.remainder()
    assert first.text == "short"


async def test_nobody_watches_nothing_leaves() -> None:
    watched = Watched(interest=OutputFilter.TEXT, flush_bytes=1)
    watched.gate.add_text("unseen")
    watched.gate.add_thinking("unseen")
    watched.gate.end()
    assert (watched.asks, watched.sent, watched.gate.remainder()) == (0, [], None)


async def test_an_ask_that_found_nobody_is_made_again_for_who_comes() -> None:
    watched = Watched(flush_bytes=1)
    watched.gate.add_text("a")
    assert watched.asks == 1
    watched.gate.change_interest(OutputFilter(0))
    watched.gate.add_text("b")
    watched.gate.change_interest(STREAMING)
    assert watched.asks == 2
    watched.gate.release()
    assert watched.text == "ab"


async def test_an_answer_that_ended_is_not_asked_for_any_more() -> None:
    watched = Watched(interest=OutputFilter(0), flush_bytes=1)
    watched.gate.add_text("a")
    watched.gate.end()
    watched.gate.change_interest(STREAMING)
    assert watched.asks == 0
    remainder = watched.gate.remainder()
    assert remainder is not None
    assert remainder.text == "a"


async def test_thinking_leaves_before_the_text_and_needs_no_release() -> None:
    watched = Watched(flush_s=60)
    watched.gate.add_thinking("hm")
    watched.gate.add_text("yes")
    watched.gate.flush()
    assert watched.sent == [ThinkingDelta(turn_id=TurnId("t"), text="hm", round=2)]
    assert watched.asks == 0


@pytest.mark.parametrize("is_released", [True, False])
async def test_a_closed_gate_lets_nothing_out(is_released: bool) -> None:
    watched = Watched(flush_bytes=1)
    watched.gate.add_text("a")
    if is_released:
        watched.gate.release()
    count = len(watched.sent)
    watched.gate.close()
    watched.gate.add_text("b")
    watched.gate.add_thinking("b")
    watched.gate.release()
    watched.gate.end()
    assert len(watched.sent) == count
    assert watched.gate.remainder() is None
