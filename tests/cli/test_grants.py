"""`netclaw approvals list|revoke|trust-verb`: with a daemon, and in the file without one."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

import pytest

from netclaw.config.home import Home
from netclaw.core.authority import Audience
from netclaw.core.authz import grants_file
from netclaw.core.authz.grants import Grant, GrantForm
from netclaw.core.errors import ApprovalStoreError, InternalError
from netclaw.store.lock import HomeLock
from netclaw.wire.v1 import admin_pb2
from tests.cli.runner import Cli
from tests.cli.scripted_daemon import ScriptedDaemon
from tests.cli.test_completion import offered

AT = "2026-11-30T12:00:00+00:00"


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
    assert "revoked git push everywhere" in cli.ok("approvals", "revoke", "git", "push").out
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
@pytest.mark.parametrize("phrase", ["sudo ls", "mkfs", "netclaw daemon stop"])
def test_what_no_consent_lets_run_is_not_trusted(cli: Cli, home: Home, phrase: str) -> None:
    home.root.mkdir(mode=0o700)
    result = cli("approvals", "trust-verb", phrase, "--json")
    assert (result.code, result.json["error"]["code"]) == (1, "invalid_argument")
    assert "No consent lets that run: " in result.err
    assert f"netclaw authorize -- '{phrase}'".replace("'mkfs'", "mkfs") in result.err
    assert not home.grants_file.exists()


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


@pytest.mark.requirement("operator.completion")
def test_labels_come_from_the_file_when_no_daemon_runs(home: Home) -> None:
    assert offered("approvals", "revoke", "gi") == []
    holds(home, stored("git push"), stored("ls"))
    assert offered("approvals", "revoke", "gi") == ["git push"]


@pytest.mark.requirement("operator.completion")
def test_labels_come_from_the_running_daemon(daemon: ScriptedDaemon) -> None:
    row = admin_pb2.GrantRow(label="git push", scope="everywhere")
    daemon.replies["ListGrants"] = admin_pb2.ListGrantsResponse(grants=[row])
    assert offered("approvals", "revoke", "gi") == ["git push"]
    daemon.refuse["ListGrants"] = InternalError("Broken.")
    assert offered("approvals", "revoke", "gi") == []
