"""When a history is shortened and what of it stays (S0 Compaction, decision 29).

Pure planning, in the seed's order: old tool results become placeholders; then the oldest messages
are dropped; what is dropped goes to the notes call (see `compaction_notes`). A call and its
results are one group: no cut ever falls inside one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

from netclaw.core.context.token_estimate import (
    MESSAGE_OVERHEAD,
    characters_of,
    message_characters,
)
from netclaw.core.ids import CallId, InputId
from netclaw.core.messages import (
    AssistantMessage,
    Message,
    NoteKind,
    NoteMessage,
    ToolMessage,
    UserMessage,
)
from netclaw.core.session import sentences
from netclaw.core.session.compaction_state import CompactionPlan, Trigger
from netclaw.core.session.request import start_of_turn
from netclaw.core.session.state import SessionState
from netclaw.core.settings import SessionSettings

FLOOR = 2
"""Messages that always stay where they fit (decision 29)."""

NOTES_SHARE = 8
"""Notes take at most one part in this many of the window."""
NOTES_MAX_CHARACTERS = 16_000
NOTES_MIN_CHARACTERS = 400
"""With less room than this no notes are asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TooLarge:
    """The messages that must stay do not fit; `sentence` names the one to blame."""

    sentence: str


def is_due(state: SessionState, settings: SessionSettings) -> bool:
    """Whether the last model call's input passed the threshold of the main model's window."""
    model = settings.main_model
    if model is None:
        return False
    return state.last_input_tokens > model.context_window * settings.tuning.compaction_threshold


def make_plan(
    state: SessionState, settings: SessionSettings, trigger: Trigger
) -> CompactionPlan | TooLarge | None:
    """How to shorten the history; None when there is nothing to gain.

    `TooLarge` is an answer for an open turn alone: between turns a conversation that cannot fit
    is dropped as a whole, and only notes about it stay.
    """
    model = settings.main_model
    if model is None or not state.history:
        return None
    return _Planner(state, settings, model.context_window, trigger).plan()


def shortened(
    history: tuple[Message, ...],
    *,
    cleared_call_ids: tuple[CallId, ...],
    kept_messages: int,
    kept_input_ids: tuple[InputId, ...],
    notes: str,
    at: int,
) -> tuple[Message, ...]:
    """The history after a compaction: notes, then the inputs and the newest messages that stay."""
    cut = max(0, len(history) - kept_messages)
    kept = _kept(history, cut, frozenset(kept_input_ids))
    cleared = frozenset(cleared_call_ids)
    lead = (NoteMessage(text=notes, at=at, kind=NoteKind.SUMMARY),) if notes else ()
    return lead + _cleared(kept, cleared)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Gauge:
    """Estimates tokens for one plan, in agreement with what was reported or refused."""

    characters_per_token: float
    static_characters: int

    def of(self, messages: tuple[Message, ...]) -> int:
        return self.tokens(self.static_characters + characters_of(messages))

    def tokens(self, characters: int) -> int:
        # The ratio is a rounded quotient: what fitted exactly must not come out one above.
        return math.ceil(characters / self.characters_per_token - 1e-6)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Cut:
    """Where the history is cut, what goes and what stays of it."""

    at: int
    pinned: tuple[InputId, ...] = ()
    dropped: tuple[Message, ...] = ()
    kept: tuple[Message, ...]


class _Planner:
    """One plan in the making."""

    def __init__(
        self, state: SessionState, settings: SessionSettings, window: int, trigger: Trigger
    ) -> None:
        self._state = state
        self._history = state.history
        self._tuning = settings.tuning
        self._window = window
        self._trigger = trigger
        self._gauge, self._before = self._calibrate()
        self._unseen = self._open_batch_start()

    def plan(self) -> CompactionPlan | TooLarge | None:
        """The three steps; see the module's words."""
        if self._gauge.of(()) > self._window:
            return self._not_ours()
        old = self._old_results(self._tuning.keep_recent_tool_results, self._unseen)
        history = _cleared(self._history, old)
        threshold = self._window * self._tuning.compaction_threshold
        if old and self._trigger is not Trigger.MANUAL and self._gauge.of(history) <= threshold:
            return self._plan(old, _Cut(at=0, kept=history))
        cut = self._reduce(history)
        if self._gauge.of(cut.kept) > self._window:
            return self._last_resort()
        if not old and not cut.dropped:
            return self._nothing_to_gain(cut)
        return self._plan(old, cut)

    # What is known

    def _calibrate(self) -> tuple[_Gauge, int]:
        """An estimator under which the present history has the size that the provider saw."""
        meter = self._state.meter
        characters = meter.static_characters + characters_of(self._history)
        tokens = max(meter.tokens(characters), self._state.last_input_tokens)
        if self._trigger is Trigger.OVERFLOW:
            tokens = max(tokens, self._window)
        ratio = characters / tokens if tokens else meter.characters_per_token
        gauge = _Gauge(characters_per_token=ratio, static_characters=meter.static_characters)
        return gauge, tokens

    def _open_batch_start(self) -> int:
        """Where the messages begin that the model has not seen: the open batch and later.

        Before the first round these are the turn's own, what it tells of watched sessions and of
        results among them.
        """
        turn = self._state.turn
        if turn is not None and not turn.rounds:
            return start_of_turn(self._history, turn)
        asked = frozenset(item.call.call_id for item in turn.batch) if turn else frozenset()
        for index in range(len(self._history) - 1, -1, -1):
            item = self._history[index]
            if isinstance(item, AssistantMessage):
                is_open = any(call.call_id in asked for call in item.calls)
                return index if is_open else len(self._history)
        return len(self._history)

    # Step 1

    def _old_results(self, keep: int, end: int) -> frozenset[CallId]:
        """The calls before `end` whose results give way, all but the newest `keep` of the whole."""
        results = [
            (index, item)
            for index, item in enumerate(self._history)
            if isinstance(item, ToolMessage)
        ]
        old = results[: max(0, len(results) - keep)]
        return frozenset(item.call_id for index, item in old if index < end and _is_clearable(item))

    # Step 2

    def _reduce(self, history: tuple[Message, ...]) -> _Cut:
        """The first cut that leaves at most half the window, else the deepest one.

        At user messages first, so that turns stay whole; inside a turn only if that is not enough,
        because a long tool loop is one turn.
        """
        cut = _Cut(at=0, kept=history)
        for boundary in (self._user_boundary, self._group_boundary):
            for keep in _halvings(self._tuning.keep_recent_messages):
                cut = self._cut(history, boundary(keep))
                if self._gauge.of(cut.kept) * 2 <= self._window:
                    return cut
        return cut

    def _user_boundary(self, keep: int) -> int:
        """Walking backward from the newest `keep`: the next message a person or automation sent."""
        index = self._group_boundary(keep)
        while index and not isinstance(self._history[index], UserMessage):
            index -= 1
        return index

    def _group_boundary(self, keep: int) -> int:
        """Walking backward from the newest `keep`: the next place outside a call and its results.

        Nothing is cut off that the model has not seen yet.
        """
        index = max(0, min(len(self._history) - keep, self._unseen))
        while index and isinstance(self._history[index], ToolMessage):
            index -= 1
        return index

    def _cut(self, history: tuple[Message, ...], at: int, *, is_last_resort: bool = False) -> _Cut:
        """A cut there; one that would drop nothing but earlier notes is none."""
        pinned = self._pinned(at, is_last_resort=is_last_resort)
        dropped = self._dropped(at, frozenset(pinned))
        if not dropped:
            return _Cut(at=0, kept=history)
        kept = _kept(history, at, frozenset(pinned))
        return _Cut(at=at, pinned=pinned, dropped=dropped, kept=kept)

    def _dropped(self, at: int, pinned: frozenset[InputId]) -> tuple[Message, ...]:
        """What goes, apart from earlier notes: those are merged into the new ones."""
        return tuple(
            item
            for item in self._history[:at]
            if not _is_summary(item)
            and not (isinstance(item, UserMessage) and item.input_id in pinned)
        )

    def _pinned(self, at: int, *, is_last_resort: bool) -> tuple[InputId, ...]:
        """Inputs before the cut that stay: the open turn's, and that of the first answer kept."""
        turn = self._state.turn
        wanted = set(turn.input_ids) if turn else set[InputId]()
        before = [item for item in self._history[:at] if isinstance(item, UserMessage)]
        is_inside_turn = isinstance(next(iter(self._history[at:]), None), AssistantMessage)
        if before and is_inside_turn and not is_last_resort:
            wanted.add(before[-1].input_id)
        return tuple(item.input_id for item in before if item.input_id in wanted)

    # Where that is not enough

    def _last_resort(self) -> CompactionPlan | TooLarge:
        """Results that the model has not seen give way too, all but the newest one."""
        at = self._group_boundary(FLOOR)
        cut = _Cut(at=0, kept=self._history)
        for keep in range(max(1, self._tuning.keep_recent_tool_results), 0, -1):
            old = self._old_results(keep, len(self._history))
            cut = self._cut(_cleared(self._history, old), at, is_last_resort=True)
            if self._gauge.of(cut.kept) <= self._window:
                return self._plan(old, cut)
        if self._state.turn is not None:
            return TooLarge(sentence=self._blame(cut.kept))
        everything = self._dropped(len(self._history), frozenset())
        return self._plan(frozenset(), _Cut(at=len(self._history), dropped=everything, kept=()))

    def _nothing_to_gain(self, cut: _Cut) -> TooLarge | None:
        if self._trigger is Trigger.OVERFLOW:
            return TooLarge(sentence=self._blame(cut.kept))
        return None

    def _not_ours(self) -> TooLarge | None:
        """The instructions and tools alone fill the window: no shorter history helps."""
        if self._state.turn is None:
            return None
        return TooLarge(sentence=sentences.instructions_too_large(self._window))

    def _blame(self, kept: tuple[Message, ...]) -> str:
        largest = max(kept, key=message_characters)
        if message_characters(largest) < self._gauge.static_characters:
            return sentences.mostly_instructions(self._window)
        return sentences.too_large(
            self._name(largest),
            tokens=self._gauge.tokens(message_characters(largest)),
            window=self._window,
        )

    def _name(self, message: Message) -> str:
        if isinstance(message, UserMessage):
            turn = self._state.turn
            is_now = turn is not None and message.input_id in turn.input_ids
            return sentences.THIS_MESSAGE if is_now else sentences.EARLIER_MESSAGE
        if isinstance(message, AssistantMessage):
            return sentences.EARLIER_REPLY
        if isinstance(message, ToolMessage):
            return sentences.tool_result(_tool_names(self._history).get(message.call_id, "a tool"))
        return sentences.EARLIER_NOTE

    # The answer

    def _plan(self, old: frozenset[CallId], cut: _Cut) -> CompactionPlan:
        after = self._gauge.of(cut.kept)
        earlier = "\n\n".join(item.text for item in self._history[: cut.at] if _is_summary(item))
        return CompactionPlan(
            cleared_call_ids=tuple(
                item.call_id
                for item in cut.kept
                if isinstance(item, ToolMessage) and item.call_id in old
            ),
            kept_messages=len(self._history) - cut.at,
            kept_input_ids=cut.pinned,
            dropped=cut.dropped,
            earlier_notes=earlier,
            tokens_before=self._before,
            tokens_after=after,
            notes_characters=self._notes_room(cut, after, len(earlier)),
        )

    def _notes_room(self, cut: _Cut, after: int, earlier: int) -> int:
        """Notes fit the window, and are not much longer than what they stand for."""
        if not cut.at:
            return 0
        tokens = min(self._window // NOTES_SHARE, self._window - after)
        room = int(tokens * self._gauge.characters_per_token) - MESSAGE_OVERHEAD
        replaced = max(NOTES_MIN_CHARACTERS, characters_of(cut.dropped) + earlier)
        room = min(NOTES_MAX_CHARACTERS, room, replaced)
        return room if room >= NOTES_MIN_CHARACTERS else 0


def _halvings(keep: int) -> Iterator[int]:
    """6, 3, 2: halved down to the floor."""
    while keep > FLOOR:
        yield keep
        keep //= 2
    yield FLOOR


def _is_clearable(result: ToolMessage) -> bool:
    return len(result.text) > len(sentences.RESULT_CLEARED)


def _is_summary(message: Message) -> bool:
    return isinstance(message, NoteMessage) and message.kind is NoteKind.SUMMARY


def _kept(
    history: tuple[Message, ...], cut: int, pinned: frozenset[InputId]
) -> tuple[Message, ...]:
    before = tuple(
        item for item in history[:cut] if isinstance(item, UserMessage) and item.input_id in pinned
    )
    return before + history[cut:]


def _cleared(history: tuple[Message, ...], old: frozenset[CallId]) -> tuple[Message, ...]:
    if not old:
        return history
    return tuple(
        replace(item, text=sentences.RESULT_CLEARED)
        if isinstance(item, ToolMessage) and item.call_id in old
        else item
        for item in history
    )


def _tool_names(history: tuple[Message, ...]) -> dict[CallId, str]:
    return {
        call.call_id: call.name
        for item in history
        if isinstance(item, AssistantMessage)
        for call in item.calls
    }
