"""When a question takes the keyboard, and what becomes of what is typed meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass, field

import pytest

from netclaw.cli.chat.deciding import GUARD_S, QUIET_S, Deciding, Hands
from netclaw.cli.chat.questions import Question
from netclaw.cli.chat.screen import Screen
from netclaw.core.errors import (
    DeliveryUnconfirmedError,
    InvalidArgumentError,
    NetclawError,
    NotFoundError,
    NotRequesterError,
)
from netclaw.wire.v1.common_pb2 import Output
from tests.cli.test_questions import question


@dataclass
class Line:
    """The line of the prompt."""

    text: str = ""


@dataclass
class Seat:
    """A person at a terminal whose time goes by when the test says so."""

    now: float = 100.0
    line: Line = field(default_factory=Line)
    shown: list[str] = field(default_factory=list)
    answers: list[tuple[str, str]] = field(default_factory=list)
    failing: NetclawError | None = None
    notice: str = ""
    is_connected: bool = True
    _work: list[Coroutine[None, None, None]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.screen = Screen(write=self.shown.append, has_colours=False)
        self.deciding = Deciding(
            "anna",
            self.screen,
            self.line,
            Hands(
                answer=self._answer,
                run=self._work.append,
                sleep=self._sleep,
                redraw=lambda: None,
                is_connected=lambda: self.is_connected,
                clock=lambda: self.now,
            ),
        )

    async def _answer(self, question: Question, option: str) -> str:
        self.answers.append((question.call_id, option))
        if self.failing is not None:
            raise self.failing
        return self.notice

    async def _sleep(self, seconds: float) -> None:
        self.now += seconds

    def go_on(self) -> None:
        """Run what was begun, however long it takes."""

        async def run() -> None:
            while self._work:
                await self._work.pop(0)

        asyncio.run(run())

    def write(self, text: str) -> None:
        """Type without Enter."""
        self.line.text += text
        self.deciding.typed()

    def last(self) -> str:
        """The newest line that was shown."""
        return self.shown[-1]

    @property
    def held(self) -> str:
        """The call whose question has the keyboard."""
        holding = self.deciding.holding
        return holding.call_id if holding is not None else ""


@pytest.fixture
def seat() -> Seat:
    """A seat at which nothing was typed for long."""
    return Seat()


def update(call_id: str, outcome: str = "approved", by: str = "bert") -> Output:
    """A request is over."""
    return Output(type="consent_update", call_id=call_id, outcome=outcome, sender=by)


@pytest.mark.requirement("consent_cli.reply")
def test_a_bad_reply_asks_again(seat: Seat) -> None:
    seat.deciding.take([question()])
    seat.go_on()
    assert seat.held == "c1"
    seat.deciding.reply("yes")
    assert "'yes' is no answer: type A to E" in seat.last()
    seat.deciding.reply("")
    assert seat.last().startswith("[consent] type A to E")
    assert seat.answers == []
    seat.deciding.reply("b")
    seat.go_on()
    assert seat.answers == [("c1", "approve_session")]
    assert seat.last() == "[consent] This chat: git push"
    assert seat.held == ""


@pytest.mark.requirement("consent_cli.typing")
def test_what_is_being_written_comes_back_after_the_answer(seat: Seat) -> None:
    seat.write("tell me mo")
    seat.deciding.take([question()])
    assert seat.held == "", "the hand is on the keyboard"
    seat.write("re ab")
    seat.go_on()
    assert (seat.held, seat.line.text) == ("c1", "")
    seat.deciding.reply("wait, first tell me why")
    assert seat.last().endswith("your message is kept for afterwards")
    seat.deciding.reply("a")
    seat.go_on()
    assert seat.line.text == "tell me more ab wait, first tell me why"


@pytest.mark.requirement("consent_cli.typing")
def test_an_answer_meant_for_the_question_before_decides_nothing(seat: Seat) -> None:
    seat.line.text = "half"
    seat.deciding.take([question("c1"), question("c2")])
    seat.go_on()
    seat.write("a")
    seat.deciding.feed(update("c1"))
    assert seat.shown.count("[consent] allowed by bert: git push") == 1
    assert (seat.held, seat.line.text) == ("", "")
    assert seat.deciding.caught("a") == "a", "Enter meant for the question that went away"
    assert seat.deciding.caught("a") == "", "the next one is not looked at yet"
    assert seat.deciding.caught("hello there") is None
    seat.now += GUARD_S
    seat.go_on()
    assert seat.held == "c2"
    seat.deciding.reply("e")
    seat.go_on()
    assert seat.answers == [("c2", "deny")]
    assert seat.line.text == "half"


@pytest.mark.requirement("consent_cli.reply")
def test_the_options_can_be_gone_through(seat: Seat) -> None:
    seat.deciding.step(1)
    assert seat.line.text == ""
    seat.deciding.take([question()])
    seat.go_on()
    shown = []
    for by in (1, 1, -1, -1, -1):
        seat.deciding.step(by)
        shown.append(seat.line.text)
    assert shown == ["Once", "This chat", "Once", "Deny", "Always anywhere"]
    seat.line.text = "b"
    seat.deciding.step(1)
    assert seat.line.text == "Always here"
    seat.line.text = ""
    seat.deciding.step(-1)
    assert seat.line.text == "Deny"
    assert seat.answers == [], "nothing is chosen before Enter"
    seat.deciding.reply(seat.line.text)
    seat.go_on()
    assert seat.answers == [("c1", "deny")]


@pytest.mark.requirement("consent_cli.escape")
def test_escape_refuses_what_is_asked_and_nothing_else(seat: Seat) -> None:
    seat.deciding.refuse()
    seat.deciding.reply("a")
    seat.deciding.take([question("c1"), question("c2")])
    seat.go_on()
    seat.deciding.refuse()
    seat.deciding.refuse()
    seat.go_on()
    assert seat.answers == [("c1", "deny")]
    assert seat.held == "c2"


@pytest.mark.requirement("consent_cli.in-turn")
def test_nobody_answers_twice(seat: Seat) -> None:
    seat.deciding.take([question()])
    seat.go_on()
    seat.deciding.reply("a")
    seat.deciding.feed(update("c1", by="anna"))
    seat.go_on()
    seat.deciding.take([question()])
    seat.go_on()
    assert seat.answers == [("c1", "approve_once")]
    assert sum("[consent] Once" in line for line in seat.shown) == 1
    assert not any("allowed" in line for line in seat.shown[-1:])
    assert not seat.deciding.is_asking


@pytest.mark.requirement("consent_cli.in-turn")
@pytest.mark.parametrize(
    "error", [None, NotFoundError("It is not open."), DeliveryUnconfirmedError("lost")]
)
def test_an_answer_that_counts_is_told_before_the_next_question(
    seat: Seat, error: NetclawError | None
) -> None:
    """The session may say so before the daemon acknowledges it, or instead of that."""
    seat.deciding.take([question("c1"), question("c2")])
    seat.go_on()
    seat.failing = error
    seat.deciding.reply("a")
    seat.deciding.feed(update("c1", by="anna"))
    assert not any("2 of 2" in line for line in seat.shown)
    seat.go_on()
    told = seat.shown.index("[consent] Once: git push")
    assert seat.shown[told + 1] == "[consent 2 of 2] shell_execute asks for a decision:"
    assert seat.held == "c2"


@pytest.mark.requirement("consent_cli.in-turn")
def test_a_call_that_is_asked_for_anew_is_asked_about_anew(seat: Seat) -> None:
    seat.deciding.take([question("c1", seq=5)])
    seat.go_on()
    seat.deciding.reply("a")
    seat.deciding.take([question("c1", seq=9, display="git push --force")])
    assert seat.deciding.is_asking
    seat.go_on()
    assert seat.held == "c1"
    seat.write("a")
    seat.deciding.take([question("c1", seq=11, display="git push --all")])
    assert (seat.held, seat.line.text) == ("", ""), "the keys were meant for another question"
    seat.go_on()
    seat.deciding.reply("e")
    seat.go_on()
    assert seat.answers == [("c1", "approve_once"), ("c1", "deny")]
    assert seat.last() == "[consent] Deny: git push --all"
    assert not seat.deciding.is_asking


@pytest.mark.requirement("consent_cli.over")
def test_questions_that_are_over_close_with_a_line(seat: Seat) -> None:
    seat.deciding.take([question("c1", turn_id="t1"), question("c2"), question("c3")])
    seat.go_on()
    seat.deciding.feed(Output(type="turn_completed", turn_id="t1"))
    assert "[consent] over with its turn: git push" in seat.shown
    seat.deciding.feed(update("c2", "withdrawn", by=""))
    withdrawn = "[consent] withdrawn, nothing is to be decided any more: git push"
    assert withdrawn in seat.shown
    seat.go_on()
    assert seat.held == "c3"
    seat.deciding.reply("a")
    seat.deciding.feed(update("c3", "withdrawn", by=""))
    assert seat.shown.count(withdrawn) == 2, "it was answered too late"
    seat.failing = NotFoundError("It is not open.")
    seat.go_on()
    assert seat.last() == withdrawn
    seat.deciding.feed(update("c9"))
    assert seat.last() == withdrawn, "nobody here knew of it"


@pytest.mark.requirement("consent_cli.not-yours")
def test_another_persons_question_is_shown_and_not_asked(seat: Seat) -> None:
    seat.deciding.take([question("c1", requester="bert")])
    seat.go_on()
    assert seat.held == ""
    assert seat.last() == (
        "[consent] not yours: only bert may allow it;"
        " you may refuse it: netclaw approvals answer c1 deny"
    )
    assert not any(line.startswith("  A ") for line in seat.shown)
    assert not seat.deciding.is_asking
    seat.deciding.feed(update("c1"))
    assert seat.last() == "[consent] allowed by bert: git push"


@pytest.mark.requirement("consent_cli.reconnect")
def test_after_a_lost_connection_what_is_open_is_asked_once_more(seat: Seat) -> None:
    seat.deciding.take([question("c1"), question("c2")])
    seat.go_on()
    seat.is_connected = False
    seat.failing = DeliveryUnconfirmedError("lost")
    seat.deciding.reply("a")
    seat.go_on()
    assert "[consent] the answer may not have arrived" in seat.shown
    seat.shown.clear()
    seat.is_connected, seat.failing = True, None
    seat.deciding.again(["c1"])
    seat.go_on()
    assert seat.shown[0] == "[consent] decided meanwhile: git push"
    assert sum("asks for a decision" in line for line in seat.shown) == 1
    assert seat.held == "c1"
    seat.deciding.reply("a")
    seat.go_on()
    assert seat.answers == [("c1", "approve_once")] * 2


@pytest.mark.parametrize(
    ("error", "is_asked_again"),
    [
        (NotFoundError("It is not open."), False),
        (NotRequesterError("It is Bert's."), False),
        (InvalidArgumentError("It was not offered."), True),
        (DeliveryUnconfirmedError("lost"), True),
    ],
)
def test_an_answer_that_does_not_count_is_told(
    seat: Seat, error: NetclawError, *, is_asked_again: bool
) -> None:
    seat.deciding.take([question()])
    seat.go_on()
    seat.failing = error
    seat.deciding.reply("a")
    seat.go_on()
    told = "the answer may not have arrived"
    assert (
        f"[consent] {told if isinstance(error, DeliveryUnconfirmedError) else error.sentence}"
        in (seat.shown)
    )
    assert (seat.held == "c1") is is_asked_again


def test_the_quiet_is_counted_from_the_last_key(seat: Seat) -> None:
    seat.write("x")
    began = seat.now
    seat.deciding.take([question()])
    seat.go_on()
    assert seat.now == pytest.approx(began + QUIET_S)


def test_what_the_daemon_says_of_an_answer_is_told(seat: Seat) -> None:
    seat.notice = "The session is quarantined; the answer waits."
    seat.deciding.take([question()])
    assert seat.deciding.knows(["c1"])
    assert not seat.deciding.knows(["c1", "c2"])
    seat.go_on()
    seat.deciding.reply("a")
    seat.go_on()
    assert seat.last() == "[notice] The session is quarantined; the answer waits."
    assert seat.deciding.knows(["c1"])
