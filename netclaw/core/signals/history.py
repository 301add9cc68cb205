"""What somebody who comes back with a version of a session is answered: the arithmetic of it.

A session's history is what is kept of its events. The gap is exact: a session carries the highest
sequence that was ever removed of it, so holes between global sequences never look like one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """A session's state version, and the highest sequence that is gone of it; pruning lowers
    neither."""

    last: int = 0
    gone: int = 0

    def has_gap_after(self, since: int) -> bool:
        """Whether something after this version was removed, or was of a former life."""
        return since < self.gone

    def earliest_available(self, lowest_kept: int | None) -> int:
        """The lowest sequence that is kept, else the next one there can be, else 0."""
        if lowest_kept is not None:
            return lowest_kept
        return self.last + 1 if self.last else 0

    def without(self, removed: int) -> Head:
        """After an event with this sequence was pruned."""
        return Head(last=self.last, gone=max(self.gone, removed))

    @property
    def former_version(self) -> int:
        """The highest version that anybody can have of the session, or of a former life of it."""
        return max(self.last, self.gone - 1, 0)

    def of_next_life(self) -> Head:
        """Of a session that is made under the key of this one, which was deleted (decision 55).

        Nothing is recorded of it yet, and every version that anybody has is of the former life.
        """
        return Head(gone=self.former_version + 1)


def page(found: Sequence[T], limit: int) -> tuple[tuple[T, ...], bool]:
    """One answer of at most `limit` events, and whether there are more.

    `found` are the events after the version in order, one more than fits where there are more.
    """
    return tuple(found[:limit]), len(found) > limit
