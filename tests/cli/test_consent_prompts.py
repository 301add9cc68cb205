"""`chat` and `sessions attach` at a terminal while calls wait for a decision."""

from __future__ import annotations

import pytest

from netclaw.cli.chat.headless import local_sender_id
from netclaw.wire.v1.common_pb2 import ConsentOption, Output, Sender
from netclaw.wire.v1.gateway_pb2 import (
    AnswerApprovalRequest,
    ListApprovalsResponse,
    PendingApproval,
    SendUserMessageRequest,
    SessionDetail,
)
from tests.cli.scripted_daemon import Script, ScriptedDaemon, completed
from tests.cli.terminal import ESCAPES, Terminal
from tests.cli.test_errors import wait_for_call
from tests.cli.test_interactive import processing

pytestmark = pytest.mark.timeout(60)

RED = "\x1b[31m"


def asks(
    call_id: str = "c1", *, seq: int = 11, display: str = "git push", sender: str = ""
) -> Output:
    """A request for consent to `git push`."""
    return Output(
        type="consent_request",
        turn_id="turn1",
        call_id=call_id,
        seq=seq,
        tool_name="shell_execute",
        text=display,
        path="/home/anna/p",
        candidates=["git push"],
        sender=sender or local_sender_id(),
        options=[
            ConsentOption(key="approve_once", label="Once", effect="approve"),
            ConsentOption(key="approve_session", label="This chat", effect="approve"),
            ConsentOption(key="approve_everywhere", label="Always anywhere", effect="approve"),
            ConsentOption(key="deny", label="Deny", effect="refuse"),
        ],
    )


def over(call_id: str = "c1", outcome: str = "approved", by: str = "bert") -> Output:
    """A request is over."""
    return Output(
        type="consent_update", turn_id="turn1", call_id=call_id, outcome=outcome, sender=by, seq=13
    )


def asking(*requests: Output) -> Script:
    """A turn that parks on requests."""
    return lambda _request, _input_id: [processing(), *requests, processing("ready")]


def answers(daemon: ScriptedDaemon) -> list[tuple[str, str]]:
    """What was answered, in order."""
    found = daemon.requests("AnswerApproval")
    return [
        (each.call_id, each.option) for each in found if isinstance(each, AnswerApprovalRequest)
    ]


@pytest.mark.requirement("consent_cli.prompt")
@pytest.mark.requirement("consent_cli.reply")
@pytest.mark.requirement("consent_cli.danger")
def test_a_call_is_asked_for_and_answered(daemon: ScriptedDaemon) -> None:
    daemon.script = asking(asks())
    with Terminal(["chat", "--resume", "notes"]) as terminal:
        terminal.expect("| Ctrl-D leaves")
        terminal.type("push it\r")
        terminal.expect("shell_execute asks for a decision:")
        terminal.expect("    git push")
        terminal.expect("in: /home/anna/p")
        terminal.expect("not allowed yet: git push")
        terminal.expect("A  Once")
        terminal.expect("D  Deny")
        terminal.expect("A to D>")
        terminal.type("maybe\r")
        terminal.expect("'maybe' is no answer: type A to D")
        terminal.type("\x1b[B\x1b[B\r")
        terminal.expect("[consent] This chat: git push")
        daemon.publish(over(by="anna"), completed("input1", seq=14))
        terminal.expect("Ready")
        terminal.type("\x04")
        assert terminal.ended() == 0
        assert "Decision needed" in ESCAPES.sub("", terminal.raw)
        assert f"{RED}  C  Always anywhere" in terminal.raw
        assert f"{RED}  A  Once" not in terminal.raw
    assert answers(daemon) == [("c1", "approve_session")]
    (request,) = daemon.requests("AnswerApproval")
    assert isinstance(request, AnswerApprovalRequest)
    assert (request.session_id, request.sender.sender_id) == ("notes", local_sender_id())


@pytest.mark.requirement("consent_cli.escape")
@pytest.mark.requirement("consent_cli.in-turn")
def test_escape_refuses_and_stays(daemon: ScriptedDaemon) -> None:
    daemon.script = asking(asks("c1"), asks("c2", seq=12, display="git fetch"))
    with Terminal(["chat", "--resume", "notes"], NO_COLOR="1") as terminal:
        terminal.expect("| Ctrl-D leaves")
        terminal.type("go\r")
        terminal.expect("A to D>")
        terminal.type("\x1b")
        terminal.expect("[consent] Deny: git push")
        terminal.expect("[consent 2 of 2] shell_execute asks for a decision:")
        terminal.expect("    git fetch")
        terminal.expect("A to D>")
        terminal.type("approve_once\r")
        terminal.expect("[consent] Once: git fetch")
        terminal.type("/quit\r")
        assert terminal.ended() == 0
        assert RED not in terminal.raw
    assert answers(daemon) == [("c1", "deny"), ("c2", "approve_once")]


@pytest.mark.requirement("consent_cli.stop")
@pytest.mark.requirement("consent_cli.over")
def test_ctrl_c_at_a_prompt_stops_the_turn(daemon: ScriptedDaemon) -> None:
    daemon.script = asking(asks())
    with Terminal(["chat", "--resume", "notes"]) as terminal:
        terminal.expect("| Ctrl-D leaves")
        terminal.type("go\r")
        terminal.expect("A to D>")
        terminal.type("\x03")
        wait_for_call(daemon, "StopTurn")
        daemon.publish(
            over(outcome="withdrawn", by=""), completed("input1", outcome="stopped", seq=14)
        )
        terminal.expect("[consent] withdrawn, nothing is to be decided any more: git push")
        terminal.expect("[stopped]")
        terminal.expect("Ctrl-D leaves")
        terminal.type("\x04")
        assert terminal.ended() == 0
    assert answers(daemon) == []


@pytest.mark.requirement("consent_cli.over")
@pytest.mark.requirement("consent_cli.typing")
def test_what_was_being_written_survives_a_prompt_answered_elsewhere(
    daemon: ScriptedDaemon,
) -> None:
    with Terminal(["chat", "--resume", "notes"]) as terminal:
        terminal.expect("| Ctrl-D leaves")
        wait_for_call(daemon, "Attach")
        terminal.type("a message half wri")
        terminal.expect("half wri")
        daemon.publish(asks())
        terminal.expect("asks for a decision")
        terminal.expect("A to D>")
        daemon.publish(over())
        terminal.expect("[consent] allowed by bert: git push")
        terminal.expect("> a message half wri")
        terminal.type("tten\r")
        terminal.expect("not sent: the question was over; what you wrote is kept")
        terminal.expect("> a message half written")
        terminal.type("\r")
        wait_for_call(daemon, "SendUserMessage")
        terminal.expect("hello from the script")
        terminal.type("\x04")
        assert terminal.ended() == 0
    (request,) = daemon.requests("SendUserMessage")
    assert isinstance(request, SendUserMessageRequest)
    assert request.text == "a message half written"
    assert answers(daemon) == []


@pytest.mark.requirement("consent_cli.not-yours")
def test_another_persons_prompt_leaves_the_line_alone(daemon: ScriptedDaemon) -> None:
    daemon.script = asking(asks(sender="U1"))
    with Terminal(["chat", "--resume", "notes"], columns=120) as terminal:
        terminal.expect("| Ctrl-D leaves")
        terminal.type("go\r")
        terminal.expect("asked for: U1")
        terminal.expect("not yours: only U1 may allow it; you may refuse it: netclaw approvals")
        terminal.type("a\r")
        terminal.expect("Decision needed")
        terminal.type("\x04")
        assert terminal.ended() == 0
    assert answers(daemon) == []
    assert len(daemon.requests("SendUserMessage")) == 2


@pytest.mark.requirement("consent_cli.reconnect")
def test_a_prompt_outlives_the_daemon(daemon: ScriptedDaemon) -> None:
    daemon.script = asking(asks())
    with Terminal(["chat", "--resume", "notes"]) as terminal:
        terminal.expect("| Ctrl-D leaves")
        terminal.type("go\r")
        terminal.expect("A to D>")
        daemon.replies["GetSession"] = SessionDetail(open_approvals=["c1"])
        daemon.stop()
        terminal.expect("[connection] lost")
        terminal.type("a\r")
        terminal.expect("the answer may not have arrived")
        daemon.come_back()
        terminal.expect("[connection] back")
        terminal.expect("asks for a decision")
        terminal.expect("A to D>")
        terminal.type("a\r")
        terminal.expect("[consent] Once: git push")
        assert "asks for a decision" not in terminal.shown
        terminal.type("\x04")
        assert terminal.ended() == 0
    assert answers(daemon) == [("c1", "approve_once")]


@pytest.mark.requirement("consent_cli.prompt")
def test_a_conversation_that_is_opened_asks_what_is_open(daemon: ScriptedDaemon) -> None:
    shown = asks()
    daemon.replies["GetSession"] = SessionDetail(open_approvals=["c1", "c2"])
    daemon.replies["ListApprovals"] = ListApprovalsResponse(
        approvals=[
            PendingApproval(
                call_id="c1",
                session_id="notes",
                tool="shell_execute",
                display="git push",
                options=shown.options,
                requester=Sender(sender_id="hook", principal="automation"),
                seq=5,
            ),
            PendingApproval(
                call_id="c2",
                display="rm x",
                options=shown.options,
                requester=Sender(sender_id="U1", principal="trusted"),
                seq=6,
            ),
        ]
    )
    with Terminal(["chat", "--resume", "notes"]) as terminal:
        terminal.expect("asks for a decision")
        terminal.expect("asked for: U1")
        terminal.expect("A to D>")
        terminal.type("once\r")
        terminal.expect("[consent] Once: git push")
        terminal.type("\x04")
        assert terminal.ended() == 0
    assert answers(daemon) == [("c1", "approve_once")]
    (request,) = daemon.requests("AnswerApproval")
    assert isinstance(request, AnswerApprovalRequest)
    assert request.request_seq == 5


@pytest.mark.requirement("consent_cli.prompt")
def test_who_only_watches_is_told_how_to_answer(daemon: ScriptedDaemon) -> None:
    daemon.row("notes")
    daemon.replies["GetSession"] = SessionDetail(open_approvals=["c0"])
    daemon.replies["ListApprovals"] = ListApprovalsResponse(
        approvals=[PendingApproval(call_id="c0", tool="file_write", display="an older one", seq=5)]
    )
    with Terminal(["sessions", "attach", "notes"]) as terminal:
        terminal.expect("file_write asks for a decision:")
        terminal.expect("an older one")
        terminal.expect("answer with: netclaw approvals answer c0 KEY")
        terminal.expect("Ctrl-C leaves")
        wait_for_call(daemon, "Attach")
        daemon.publish(asks())
        terminal.expect("shell_execute asks for a decision:")
        terminal.expect("approve_session     This chat")
        terminal.expect("answer with: netclaw approvals answer c1 KEY")
        daemon.publish(over())
        terminal.expect("[consent] allowed by bert")
        terminal.interrupt()
        assert terminal.ended() == 0
