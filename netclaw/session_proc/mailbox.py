"""What waits to be decided, in order: one letter at a time goes through the rules."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from netclaw.core.ids import SessionId
from netclaw.core.session.commands import Advance, NoticesChanged, SessionCommand
from netclaw.core.session.outputs import TextDelta


@dataclass(frozen=True, slots=True)
class Letter:
    """A command, and the streamed text that goes out with its answer if it is recorded."""

    command: SessionCommand
    remainder: Callable[[], TextDelta | None] | None = None


class Mailbox:
    """First in, first out; an Advance behind an Advance adds nothing and is left out.

    What changed about a notice comes before everything else: whichever letter starts a turn next,
    it tells of what was committed before that turn's input.
    """

    def __init__(self) -> None:
        self._letters: deque[Letter] = deque()
        self._notices: dict[SessionId, Letter] = {}

    def put_notice(self, change: NoticesChanged) -> None:
        """Add what changed about one target; only the last of several changes is decided."""
        self._notices[change.target] = Letter(change)

    def put(self, letter: Letter) -> None:
        """Add a letter at the end."""
        letters = self._letters
        is_repeat = (
            isinstance(letter.command, Advance)
            and letters
            and isinstance(letters[-1].command, Advance)
        )
        if not is_repeat:
            letters.append(letter)

    def put_back(self, letter: Letter) -> None:
        """Return a letter whose decision came to nothing: it is the next one again."""
        self._letters.appendleft(letter)

    def take(self) -> Letter | None:
        """The next letter, or None."""
        if self._notices:
            return self._notices.pop(next(iter(self._notices)))
        return self._letters.popleft() if self._letters else None

    def clear(self) -> None:
        """Drop everything: the process ends."""
        self._notices.clear()
        self._letters.clear()
