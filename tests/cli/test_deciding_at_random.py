"""Prompts, answers from elsewhere, keys and lost connections in any order."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netclaw.cli.chat.deciding import QUIET_S
from netclaw.core.errors import DeliveryUnconfirmedError
from tests.cli.test_deciding import Seat, update
from tests.cli.test_questions import question

CALLS = ("c1", "c2", "c3")
STEPS = st.sampled_from(
    (
        *(("ask", call) for call in CALLS),
        *(("ask another", call) for call in CALLS),
        *(("over", call) for call in CALLS),
        *(("type", word) for word in ("a", "hello ", "x")),
        *(("reply", text) for text in ("a", "deny", "no", "tell me first why")),
        *(("go on", ""), ("refuse", ""), ("step", ""), ("wait", ""), ("lose", ""), ("again", "")),
    )
)


@dataclass
class Model:
    """What is open in truth, and what was answered."""

    seat: Seat = field(default_factory=Seat)
    is_open: dict[str, int] = field(default_factory=dict)
    seqs: itertools.count[int] = field(default_factory=lambda: itertools.count(1))
    written: str = ""
    """All that was written as a message, or kept as one."""

    def ask(self, call: str, requester: str = "") -> None:
        """A request, unless one is open for that call."""
        if call not in self.is_open:
            self.is_open[call] = next(self.seqs)
            self.seat.deciding.take([question(call, seq=self.is_open[call], requester=requester)])

    def over(self, call: str) -> None:
        """Somebody else decided."""
        if self.is_open.pop(call, None) is not None:
            self.seat.deciding.feed(update(call))

    def act(self, chosen: str) -> None:
        """A key that chooses; whatever is sent is for the question that has the keyboard."""
        held, before = self.seat.held, list(self.seat.answers)
        if chosen:
            self.seat.deciding.reply(chosen)
            is_kept = held and question().chosen_by(chosen) is None and len(chosen.split()) >= 3
            self.written += chosen if is_kept else ""
        else:
            self.seat.deciding.refuse()
        self.seat.go_on()
        sent = self.seat.answers[len(before) :]
        assert sent == [] or [call for call, _ in sent] == [held]
        for call, _ in sent:
            assert call in self.is_open, "only what is open is answered"
            if self.seat.failing is None:
                del self.is_open[call]

    def connect(self, *, is_lost: bool) -> None:
        """The connection goes, or comes back with what is open now."""
        self.seat.is_connected = not is_lost
        self.seat.failing = DeliveryUnconfirmedError("lost") if is_lost else None
        if not is_lost:
            self.seat.deciding.again([*self.is_open])

    def type(self, text: str) -> None:
        """A key of a message; while a question has the keyboard it is part of a reply."""
        if not self.seat.held:
            self.written += text
        self.seat.write(text)


def step(model: Model, kind: str, what: str) -> None:
    """One thing that happens."""
    match kind:
        case "ask":
            model.ask(what)
        case "ask another":
            model.ask(what, "bert")
        case "over":
            model.over(what)
        case "type":
            model.type(what)
        case "reply":
            model.act(what)
        case "refuse":
            model.act("")
        case "step":
            model.seat.deciding.step(1)
        case "wait":
            model.seat.now += QUIET_S
        case "go on":
            model.seat.go_on()
        case _:
            model.connect(is_lost=kind == "lose")


@pytest.mark.requirement("consent_cli.in-turn")
@pytest.mark.requirement("consent_cli.typing")
@given(st.lists(STEPS, max_size=25))
@settings(max_examples=150)
def test_whatever_happens_answers_are_meant_and_messages_kept(
    steps: list[tuple[str, str]],
) -> None:
    model = Model()
    for kind, what in steps:
        step(model, kind, what)
    model.connect(is_lost=False)
    model.seat.go_on()
    for call in [*model.is_open]:
        model.over(call)
    model.seat.go_on()
    assert model.seat.held == ""
    assert not model.seat.deciding.is_asking
    left = model.seat.line.text.replace(" ", "")
    assert left == model.written.replace(" ", ""), "nothing that was written is lost or changed"
