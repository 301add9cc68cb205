"""Joins the deltas of one model call and holds them until they may leave.

A delta of text leaves only after the OutputStarted of its round is committed (protocol
"Appending"), which is asked for when the first of them is due. An answer that is complete before
that moment needs no OutputStarted at all: what is left of it rides in the append that records it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from enum import Enum, auto

from netclaw.core.ids import TurnId
from netclaw.core.session.outputs import Output, OutputFilter, TextDelta, ThinkingDelta
from netclaw.core.settings import SessionTuning


class _Stage(Enum):
    HELD = auto()
    ASKED = auto()
    RELEASED = auto()
    CLOSED = auto()


class DeltaGate:
    """The deltas of one model call, from its first chunk to its last.

    `emit` sends outputs at once; `ask` requests the release (BeginOutput). Deltas are joined for
    `output_flush_s` or until `output_flush_bytes`, whichever is first, by one timer.
    """

    def __init__(
        self,
        *,
        turn_id: TurnId,
        round_index: int,
        tuning: SessionTuning,
        interest: OutputFilter,
        emit: Callable[[list[Output]], None],
        ask: Callable[[], None],
    ) -> None:
        self._turn_id = turn_id
        self._round = round_index
        self._tuning = tuning
        self._interest = interest
        self._emit = emit
        self._ask = ask
        self._loop = asyncio.get_running_loop()
        self._stage = _Stage.HELD
        self._timer: asyncio.TimerHandle | None = None
        self._is_ended = False
        self._text: list[str] = []
        self._thinking: list[str] = []
        self._size = 0

    def add_text(self, text: str) -> None:
        """Take more of the answer; kept while nobody watches, for who may come to watch."""
        self._text.append(text)
        self._grow(text, is_wanted=OutputFilter.TEXT_STREAMING in self._interest)

    def add_thinking(self, text: str) -> None:
        """Take more of the reasoning; dropped when nobody wants it."""
        if OutputFilter.THINKING in self._interest:
            self._thinking.append(text)
            self._grow(text, is_wanted=True)

    def flush(self) -> None:
        """Let go of what may leave now: at a tool call and at the end."""
        if self._stage is _Stage.CLOSED:
            return
        outputs: list[Output] = []
        if self._thinking:
            outputs.append(
                ThinkingDelta(
                    turn_id=self._turn_id, text="".join(self._thinking), round=self._round
                )
            )
            self._thinking.clear()
        if self._text and self._stage is _Stage.RELEASED and self._is_streaming_wanted:
            outputs.append(self._joined())
            self._text.clear()
        if not self._text:
            self._cancel_timer()
            self._size = 0
        if outputs:
            self._emit(outputs)

    def release(self) -> None:
        """The OutputStarted is committed: everything held leaves, later deltas follow freely."""
        if self._stage is not _Stage.CLOSED:
            self._stage = _Stage.RELEASED
            self.flush()

    def change_interest(self, interest: OutputFilter) -> None:
        """Other subscribers watch now; who came late gets the round's text from its start."""
        was_wanted = self._is_streaming_wanted
        self._interest = interest
        if self._is_streaming_wanted and not was_wanted and self._text:
            if self._stage is _Stage.ASKED:
                # The rules found nobody to release it to; now there is somebody.
                self._stage = _Stage.HELD
            self._on_due()

    def end(self) -> None:
        """The answer is complete: flush what may leave; text never announced stays."""
        # From here on no OutputStarted is worth asking for: see `remainder`.
        self._is_ended = True
        self._cancel_timer()
        self.flush()

    def remainder(self) -> TextDelta | None:
        """Text that a streaming subscriber has not seen; the same at every call."""
        is_due = bool(self._text) and self._is_streaming_wanted
        return self._joined() if is_due and self._stage is not _Stage.CLOSED else None

    def close(self) -> None:
        """Drop everything: the call was cancelled or failed."""
        self._cancel_timer()
        self._stage = _Stage.CLOSED
        self._text.clear()
        self._thinking.clear()

    @property
    def _is_streaming_wanted(self) -> bool:
        return OutputFilter.TEXT_STREAMING in self._interest

    def _joined(self) -> TextDelta:
        return TextDelta(turn_id=self._turn_id, text="".join(self._text), round=self._round)

    def _grow(self, text: str, *, is_wanted: bool) -> None:
        if not is_wanted or self._stage in (_Stage.ASKED, _Stage.CLOSED):
            return
        self._size += len(text)
        if self._size >= self._tuning.output_flush_bytes:
            self._on_due()
        elif self._timer is None:
            self._timer = self._loop.call_later(self._tuning.output_flush_s, self._on_due)

    def _on_due(self) -> None:
        """The first delta has waited long enough: send it, or ask that it may be sent."""
        self._cancel_timer()
        self._size = 0
        self.flush()
        is_held = bool(self._text) and self._stage is _Stage.HELD
        if is_held and self._is_streaming_wanted and not self._is_ended:
            self._stage = _Stage.ASKED
            self._ask()

    def _cancel_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
