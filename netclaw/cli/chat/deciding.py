"""Asks the person of a conversation for decisions, in the place where messages are written.

A question takes the keyboard only once it has been silent for a moment, so that no key meant for a
message, or for the question before, decides anything. What was being written is put aside and
comes back.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from netclaw.cli.app import printable
from netclaw.cli.chat.desk import Desk
from netclaw.cli.chat.question_view import (
    end_line,
    lettered_options,
    question_lines,
    refuse_hint,
)
from netclaw.cli.chat.questions import Question, question_of
from netclaw.cli.chat.screen import width
from netclaw.cli.words import shorten
from netclaw.core.errors import (
    DaemonDownError,
    DeliveryUnconfirmedError,
    DrainingError,
    NetclawError,
    NotFoundError,
    NotRequesterError,
    UnauthenticatedError,
)

if TYPE_CHECKING:
    from netclaw.cli.chat.screen import Screen
    from netclaw.core.session.consent_events import ConsentOption
    from netclaw.wire.v1.common_pb2 import Output

QUIET_S = 0.7
"""No key for so long: whoever types now has seen the question."""
GUARD_S = 1.0
"""Enter so soon after a question went away under the hand was meant for it."""
MESSAGE_WORDS = 3
"""A reply of so many words that is no answer was meant as a message, and is kept."""
NOTICE_S = 2.0
"""A lost connection is noticed within so long; what is open is then asked again once it is back."""
HINT = "Esc denies, Ctrl-C stops the turn"
_UNSURE = (DeliveryUnconfirmedError, DaemonDownError, DrainingError, UnauthenticatedError)


class Composer(Protocol):
    """The line in which the person writes."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Hands:
    """What deciding needs of the conversation around it."""

    answer: Callable[[Question, str], Awaitable[str]]
    """Sends an option's key; durable when it returns a notice, mostly an empty one.

    Raises `NetclawError`."""
    run: Callable[[Coroutine[None, None, None]], None]
    """Runs something beside the conversation, until it ends."""
    sleep: Callable[[float], Awaitable[None]]
    redraw: Callable[[], None]
    is_connected: Callable[[], bool]
    clock: Callable[[], float] = time.monotonic


class Deciding:
    """One person's decisions in one session."""

    def __init__(self, person: str, screen: Screen, composer: Composer, hands: Hands) -> None:
        self._desk = Desk(person)
        self._screen = screen
        self._composer = composer
        self._hands = hands
        self._asked: Question | None = None
        """The question that stands on the screen."""
        self._holding: Question | None = None
        self._confirmed: set[str] = set()
        """Calls whose answer from here counts, as the session said before the daemon did."""
        self._put_aside: str | None = None
        """The message that was being written when a question took the keyboard."""
        self._typed_at = -QUIET_S
        self._lost_at = -GUARD_S

    @property
    def holding(self) -> Question | None:
        """The question that has the keyboard."""
        return self._holding

    @property
    def is_asking(self) -> bool:
        """Whether this person is asked something, or their answer is on its way."""
        return self._desk.is_sending or self._desk.current is not None

    def knows(self, open_calls: Iterable[str]) -> bool:
        """Whether each of these calls was met before."""
        return self._desk.knows(open_calls)

    # What happens in the session ---------------------------------------------------------------

    def take(self, questions: Iterable[Question]) -> None:
        """Ask these, or show them if they are other people's; what is known is not asked again."""
        for question in questions:
            is_new = self._desk.put(question)
            if is_new and not question.is_for(self._desk.person):
                self._show(question)
                self._tell_whose(question)
        if self._holding is not None and not self._desk.has(self._holding):
            self._gone(self._holding, "")  # asked for anew, with more to allow
        self._ask_next()

    def feed(self, output: Output) -> None:
        """Take one output in."""
        match output.type:
            case "consent_request":
                self.take([question_of(output)])
            case "consent_update":
                self._on_end(output)
            case "turn_completed":
                for question in self._desk.close_turn(output.turn_id):
                    self._gone(question, f"[consent] over with its turn: {_what(question)}")
                self._ask_next()

    def again(self, open_calls: Iterable[str]) -> None:
        """A lost connection is back, and these calls wait: say what is over, ask once more."""
        for question in self._desk.keep(open_calls):
            self._gone(question, f"[consent] decided meanwhile: {_what(question)}")
        self._asked = None
        self._ask_next()

    def _on_end(self, output: Output) -> None:
        if self._desk.is_sent(output.call_id) and output.outcome != "withdrawn":
            self._confirmed.add(output.call_id)  # told when the answer itself is acknowledged
            return
        question = self._desk.close(output.call_id)
        if question is not None:
            self._gone(question, end_line(output.outcome, output.sender, _what(question)))
            self._ask_next()

    def _gone(self, question: Question, line: str) -> None:
        """A question is no more; the keyboard is given back at the next look."""
        if line:
            self._screen.tell(line)
        if self._holding is question:
            self._holding = None
            self._composer.text = ""  # a reply half typed is no message
            self._lost_at = self._hands.clock()

    # Asking ------------------------------------------------------------------------------------

    def _ask_next(self) -> None:
        question = self._desk.current
        if question is None:
            if not self._desk.is_sending:
                self._asked = None
                self._give_back()
        elif question is not self._asked:
            self._asked = question
            self._show(question)
            self._hands.run(self._take_keyboard(question))
        self._hands.redraw()

    def _show(self, question: Question) -> None:
        screen = self._screen
        is_mine = question.is_for(self._desk.person)
        screen.settle()
        place = self._desk.place if is_mine else ""
        for line in question_lines(question, screen, columns=width(), place=place):
            screen.write(line)
        for line in lettered_options(question, screen) if is_mine else ():
            screen.write(line)

    def _tell_whose(self, question: Question) -> None:
        line = f"[consent] not yours: only {question.requester} may allow it"
        if question.refusal is not None:
            line += f"; {refuse_hint(question.call_id, question.refusal.key)}"
        self._screen.tell(line)

    async def _take_keyboard(self, question: Question) -> None:
        while (rest_s := QUIET_S - (self._hands.clock() - self._typed_at)) > 0:
            await self._hands.sleep(rest_s)
        if self._desk.current is question and self._holding is None:
            self._put_aside = _joined(self._put_aside or "", self._composer.text)
            self._composer.text = ""
            self._holding = question
            self._hands.redraw()

    def _give_back(self) -> None:
        self._holding = None
        if self._put_aside is not None:
            self._composer.text = _joined(self._put_aside, self._composer.text)
            self._put_aside = None

    # What the person does ----------------------------------------------------------------------

    def typed(self) -> None:
        """A key was pressed just now."""
        self._typed_at = self._hands.clock()

    def reply(self, text: str) -> None:
        """Enter was pressed while a question has the keyboard; the line is emptied."""
        question = self._holding
        if question is None:
            return
        self._composer.text = ""
        self.typed()
        option = question.chosen_by(text)
        if option is not None:
            self._choose(question, option)
            return
        kept = ""
        if len(text.split()) >= MESSAGE_WORDS:
            self._put_aside = _joined(self._put_aside or "", text)
            kept = "; your message is kept for afterwards"
        shown = f"{shorten(text, 40)!r} is no answer: " if text.strip() else ""
        self._screen.tell(
            f"[consent] {shown}type {question.span}, a label or a key, or press Esc to deny{kept}"
        )

    def step(self, by: int) -> None:
        """Up or Down was pressed: the option so many places further stands in the line."""
        question = self._holding
        if question is None or not question.options:
            return
        self.typed()
        options, chosen = question.options, question.chosen_by(self._composer.text)
        before = 0 if by < 0 else -1
        at = options.index(chosen) if chosen is not None else before
        self._composer.text = options[(at + by) % len(options)].label

    def refuse(self) -> None:
        """Esc was pressed; it never leaves the conversation."""
        question = self._holding
        if question is not None and question.refusal is not None:
            self._composer.text = ""
            self.typed()
            self._choose(question, question.refusal)

    def caught(self, text: str) -> str | None:
        """What to leave in the line if this message is not to be sent; None if it is.

        An answer that comes before its question has the keyboard, or after the question went
        away, is no message.
        """
        if self._hands.clock() - self._lost_at < GUARD_S:
            self._lost_at -= GUARD_S  # once: whoever presses Enter again has read this
            self._screen.tell("[consent] not sent: the question was over; what you wrote is kept")
            return text
        question = self._desk.current
        if question is not None and question.chosen_by(text) is not None:
            self._screen.tell("[consent] not taken as an answer yet: look at the question first")
            return ""
        return None

    def _choose(self, question: Question, option: ConsentOption) -> None:
        self._holding = None
        if self._desk.send(question):
            self._confirmed.discard(question.call_id)
            self._hands.run(self._deliver(question, option))
        self._ask_next()

    async def _deliver(self, question: Question, option: ConsentOption) -> None:
        told = f"{option.label}: {_what(question)}"
        try:
            notice = await self._hands.answer(question, option.key)
        except (NotFoundError, NotRequesterError) as error:
            told = told if self._is_confirmed(question) else error.sentence
            if self._desk.settle(question):
                self._screen.tell(f"[consent] {told}")
        except NetclawError as error:
            await self._failed(question, error, told)
        else:
            self._desk.settle(question)
            self._screen.tell(f"[consent] {told}")
            if notice:
                self._screen.tell(f"[notice] {notice}")
        self._ask_next()

    def _is_confirmed(self, question: Question) -> bool:
        """Whether the session said that this answer counts."""
        return question.call_id in self._confirmed

    async def _failed(self, question: Question, error: NetclawError, told: str) -> None:
        """The answer was not acknowledged: ask again, unless the session says that it counts."""
        is_unsure = isinstance(error, _UNSURE)
        if not self._is_confirmed(question):
            why = "the answer may not have arrived" if is_unsure else error.sentence
            self._screen.tell(f"[consent] {why}")
            if is_unsure:
                await self._hands.sleep(NOTICE_S)
        if self._is_confirmed(question):
            if self._desk.settle(question):
                self._screen.tell(f"[consent] {told}")
        elif not is_unsure or self._hands.is_connected():
            self._desk.unsend(question)
            self._asked = None


def _what(question: Question) -> str:
    return printable(shorten(question.display or question.tool, 60))


def _joined(before: str, after: str) -> str:
    """A message in two pieces; neither is lost."""
    return f"{before} {after}" if before.strip() and after.strip() else before or after
