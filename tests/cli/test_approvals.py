"""`netclaw approvals`: what waits, decisions about it, and what is consented to."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

import pytest

from netclaw.cli.chat.headless import local_sender_id
from netclaw.config.home import Home
from netclaw.core.authority import Audience
from netclaw.core.authz import grants_file
from netclaw.core.authz.grants import Grant, GrantForm
from netclaw.core.errors import ApprovalStoreError, InternalError, NotRequesterError
from netclaw.store.lock import HomeLock
from netclaw.wire.v1 import admin_pb2, gateway_pb2
from netclaw.wire.v1.common_pb2 import ConsentOption, Sender
from tests.cli.runner import Cli
from tests.cli.scripted_daemon import AT_MS, ScriptedDaemon
from tests.cli.test_completion import offered

AT = "2026-11-30T12:00:00+00:00"
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


def stored(words: str, **fields: Any) -> Grant:
    """A grant for shell words."""
    values: dict[str, Any] = {"audience": Audience.PERSONAL, "tool": "shell_execute"}
    return Grant(
        form=GrantForm.TOKENS,
        words=tuple(words.split()),
        created_at=AT,
        **{**values, **fields},
    )


def holds(home: Home, *grants: Grant) -> None:
    """Write the file by hand."""
    home.config_dir.mkdir(parents=True, exist_ok=True)
    home.grants_file.write_text(grants_file.write(grants))


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


# What is consented to, without a daemon


@pytest.mark.requirement("approvals.list")
def test_the_file_is_listed_when_no_daemon_runs(cli: Cli, home: Home) -> None:
    holds(
        home,
        stored("git push", directory="/p"),
        stored("make", repository="/r/.git", worktree="/r"),
        stored("ls", audience=Audience.TEAM, digest="sha256:" + "0" * 64),
    )
    rows = cli.ok("approvals", "list", "--json").json
    assert rows[0] == {
        "label": "git push",
        "words": ["git", "push"],
        "audience": "Personal",
        "tool": "shell_execute",
        "scope": "folder",
        "directory": "/p",
        "createdAt": AT,
        "shell": "Bash",
    }
    assert [row["scope"] for row in rows] == ["folder", "repository", "everywhere"]
    assert rows[2]["assignmentBound"] is True
    only = cli.ok("approvals", "list", "--audience", "team", "--tool", "shell_execute", "--json")
    assert [row["label"] for row in only.json] == ["ls"]
    shown = cli.ok("approvals", "list").out
    for text in ("git push", "in /p", "in repository /r/.git", "everywhere", "2026-11-30"):
        assert text in shown
    assert "nothing" in cli.ok("approvals", "list", "--tool", "other").out


@pytest.mark.requirement("approvals.revoke")
def test_a_grant_is_revoked_in_the_file_when_no_daemon_runs(cli: Cli, home: Home) -> None:
    grants = (stored("git push"), stored("git push", directory="/p"), stored("ls"))
    holds(home, *grants)
    result = cli("approvals", "revoke", "git push")
    assert result.code == 1
    assert "more than once" in result.err
    assert grants_file.read(home.grants_file.read_text()) == grants
    told = cli.ok("approvals", "revoke", "git push", "--in", "/p/", "--json").json
    assert [row["directory"] for row in told["revoked"]] == ["/p"]
    assert "revoked git push everywhere" in cli.ok("approvals", "revoke", "git push").out
    assert cli("approvals", "revoke", "git push").code == 1
    assert cli("approvals", "revoke").code == 1
    assert cli("approvals", "revoke", "--all", "--tool", "shell_execute").code == 1
    cli.ok(*("approvals", "revoke", "--all", "--tool", "shell_execute", "--audience", "Personal"))
    assert grants_file.read(home.grants_file.read_text()) == ()
    assert stat.S_IMODE(home.grants_file.stat().st_mode) == 0o600
    assert cli("approvals", "revoke", "ls", "--session", "notes").code == 1
    assert cli("approvals", "revoke", "ls", "--session", "notes", "--tool", "t").code == 1
    assert cli("approvals", "revoke", "x", "--audience", "Everybody").code == 2


@pytest.mark.requirement("approvals.trust")
def test_a_phrase_is_trusted_in_the_file_when_no_daemon_runs(cli: Cli, home: Home) -> None:
    home.root.mkdir(mode=0o700)
    told = cli.ok("approvals", "trust-verb", "git push", "--shell", "bash", "--json").json
    assert told["added"] is True
    assert (told["grant"]["label"], told["grant"]["scope"]) == ("git push", "everywhere")
    again = cli.ok("approvals", "trust-verb", "git", "push")
    assert "already" in again.out
    cli.ok("approvals", "trust-verb", "ls", "--audience", "Team")
    first, second = grants_file.read(home.grants_file.read_text())
    assert (first.audience, first.words) == (Audience.PERSONAL, ("git", "push"))
    assert (second.audience, second.words) == (Audience.TEAM, ("ls",))


@pytest.mark.requirement("approvals.trust")
@pytest.mark.parametrize(
    "phrase",
    [
        "git push --force",
        "curl https://example.org",
        "git push > f",
        "CI=1 npm test",
        "$GIT push",
        '"$x" push',
        "git push; ls",
        "git push && ls",
        "ls | wc",
        "echo $(ls)",
        "git push 'unterminated",
        "bash -c 'git push'",
        "rm *.tmp",
        "./run.sh",
        "",
        " ",
        "git\x1b[31m push",
        "git \u202epush",
    ],
)
def test_what_is_no_plain_phrase_is_not_trusted(cli: Cli, home: Home, phrase: str) -> None:
    home.root.mkdir(mode=0o700)
    result = cli("approvals", "trust-verb", phrase)
    assert result.code == 1
    assert "\x1b" not in result.err
    assert not home.grants_file.exists()


def test_words_that_are_files_here_are_words_all_the_same(
    cli: Cli, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    home.root.mkdir(mode=0o700)
    (home.root / "push").write_text("")
    monkeypatch.chdir(home.root)
    told = cli.ok("approvals", "trust-verb", "git push", "--json").json
    assert told["grant"]["words"] == ["git", "push"]


@pytest.mark.requirement("approvals.trust")
def test_another_shell_and_a_missing_phrase_are_wrong_usage(cli: Cli, home: Home) -> None:
    home.root.mkdir(mode=0o700)
    assert cli("approvals", "trust-verb", "ls", "--shell", "powershell").code == 2
    assert cli("approvals", "trust-verb").code == 2
    assert cli("approvals", "trust-verb", "ls", "--audience", "Everybody").code == 2


@pytest.mark.requirement("approvals.offline")
def test_the_file_is_touched_only_under_the_lock(
    cli: Cli, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("netclaw.cli.client.PATIENCE_S", 0.1)
    holds(home, stored("git push"))
    before = home.grants_file.read_bytes()
    calls = (
        ("list",),
        ("revoke", "git push"),
        ("trust-verb", "ls"),
    )
    with HomeLock.acquire(home.lock):
        for words in calls:
            result = cli("approvals", *words)
            assert result.code == 1
            assert "[FAIL]" in result.err
    assert home.grants_file.read_bytes() == before
    for words in calls:
        cli.ok("approvals", *words)


@pytest.mark.requirement("approvals.offline")
def test_without_a_home_the_way_out_is_named(cli: Cli, home: Home) -> None:
    for words in (("list",), ("revoke", "x"), ("trust-verb", "ls")):
        result = cli("approvals", *words)
        assert result.code == 1
        assert "netclaw init" in result.err
    assert not home.root.exists()


@pytest.mark.requirement("approvals.broken")
def test_a_broken_file_is_told_and_left_alone(cli: Cli, home: Home) -> None:
    holds(home)
    home.grants_file.write_text('{"version": 9, "audiences": {}}')
    for words in (("list",), ("revoke", "x"), ("trust-verb", "ls")):
        result = cli("approvals", *words, "--json")
        assert result.code == 1
        assert result.json["error"]["code"] == "approval_store_unavailable"
    assert home.grants_file.read_text() == '{"version": 9, "audiences": {}}'


# With a daemon


@pytest.mark.requirement("approvals.list")
def test_a_running_daemon_is_asked(cli: Cli, daemon: ScriptedDaemon) -> None:
    row = admin_pb2.GrantRow(
        audience="Personal", tool="shell_execute", label="make", scope="chat", session_id="notes"
    )
    daemon.replies["ListGrants"] = admin_pb2.ListGrantsResponse(grants=[row])
    daemon.replies["RevokeGrants"] = admin_pb2.RevokeGrantsResponse(revoked=[row])
    daemon.replies["TrustPhrase"] = admin_pb2.TrustPhraseResponse(grant=row, added=True)
    assert "in chat notes" in cli.ok("approvals", "list").out
    (told,) = cli.ok("approvals", "list", "--json").json
    assert (told["scope"], told["sessionId"]) == ("chat", "notes")
    cli.ok("approvals", "revoke", "make", "--session", "notes")
    cli.ok("approvals", "revoke", "make", "--in", "~/p", "--tool", "shell_execute")
    cli.ok("approvals", "trust-verb", "make")
    of_chat, of_folder = daemon.requests("RevokeGrants")
    assert of_chat == admin_pb2.RevokeGrantsRequest(session_id="notes", label="make")
    assert of_folder == admin_pb2.RevokeGrantsRequest(
        label="make", tool="shell_execute", directory=str(Path("~/p").expanduser())
    )
    (trusted,) = daemon.requests("TrustPhrase")
    assert trusted == admin_pb2.TrustPhraseRequest(words=["make"], audience="Personal")
    assert not daemon.home.grants_file.exists()


@pytest.mark.requirement("approvals.broken")
def test_what_the_daemon_says_of_the_file_is_told(cli: Cli, daemon: ScriptedDaemon) -> None:
    daemon.replies["ListGrants"] = admin_pb2.ListGrantsResponse(problem="it is a symbolic link")
    result = cli("approvals", "list")
    assert result.code == 1
    assert "it is a symbolic link" in result.err
    daemon.refuse["TrustPhrase"] = ApprovalStoreError("The grants file cannot be used.")
    assert cli("approvals", "trust-verb", "ls").code == 1
    daemon.status.grants_problem = "it is a symbolic link"
    status = cli("status", "--json")
    assert status.code == 2
    assert "symbolic link" in json.dumps(status.json)
    told = cli.ok("daemon", "status", "--json").json
    assert told["grantsProblem"] == "it is a symbolic link"


@pytest.mark.requirement("approvals.broken")
@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        (None, "PASS"),
        (grants_file.write(()), "PASS"),
        ('{"version": 2, "audiences": {}}', "PASS"),
        ('{"version": 1}', "WARN"),
        ('{"version": 4, "audiences": {}}', "FAIL"),
        ("{", "FAIL"),
    ],
)
def test_doctor_looks_at_the_file_and_changes_nothing(
    cli: Cli, home: Home, text: str | None, verdict: str
) -> None:
    home.config_dir.mkdir(parents=True, mode=0o700)
    if text is not None:
        home.grants_file.write_text(text)
    checks = {row["name"]: row for row in cli("doctor", "--json").json["checks"]}
    assert checks["grants"]["verdict"] == verdict
    assert verdict != "FAIL" or "No stored grant counts" in checks["grants"]["message"]
    if text is not None:
        assert home.grants_file.read_text() == text


@pytest.mark.requirement("approvals.broken")
def test_doctor_remembers_what_was_moved_aside(cli: Cli, home: Home) -> None:
    holds(home)
    (home.config_dir / f"{home.grants_file.name}.v1.quarantined").write_text("{}")
    checks = {row["name"]: row for row in cli("doctor", "--json").json["checks"]}
    assert checks["grants"]["verdict"] == "WARN"
    assert "version 1" in checks["grants"]["message"]


# Completion and help


@pytest.mark.requirement("operator.completion")
def test_calls_options_and_labels_are_offered(cli: Cli, daemon: ScriptedDaemon) -> None:
    del cli
    asks(daemon, waiting("call-a"), waiting("other"))
    row = admin_pb2.GrantRow(label="git push", scope="everywhere")
    daemon.replies["ListGrants"] = admin_pb2.ListGrantsResponse(grants=[row])
    assert offered("approvals", "answer", "ca") == ["call-a"]
    assert offered("approvals", "answer", "call-a", "") == [key for key, _, _ in OPTIONS]
    assert offered("approvals", "answer", "call-a", "approve_a") == ["approve_always"]
    assert offered("approvals", "revoke", "gi") == ["git push"]
    daemon.refuse["ListApprovals"] = daemon.refuse["ListGrants"] = InternalError("Broken.")
    assert offered("approvals", "answer", "ca") == []
    assert offered("approvals", "revoke", "gi") == []


@pytest.mark.requirement("operator.completion")
def test_labels_come_from_the_file_when_no_daemon_runs(home: Home) -> None:
    assert offered("approvals", "revoke", "gi") == []
    holds(home, stored("git push"), stored("ls"))
    assert offered("approvals", "revoke", "gi") == ["git push"]
    assert offered("approvals", "answer", "ca") == []


@pytest.mark.parametrize("word", ["", "pending", "answer", "list", "revoke", "trust-verb"])
def test_help_has_examples(cli: Cli, word: str) -> None:
    shown = cli.ok("approvals", *([word] if word else []), "--help").out
    assert "Examples" in shown
    assert f"netclaw approvals {word}".rstrip() in shown
