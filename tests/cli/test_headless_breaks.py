"""`chat -p` when something breaks: the connection, the daemon, the sender."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from netclaw.core.errors import (
    DrainingError,
    InvalidArgumentError,
    QueueFullError,
    StorageFullError,
)
from netclaw.wire.v1.common_pb2 import Output
from netclaw.wire.v1.gateway_pb2 import AttachRequest, SendUserMessageRequest
from tests.cli.runner import Cli
from tests.cli.scripted_daemon import ScriptedDaemon, said


@pytest.mark.requirement("cli.message-id")
def test_a_resend_with_a_message_id_gets_the_first_answer(cli: Cli, daemon: ScriptedDaemon) -> None:
    first = cli.ok("chat", "-p", "hi", "--resume", "notes", "--message-id", "m1", "--json").json
    daemon.row("notes").head_seq = 50
    again = cli.ok("chat", "-p", "hi", "--resume", "notes", "--message-id", "m1", "--json").json
    assert (again["turnId"], again["response"]) == (first["turnId"], first["response"])
    assert cli.ok("chat", "-p", "hi", "--resume", "notes", "--message-id", "m1").out == (
        "hello from the script\n"
    )
    last = daemon.requests("Attach")[-1]
    assert isinstance(last, AttachRequest)
    assert last.after_seq == 9


@pytest.mark.requirement("cli.delivery-unconfirmed")
@pytest.mark.usefixtures("fast_reconnects")
@pytest.mark.parametrize("flags", [[], ["--message-id", "m7"]])
def test_a_send_without_an_answer_is_unconfirmed(
    cli: Cli, daemon: ScriptedDaemon, flags: list[str]
) -> None:
    daemon.before_admission = daemon.stop
    result = cli("chat", "-p", "hi", "--resume", "notes", "--json", *flags)
    assert result.code == 1
    assert result.json["error"]["code"] == "delivery_unconfirmed"
    assert "Delivery unconfirmed" in result.err
    assert "netclaw ledger notes" in result.err
    sent = daemon.requests("SendUserMessage")
    assert len(sent) == 1, "there is nobody to send it to again"
    assert isinstance(sent[0], SendUserMessageRequest)
    assert f"--message-id {sent[0].source_message_id}" in result.err
    assert sent[0].source_message_id == (flags[1] if flags else sent[0].source_message_id)


@pytest.mark.requirement("cli.resend")
def test_a_message_lost_in_a_restart_is_sent_again_under_its_id(
    cli: Cli, daemon: ScriptedDaemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    def come_back(_delay_s: float) -> None:
        daemon.before_admission = lambda: None
        daemon.come_back()

    monkeypatch.setattr("netclaw.cli.chat.feed.time.sleep", come_back)
    daemon.before_admission = daemon.stop
    result = cli.ok("chat", "-p", "hi", "--resume", "notes")
    assert result.out == "hello from the script\n"
    sent = daemon.requests("SendUserMessage")
    ids = {request.source_message_id for request in sent if hasattr(request, "source_message_id")}
    assert (len(sent), len(ids)) == (2, 1)


@pytest.mark.requirement("cli.resend")
def test_a_message_refused_by_a_draining_daemon_is_sent_again(
    cli: Cli, daemon: ScriptedDaemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("netclaw.cli.chat.feed.time.sleep", lambda _s: daemon.refuse.clear())
    daemon.refuse["SendUserMessage"] = DrainingError("The daemon is stopping.")
    assert cli.ok("chat", "-p", "hi", "--resume", "notes").out == "hello from the script\n"
    assert len(daemon.requests("SendUserMessage")) == 2


@pytest.mark.parametrize(
    "error",
    [
        QueueFullError("The session has 200 unanswered messages."),
        StorageFullError("The disk is full."),
        InvalidArgumentError("No."),
    ],
)
def test_a_definite_refusal_is_no_unconfirmed_delivery(
    cli: Cli, daemon: ScriptedDaemon, error: Any
) -> None:
    daemon.refuse["SendUserMessage"] = error
    result = cli("chat", "-p", "hi", "--json")
    assert result.code == 1
    assert result.json["error"]["code"] == error.code.value
    assert error.sentence in result.err


def break_off_after_admission(daemon: ScriptedDaemon) -> None:
    """The daemon dies once it has confirmed the message."""

    def script(request: SendUserMessageRequest, input_id: str) -> list[Output]:
        del request, input_id
        threading.Timer(0.2, daemon.stop).start()
        return []

    daemon.script = script


@pytest.mark.requirement("cli.reconnect")
def test_a_daemon_that_comes_back_still_answers(
    cli: Cli, daemon: ScriptedDaemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    def come_back(delay_s: float) -> None:
        assert delay_s == 1
        daemon.come_back()
        daemon.publish(*said("hello again")(SendUserMessageRequest(), "input1"))

    monkeypatch.setattr("netclaw.cli.chat.feed.time.sleep", come_back)
    break_off_after_admission(daemon)
    result = cli.ok("chat", "-p", "hi", "--resume", "notes")
    assert result.out == "hello again\n"
    assert "[connection] lost" in result.err
    assert "[connection] back" in result.err


@pytest.mark.requirement("cli.reconnect")
@pytest.mark.usefixtures("fast_reconnects")
def test_a_daemon_that_stays_away_leaves_an_admitted_message(
    cli: Cli, daemon: ScriptedDaemon
) -> None:
    break_off_after_admission(daemon)
    result = cli("chat", "-p", "hi", "--resume", "notes")
    assert result.code == 1
    assert "The message is admitted (input input1)" in result.err
    assert "netclaw daemon start" in result.err


def test_a_quarantined_session_keeps_the_message_and_says_so(
    cli: Cli, daemon: ScriptedDaemon
) -> None:
    daemon.row("bad").quarantined = True
    daemon.notice = "The session crashed too often; it waits for the operator."
    daemon.script = lambda _request, _input_id: []
    result = cli("chat", "-p", "hi", "--resume", "bad", "--json")
    assert (result.code, result.json["error"]["code"]) == (1, "quarantined")
    assert "sessions restart bad" in result.err
