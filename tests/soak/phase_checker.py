"""Checks that the phases a subscriber saw are a path of legal moves that fits the journal.

A subscriber sees only the last phase of each decision, and it sees journal events only where they
have an output. So the checker keeps every pair (phase, place in the journal) that could be true,
lets each take all legal moves, and keeps those that agree with what was seen next. When none is
left the session made a move that is not in the table. Knows no netclaw.
"""

from __future__ import annotations

import sys
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from itertools import groupby

from tests.soak.evidence import Seen
from tests.soak.stored import Row

PHASES = frozenset({"recovering", "ready", "processing", "compacting", "passivating"})

WITHOUT_PROCESS = frozenset({"passive", "backoff"})
"""What the supervisor says of a session whose process is gone; no phase of a process."""

FREE_MOVES: dict[str, tuple[str, ...]] = {
    "recovering": ("ready",),
    "ready": ("compacting", "passivating"),
    "processing": ("compacting",),
    "compacting": (),
    "passivating": ("ready",),
}
"""Moves that need no event of the journal beside them."""

LEFT_WAITING = frozenset({"DrainStopped", "ConsentRequested"})
"""After these a turn may be open in a session that rests: it waits for a start or for a person."""

_Place = tuple[str, int]
"""A phase, and how many rows of the journal have happened."""


class _Story:
    """One session's journal, as what it does to the phase."""

    def __init__(self, rows: list[Row]) -> None:
        self._rows = rows
        self._seqs = [row.seq for row in rows]
        self._is_open = [False]
        """Whether a turn is open after so many rows."""
        self._is_resting = [True]
        """Whether nothing of a turn goes on after so many rows: none is open, or it only waits."""
        for row in rows:
            is_open = _is_open_after(self._is_open[-1], row)
            self._is_open.append(is_open)
            is_changed = "turn_id" in row.payload or not is_open
            is_waiting = row.type in LEFT_WAITING if is_changed else self._is_resting[-1]
            self._is_resting.append(is_waiting or not is_open)

    def until(self, seq: int) -> int:
        """How many rows have happened once this one has."""
        return bisect_right(self._seqs, seq)

    def of(self, incarnation: int) -> tuple[int, int]:
        """Rows before this start of the process, and rows up to its end."""
        numbers = [row.incarnation for row in self._rows]
        first = next((i for i, n in enumerate(numbers) if n >= incarnation), len(numbers))
        last = next((i for i, n in enumerate(numbers) if n > incarnation), len(numbers))
        return first, last

    def allows(self, place: _Place) -> bool:
        """Whether a session can be seen in this phase at this place, whatever was before."""
        phase, at = place
        if phase == "processing":
            return self._is_open[at]
        return phase not in ("ready", "passivating") or self._is_resting[at]

    def next_places(self, place: _Place, end: int) -> Iterator[_Place]:
        """Where the session can be after one move or one event."""
        phase, at = place
        for target in FREE_MOVES[phase]:
            yield target, at
        if phase == "compacting":
            yield ("processing" if self._is_open[at] else "ready"), at
        if at < end:
            after = self._after(phase, at)
            if after is not None:
                yield after, at + 1

    def _after(self, phase: str, at: int) -> str | None:
        """The phase after the next event; None if that event cannot happen in this one."""
        kind = self._rows[at].type
        if kind in ("TurnStarted", "Resumed"):
            return "processing" if phase == "ready" else None
        if kind in ("TurnRecorded", "TurnFailed"):
            # At a heal, or when a session that waits is stopped, the turn ends from rest.
            return "ready" if phase in ("processing", "ready") else None
        if kind == "DrainStopped":
            return "ready" if phase == "processing" else None
        if kind == "Passivated":
            return "passivating" if phase == "passivating" else None
        if kind == "Compacted":
            return "compacting" if phase == "compacting" else None
        return phase


def _is_open_after(is_open: bool, row: Row) -> bool:
    if row.type == "TurnStarted":
        return True
    if row.type in ("TurnRecorded", "TurnFailed", "SessionReset"):
        return False
    return is_open


def check_phases(session: str, rows: list[Row], seen: Iterable[Seen]) -> list[str]:
    """What is wrong with the phases that were seen of one session."""
    story = _Story(rows)
    problems: list[str] = []
    for number, outputs in groupby(seen, key=lambda item: item.attachment):
        problems.extend(
            f"{session}, subscription {number}: {words}" for words in _check(story, list(outputs))
        )
    return problems


def _check(story: _Story, outputs: list[Seen]) -> Iterator[str]:
    """One subscription, cut at each start of a process."""
    live = [o for o in outputs if o.incarnation and o.phase not in WITHOUT_PROCESS]
    for incarnation, part in groupby(live, key=lambda item: item.incarnation):
        yield from _check_process(story, incarnation, list(part))


def _check_process(story: _Story, incarnation: int, outputs: list[Seen]) -> Iterator[str]:
    first, end = story.of(incarnation)
    places = {(phase, at) for phase in PHASES for at in range(first, end + 1)}
    low = first
    next_seqs = _next_seqs(outputs)
    for index, item in enumerate(outputs):
        if item.seq:
            low = max(low, story.until(item.seq))
            continue
        if item.phase not in PHASES:
            yield f"{item.phase!r} is no phase"
            return
        high = min(end, story.until(next_seqs[index] - 1))
        reachable = _closure(story, places, max(high, low))
        places = {
            place
            for place in reachable
            if place[0] == item.phase and low <= place[1] and story.allows(place)
        }
        if not places:
            path = [other.phase or other.kind for other in outputs[max(0, index - 6) : index + 1]]
            yield (
                f"incarnation {incarnation} cannot be {item.phase} at seq {low}..{high}"
                f" after {path}"
            )
            return


def _next_seqs(outputs: list[Seen]) -> list[int]:
    """For each output the seq of the next durable one; beyond every journal if there is none."""
    found: list[int] = []
    seq = sys.maxsize
    for item in reversed(outputs):
        found.append(seq)
        seq = item.seq or seq
    return found[::-1]


def _closure(story: _Story, places: set[_Place], end: int) -> set[_Place]:
    known = {place for place in places if place[1] <= end}
    fresh = list(known)
    while fresh:
        for place in story.next_places(fresh.pop(), end):
            if place not in known:
                known.add(place)
                fresh.append(place)
    return known
