"""`chat -p` and an end that no output tells: the ledger knows, and nobody waits for ever."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from netclaw.core.errors import NotFoundError
from netclaw.wire.v1.common_pb2 import JournalRow, Output
from netclaw.wire.v1.gateway_pb2 import (
    GetLedgerResponse,
    LedgerEntry,
    SendUserMessageRequest,
    SessionDetail,
)
from tests.cli.runner import Cli
from tests.cli.scripted_daemon import ScriptedDaemon, said


@pytest.fixture(autouse=True)
def quick_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Looks come after tenths of their seconds."""
    monkeypatch.setattr("netclaw.cli.chat.lookout.LOOK_EVERY_S", 0.2)
    monkeypatch.setattr("netclaw.cli.chat.lookout.LOOK_SOON_S", 0.05)


def silent(_request: SendUserMessageRequest, _input_id: str) -> list[Output]:
    """Nothing is told."""
    return []


def known(
    daemon: ScriptedDaemon, outcome: str, *, turn: str = "", input_id: str = "input1"
) -> None:
    """What the ledger says of the message."""
    entry = LedgerEntry(input_id=input_id, outcome=outcome, turn_id=turn)
    daemon.replies["GetLedger"] = GetLedgerResponse(entries=[entry])


@pytest.mark.requirement("cli.chat-ends")
def test_an_error_of_our_turn_that_could_not_be_recorded_ends_the_wait(
    cli: Cli, daemon: ScriptedDaemon
) -> None:
    daemon.script = lambda _request, _input_id: [
        Output(type="error", turn_id="other", category="Internal", text="Not ours."),
        Output(type="error", turn_id="t", category="Storage", text="The disk is full."),
    ]
    known(daemon, "running", turn="t")
    result = cli("chat", "-p", "hi", "--json")
    assert (result.code, result.json["error"]["category"]) == (1, "Storage")
    assert result.json["turnId"] == "t"


@pytest.mark.requirement("cli.chat-ends")
def test_an_error_of_another_turn_does_not(cli: Cli, daemon: ScriptedDaemon) -> None:
    daemon.script = lambda _request, _input_id: [
        Output(type="error", turn_id="other", category="Storage", text="Not ours.")
    ]
    known(daemon, "waiting")
    daemon.row("notes").pid, daemon.row("notes").phase = 7, "processing"
    answer_at_look(daemon, 2)
    assert cli.ok("chat", "-p", "hi", "--resume", "notes").out == "at last\n"


@pytest.mark.requirement("cli.chat-ends")
def test_an_error_that_names_our_input_and_a_turn_ends_the_wait(
    cli: Cli, daemon: ScriptedDaemon
) -> None:
    daemon.script = lambda _request, input_id: [
        Output(type="error", turn_id="t", category="Storage", text="Full.", input_ids=[input_id])
    ]
    result = cli("chat", "-p", "hi", "--json")
    assert (result.code, result.json["error"]["category"]) == (1, "Storage")
    assert daemon.requests("GetLedger") == []


def answer_at_look(daemon: ScriptedDaemon, count: int) -> None:
    """The answer comes when the ledger was asked so often."""
    note: Callable[..., None] = daemon.note

    def counting(name: str, request: object, context: object) -> None:
        note(name, request, context)
        if name == "GetLedger" and len(daemon.requests("GetLedger")) == count:
            daemon.publish(*said("at last")(SendUserMessageRequest(), "input1"))

    daemon.note = counting  # type: ignore[method-assign]


@pytest.mark.requirement("cli.chat-ends")
def test_who_waits_is_told_what_is_known(cli: Cli, daemon: ScriptedDaemon) -> None:
    daemon.script = silent
    known(daemon, "running", turn="turn1")
    daemon.row("notes").pid, daemon.row("notes").phase = 7, "processing"
    answer_at_look(daemon, 3)
    result = cli.ok("chat", "-p", "hi", "--resume", "notes")
    assert result.out == "at last\n"
    line = "[waiting] the message is running; the session is processing, process 7\n"
    assert result.err.count(line) == 1, "the same is not said every time"


@pytest.mark.requirement("cli.chat-ends")
def test_who_sees_the_answer_come_is_not_told_that_it_comes(
    cli: Cli, daemon: ScriptedDaemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("netclaw.cli.chat.lookout.LOOK_EVERY_S", 600.0)
    daemon.script = lambda _request, _input_id: [
        Output(type="tool_call", turn_id="turn1", tool_name="file_list"),
        Output(type="error", turn_id="other", category="Storage", text="Not ours."),
    ]
    known(daemon, "running", turn="turn1")
    daemon.row("notes").pid, daemon.row("notes").phase = 7, "ready"
    answer_at_look(daemon, 1)
    result = cli.ok("chat", "-p", "hi", "--resume", "notes")
    assert result.out == "at last\n"
    assert "[waiting]" not in result.err


@pytest.mark.requirement("cli.chat-ends")
def test_an_end_that_was_recorded_but_not_told_is_read_again(
    cli: Cli, daemon: ScriptedDaemon
) -> None:
    known(daemon, "completed", turn="turn1")

    def unseen(request: SendUserMessageRequest, input_id: str) -> list[Output]:
        daemon.published += said("from the record")(request, input_id)
        return []

    daemon.script = unseen
    assert cli.ok("chat", "-p", "hi").out == "from the record\n"


@pytest.mark.requirement("cli.chat-ends")
@pytest.mark.parametrize(
    ("outcome", "code", "sentence"),
    [
        ("closed", "interrupted", "reset or deleted"),
        ("completed", "internal", "netclaw sessions history notes"),
    ],
)
def test_an_end_without_outputs_is_said(
    cli: Cli, daemon: ScriptedDaemon, outcome: str, code: str, sentence: str
) -> None:
    daemon.script = silent
    known(daemon, outcome, turn="turn1")
    result = cli("chat", "-p", "hi", "--resume", "notes", "--json")
    assert (result.code, result.json["error"]["code"]) == (1, code)
    assert sentence in result.err


@pytest.mark.requirement("cli.chat-ends")
@pytest.mark.parametrize("way", ["entry", "session"])
def test_a_deleted_session_ends_the_wait(cli: Cli, daemon: ScriptedDaemon, way: str) -> None:
    daemon.script = silent
    if way == "session":
        daemon.refuse["GetLedger"] = NotFoundError("There is no session notes.")
    result = cli("chat", "-p", "hi", "--resume", "notes", "--json")
    assert (result.code, result.json["error"]["code"]) == (1, "interrupted")
    assert "was deleted" in result.err


@pytest.mark.requirement("cli.chat-ends")
@pytest.mark.parametrize(("last", "looks"), [("Passivated", 2), ("TurnStarted", 3)])
def test_a_session_without_a_process_ends_the_wait(
    cli: Cli, daemon: ScriptedDaemon, monkeypatch: pytest.MonkeyPatch, last: str, looks: int
) -> None:
    monkeypatch.setattr("netclaw.cli.chat.lookout.IDLE_LOOKS", 3)
    daemon.script = silent
    daemon.row("notes").head_seq = 12
    daemon.journal = [JournalRow(seq=11, type="Passivated"), JournalRow(seq=12, type=last)]
    known(daemon, "running", turn="turn1")
    result = cli("chat", "-p", "hi", "--resume", "notes", "--json")
    assert (result.code, result.json["error"]["code"]) == (1, "interrupted")
    assert "the message is kept" in result.err
    assert "netclaw sessions restart notes" in result.err
    assert len(daemon.requests("GetLedger")) == looks


@pytest.mark.requirement("cli.chat-ends")
@pytest.mark.requirement("consent_cli.headless")
def test_a_message_behind_a_turn_that_waits_for_a_decision_says_so(
    cli: Cli, daemon: ScriptedDaemon
) -> None:
    daemon.script = silent
    daemon.replies["GetSession"] = SessionDetail(open_approvals=["c1"])
    daemon.row("notes").pid = 7

    def rest(name: str) -> None:
        if name == "GetLedger" and len(daemon.requests("GetLedger")) > 1:
            daemon.row("notes").pid = 0

    daemon.on_call = rest
    daemon.journal = [JournalRow(seq=11, type="Passivated")]
    known(daemon, "waiting")
    result = cli("chat", "-p", "hi", "--resume", "notes", "--json")
    assert (result.code, result.json["error"]["code"]) == (1, "interrupted")
    assert "process 7; a call waits for a decision: netclaw approvals pending" in result.err
    assert "waits behind it" in result.err


@pytest.mark.requirement("cli.chat-ends")
def test_a_session_that_is_quarantined_meanwhile_ends_the_wait(
    cli: Cli, daemon: ScriptedDaemon
) -> None:
    def crash(_request: SendUserMessageRequest, _input_id: str) -> list[Output]:
        daemon.row("notes").quarantined = True
        return []

    daemon.script = crash
    known(daemon, "waiting")
    result = cli("chat", "-p", "hi", "--resume", "notes", "--json")
    assert (result.code, result.json["error"]["code"]) == (1, "quarantined")


@pytest.mark.requirement("cli.chat-ends")
def test_other_outputs_do_not_keep_us_from_looking(cli: Cli, daemon: ScriptedDaemon) -> None:
    daemon.script = silent
    note: Callable[..., None] = daemon.note
    known(daemon, "closed")

    def chatty(name: str, request: object, context: object) -> None:
        note(name, request, context)
        if name == "Attach":
            daemon.publish(*[Output(type="title", text=str(n), seq=20 + n) for n in range(50)])

    daemon.note = chatty  # type: ignore[method-assign]
    assert cli("chat", "-p", "hi", "--json").json["error"]["code"] == "interrupted"


@pytest.mark.requirement("cli.message-id")
def test_a_duplicate_is_called_one(cli: Cli, daemon: ScriptedDaemon) -> None:
    del daemon
    words = ("chat", "-p", "hi", "--resume", "notes", "--message-id", "m1", "--json")
    assert "duplicate" not in cli.ok(*words).json
    assert cli.ok(*words).json["duplicate"] is True
