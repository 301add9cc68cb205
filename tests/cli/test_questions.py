"""Questions on the desk of one person: what is asked when, and what counts as an answer."""

from __future__ import annotations

import pytest

from netclaw.cli.chat.desk import Desk
from netclaw.cli.chat.question_view import command_rows, lettered_options, question_lines
from netclaw.cli.chat.questions import Question, effect_of, question_of
from netclaw.core.session.consent_events import ConsentEffect, ConsentOption
from netclaw.wire.v1 import common_pb2 as pb

ALL = (
    ("approve_once", "Once"),
    ("approve_session", "This chat"),
    ("approve_always", "Always here"),
    ("approve_everywhere", "Always anywhere"),
    ("deny", "Deny"),
)


def options(*pairs: tuple[str, str]) -> tuple[ConsentOption, ...]:
    """Options; `deny` refuses."""
    return tuple(
        ConsentOption(
            key=key,
            label=label,
            effect=ConsentEffect.REFUSE if key == "deny" else ConsentEffect.APPROVE,
        )
        for key, label in pairs
    )


def question(call_id: str = "c1", **changes: object) -> Question:
    """A question about `git push`, with every option but the repository."""
    values: dict[str, object] = {
        "call_id": call_id,
        "tool": "shell_execute",
        "display": "git push",
        "options": options(*ALL),
        **changes,
    }
    return Question(**values)  # type: ignore[arg-type]


def asked_now(desk: Desk) -> str:
    """The call that is asked about; empty if none is."""
    return desk.current.call_id if desk.current is not None else ""


class Plain:
    """A terminal that marks its colours so that a test can see them."""

    def dim(self, text: str) -> str:
        """As it is."""
        return text

    def colour(self, text: str, code: int) -> str:
        """With the number in front."""
        return f"<{code}>{text}"


@pytest.mark.requirement("consent_cli.reply")
@pytest.mark.parametrize(
    ("reply", "key"),
    [
        ("a", "approve_once"),
        ("A", "approve_once"),
        (" e ", "deny"),
        ("this  CHAT", "approve_session"),
        ("approve_everywhere", "approve_everywhere"),
        ("Deny", "deny"),
        ("", None),
        ("f", None),
        ("approve", None),
        ("yes", None),
        ("a b", None),
    ],
)
def test_a_reply_is_a_letter_a_label_or_a_key(reply: str, key: str | None) -> None:
    chosen = question().chosen_by(reply)
    assert (chosen.key if chosen else None) == key


def test_what_a_question_says_of_its_options() -> None:
    assert question().span == "A to E"
    assert question().refusal is not None
    lone = question(options=options(("approve_once", "Once")))
    assert (lone.span, lone.refusal) == ("A", None)
    assert effect_of("approve") is ConsentEffect.APPROVE
    assert effect_of("something new") is ConsentEffect.REFUSE


@pytest.mark.requirement("consent_cli.prompt")
@pytest.mark.requirement("consent_cli.danger")
def test_everything_that_matters_is_shown() -> None:
    asked = pb.Output(
        type="consent_request",
        call_id="c1",
        turn_id="t1",
        seq=7,
        tool_name="shell_execute",
        text="git push &&\n\tgit \x1b[2Jfetch",
        path="/home/anna/p",
        candidates=["git push", "git fetch"],
        sender="anna",
        run_id="r1",
        speakers=["bert", "carl"],
        options=[
            pb.ConsentOption(key=item.key, label=item.label, effect=item.effect.value)
            for item in options(*ALL)
        ],
    )
    shown = question_of(asked)
    assert shown.options == options(*ALL)
    assert shown.turn_id == "", "a request of a child does not end with the turn that shows it"
    assert [*question_lines(shown, Plain(), columns=80, place="1 of 2")] == [
        "<33>[consent 1 of 2] shell_execute asks for a decision:",
        "    git push &&",
        "        git \ufffd[2Jfetch",
        "  in: /home/anna/p",
        "  not allowed yet: git push",
        "  not allowed yet: git fetch",
        "  asked by sub-agent run: r1",
        "  asked for: anna",
        "  the turn was also shown words of: bert, carl",
    ]
    assert [*lettered_options(shown, Plain())] == [
        "  A  Once",
        "  B  This chat",
        "  C  Always here",
        "<31>  D  Always anywhere",
        "<31>  E  Deny",
    ]


def test_a_long_command_is_shown_to_its_end() -> None:
    long = "echo " + "word " * 100 + "-" * 200
    rows = [*command_rows(long + "\nsecond", 60)]
    assert all(len(row) <= 60 for row in rows)
    assert rows[-1] == "    second", "a line of the command is told from a wrapped one"
    assert all(row.startswith("      ") for row in rows[1:-1])
    assert "".join(row[6:] if at else row[4:] for at, row in enumerate(rows[:-1])) == long


@pytest.mark.requirement("consent_cli.in-turn")
def test_questions_are_asked_in_the_order_in_which_they_came() -> None:
    desk = Desk("anna")
    first, second = question("c1"), question("c2")
    assert desk.put(first)
    assert desk.place == ""
    assert desk.put(second)
    assert (desk.current, desk.place) == (first, "1 of 2")
    assert desk.send(first)
    assert desk.is_sending
    assert asked_now(desk) == "", "what becomes of an answer is told before the next question"
    assert not desk.send(first), "nobody answers twice"
    assert desk.close("c1") is first
    assert (asked_now(desk), desk.place) == ("c2", "2 of 2")
    assert not desk.put(first), "what is over is not asked again"
    assert desk.close("c2") is second
    assert desk.is_empty
    assert desk.close("c2") is None
    assert desk.put(question("c3"))
    assert desk.place == ""


def test_a_call_may_be_asked_for_anew() -> None:
    """Consent for what nobody was asked for yet comes as a later request of the same call."""
    desk = Desk("anna")
    desk.put(question("c1", seq=5))
    desk.close("c1")
    assert not desk.put(question("c1", seq=5))
    assert desk.put(question("c1", seq=9))


@pytest.mark.requirement("consent_cli.not-yours")
def test_only_the_requester_is_asked() -> None:
    desk = Desk("anna")
    desk.put(question("c1", requester="bert"))
    desk.put(question("c2", requester="anna"))
    desk.put(question("c3"))
    assert asked_now(desk) == "c2"
    assert desk.place == "1 of 2", "another person's is not counted"
    desk.close("c2")
    desk.close("c3")
    assert asked_now(desk) == ""
    assert not desk.is_empty


@pytest.mark.requirement("consent_cli.over")
def test_a_turn_takes_its_own_requests_with_it() -> None:
    desk = Desk("anna")
    desk.put(question("c1", turn_id="t1"))
    desk.put(question("c2", turn_id="t2"))
    desk.put(question("c3", run_id="r1"))
    assert [each.call_id for each in desk.close_turn("t1")] == ["c1"]
    assert desk.close_turn("") == []
    assert desk.current is not None
    assert desk.current.call_id == "c2"


@pytest.mark.requirement("consent_cli.reconnect")
def test_an_answer_that_may_be_lost_is_asked_for_again_if_the_request_is_open() -> None:
    desk = Desk("anna")
    first, second = question("c1"), question("c2")
    desk.put(first)
    desk.put(second)
    desk.send(first)
    assert [each.call_id for each in desk.keep(["c1"])] == ["c2"]
    assert desk.current is first
    desk.send(first)
    desk.unsend(first)
    assert desk.current is first
