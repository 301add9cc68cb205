"""`netclaw authorize`: explains what would become of a call, and runs nothing."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path
from typing import Any

import pytest

from netclaw.cli.authorize.rehearsal import Asked, Rehearsal, with_command
from netclaw.cli.authorize.sources import sandbox_of
from netclaw.config.home import Home, find_home
from netclaw.core.authority import Audience
from netclaw.core.authz import grants_file
from netclaw.core.authz.grants import Grant, GrantForm, GrantStore
from netclaw.core.session.rulings import Outcome
from netclaw.core.settings import ToolSettings
from tests.authz.host import FILES, FOLDERS, PROJECT, USER_HOME
from tests.authz.table import Row, described, rows
from tests.cli.runner import Cli

pytestmark = pytest.mark.timeout(90)

KEYS = {"outcome", "reason", "candidates", "options"}
OTHER_HOST = (
    "~",
    USER_HOME,
    "/tmp/netclaw-1",
    "/unlisted",
    "../..",
    "way-out",
    "linked",
    "loop",
    "to-keys",
    "./w*",
)
"""What a row says of the described host, which this one is not: the homes, and links that lead to
places this one has not."""


@pytest.fixture
def project(short_tmp: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project folder like that of the tables, inside a home of its own."""
    user = short_tmp / "op"
    monkeypatch.setenv("HOME", str(user))
    made = user / "project"
    for path in (path for path in FOLDERS if path.startswith(PROJECT)):
        (made / path.removeprefix(f"{PROJECT}/")).mkdir(parents=True, exist_ok=True)
    for path in (path for path in FILES if path.startswith(PROJECT)):
        (made / path.removeprefix(f"{PROJECT}/")).write_text("")
    (made / ".git" / "objects").mkdir()
    (made / ".git" / "refs").mkdir()
    (made / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    return made


@pytest.fixture
def in_project(project: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The command line is run in the project folder."""
    monkeypatch.chdir(project)
    return project


def host_independent(name: str) -> list[Row]:
    """The rows of a table that say nothing of the host they were written for."""
    return [row for row in rows(name) if not any(part in row.command for part in OTHER_HOST)]


def rehearsal(project: Path) -> Rehearsal:
    """The judge under the defaults, without a grant."""
    home = find_home({"NETCLAW_HOME": str(project.parent / ".netclaw")})
    return Rehearsal(home, ToolSettings(), sandbox_of(ToolSettings()), GrantStore())


def differing(project: Path, wanted: list[Row], *, is_attended: bool) -> list[str]:
    """The rows whose decision here is not the table's."""
    judge = rehearsal(project)

    async def look() -> list[str]:
        found = []
        for row in wanted:
            asked = Asked(arguments="", folder=str(project), is_attended=is_attended)
            explained = await judge.explain(with_command(asked, row.command))
            said = described(explained.decision).replace(str(project), PROJECT)
            expected = row.expected
            if not is_attended and expected.startswith("ask"):
                expected = "deny approval_required_unattended"
            if said != expected:
                found.append(f"{row}: {said}, not {expected}")
            would_run = explained.decision.outcome in (
                Outcome.ALLOWED,
                Outcome.REQUIRES_CONSENT,
            )
            if (explained.access is not None) is not would_run:
                found.append(f"{row}: the kernel's part is there or not against the decision")
        return found

    return asyncio.run(look())


@pytest.mark.requirement("consent_cli.authorize-table")
@pytest.mark.parametrize("name", ["reference_table.txt", "own_table.txt", "bug_table.txt"])
def test_the_tables_hold_on_a_real_host(project: Path, name: str) -> None:
    wanted = host_independent(name)
    assert len(wanted) > 60 or name == "bug_table.txt"
    assert differing(project, wanted, is_attended=True) == []


@pytest.mark.requirement("consent_cli.authorize-table")
def test_the_reference_table_holds_where_nobody_can_answer(project: Path) -> None:
    wanted = host_independent("reference_table.txt")
    assert differing(project, wanted, is_attended=False) == []


def explained(cli: Cli, *words: str) -> Any:
    """The JSON of one explanation."""
    return cli.ok("authorize", "--json", *words).json


@pytest.mark.requirement("consent_cli.authorize")
def test_the_four_outcomes_as_scripts_read_them(cli: Cli, in_project: Path) -> None:
    asked = explained(cli, "--", "git status && git push > out.txt")
    assert asked == {
        "outcome": "consent",
        "reason": "requires_consent",
        "candidates": [
            {"phrase": "git status", "exact": False, "coverage": "reviewed-safe"},
            {"phrase": "git push", "exact": False, "coverage": "none"},
        ],
        "options": [
            *("approve_once", "approve_session", "approve_always", "approve_repository"),
            *("approve_everywhere", "deny"),
        ],
        "sandbox": {"write": [str(in_project)], "network": True},
    }
    safe = explained(cli, "--", "git", "log", "--format=%h %s")
    assert (safe["outcome"], safe["reason"]) == ("allowed", "ReviewedSafePolicy")
    assert safe["sandbox"] == {"write": [], "network": False}
    exact = explained(cli, "--", 'cat "$FILE"')
    assert exact["candidates"] == [{"phrase": 'cat "$FILE"', "exact": True, "coverage": "none"}]
    assert exact["options"] == ["approve_once", "deny"]
    corrected = explained(cli, "--", "rm *.tmp")
    assert (corrected["outcome"], corrected["reason"]) == ("correction", "RewriteShellCommandWords")
    denied = explained(cli, "--", "sudo ls")
    assert denied == {
        "outcome": "denied",
        "reason": "hard_deny_privilege_escalation",
        "candidates": [],
        "options": [],
    }


@pytest.mark.requirement("consent_cli.authorize")
def test_audience_attendance_and_other_tools(cli: Cli, in_project: Path) -> None:
    team = explained(cli, "--audience", "team", "--", "ls")
    assert team["reason"] == "tool_not_allowed_for_audience_profile"
    alone = explained(cli, "--unattended", "--", "npm", "test")
    assert alone["reason"] == "approval_required_unattended"
    inside = json.dumps({"path": "/etc/hosts"})
    public = explained(cli, "--audience", "Public", "--tool", "file_read", "--", inside)
    assert (public["outcome"], public["reason"]) == ("denied", "outside_roots")
    written = json.dumps({"path": "a.txt", "content": "b"})
    assert explained(cli, "--tool", "file_write", "--", written)["reason"] == "PolicyAuto"
    assert (in_project / "a.txt").read_text() == "", "nothing was written"


@pytest.mark.requirement("consent_cli.authorize")
def test_tools_of_servers_by_either_name(cli: Cli, home: Home) -> None:
    """The server is not asked, and need not run."""
    home.config_dir.mkdir(parents=True, mode=0o700)
    home.config_file.write_text(
        json.dumps({"configVersion": 1, "McpServers": {"gh": {"Command": "/nowhere/gh"}}})
    )
    named = explained(cli, "--tool", "mcp:gh:issue_create", "--", "{}")
    assert named["outcome"] == "allowed"
    for name in ("gh__issue_create", "mcp:gh:issue_create"):
        found = explained(cli, "--audience", "Team", "--tool", name, "--", "{}")
        assert found["reason"] == "mcp_server_not_allowed_for_audience_profile"


@pytest.mark.requirement("consent_cli.authorize")
@pytest.mark.parametrize("tool", ["file_read", "file_list", "file_write"])
def test_what_a_file_tool_never_opens_is_denied(cli: Cli, in_project: Path, tool: str) -> None:
    key = in_project.parent / ".ssh" / "id_ed25519"
    key.parent.mkdir(mode=0o700)
    key.write_text("secret")
    link = in_project / "harmless"
    link.symlink_to(key)
    more = {"content": ""} if tool == "file_write" else {}
    for path in (str(key), "/proc/self/environ", str(link)):
        found = explained(cli, "--tool", tool, "--", json.dumps({"path": path, **more}))
        assert (found["outcome"], found["reason"]) == ("denied", "protected_for_operation")
    said = cli.ok("authorize", "--tool", tool, "--", json.dumps({"path": str(link), **more})).out
    assert "File tools open no place of credentials" in said


@pytest.mark.requirement("consent_cli.authorize")
def test_a_command_given_as_arguments_may_name_its_folder(cli: Cli, in_project: Path) -> None:
    other = in_project.parent / "other"
    other.mkdir(exist_ok=True)
    arguments = json.dumps({"command": "touch x", "working_directory": str(other)})
    found = explained(cli, "--", arguments)
    assert str(other) in found["sandbox"]["write"]
    assert not (other / "x").exists()
    here = explained(cli, "--cwd", str(other), "--", "touch x")
    assert here["sandbox"]["write"] == [str(other)]


@pytest.mark.requirement("consent_cli.authorize")
def test_a_folder_that_a_session_may_declare_is_its_project(
    cli: Cli, home: Home, in_project: Path
) -> None:
    """Only in a trusted root; there every command may write it, and file tools begin in it."""
    home.config_dir.mkdir(parents=True, mode=0o700)
    home.config_file.write_text(
        json.dumps({"configVersion": 1, "Workspaces": {"Directory": str(in_project.parent)}})
    )
    found = explained(cli, "--", "git log")
    assert found["sandbox"] == {"write": [str(in_project)], "network": False}
    assert "(no project directory)" not in cli.ok("authorize", "--", "ls").out
    team = explained(cli, "--audience", "Team", "--tool", "file_read", "--", '{"path": "a.txt"}')
    assert team["outcome"] == "allowed"
    assert "(no project directory)" in cli.ok("authorize", "--cwd", "/usr", "--", "ls").out


@pytest.mark.requirement("consent_cli.authorize-grants")
def test_stored_grants_count_and_a_broken_file_is_named(
    cli: Cli, home: Home, in_project: Path
) -> None:
    home.config_dir.mkdir(parents=True, mode=0o700)
    file = home.config_dir / "tool-approvals.json"
    grant = Grant(
        audience=Audience.PERSONAL,
        tool="shell_execute",
        form=GrantForm.TOKENS,
        words=("git", "push"),
        created_at="2026-11-30T12:00:00+00:00",
        directory=str(in_project),
    )
    file.write_text(grants_file.write([grant]))
    found = explained(cli, "--unattended", "--", "git push")
    assert (found["outcome"], found["reason"]) == ("allowed", "StoredApproval")
    assert found["candidates"][0]["coverage"] == "persistent-grant"
    said = cli.ok("authorize", "--", "git push").out
    assert f"granted in {in_project}, 2026-11-30T12:00:00+00:00" in said
    file.write_text("{ broken")
    assert explained(cli, "--", "git push")["reason"] == "approval_store_unavailable"
    assert "The grants file: " in cli.ok("authorize", "--", "git push").out
    assert file.read_text() == "{ broken"


@pytest.mark.requirement("consent_cli.authorize")
def test_the_shell_mode_counts(cli: Cli, home: Home, in_project: Path) -> None:
    del in_project
    home.config_dir.mkdir(parents=True, mode=0o700)

    def mode(word: str) -> None:
        home.config_file.write_text(json.dumps({"configVersion": 1, "Tools": {"ShellMode": word}}))

    mode("Off")
    assert explained(cli, "--", "ls")["reason"] == "shell_disabled"
    mode("HostAllowed")
    found = explained(cli, "--", "touch a.txt")
    assert found["sandbox"] == {"write": ["/"], "network": True, "confined": False}
    assert "no sandbox: the command may do all that you may" in cli.ok("authorize", "--", "ls").out
    home.config_file.write_text("{ broken")
    assert cli("authorize", "--json", "--", "ls").code == 1


@pytest.mark.requirement("consent_cli.authorize-view")
def test_what_a_person_reads(cli: Cli, in_project: Path) -> None:
    assert cli.ok("authorize", "--", "git status; touch a.txt").out.splitlines() == [
        "ASKS  Somebody is asked before it runs.",
        "",
        "  tool      shell_execute",
        "  audience  Personal",
        f"  folder    {in_project} (no project directory)",
        "  answers   somebody is there",
        "  mode      Approval",
        "  reason    requires_consent",
        "",
        "commands",
        "  ok   git status  reviewed as safe (git status)",
        "  ask  touch       no grant for these words",
        "",
        "would be asked",
        "  A  Once             approve_once",
        "  B  This chat        approve_session",
        "  C  Always here      approve_always",
        "  D  This repository  approve_repository",
        "  E  Always anywhere  approve_everywhere",
        "  F  Deny             deny",
        "",
        "the kernel, once allowed",
        "  write     the session's own folders",
        f"            {in_project}",
        "  network   on",
    ]


@pytest.mark.requirement("consent_cli.authorize-view")
@pytest.mark.parametrize(
    ("command", "lines"),
    [
        ("sudo ls", ["Deny rule: It would run with the rights of another user."]),
        ("netclaw approvals answer a A", ["DENIED  The command would take rights that nobody"]),
        ("netclaw sessions inject a b", ["Deny rule: It would speak with the voice of a person."]),
        ("cat /etc/../{home}/keys/x", ["DENIED  The command names a protected place."]),
        ("echo hi", ["ok   echo", "only prints", "network   off"]),
        ("find . -name x | xargs rm", ["ask  find", "ask  xargs rm"]),
        ("{ ls; }", ["only once: its syntax is not one that is proved"]),
        ("$X run", ["only once: which program it runs is not known before"]),
        ("rm *.tmp", ["CORRECTS", "written as ./PATTERN it cannot"]),
        ("a\x07b", ["DENIED", "shell_text_refused"]),
    ],
)
def test_why_is_said(
    cli: Cli, home: Home, in_project: Path, command: str, lines: list[str]
) -> None:
    del in_project
    said = cli.ok("authorize", "--", command.replace("{home}", str(home.root))).out
    for line in lines:
        assert line in said, said
    assert "\x07" not in said


@pytest.mark.requirement("consent_cli.authorize")
def test_nothing_is_run_and_nothing_is_made(cli: Cli, home: Home, in_project: Path) -> None:
    before = sorted(os.walk(in_project))
    cli.ok("authorize", "--", "touch made; echo x > made2; cat $(touch made3)")
    assert sorted(os.walk(in_project)) == before
    assert not home.root.exists()


@pytest.mark.requirement("consent_cli.authorize-input")
@pytest.mark.parametrize(
    ("words", "code", "error"),
    [
        (["--audience", "Everybody", "--", "ls"], 2, ""),
        (["--cwd", "/nowhere/at/all", "--", "ls"], 2, ""),
        (["--cwd", "/etc/hosts", "--", "ls"], 2, ""),
        ([], 2, ""),
        (["--tool", "nope", "--", "{}"], 1, "not_found"),
        (["--tool", "mcp:x", "--", "{}"], 1, "not_found"),
        (["--tool", "file_read", "--", "{"], 1, "invalid_argument"),
        (["--tool", "file_read", "--", "[]"], 1, "invalid_argument"),
        (["--tool", "file_read", "--", '{"path": 7}'], 1, "invalid_argument"),
        (["--tool", "gh__x", "--", "{}"], 1, "not_found"),
        (["--tool", "mcp:gh:x:y", "--", "{}"], 1, "not_found"),
        (["--", '{"cmd": "ls"}'], 1, "invalid_argument"),
        (["--tool", "file_read", "--", '{"path": "~/x"}'], 1, "invalid_argument"),
    ],
)
def test_what_makes_no_sense_has_a_stable_code(
    cli: Cli, in_project: Path, words: list[str], code: int, error: str
) -> None:
    del in_project
    result = cli("authorize", "--json", *words)
    assert result.code == code
    assert "[FAIL] authorize:" in result.err
    assert "The tool was not run" not in result.err
    if error:
        assert result.json["error"]["code"] == error


def test_a_folder_that_is_gone(cli: Cli, short_tmp: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = short_tmp / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    result = cli("authorize", "--", "ls")
    monkeypatch.undo()
    assert result.code == 1
    assert "Name one with --cwd DIR." in result.err


@pytest.mark.requirement("access.credentials-told")
def test_credentials_that_a_call_would_see_are_named(cli: Cli, in_project: Path) -> None:
    place = str(in_project.parent / ".ssh")
    cli.ok("config", "set", "Tools.Sandbox.Credentials", '["~/.ssh"]')
    asked = explained(cli, "--", "git push")
    assert asked["sandbox"]["credentials"] == [place]
    assert place in cli.ok("authorize", "--", "git push").out
    for command in ("git status", f"cat {place}/id"):
        assert "credentials" not in explained(cli, "--", command)["sandbox"]
