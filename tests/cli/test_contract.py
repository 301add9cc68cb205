"""The words, keys and exit codes that scripts rely on."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from netclaw.cli.output_rows import output_row
from netclaw.cli.params import OUTPUT_FILTER
from netclaw.wire.v1 import admin_pb2, gateway_pb2
from netclaw.wire.v1.common_pb2 import JournalRow, Output
from tests.cli.runner import Cli
from tests.cli.scripted_daemon import AT_MS, ScriptedDaemon, completed

AT = "2023-11-14T22:13:20.123Z"
ROW_KEYS = {
    "id",
    "title",
    "channel",
    "audience",
    "phase",
    "pid",
    "incarnation",
    "turns",
    "pendingInputs",
    "stateVersion",
    "lastActivityAt",
    "quarantined",
}


def has_null(value: Any) -> bool:
    """Whether a null stands anywhere."""
    if isinstance(value, dict):
        return any(has_null(item) for item in value.values())
    if isinstance(value, list):
        return any(has_null(item) for item in value)
    return value is None


def live_session(daemon: ScriptedDaemon, name: str = "notes") -> gateway_pb2.SessionRow:
    """A session with a process."""
    row = daemon.row(name)
    row.title, row.phase, row.pid, row.incarnation = "Notes", "ready", 77, 3
    row.turns, row.pending_inputs, row.state_version = 5, 1, 2
    row.last_activity_at_ms = AT_MS
    return row


@pytest.mark.requirement("cli.sessions-list")
@pytest.mark.parametrize("words", [["sessions"], ["sessions", "list"]])
def test_sessions_list(cli: Cli, daemon: ScriptedDaemon, words: list[str]) -> None:
    live_session(daemon)
    daemon.row("passive-one").phase = "ready"
    first, second = cli.ok(*words, "--json").json
    assert set(first) >= ROW_KEYS
    assert (first["phase"], first["pid"], first["lastActivityAt"]) == ("ready", 77, AT)
    assert second["phase"] == "passive"
    assert "pid" not in second
    assert not has_null([first, second])
    human = cli.ok(*words).out
    assert "notes" in human
    assert "\033" not in human


def test_sessions_list_reads_every_page(
    cli: Cli, daemon: ScriptedDaemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("netclaw.cli.commands.sessions.PAGE", 2)
    for number in range(5):
        daemon.row(f"s{number}")
    assert len(cli.ok("sessions", "--json").json) == 5
    assert len(daemon.requests("ListSessions")) == 3


def test_people_are_shown_the_last_active_sessions_first(cli: Cli, daemon: ScriptedDaemon) -> None:
    for number, name in enumerate(("b-old", "a-new", "c-never")):
        daemon.row(name).last_activity_at_ms = (AT_MS, AT_MS + 1000, 0)[number]
    listed = [line.split()[0] for line in cli.ok("sessions").out.splitlines()]
    assert listed == ["ID", "a-new", "b-old", "c-never"]


def test_people_are_shown_times_of_their_own_clocks(
    cli: Cli, daemon: ScriptedDaemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    live_session(daemon)
    assert "last active         2023-11-14 23:13:20" in cli.ok("sessions", "show", "notes").out
    monkeypatch.undo()
    time.tzset()


def test_no_sessions_yet(cli: Cli, daemon: ScriptedDaemon) -> None:
    assert daemon.rows == {}
    assert cli.ok("sessions", "--json").json == []
    assert "no sessions yet" in cli.ok("sessions").out


@pytest.mark.requirement("cli.sessions-show")
def test_sessions_show(cli: Cli, daemon: ScriptedDaemon) -> None:
    live_session(daemon)
    daemon.replies["GetSession"] = gateway_pb2.SessionDetail(
        storage_root="/h/sessions/x", storage_tmp="/tmp/x/p", parent="", children=["notes/sub/1"]
    )
    row = cli.ok("sessions", "show", "notes", "--json").json
    assert set(row) >= ROW_KEYS | {"tokens", "openApprovals", "openChildRuns", "jobs", "children"}
    assert row["storage"] == {
        "root": "/h/sessions/x",
        "workspace": "/h/sessions/x/workspace",
        "artifacts": "/h/sessions/x/artifacts",
        "worktrees": "/h/sessions/x/worktrees",
        "logs": "/h/sessions/x/logs",
        "tmp": "/tmp/x/p",
    }
    assert not has_null(row)
    human = cli.ok("sessions", "show", "notes").out
    assert "/h/sessions/x/workspace" in human
    assert "quarantined         no" in human
    assert "journal position" in human
    assert "state version" in human
    assert "headSeq" not in human


@pytest.mark.requirement("cli.sessions-history")
def test_sessions_history(cli: Cli, daemon: ScriptedDaemon) -> None:
    call = gateway_pb2.HistoryCall(call_id="c1", tool_name="file_read", arguments='{"path": "x"}')
    daemon.replies["GetHistory"] = gateway_pb2.GetHistoryResponse(
        items=[
            gateway_pb2.HistoryItem(role="user", text="hi", at_ms=AT_MS, sender="U1"),
            gateway_pb2.HistoryItem(role="assistant", tool_calls=[call], turn_id="t"),
            gateway_pb2.HistoryItem(role="tool", text="content", tool_call_id="c1", turn_id="t"),
        ]
    )
    user, assistant, tool = cli.ok("sessions", "history", "notes", "--json").json
    assert user == {"role": "user", "text": "hi", "at": AT, "sender": "U1"}
    assert assistant["toolCalls"] == [
        {"callId": "c1", "toolName": "file_read", "arguments": {"path": "x"}}
    ]
    assert (tool["toolCallId"], tool["turnId"]) == ("c1", "t")
    human = cli.ok("sessions", "history", "notes").out
    assert "user (U1)" in human
    assert "[tool:call] file_read" in human


@pytest.mark.requirement("cli.sessions-journal")
def test_sessions_journal(cli: Cli, daemon: ScriptedDaemon) -> None:
    payload = json.dumps({"input_id": "i", "nested": [{"turn_id": "t"}]}).encode()
    for seq in (1, 2, 3):
        daemon.journal.append(
            JournalRow(seq=seq, at_ms=AT_MS, type="InputAdmitted", version=1, payload=payload)
        )
    rows = cli.ok("sessions", "journal", "notes", "--since", "1", "--json").lines
    assert [row["seq"] for row in rows] == [2, 3]
    assert rows[0] == {
        "seq": 2,
        "at": AT,
        "type": "InputAdmitted",
        "version": 1,
        "incarnation": 0,
        "payload": {"inputId": "i", "nested": [{"turnId": "t"}]},
    }
    assert cli.ok("sessions", "journal", "notes").lines[0]["seq"] == 1


@pytest.mark.requirement("cli.sessions-steering")
@pytest.mark.parametrize(
    ("words", "method"),
    [
        (["kill", "notes"], "KillSession"),
        (["stop", "notes"], "StopSession"),
        (["restart", "notes"], "RestartSession"),
        (["compact", "notes"], "CompactSession"),
        (["reset", "notes"], "ResetSession"),
        (["reset", "notes", "--yes"], "ResetSession"),
        (["delete", "notes", "--yes"], "DeleteSession"),
    ],
)
def test_steering(cli: Cli, daemon: ScriptedDaemon, words: list[str], method: str) -> None:
    live_session(daemon)
    assert cli.ok("sessions", *words, "--json").json == {"id": "notes", "phase": "ready", "pid": 77}
    assert "notes: ready, process 77" in cli.ok("sessions", *words).out
    assert len(daemon.requests(method)) == 2
    assert cli("sessions", words[0], "other", *words[2:]).code == 1


def test_delete_needs_a_confirmation(cli: Cli, daemon: ScriptedDaemon) -> None:
    live_session(daemon)
    result = cli("sessions", "delete", "notes")
    assert result.code == 1
    assert "--yes" in result.err
    assert daemon.calls == []


@pytest.mark.requirement("cli.inject")
def test_inject(cli: Cli, daemon: ScriptedDaemon) -> None:
    words = ["sessions", "inject", "C1/17", "hi", "--source", "slack", "--sender", "U1"]
    words += ["--principal", "trusted", "--audience", "Team", "--boundary", "slack:T/C1"]
    words += ["--message-id", "m1", "--authenticity", "Verified", "--attended"]
    first = cli.ok(*words, "--json").json
    assert first == {"admitted": True, "inputId": "input1", "seq": 10, "duplicate": False}
    assert cli.ok(*words, "--json").json["duplicate"] is True
    assert "was admitted before" in cli.ok(*words).out
    request = daemon.requests("Inject")[0]
    assert isinstance(request, gateway_pb2.SendUserMessageRequest)
    sender = request.sender
    assert (sender.source_kind, sender.sender_id, sender.principal) == ("slack", "U1", "trusted")
    assert (sender.audience, sender.boundary) == ("Team", "slack:T/C1")
    assert (sender.authenticity, request.attended, request.create) == ("Verified", True, True)


@pytest.mark.requirement("cli.ledger")
def test_ledger(cli: Cli, daemon: ScriptedDaemon) -> None:
    delivery = gateway_pb2.LedgerDelivery(
        channel="slack", state="delivered", attempts=2, external_id="17.4"
    )
    daemon.replies["GetLedger"] = gateway_pb2.GetLedgerResponse(
        entries=[
            gateway_pb2.LedgerEntry(
                input_id="i1",
                source="cli",
                received_at_ms=AT_MS,
                admitted_at_ms=AT_MS,
                turn_id="t1",
                outcome="completed",
                deliveries=[delivery],
            ),
            gateway_pb2.LedgerEntry(input_id="i2", source="slack", outcome="waiting"),
        ]
    )
    first, second = cli.ok("ledger", "notes", "--json").json
    assert first == {
        "inputId": "i1",
        "source": "cli",
        "receivedAt": AT,
        "admittedAt": AT,
        "turnId": "t1",
        "outcome": "completed",
        "deliveries": [
            {"channel": "slack", "state": "delivered", "attempts": 2, "externalId": "17.4"}
        ],
    }
    assert second == {"inputId": "i2", "source": "slack", "outcome": "waiting", "deliveries": []}
    assert "slack delivered" in cli.ok("ledger", "notes").out


@pytest.mark.requirement("cli.daemon-status")
def test_daemon_status(cli: Cli, daemon: ScriptedDaemon) -> None:
    daemon.status.MergeFrom(
        admin_pb2.StatusResponse(
            uptime_s=12.3456,
            live_sessions=2,
            quarantined_sessions=1,
            sandbox_backend="bubblewrap",
            sandbox_limits="cgroup",
            zygote_pid=99,
            adapters=[admin_pb2.AdapterRow(channel="slack", pid=5, state="ready")],
        )
    )
    row = cli.ok("daemon", "status", "--json").json
    assert (row["state"], row["pid"], row["generation"]) == ("running", 4242, 1)
    assert (row["uptimeSeconds"], row["version"]) == (12.346, "9.9")
    assert (row["sessions"]["live"], row["sessions"]["quarantined"]) == (2, 1)
    assert row["sandbox"] == {"backend": "bubblewrap", "limits": "cgroup"}
    assert row["zygote"] == {"pid": 99}
    assert row["adapters"] == [{"channel": "slack", "pid": 5, "state": "ready"}]
    human = cli.ok("daemon", "status").out
    assert "process 4242" in human
    assert "slack" in human


@pytest.mark.requirement("cli.daemon-status")
def test_a_stopped_daemon_says_so(cli: Cli) -> None:
    result = cli("daemon", "status", "--json")
    assert (result.code, result.json) == (1, {"state": "stopped"})
    human = cli("daemon", "status")
    assert (human.code, human.out) == (1, "stopped\n")
    assert "netclaw daemon start" in human.err


STATUS_EXITS = [
    ({}, "healthy", 0),
    ({"storage_state": "ok"}, "healthy", 0),
    ({"degraded_reason": "No model is configured."}, "degraded", 2),
    ({"state": "draining"}, "degraded", 2),
    ({"storage_state": "storage_full"}, "degraded", 2),
    ({"quarantined_sessions": 1}, "degraded", 2),
    ({"adapters": [admin_pb2.AdapterRow(channel="slack", state="failed")]}, "degraded", 2),
    ({"adapters": [admin_pb2.AdapterRow(channel="slack", state="ready")]}, "healthy", 0),
]


@pytest.mark.requirement("cli.status")
@pytest.mark.parametrize(("facts", "overall", "code"), STATUS_EXITS)
def test_status(
    cli: Cli, daemon: ScriptedDaemon, facts: dict[str, Any], overall: str, code: int
) -> None:
    daemon.status.MergeFrom(
        admin_pb2.StatusResponse(outbox_waiting=1, database_bytes=123_456, main_model="m")
    )
    daemon.status.MergeFrom(admin_pb2.StatusResponse(**facts))
    result = cli("status", "--json")
    assert (result.code, result.json["overall"]) == (code, overall)
    assert {"version", "daemon", "model", "sessions", "inputs", "turns", "storage"} <= set(
        result.json
    )
    assert not has_null(result.json)
    human = cli("status")
    assert human.code == code
    assert f"is {overall}" in human.out


@pytest.mark.requirement("cli.status")
def test_status_of_no_daemon(cli: Cli) -> None:
    result = cli("status", "--json")
    assert (result.code, result.json["overall"]) == (1, "down")
    assert "netclaw daemon start" in cli("status").err


def interrupt_after(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C once so many outputs were shown."""
    shown = 0

    def counting(output: Output) -> Any:
        nonlocal shown
        shown += 1
        if shown > count:
            raise KeyboardInterrupt
        return output_row(output)

    monkeypatch.setattr("netclaw.cli.commands.session_watch.output_row", counting)


@pytest.mark.requirement("cli.attach")
def test_attach_prints_one_line_per_output(
    cli: Cli, daemon: ScriptedDaemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    daemon.row("notes")
    daemon.published = [
        Output(type="text", turn_id="t", text="hi", seq=3, round=1),
        Output(type="tool_call", turn_id="t", call_id="c", tool_name="x", arguments="{}", seq=4),
        Output(type="tool_result", turn_id="t", call_id="c", outcome="Success", text="r", seq=5),
        Output(type="title", text="New", seq=6),
        Output(type="compaction", tokens_before=9, tokens_after=3, seq=7),
        Output(type="error", category="Timeout", text="slow", reference="r1", seq=8),
        completed("i1", seq=9),
    ]
    daemon.published.append(Output(type="title", text="beyond", seq=10))
    interrupt_after(7, monkeypatch)
    rows = cli.ok("sessions", "attach", "notes", "--after", "2", "--json").lines
    assert [row["type"] for row in rows] == [
        *("text", "tool_call", "tool_result", "title", "compaction", "error", "turn_completed")
    ]
    assert rows[0] == {"type": "text", "seq": 3, "turnId": "t", "round": 1, "text": "hi"}
    assert rows[-1] == {
        "type": "turn_completed",
        "seq": 9,
        "turnId": "turn1",
        "inputIds": ["i1"],
        "openChildRuns": [],
        "outcome": "completed",
    }
    assert not has_null(rows)
    request = daemon.requests("Attach")[0]
    assert isinstance(request, gateway_pb2.AttachRequest)
    assert (request.filter, request.after_seq) == (127, 2)


@pytest.mark.parametrize(
    ("words", "bits"), [("text", 1), ("text,tool-calls", 9), (" Usage , files ", 48)]
)
def test_filters(words: str, bits: int) -> None:
    assert OUTPUT_FILTER.convert(words, None, None) == bits


def test_an_unknown_filter_is_refused(cli: Cli, daemon: ScriptedDaemon) -> None:
    daemon.row("notes")
    result = cli("sessions", "attach", "notes", "--filter", "text,everything")
    assert result.code == 2
    assert "'everything' is no filter" in result.err
