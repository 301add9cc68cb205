"""`chat -p`: one message, its own turn, exit codes, and what happens when things break."""

from __future__ import annotations

import io
import sys
from typing import Any

import pytest

from netclaw.core.errors import DrainingError
from netclaw.wire.v1.common_pb2 import Output
from netclaw.wire.v1.gateway_pb2 import SendUserMessageRequest
from tests.cli.runner import Cli
from tests.cli.scripted_daemon import ScriptedDaemon, completed, said


def failed_turn(category: str, sentence: str) -> Any:
    """A script whose turn fails."""

    def script(request: SendUserMessageRequest, input_id: str) -> list[Output]:
        del request
        error = Output(type="error", turn_id="t", category=category, text=sentence, reference="r1")
        return [error, completed(input_id, turn="t", outcome="")]

    return script


@pytest.mark.requirement("cli.chat-headless")
def test_the_answer_is_on_standard_output_alone(cli: Cli, daemon: ScriptedDaemon) -> None:
    result = cli.ok("chat", "-p", "hi")
    assert result.out == "hello from the script\n"
    assert result.err == "[usage] in=7 out=3 total=10 cached=0\n"
    request = daemon.requests("SendUserMessage")[0]
    assert isinstance(request, SendUserMessageRequest)
    assert (request.text, request.attended) == ("hi", False)
    assert request.source_message_id.startswith("cli-")
    assert request.sender.source_kind == "cli"


@pytest.mark.requirement("cli.chat-json")
def test_the_json_of_a_turn(cli: Cli, daemon: ScriptedDaemon) -> None:
    def script(request: SendUserMessageRequest, input_id: str) -> list[Output]:
        call = Output(type="tool_call", turn_id="turn1", call_id="c1", tool_name="shell_execute")
        call.arguments = '{"command": "ls"}'
        result = Output(type="tool_result", turn_id="turn1", call_id="c1", text="a b")
        result.outcome = "Success"
        open_call = Output(type="tool_call", turn_id="turn1", call_id="c2", arguments="broken")
        preamble = Output(type="text", turn_id="turn1", text="let me look", round=0)
        answer = said("done")(request, input_id)
        for output in answer:
            output.round = 1
        return [preamble, call, open_call, result, *answer]

    daemon.script = script
    row = cli.ok("chat", "-p", "hi", "--json", "--resume", "notes").json
    assert (row["sessionId"], row["turnId"], row["response"]) == ("notes", "turn1", "done")
    assert row["toolCalls"] == [
        {
            "callId": "c1",
            "toolName": "shell_execute",
            "arguments": {"command": "ls"},
            "outcome": "Success",
            "result": "a b",
        },
        {"callId": "c2", "toolName": "", "arguments": "broken"},
    ]
    assert row["usage"] == {"inputTokens": 7, "outputTokens": 3, "totalTokens": 10}
    assert 0 <= row["ttftMs"] <= row["totalMs"]
    assert "error" not in row


@pytest.mark.requirement("cli.chat-exit")
@pytest.mark.parametrize(
    ("category", "code"),
    [
        ("Timeout", "timeout"),
        ("ProviderFailure", "provider_failure"),
        ("RateLimited", "rate_limited"),
        ("ModelBehavior", "model_behavior"),
        ("Interrupted", "interrupted"),
        ("Policy", "denied_by_policy"),
        ("SomethingNew", "internal"),
    ],
)
def test_a_failed_turn_exits_1(cli: Cli, daemon: ScriptedDaemon, category: str, code: str) -> None:
    daemon.script = failed_turn(category, "The model is silent.")
    result = cli("chat", "-p", "hi", "--json")
    assert result.code == 1
    error = result.json["error"]
    assert (error["code"], error["category"], error["reference"]) == (code, category, "r1")
    assert error["message"] == "The model is silent."
    assert "[FAIL] chat: The model is silent. (reference r1)\n  fix: " in result.err


def test_a_failed_turn_without_words_still_exits_1(cli: Cli, daemon: ScriptedDaemon) -> None:
    daemon.script = lambda _request, input_id: [completed(input_id, outcome="")]
    assert cli("chat", "-p", "hi").code == 1


@pytest.mark.requirement("cli.chat-own-turn")
@pytest.mark.parametrize("flags", [[], ["--json"]])
def test_turns_of_others_are_not_mistaken_for_ours(
    cli: Cli, daemon: ScriptedDaemon, flags: list[str]
) -> None:
    def script(request: SendUserMessageRequest, input_id: str) -> list[Output]:
        other = said("for someone else", turn="other")(request, "not-ours")
        return [*other, *said("for us")(request, input_id)]

    row = daemon.row("busy")
    row.phase, row.pid, row.pending_inputs = "processing", 5, 1
    daemon.script = script
    result = cli.ok("chat", "-p", "hi", "--resume", "busy", *flags)
    assert "for us" in result.out
    assert "someone else" not in result.out


def test_an_error_without_a_turn_that_names_our_input_ends_the_wait(
    cli: Cli, daemon: ScriptedDaemon
) -> None:
    daemon.script = lambda _request, input_id: [
        Output(type="error", category="Internal", text="Other.", input_ids=["x"]),
        Output(type="error", category="Internal", text="It crashed.", input_ids=[input_id]),
    ]
    result = cli("chat", "-p", "hi")
    assert result.code == 1
    assert "It crashed." in result.err


def test_an_answer_that_began_again_is_told(cli: Cli, daemon: ScriptedDaemon) -> None:
    daemon.script = lambda _request, input_id: [
        Output(type="text_delta", turn_id="t", text="one two", incarnation=1),
        Output(type="text_delta", turn_id="t", text="one", incarnation=2),
        Output(type="text", turn_id="t", text="one more", seq=11),
        completed(input_id, turn="t"),
    ]
    result = cli.ok("chat", "-p", "hi")
    assert result.out == "one two\none more\n"
    assert "[restarted]" in result.err


def test_a_text_that_differs_from_what_was_streamed_is_shown_whole(
    cli: Cli, daemon: ScriptedDaemon
) -> None:
    daemon.script = lambda _request, input_id: [
        Output(type="text_delta", turn_id="t", text="draft"),
        Output(type="text", turn_id="t", text="final", seq=11),
        Output(type="file", turn_id="t", path="/a/b.txt"),
        Output(type="compaction", tokens_before=9, tokens_after=2),
        Output(type="notice", text="restarting"),
        completed(input_id, turn="t"),
    ]
    result = cli.ok("chat", "-p", "hi")
    assert result.out == "draft\nfinal\n"
    assert "[file] /a/b.txt" in result.err
    assert "[compaction] 9 -> 2 tokens" in result.err
    assert "[notice] restarting" in result.err


@pytest.mark.requirement("cli.chat-headless")
def test_the_usage_is_told_once_and_results_keep_their_lines(
    cli: Cli, daemon: ScriptedDaemon
) -> None:
    def script(request: SendUserMessageRequest, input_id: str) -> list[Output]:
        so_far = Output(type="usage", turn_id="turn1")
        so_far.usage.input_tokens = 3
        result = Output(type="tool_result", turn_id="turn1", tool_name="sh", outcome="Success")
        result.text = "\n".join(f"line {number}" for number in range(7))
        return [so_far, result, *said("done")(request, input_id)]

    daemon.script = script
    shown = cli.ok("chat", "-p", "hi").err.splitlines()
    assert shown == [
        "[tool:result] sh Success: line 0",
        *(f"  line {number}" for number in (1, 2, 3)),
        "  ... 3 more lines",
        "[usage] in=7 out=3 total=10 cached=0",
    ]


@pytest.mark.requirement("cli.resend")
@pytest.mark.usefixtures("fast_reconnects")
def test_a_draining_daemon_is_waited_for_up_to_a_bound(
    cli: Cli, daemon: ScriptedDaemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("netclaw.cli.chat.headless.RESEND_FOR_S", 0.1)
    daemon.notice = "The daemon is restarting; the message runs after that."
    assert "[notice] The daemon is restarting" in cli.ok("chat", "-p", "hi").err
    daemon.refuse["SendUserMessage"] = DrainingError("The daemon is stopping.")
    assert cli("chat", "-p", "hi", "--json").json["error"]["code"] == "draining"


@pytest.mark.parametrize(
    ("text", "code", "sentence"),
    [
        ("", "invalid_argument", "The message is empty."),
        (" \n", "invalid_argument", "The message is empty."),
        ("x" * (1024 * 1024 + 1), "too_large", "the limit is 1048576"),
    ],
)
@pytest.mark.requirement("cli.bad-input")
def test_texts_that_cannot_be_sent(
    cli: Cli, daemon: ScriptedDaemon, text: str, code: str, sentence: str
) -> None:
    result = cli("chat", "-p", text, "--json")
    assert (result.code, result.json["error"]["code"]) == (1, code)
    assert sentence in result.err
    assert daemon.calls == []


class _Stdin:
    """Standard input with bytes in it."""

    def __init__(self, data: bytes) -> None:
        self.buffer = io.BytesIO(data)

    def isatty(self) -> bool:
        """No terminal."""
        return False


def test_a_message_from_standard_input(
    cli: Cli, daemon: ScriptedDaemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", _Stdin("über\nlines".encode()))
    cli.ok("chat", "-p", "-")
    request = daemon.requests("SendUserMessage")[0]
    assert isinstance(request, SendUserMessageRequest)
    assert request.text == "über\nlines"
    monkeypatch.setattr(sys, "stdin", _Stdin(b"\xff"))
    assert "not valid UTF-8" in cli("chat", "-p", "-").err


@pytest.mark.requirement("cli.resume")
def test_only_names_without_a_slash_begin_a_session(cli: Cli, daemon: ScriptedDaemon) -> None:
    assert cli.ok("chat", "-p", "hi", "--resume", "new", "--json").json["sessionId"] == "new"
    result = cli("chat", "-p", "hi", "--resume", "C1/17.2", "--json")
    assert (result.code, result.json["error"]["code"]) == (1, "not_found")
    assert daemon.requests("SendUserMessage") != []
    assert cli("chat", "-p", "hi", "--resume", "a\x01b").code == 1
    assert cli("chat", "-p", "hi", "--resume", "x" * 257).code == 1


@pytest.mark.requirement("cli.resume")
def test_an_empty_name_begins_no_session(cli: Cli, daemon: ScriptedDaemon) -> None:
    result = cli("chat", "-p", "hi", "--resume", "", "--json")
    assert (result.code, result.json["error"]["code"]) == (1, "invalid_argument")
    assert daemon.calls == []


def test_to_channel_needs_a_bound_channel(cli: Cli, daemon: ScriptedDaemon) -> None:
    result = cli("chat", "-p", "hi", "--resume", "notes", "--to-channel")
    assert result.code == 1
    assert "bound to no channel" in result.err
    daemon.row("C1/17").channel = "slack"
    cli.ok("chat", "-p", "hi", "--resume", "C1/17", "--to-channel")
    request = daemon.requests("SendUserMessage")[-1]
    assert isinstance(request, SendUserMessageRequest)
    assert [(t.channel, t.address) for t in request.delivery_targets] == [("slack", "C1/17")]


def test_a_resync_reads_on_from_the_last_fact(cli: Cli, daemon: ScriptedDaemon) -> None:
    def script(request: SendUserMessageRequest, input_id: str) -> list[Output]:
        return [Output(type="resync", seq=10), *said("after the gap")(request, input_id)]

    daemon.script = script
    assert cli.ok("chat", "-p", "hi").out == "after the gap\n"
    assert len(daemon.requests("Attach")) == 2


def test_a_terminal_that_never_keeps_up_gives_up(cli: Cli, daemon: ScriptedDaemon) -> None:
    daemon.script = lambda _request, _input: [Output(type="resync", seq=11)]
    result = cli("chat", "-p", "hi")
    assert result.code == 1
    assert "cannot keep up" in result.err


@pytest.mark.requirement("cli.usage")
@pytest.mark.parametrize(
    "words",
    [
        ["chat", "--json"],
        ["chat", "--message-id", "m"],
        ["chat"],
        ["chat", "-p"],
        ["chat", "-p", "x", "extra"],
    ],
)
def test_wrong_usage_exits_2(cli: Cli, words: list[str]) -> None:
    assert cli(*words).code == 2


def test_a_bare_p_is_chat(cli: Cli, daemon: ScriptedDaemon) -> None:
    assert cli.ok("-p", "hi").out == "hello from the script\n"
    assert daemon.calls
