"""Checks of who may use what: settings that contradict each other, or that open too much."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from netclaw.cli.doctor.findings import Finding, failed, passed, warned
from netclaw.core.authority import Audience
from netclaw.core.authz.consent_modes import ModeQuestion, mode_of
from netclaw.core.authz.grants_file import (
    GrantsFileError,
    NeedsMigrationError,
    read,
    read_version_2,
)
from netclaw.core.authz.path_access import FileMode
from netclaw.core.authz.profiles import SHELL, AudienceProfile, ConsentMode, FileRule, ListMode
from netclaw.core.settings import ShellMode, ToolSettings

if TYPE_CHECKING:
    from netclaw.config.home import Home

NAME = "authorization"
GRANTS_FILE = "tool-approvals.json"
_KEY = "Tools.AudienceProfiles"


def check_authorization(tools: ToolSettings, home: Home) -> Iterator[Finding]:
    """What is wrong with profiles, deny rules and grants; one line if nothing is."""
    found = [
        *_deny_rules(tools, home),
        *_unrestricted(tools),
        *_silent_shell(tools),
        *_credentials(tools),
        *_useless_consent(tools),
        *_useless_grants(tools, home),
    ]
    yield from found or [passed(NAME, "Each audience is within the next; nothing stands out.")]


def _deny_rules(tools: ToolSettings, home: Home) -> Iterator[Finding]:
    if tools.deny_rules_fault:
        yield failed(
            "deny rules", tools.deny_rules_fault, f"Correct or remove {home.deny_overrides}."
        )


def _unrestricted(tools: ToolSettings) -> Iterator[Finding]:
    """Team and Public are for other people: all tools, servers or files is never meant."""
    for audience in (Audience.TEAM, Audience.PUBLIC):
        for key, what in _without_limit(tools.profile_of(audience)):
            yield failed(
                NAME,
                f"{_KEY}.{audience}.{key} gives {audience} {what}.",
                f"Run `netclaw config unset {_KEY}.{audience}.{key}`, or list what is meant.",
            )


def _without_limit(profile: AudienceProfile) -> Iterator[tuple[str, str]]:
    if profile.tools_mode is ListMode.ALL:
        yield "ToolsMode", "every tool"
    if profile.servers_mode is ListMode.ALL:
        yield "McpServersMode", "every MCP server"
    rules: tuple[tuple[str, FileRule], ...] = (
        ("ReadFiles", profile.read),
        ("WriteFiles", profile.write),
        ("AttachFiles", profile.attach),
    )
    for key, rule in rules:
        if rule.mode is FileMode.ALL:
            yield f"{key}.Mode", "every file"
        elif rule.mode is FileMode.ROOTS and any(root.resolved == "/" for root in rule.roots):
            yield f"{key}.Roots", "every file"


def _silent_shell(tools: ToolSettings) -> Iterator[Finding]:
    profile = tools.profile_of(Audience.PERSONAL)
    if tools.shell_mode is ShellMode.OFF:
        return
    if mode_of(profile, ModeQuestion(tool=SHELL)) is ConsentMode.AUTO:
        key = f"{_KEY}.Personal.ApprovalPolicy.ToolOverrides.{SHELL}"
        yield warned(
            NAME,
            f"{key} is Auto: Personal runs every command that no rule forbids without asking.",
            f"netclaw config set {key} Approval",
        )


def _credentials(tools: ToolSettings) -> Iterator[Finding]:
    if not tools.credentials or tools.shell_mode is not ShellMode.SANDBOX_ONLY:
        return
    yield warned(
        "credentials",
        f"Commands that you let run, once or by a grant, can read {', '.join(tools.credentials)}"
        " and have the network. A repository's own configuration and scripts can name programs that"
        " such a command starts (hooks, core.sshCommand, package scripts): they read the same.",
        "Grant nothing wider than `git push` in repositories you trust, or run"
        " `netclaw config unset Tools.Sandbox.Credentials`.",
    )


def _useless_consent(tools: ToolSettings) -> Iterator[Finding]:
    if tools.shell_mode is not ShellMode.OFF:
        return
    for profile in tools.profiles:
        if profile.consent.tools.get(SHELL) == ConsentMode.APPROVAL:
            yield warned(
                NAME,
                f"{_KEY}.{profile.audience}.ApprovalPolicy asks for consent to {SHELL}, but"
                " commands are off.",
                "Set Tools.ShellMode, or remove the override.",
            )


def _useless_grants(tools: ToolSettings, home: Home) -> Iterator[Finding]:
    if tools.shell_mode is not ShellMode.OFF:
        return
    count = _shell_grants(home)
    if count:
        yield warned(
            NAME,
            f"{count} stored for {SHELL}, but commands are off.",
            "Set Tools.ShellMode, or see `netclaw approvals list --tool shell_execute`.",
        )


def _shell_grants(home: Home) -> str:
    """How many grants commands have, in words; a file that cannot be believed has none here."""
    try:
        text = (home.config_dir / GRANTS_FILE).read_text("utf-8")
        try:
            grants = read(text)
        except NeedsMigrationError:
            grants = read_version_2(text)
    except (OSError, UnicodeDecodeError, GrantsFileError):
        return ""
    count = sum(grant.tool == SHELL for grant in grants)
    return f"{count} grant{'s are' if count > 1 else ' is'}" if count else ""
