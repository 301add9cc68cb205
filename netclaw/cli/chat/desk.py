"""The consent requests that lie open before one person, asked one after another.

Pure. A request is asked once and answered once: what was answered from here, or is over, is not
asked again, however often a stream or a list repeats it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from netclaw.cli.chat.questions import Question


@dataclass(slots=True)
class Desk:
    """`person` is the sender id of whoever sits here."""

    person: str
    _open: dict[str, Question] = field(default_factory=dict)
    """In the order in which they came."""
    _sent: set[str] = field(default_factory=set)
    """Calls to which an answer is on its way."""
    _settled: dict[str, int] = field(default_factory=dict)
    """Calls about which nothing is to be asked any more, each with the seq of its request."""
    _done: int = 0
    """Questions that are over since the desk was empty, for `2 of 3`."""

    @property
    def is_empty(self) -> bool:
        """Whether no request is open."""
        return not self._open

    @property
    def current(self) -> Question | None:
        """The question to be asked now: the first that this person may answer.

        None while an answer is on its way: what became of it is told before the next is asked.
        """
        mine = (each for each in self._open.values() if each.is_for(self.person))
        return None if self._sent else next(mine, None)

    @property
    def is_sending(self) -> bool:
        """Whether an answer from here is on its way."""
        return bool(self._sent)

    @property
    def place(self) -> str:
        """Where the current question stands among those of this person; empty if it is alone."""
        total = self._done + sum(each.is_for(self.person) for each in self._open.values())
        return f"{self._done + 1} of {total}" if total > 1 else ""

    def knows(self, calls: Iterable[str]) -> bool:
        """Whether each of these calls was met before."""
        return all(call_id in self._open or call_id in self._settled for call_id in calls)

    def put(self, question: Question) -> bool:
        """Take a request in; False if it is known, answered from here or over."""
        call_id = question.call_id
        known = self._open.get(call_id)
        seen = known.seq if known is not None else self._settled.get(call_id, -1)
        if question.seq <= seen:
            return False
        self._settle(call_id)  # asked for anew: what was asked before is over
        if not self._open:
            self._done = 0
        self._open[call_id] = question
        return True

    def send(self, question: Question) -> bool:
        """Note that an answer goes out; False if one does already, or the request is over."""
        if question.call_id in self._sent or not self.has(question):
            return False
        self._sent.add(question.call_id)
        return True

    def unsend(self, question: Question) -> None:
        """The answer did not count: ask again, if the request is still open."""
        if self.has(question):
            self._sent.discard(question.call_id)

    def has(self, question: Question) -> bool:
        """Whether this very question is open."""
        return self._open.get(question.call_id) is question

    def is_sent(self, call_id: str) -> bool:
        """Whether an answer from here is on its way."""
        return call_id in self._sent

    def settle(self, question: Question) -> bool:
        """This very question is over; False if the call is not asked about by it any more."""
        is_open = self.has(question)
        if is_open:
            self._settle(question.call_id)
        return is_open

    def close(self, call_id: str) -> Question | None:
        """A request is over; the question, if this desk knew it as open."""
        return self._settle(call_id)

    def close_turn(self, turn_id: str) -> list[Question]:
        """A turn is over, and with it the requests of its own calls."""
        over = [each.call_id for each in self._open.values() if each.turn_id == turn_id != ""]
        return [question for call_id in over if (question := self._settle(call_id)) is not None]

    def keep(self, open_calls: Iterable[str]) -> list[Question]:
        """Only these are open, as the daemon says now; returns those that are over.

        An answer that was on its way when the connection broke may not have arrived: what is
        still open is asked again.
        """
        known = frozenset(open_calls)
        over = [call_id for call_id in self._open if call_id not in known]
        self._sent.clear()
        return [question for call_id in over if (question := self._settle(call_id)) is not None]

    def _settle(self, call_id: str) -> Question | None:
        self._sent.discard(call_id)
        question = self._open.pop(call_id, None)
        if question is not None:
            self._settled[call_id] = question.seq
        if question is not None and question.is_for(self.person):
            self._done += 1
        return question
