"""`doctor` on who may use what: contradictions, and settings that open too much."""

from __future__ import annotations

import json

import pytest

from netclaw.cli.doctor.abilities import check_sandbox
from netclaw.cli.doctor.authorization import check_authorization
from netclaw.cli.doctor.findings import Finding, Verdict
from netclaw.config.home import Home
from netclaw.config.jsonc_tree import Json
from netclaw.config.load import load_config
from tests.cli.runner import Cli


def look(home: Home, **sections: Json) -> list[Finding]:
    """The findings for a home with these sections."""
    home.config_dir.mkdir(parents=True, exist_ok=True)
    home.config_file.write_text(json.dumps(sections))
    return list(check_authorization(load_config(home, {}).session.tools, home))


def profiles(**audiences: Json) -> dict[str, Json]:
    """A `Tools` section with these profiles."""
    return {"AudienceProfiles": audiences}


def failing(findings: list[Finding]) -> list[str]:
    """The messages of failures."""
    return [each.message for each in findings if each.verdict is Verdict.FAIL]


@pytest.mark.requirement("profiles.doctor")
def test_a_plain_configuration_has_nothing_to_say(home: Home) -> None:
    (finding,) = look(home)
    assert finding.verdict is Verdict.PASS


@pytest.mark.requirement("profiles.doctor")
@pytest.mark.parametrize(
    ("profile", "key", "what"),
    [
        ({"ToolsMode": "All"}, "ToolsMode", "every tool"),
        ({"McpServersMode": "All"}, "McpServersMode", "every MCP server"),
        ({"ReadFiles": {"Mode": "All"}}, "ReadFiles.Mode", "every file"),
        ({"WriteFiles": {"Mode": "All"}}, "WriteFiles.Mode", "every file"),
        ({"AttachFiles": {"Roots": ["/"]}}, "AttachFiles.Roots", "every file"),
    ],
)
def test_an_audience_of_other_people_without_a_limit_is_an_error(
    home: Home, profile: Json, key: str, what: str
) -> None:
    findings = look(home, Tools=profiles(Team=profile))
    assert failing(findings) == [f"Tools.AudienceProfiles.Team.{key} gives Team {what}."]
    assert f"Team.{key}" in findings[0].fix


@pytest.mark.requirement("profiles.doctor")
def test_commands_without_consent_are_a_warning(home: Home) -> None:
    auto = profiles(Personal={"ApprovalPolicy": {"ToolOverrides": {"shell_execute": "Auto"}}})
    (finding,) = look(home, Tools=auto)
    assert (finding.verdict, "is Auto" in finding.message) == (Verdict.WARN, True)
    (finding,) = look(home, Tools=auto | {"ShellMode": "Off"})
    assert finding.verdict is Verdict.PASS
    by_default = profiles(Personal={"ApprovalPolicy": {"DefaultMode": "Auto"}})
    (finding,) = look(home, Tools=by_default)
    assert finding.verdict is Verdict.PASS


@pytest.mark.requirement("profiles.doctor")
def test_consent_that_can_never_matter_is_a_warning(home: Home) -> None:
    asking = profiles(Personal={"ApprovalPolicy": {"ToolOverrides": {"shell_execute": "Approval"}}})
    assert look(home, Tools=asking)[0].verdict is Verdict.PASS
    (finding,) = look(home, Tools=asking | {"ShellMode": "Off"})
    assert (finding.verdict, "commands are off" in finding.message) == (Verdict.WARN, True)


GRANT: dict[str, Json] = {
    "shell": "Bash",
    "match": "TokenPrefix",
    "verbTokens": ["git", "push"],
    "directory": None,
    "createdAt": "2026-11-30T10:00:00Z",
}


@pytest.mark.requirement("profiles.doctor")
@pytest.mark.parametrize("version", [2, 3])
def test_grants_for_commands_that_are_off_are_a_warning(home: Home, version: int) -> None:
    entry = GRANT if version == 3 else {"verb": "git push", "directory": None}
    entry = entry if version == 3 else {**entry, "createdAt": GRANT["createdAt"]}
    home.config_dir.mkdir(parents=True)
    grants = home.config_dir / "tool-approvals.json"
    audiences = {"Personal": {"shell_execute": [entry]}}
    grants.write_text(json.dumps({"version": version, "audiences": audiences}))
    assert look(home)[0].verdict is Verdict.PASS
    (finding,) = look(home, Tools={"ShellMode": "Off"})
    assert finding.verdict is Verdict.WARN
    assert finding.message.startswith("1 grant is stored for shell_execute")
    grants.write_text("{")
    assert look(home, Tools={"ShellMode": "Off"})[0].verdict is Verdict.PASS


@pytest.mark.requirement("profiles.doctor")
def test_unconfined_commands_are_told_in_these_words(home: Home) -> None:
    look(home, Tools={"ShellMode": "HostAllowed"})
    finding = check_sandbox(load_config(home, {}).session.tools, None)
    words = "gives a tool everything the user has, the operator token included"
    assert (finding.verdict, words in finding.message) == (Verdict.WARN, True)


@pytest.mark.requirement("profiles.deny-rules-broken")
def test_broken_deny_rules_are_a_failure_and_are_told_once(cli: Cli, home: Home) -> None:
    look(home)
    home.deny_overrides.write_text("[{]")
    rows = json.loads(cli("doctor", "--json").out)["checks"]
    told = [row for row in rows if "hard-deny-overrides.json" in row["message"]]
    assert [(row["name"], row["verdict"]) for row in told] == [("deny rules", "FAIL")]
    explained = cli.ok("authorize", "--", "ls").out
    assert explained.startswith("DENIED  Shell commands are switched off here.\n")
    assert f"  {home.deny_overrides} is malformed" in explained


@pytest.mark.requirement("access.credentials-told")
def test_shown_credentials_are_a_warning_that_says_what_reads_them(home: Home) -> None:
    listed: dict[str, Json] = {"Sandbox": {"Credentials": ["/home/op/.ssh"]}}
    (finding,) = look(home, Tools=listed)
    assert finding.verdict is Verdict.WARN
    assert "/home/op/.ssh" in finding.message
    assert "core.sshCommand" in finding.message
    assert "config unset" in finding.fix
    (finding,) = look(home, Tools=listed | {"ShellMode": "Off"})
    assert finding.verdict is Verdict.PASS
