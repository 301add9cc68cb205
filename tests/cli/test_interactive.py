"""`chat` and `init` with a person at a terminal."""

from __future__ import annotations

from pathlib import Path

import pytest

from netclaw.config.home import Home
from netclaw.config.load import load_config
from netclaw.core.errors import QueueFullError
from netclaw.wire.v1.common_pb2 import JournalRow, Output
from netclaw.wire.v1.gateway_pb2 import GetHistoryResponse, HistoryItem, SendUserMessageRequest
from tests.cli.scripted_daemon import ScriptedDaemon, completed, said
from tests.cli.terminal import Terminal
from tests.cli.test_doctor import ModelService, service
from tests.cli.test_errors import wait_for_call

__all__ = ["service"]

pytestmark = pytest.mark.timeout(60)


def processing(phase: str = "processing") -> Output:
    """The phase changed."""
    return Output(type="processing", phase=phase)


@pytest.mark.requirement("cli.interactive")
def test_a_conversation(daemon: ScriptedDaemon) -> None:
    def script(request: SendUserMessageRequest, input_id: str) -> list[Output]:
        call = Output(type="tool_call", turn_id="turn1", tool_name="file_list", arguments="{}")
        result = Output(type="tool_result", turn_id="turn1", outcome="Success", text="a.txt")
        answer = said("# Found\n\nOne **file**.")(request, input_id)
        answer[-2].context_tokens = 2000
        return [processing(), call, result, *answer, processing("ready")]

    daemon.script = script
    row = daemon.row("notes")
    row.turns = 1
    daemon.replies["GetHistory"] = GetHistoryResponse(
        items=[HistoryItem(role="user", text="an earlier question")]
    )
    with Terminal(["chat", "--resume", "notes"]) as terminal:
        terminal.expect("session notes")
        terminal.expect("an earlier question")
        terminal.expect("Ready | notes | Ctrl-D leaves")
        terminal.type("look around\r")
        terminal.expect("* file_list {}")
        terminal.expect("ok a.txt")
        terminal.expect("Found")
        terminal.expect("One file.")
        terminal.expect("1 tool call, 7 in, 3 out")
        terminal.expect("context 2.0k/8.0k (25 %)")
        terminal.type("\x03")
        terminal.expect("the session stays")
        terminal.type("\x04")
        assert terminal.ended() == 0
        assert "netclaw chat --resume notes" in terminal.shown
    request = daemon.requests("SendUserMessage")[0]
    assert isinstance(request, SendUserMessageRequest)
    assert (request.text, request.attended) == ("look around", True)


@pytest.mark.requirement("cli.interactive")
def test_help_and_quit_are_answered_here(daemon: ScriptedDaemon) -> None:
    with Terminal(["chat", "--resume", "notes"]) as terminal:
        terminal.expect("| Ctrl-D leaves")
        terminal.type("/help\r")
        terminal.expect("stop the turn that runs")
        terminal.expect("/compact     shorten the conversation now")
        terminal.type("/quit\r")
        assert terminal.ended() == 0
        assert "netclaw chat --resume notes" in terminal.shown
    assert daemon.requests("SendUserMessage") == []


@pytest.mark.requirement("cli.interactive")
def test_a_single_message_of_a_person_says_how_to_go_on(daemon: ScriptedDaemon) -> None:
    daemon.script = said("hello")
    with Terminal(["chat", "-p", "hi"]) as terminal:
        assert terminal.ended() == 0
        assert "go on with: netclaw chat --resume cli/" in terminal.shown


@pytest.mark.requirement("cli.interactive")
def test_who_named_the_session_is_told_its_name_as_it_is_typed(daemon: ScriptedDaemon) -> None:
    daemon.script = said("hello")
    with Terminal(["chat", "-p", "hi", "--resume", "my notes"]) as terminal:
        assert terminal.ended() == 0
        assert "go on with" not in terminal.shown
    with Terminal(["chat", "--resume", "my notes"]) as terminal:
        terminal.expect("| Ctrl-D leaves")
        terminal.type("/quit\r")
        assert terminal.ended() == 0
        assert "netclaw chat --resume 'my notes'" in terminal.shown


@pytest.mark.requirement("cli.interactive")
def test_ctrl_c_stops_the_turn(daemon: ScriptedDaemon) -> None:
    daemon.script = lambda _request, _input_id: [
        processing(),
        Output(type="text_delta", turn_id="t", text="thinking aloud"),
    ]
    with Terminal(["chat", "--resume", "notes"]) as terminal:
        terminal.expect("| Ctrl-D leaves")
        terminal.type("go\r")
        terminal.expect("thinking aloud")
        terminal.type("\x03")
        wait_for_call(daemon, "StopTurn")
        daemon.publish(completed("input1", turn="t", outcome="stopped"), processing("ready"))
        terminal.expect("[stopped]")
        terminal.type("\x04")
        assert terminal.ended() == 0


@pytest.mark.requirement("cli.reconnect")
def test_what_is_typed_offline_waits(daemon: ScriptedDaemon) -> None:
    with Terminal(["chat", "--resume", "notes"]) as terminal:
        terminal.expect("| Ctrl-D leaves")
        wait_for_call(daemon, "Attach")
        daemon.stop()
        terminal.expect("[connection] lost")
        terminal.type("are you there\r")
        terminal.expect("Queued 1")
        daemon.come_back()
        terminal.expect("[connection] back")
        terminal.expect("hello from the script")
        terminal.type("\x04")
        assert terminal.ended() == 0
    sent = daemon.requests("SendUserMessage")
    ids = {request.source_message_id for request in sent if hasattr(request, "source_message_id")}
    assert len(ids) == 1


def test_a_message_that_is_refused_is_told(daemon: ScriptedDaemon) -> None:
    daemon.refuse["SendUserMessage"] = QueueFullError("The session has too many messages.")
    with Terminal(["chat"]) as terminal:
        terminal.expect("| Ctrl-D leaves")
        terminal.type("   \r")
        terminal.type("hi\r")
        terminal.expect("[not sent] The session has too many messages.")
        terminal.type("\x04")
        assert terminal.ended() == 0


def test_a_conversation_without_a_daemon(home: Home) -> None:
    with Terminal(["chat"]) as terminal:
        assert terminal.ended() == 1
        assert "[FAIL] chat: No daemon runs for this home." in terminal.shown
    assert not home.root.exists()


@pytest.mark.requirement("cli.sessions-journal")
def test_the_journal_at_a_terminal(daemon: ScriptedDaemon) -> None:
    daemon.journal.append(JournalRow(seq=7, at_ms=1, type="TitleSet", payload=b'{"title": "x"}'))
    with Terminal(["sessions", "journal", "notes"]) as terminal:
        terminal.expect('TitleSet            {"title": "x"}')
        assert terminal.ended() == 0


@pytest.mark.requirement("cli.init")
def test_init_asks(
    home: Home, service: ModelService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "projects").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path))
    with Terminal(["init"]) as terminal:
        terminal.expect("How does netclaw reach a model?")
        terminal.expect("Number [1]: ")
        terminal.type("1\r")
        terminal.expect("Address [http://127.0.0.1:8000/v1]: ")
        terminal.type(f"{service.endpoint}\r")
        terminal.expect("API key (empty: none)")
        terminal.type("sk-typed\r")
        terminal.expect(f"{service.endpoint} answers.")
        terminal.expect("Model [m1]: ")
        terminal.type("\r")
        terminal.expect("Tokens it can see")
        terminal.type("16000\r")
        terminal.expect(f"Folder of your projects [{tmp_path}/projects]: ")
        terminal.type("~/nowhere\r")
        terminal.expect(f"There is no folder {tmp_path}/nowhere.")
        terminal.expect("Folder of your projects")
        terminal.type("\r")
        terminal.expect("Write a configuration for m1")
        terminal.type("y\r")
        assert terminal.ended() == 0
        assert "sk-typed" not in terminal.shown
    loaded = load_config(home, {})
    assert loaded.session.main_model is not None
    assert loaded.session.main_model.context_window == 16_000
    assert loaded.credentials["openai-compatible"].secret == "sk-typed"
    workspaces = loaded.session.tools.workspaces
    assert workspaces is not None
    assert workspaces.canonical == str(tmp_path / "projects")


def test_an_interview_can_be_left(home: Home) -> None:
    with Terminal(["init"]) as terminal:
        terminal.expect("Number [1]: ")
        terminal.type("6\r")
        terminal.expect("Model [smollm2-135m]: ")
        terminal.type("\r")
        terminal.expect("Tokens it can see")
        terminal.type("\r")
        terminal.expect("Folder of your projects [")
        terminal.type("\r")
        terminal.expect("Write a configuration")
        terminal.type("n\r")
        assert terminal.ended() == 1
        assert "Nothing was written." in terminal.shown
    with Terminal(["init"]) as terminal:
        terminal.expect("Number [1]: ")
        terminal.type("2\r")
        terminal.expect(":11434]: ")
        terminal.type("http://127.0.0.1:1\r")
        terminal.expect("API key")
        terminal.type("\r")
        terminal.expect("cannot be reached")
        terminal.expect("Go on anyway?")
        terminal.type("n\r")
        assert terminal.ended() == 1
    assert not home.config_file.exists()


@pytest.mark.requirement("cli.interactive")
def test_what_is_typed_in_another_encoding_is_not_sent_and_ends_nothing(
    daemon: ScriptedDaemon,
) -> None:
    daemon.script = said("a cup")
    with Terminal(["chat", "--resume", "notes"]) as terminal:
        terminal.expect("Ready")
        terminal.type(b"caf\xe9\r")
        terminal.expect("[not sent] The message is not valid UTF-8.")
        terminal.type("tea\r")
        terminal.expect("a cup")
        terminal.type("\x04")
        assert terminal.ended() == 0
    (request,) = daemon.requests("SendUserMessage")
    assert isinstance(request, SendUserMessageRequest)
    assert request.text == "tea"


@pytest.mark.requirement("cli.interactive")
def test_a_value_typed_in_another_encoding_is_no_fault_of_netclaw(home: Home) -> None:
    with Terminal(
        ["secrets", "set", "Providers.a.ApiKey"], NETCLAW_HOME=str(home.root)
    ) as terminal:
        terminal.expect("Value")
        terminal.type(b"caf\xe9\r")
        terminal.expect("What was typed is not valid UTF-8.")
        assert terminal.ended() == 1
