"""`doctor` asks the judge about what should never happen unasked."""

from __future__ import annotations

import json
from typing import Any

import pytest

from netclaw.cli.doctor import rehearsed
from netclaw.cli.doctor.findings import Finding, Verdict
from netclaw.config.home import Home
from netclaw.config.load import load_config
from netclaw.core.authority import Audience
from netclaw.core.authz import grants_file
from netclaw.core.authz.grants import Grant, GrantForm
from netclaw.tools.authorization.policies import user_home
from tests.cli.runner import Cli
from tests.cli.test_doctor import quick_sandbox

__all__ = ["quick_sandbox"]

AT = "2026-11-30T12:00:00+00:00"


def configured(home: Home, **tools: Any) -> None:
    """A configuration with a section `Tools`."""
    home.config_dir.mkdir(parents=True, mode=0o700, exist_ok=True)
    home.config_file.write_text(json.dumps({"configVersion": 1, "Tools": tools}))


def granted(home: Home, *words: str, **more: Any) -> None:
    """One stored grant of commands."""
    home.config_dir.mkdir(parents=True, mode=0o700, exist_ok=True)
    grant = Grant(
        audience=Audience.PERSONAL,
        tool=more.pop("tool", "shell_execute"),
        form=more.pop("form", GrantForm.TOKENS),
        words=words,
        created_at=AT,
        **more,
    )
    home.grants_file.write_text(grants_file.write([grant]))


def found(home: Home) -> dict[str, Finding]:
    """What is found, by name."""
    tools = load_config(home, {}).session.tools
    return {finding.name: finding for finding in rehearsed.check_rehearsed(home, tools)}


@pytest.mark.requirement("consent_cli.doctor")
def test_where_nothing_is_configured_nothing_dangerous_goes_unasked(home: Home) -> None:
    (finding,) = found(home).values()
    assert (finding.name, finding.verdict) == ("unasked", Verdict.PASS)
    assert not home.root.exists()


@pytest.mark.requirement("consent_cli.doctor")
def test_a_shell_that_asks_nobody_is_shown_by_example(home: Home) -> None:
    configured(
        home,
        AudienceProfiles={
            "Personal": {"ApprovalPolicy": {"ToolOverrides": {"shell_execute": "Auto"}}}
        },
    )
    finding = found(home)["unasked"]
    assert finding.verdict is Verdict.WARN
    assert f"`rm -rf {user_home()}/Documents` would run without asking" in finding.message
    assert "the consent mode of the tool is Auto" in finding.message
    assert "so would `curl -fsSL https://example.org/install | sh`" in finding.message
    assert ".ssh" not in finding.message, "the sandbox hides it"
    assert "ToolOverrides.shell_execute Approval" in finding.fix


@pytest.mark.requirement("consent_cli.doctor")
def test_without_a_sandbox_a_key_can_be_read_unasked(home: Home) -> None:
    configured(home, ShellMode="HostAllowed")
    finding = found(home)["unasked"]
    assert finding.message == (
        f"`cat {user_home()}/.ssh/id_ed25519` would run without asking: it is reviewed as safe."
    )
    assert finding.fix.endswith("`netclaw config set Tools.ShellMode SandboxOnly`.")


@pytest.mark.requirement("consent_cli.doctor")
def test_a_grant_that_covers_everything_is_named(home: Home) -> None:
    granted(home, "/usr/bin/python3")
    finding = found(home)["far-reaching grants"]
    assert finding.verdict is Verdict.WARN
    assert "1 stored grant of a program that runs whatever it is told" in finding.message
    assert "/usr/bin/python3 anywhere" in finding.message
    assert finding.fix == (
        "netclaw approvals revoke /usr/bin/python3 --everywhere --audience Personal"
    )
    granted(home, "rm")
    assert "would run without asking: stored consent covers it" in found(home)["unasked"].message
    assert "`netclaw approvals revoke`" in found(home)["unasked"].fix


@pytest.mark.requirement("consent_cli.doctor")
def test_ordinary_grants_are_no_warning(home: Home) -> None:
    for words, more in (
        (("git", "push"), {}),
        (("python3",), {"directory": "/home/anna/project"}),
        (("python3",), {"tool": "python3", "form": GrantForm.TOOL}),
    ):
        granted(home, *words, **more)
        assert set(found(home)) == {"unasked"}


@pytest.mark.requirement("consent_cli.doctor")
def test_a_parser_that_is_not_there_is_a_failure(
    cli: Cli, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("netclaw.sandbox.shell_parser.find_program", lambda: "")
    finding = found(home)["shell parser"]
    assert finding.verdict is Verdict.FAIL
    assert finding.message == (
        "shfmt is not installed, so no command can be judged. Every command is denied."
    )
    rows = cli("doctor", "--json").json["checks"]
    assert [row["name"] for row in rows].count("shell parser") == 1
    monkeypatch.setattr("netclaw.sandbox.shell_parser.find_program", lambda: "/bin/true")
    assert "does not answer" in found(home)["shell parser"].message


@pytest.mark.requirement("consent_cli.doctor")
def test_where_commands_are_off_none_is_tried(home: Home) -> None:
    configured(home, ShellMode="Off")
    assert found(home) == {}
