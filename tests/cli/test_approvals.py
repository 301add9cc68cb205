"""`netclaw approvals pending|answer`: what waits, and decisions about it."""

from __future__ import annotations

from typing import Any

import pytest

from netclaw.cli.chat.headless import local_sender_id
from netclaw.config.home import Home
from netclaw.core.errors import InternalError, NotRequesterError
from netclaw.wire.v1 import gateway_pb2
from netclaw.wire.v1.common_pb2 import ConsentOption, Sender
from tests.cli.runner import Cli
from tests.cli.scripted_daemon import AT_MS, ScriptedDaemon
from tests.cli.test_completion import offered

OPTIONS = (
    ("approve_once", "Once", "approve"),
    ("approve_always", "Always here", "approve"),
    ("approve_everywhere", "Always anywhere", "approve"),
    ("deny", "Deny", "refuse"),
)


def waiting(call_id: str, **fields: Any) -> gateway_pb2.PendingApproval:
    """A call that waits."""
    values: dict[str, Any] = {
        "session_id": "notes",
        "tool": "shell_execute",
        "display": "git push\norigin",
        "candidates": ["git push"],
        "requester": Sender(sender_id="pia", principal="operator", boundary="local"),
        "seq": 9,
        "asked_at_ms": AT_MS,
        "cwd": "/home/pia/project",
        "position": 1,
    }
    return gateway_pb2.PendingApproval(
        call_id=call_id,
        options=[ConsentOption(key=k, label=text, effect=e) for k, text, e in OPTIONS],
        **{**values, **fields},
    )


def asks(daemon: ScriptedDaemon, *rows: gateway_pb2.PendingApproval) -> None:
    """Let the daemon name these calls."""
    daemon.replies["ListApprovals"] = gateway_pb2.ListApprovalsResponse(approvals=rows)


# What waits


@pytest.mark.requirement("approvals.pending")
def test_what_waits_is_listed_for_programs_and_people(cli: Cli, daemon: ScriptedDaemon) -> None:
    asks(daemon, waiting("call-a"), waiting("call-b", run_id="run-1", speakers=["bob"]))
    first, second = cli.ok("approvals", "pending", "--json").json
    assert first == {
        "callId": "call-a",
        "sessionId": "notes",
        "tool": "shell_execute",
        "display": "git push\norigin",
        "options": [{"key": key, "label": label} for key, label, _ in OPTIONS],
        "requester": "pia",
        "candidates": ["git push"],
        "cwd": "/home/pia/project",
        "askedAt": "2023-11-14T22:13:20.123Z",
        "audience": "",
        "principal": "operator",
        "boundary": "local",
        "turnId": "",
        "seq": 9,
    }
    assert (second["childRunId"], second["speakers"]) == ("run-1", ["bob"])
    shown = cli.ok("approvals").out
    assert shown.count("not allowed yet: git push\n") == 2
    for text in ("call-a", "git push", "/home/pia/project", "A Once", "D Deny", "bob", "by pia"):
        assert text in shown
    asks(daemon)
    assert "nothing waits" in cli.ok("approvals", "pending").out
    assert cli.ok("approvals", "pending", "--json").json == []


@pytest.mark.requirement("approvals.pending")
def test_a_long_list_is_asked_for_in_pages(cli: Cli, daemon: ScriptedDaemon) -> None:
    pages = [
        gateway_pb2.ListApprovalsResponse(approvals=[waiting("a", position=4)], more=True),
        gateway_pb2.ListApprovalsResponse(approvals=[waiting("b", position=7)]),
    ]

    def turn_the_page(name: str) -> None:
        if name == "ListApprovals":
            daemon.replies[name] = pages.pop(0)

    daemon.on_call = turn_the_page
    rows = cli.ok("approvals", "pending", "--session", "notes", "--json").json
    assert [row["callId"] for row in rows] == ["a", "b"]
    asked = daemon.requests("ListApprovals")
    assert [(each.session_id, each.after) for each in asked] == [  # type: ignore[attr-defined]
        *(("notes", 0), ("notes", 4))
    ]


@pytest.mark.requirement("approvals.pending")
def test_what_is_shown_cannot_steer_the_terminal(cli: Cli, daemon: ScriptedDaemon) -> None:
    asks(daemon, waiting("a", display="ls \x1b[2J\x07", cwd="/p\x1b[31m", tool="t\x1b"))
    shown = cli.ok("approvals", "pending")
    assert "\x1b" not in shown.out + shown.err
    assert "\x07" not in shown.out


# Decisions


@pytest.mark.requirement("approvals.answer")
@pytest.mark.parametrize(
    ("typed", "key"),
    [
        ("approve_always", "approve_always"),
        ("B", "approve_always"),
        ("b", "approve_always"),
        ("Always here", "approve_always"),
        ("always HERE", "approve_always"),
        ("deny", "deny"),
        ("D", "deny"),
    ],
)
def test_an_option_is_named_by_key_letter_or_label(
    cli: Cli, daemon: ScriptedDaemon, typed: str, key: str
) -> None:
    asks(daemon, waiting("call-abc"), waiting("call-xyz"))
    told = cli.ok("approvals", "answer", "call-a", typed, "--json").json
    assert told == {"callId": "call-abc", "sessionId": "notes", "option": key, "seq": 12}
    (request,) = daemon.requests("AnswerApproval")
    assert isinstance(request, gateway_pb2.AnswerApprovalRequest)
    assert (request.session_id, request.call_id, request.option) == ("notes", "call-abc", key)
    assert (request.sender.sender_id, request.sender.source_kind) == (local_sender_id(), "cli")
    assert request.request_seq == 9


@pytest.mark.requirement("approvals.answer")
def test_a_call_is_named_by_what_is_unique_of_its_id(cli: Cli, daemon: ScriptedDaemon) -> None:
    asks(daemon, waiting("call"), waiting("call-abc"), waiting("call-abd"))
    assert "Once" in cli.ok("approvals", "answer", "call", "A").out, "an exact id wins"
    result = cli("approvals", "answer", "call-a", "A")
    assert result.code == 1
    assert "call-abc, call-abd" in result.err
    result = cli("approvals", "answer", "nobody", "A", "--json")
    assert result.code == 1
    assert result.json["error"]["code"] == "not_found"
    assert cli("approvals", "answer", "", "A").code == 1
    assert len(daemon.requests("AnswerApproval")) == 1


@pytest.mark.requirement("approvals.refused")
def test_a_refusal_of_the_daemon_is_told_as_it_is(cli: Cli, daemon: ScriptedDaemon) -> None:
    asks(daemon, waiting("call-a"))
    daemon.refuse["AnswerApproval"] = NotRequesterError("Another person's.", fix="Refuse it.")
    result = cli("approvals", "answer", "call-a", "maybe")
    assert result.code == 1
    assert result.err == "[FAIL] approvals answer: Another person's.\n  fix: Refuse it.\n"
    (request,) = daemon.requests("AnswerApproval")
    assert getattr(request, "option", "") == "maybe", "what is offered is for the daemon to say"


@pytest.mark.requirement("approvals.pending")
@pytest.mark.parametrize("words", [("pending",), ("answer", "a", "b")])
def test_without_a_daemon_nothing_can_be_decided(
    cli: Cli, home: Home, words: tuple[str, ...]
) -> None:
    result = cli("approvals", *words)
    assert result.code == 1
    assert "netclaw daemon start" in result.err
    assert not home.root.exists()


# Completion and help


@pytest.mark.requirement("operator.completion")
def test_calls_and_their_options_are_offered(cli: Cli, daemon: ScriptedDaemon) -> None:
    del cli
    asks(daemon, waiting("call-a"), waiting("other"))
    assert offered("approvals", "answer", "ca") == ["call-a"]
    assert offered("approvals", "answer", "call-a", "") == [key for key, _, _ in OPTIONS]
    assert offered("approvals", "answer", "call-a", "approve_a") == ["approve_always"]
    daemon.refuse["ListApprovals"] = InternalError("Broken.")
    assert offered("approvals", "answer", "ca") == []


@pytest.mark.parametrize("word", ["", "pending", "answer", "list", "revoke", "trust-verb"])
def test_help_has_examples(cli: Cli, word: str) -> None:
    shown = cli.ok("approvals", *([word] if word else []), "--help").out
    assert "Examples" in shown
    assert f"netclaw approvals {word}".rstrip() in shown
