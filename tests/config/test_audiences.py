"""What each audience may use: read from the file, filled up, and never wider than the next."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from netclaw.config.jsonc_tree import Json
from netclaw.config.reload import Effect, effect_of
from netclaw.core.authority import Audience
from netclaw.core.authz.path_access import FileMode
from netclaw.core.authz.profiles import (
    AttachmentCategory,
    AudienceProfile,
    ConsentMode,
    ListMode,
    default_profile,
)
from netclaw.core.errors import InvalidArgumentError
from netclaw.core.settings import ShellMode, ToolSettings
from tests.config.homes import ONE_MODEL, TempHome

Section = dict[str, Json]


def load(temp: TempHome, *, overrides: str | None = None, **tools: Json) -> ToolSettings:
    """The tool settings of a home with this `Tools` section."""
    temp.write(ONE_MODEL.replace("{\n", f'{{"Tools": {json.dumps(tools)},\n', 1))
    if overrides is not None:
        temp.home.deny_overrides.write_text(overrides)
    return temp.load().session.tools


def profile(temp: TempHome, audience: Audience, **profiles: Json) -> AudienceProfile:
    """One profile of a home with these `AudienceProfiles`."""
    return load(temp, AudienceProfiles=profiles).profile_of(audience)


@pytest.mark.requirement("profiles.defaults")
@pytest.mark.parametrize("audience", Audience)
def test_nothing_configured_gives_the_defaults(temp: TempHome, audience: Audience) -> None:
    assert profile(temp, audience) == default_profile(audience)


@pytest.mark.requirement("profiles.read")
def test_every_key_arrives(temp: TempHome, tmp_path: Path) -> None:
    project = tmp_path / "project"
    found = profile(
        temp,
        Audience.PERSONAL,
        Team={"ToolsMode": "Listed", "AllowedTools": ["file_read"], "McpServersMode": "none"},
        Personal={
            "ToolsMode": "allowlist",
            "AllowedTools": [
                *("file_read", "file_list", "file_search"),
                *("tool_output_read", "attach_file", "shell_execute"),
            ],
            "McpServersMode": "All",
            "McpServerToolGrants": {"git": ["log"]},
            "ReadFiles": {"Roots": [str(project), "~/code", "{workspaces_dir}", "{session_dir}"]},
            "ApprovalPolicy": {
                "DefaultMode": "approval",
                "ToolOverrides": {"file_write": "Deny"},
                "McpServerDefaults": {"git": "AUTO"},
            },
            "ChannelAttachments": {"MaxFileBytes": 1000, "MaxFilesPerMessage": 2},
        },
        Public={"AllowedTools": ["file_read"]},
    )
    assert found.tools_mode is ListMode.ALLOWLIST
    assert found.allows_tool("shell_execute")
    assert not found.allows_tool("file_write")
    assert found.allows_tool("session_status")
    assert found.allows_server_tool("git", "log")
    assert not found.allows_server_tool("git", "push")
    assert found.allows_server_tool("other", "anything")
    assert found.read.mode is FileMode.ROOTS
    assert [root.canonical for root in found.read.roots] == [
        str(project),
        str(Path("~/code").expanduser()),
        str(temp.home.workspaces_dir),
    ]
    assert found.consent.default == ConsentMode.APPROVAL
    assert (found.consent.tools, found.consent.servers) == ({"file_write": "Deny"}, {"git": "Auto"})
    assert found.attachments.categories == frozenset(AttachmentCategory)
    assert (found.attachments.max_file_bytes, found.attachments.max_files_per_message) == (1000, 2)


def test_a_root_is_kept_as_written_and_as_it_leads(temp: TempHome, tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    (root,) = profile(
        temp,
        Audience.PERSONAL,
        Personal={"WriteFiles": {"Mode": "All", "Roots": [f"{tmp_path}/link"]}},
    ).write.roots
    assert (root.canonical, root.resolved) == (f"{tmp_path}/link", f"{tmp_path}/real")


@pytest.mark.requirement("profiles.monotone")
@pytest.mark.parametrize(
    ("profiles", "key", "what"),
    [
        (
            {"Public": {"AllowedTools": ["file_write"]}, "Team": {"AllowedTools": []}},
            "Public.AllowedTools",
            "file_write",
        ),
        ({"Public": {"ToolsMode": "All"}}, "Public.ToolsMode", "all tools"),
        (
            {"Team": {"ReadFiles": {"Mode": "All"}}, "Personal": {"ReadFiles": {"Mode": "Roots"}}},
            "Team.ReadFiles.Mode",
            "All",
        ),
        ({"Personal": {"WriteFiles": {"Mode": "None"}}}, "Team.WriteFiles.Mode", "Roots"),
        ({"Public": {"AttachFiles": {"Roots": ["/srv/a"]}}}, "Public.AttachFiles.Roots", "/srv/a"),
        (
            {"Team": {"McpServersMode": "All"}, "Personal": {"McpServersMode": "None"}},
            "Team.McpServersMode",
            "all servers",
        ),
        ({"Public": {"AllowedMcpServers": ["git"]}}, "Public.AllowedMcpServers", "git"),
        (
            {
                "Team": {"AllowedMcpServers": ["git"]},
                "Personal": {"McpServerToolGrants": {"git": ["log"], "other": []}},
            },
            "Team.McpServerToolGrants",
            "all tools of git",
        ),
        (
            {
                "Team": {"AllowedMcpServers": ["git"], "McpServerToolGrants": {"git": ["push"]}},
                "Personal": {"McpServerToolGrants": {"git": ["log"]}},
            },
            "Team.McpServerToolGrants",
            "push of git",
        ),
        (
            {"Public": {"ChannelAttachments": {"AllowedCategories": ["Other"]}}},
            "Public.ChannelAttachments.AllowedCategories",
            "Other",
        ),
    ],
)
def test_an_audience_is_never_wider_than_the_next(
    temp: TempHome, profiles: Section, key: str, what: str
) -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        load(temp, AudienceProfiles=profiles)
    assert f"Tools.AudienceProfiles.{key} allows {what}, which" in caught.value.sentence


@pytest.mark.requirement("profiles.monotone")
@pytest.mark.parametrize(
    "profiles",
    [
        {
            "Public": {"ReadFiles": {"Roots": ["/srv/a/b"]}},
            "Team": {"ReadFiles": {"Roots": ["/srv/a"]}},
        },
        {"Public": {"AllowedTools": ["session_status"]}},
        {"Team": {"AllowedMcpServers": ["git"], "McpServerToolGrants": {"git": ["log"]}}},
        {
            "Team": {"AllowedMcpServers": ["git"], "McpServerToolGrants": {"git": ["log"]}},
            "Personal": {"McpServerToolGrants": {"git": ["log", "show"]}},
        },
        {"Public": {"ToolsMode": "All"}, "Team": {"ToolsMode": "All"}},
        {"Team": {"McpServersMode": "All"}},
    ],
)
def test_what_keeps_the_order_loads(temp: TempHome, profiles: Section) -> None:
    load(temp, AudienceProfiles=profiles)


@pytest.mark.requirement("profiles.strict")
@pytest.mark.parametrize(
    ("profiles", "words"),
    [
        ({"Guests": {}}, "Guests"),
        ({"Team": {"ToolMode": "All"}}, "ToolMode"),
        ({"Team": {"ToolsMode": "Some"}}, "Team.ToolsMode must be"),
        ({"Team": {"ReadFiles": {"Mode": "Most"}}}, "ReadFiles.Mode must be"),
        ({"Team": {"ReadFiles": {"Roots": ["relative"]}}}, "absolute path"),
        ({"Team": {"ReadFiles": {"Roots": ["{home_dir}"]}}}, "{workspaces_dir}"),
        ({"Team": {"ApprovalPolicy": {"DefaultMode": "Ask"}}}, "DefaultMode must be"),
        (
            {"Team": {"ApprovalPolicy": {"ToolOverrides": {"x": "Maybe"}}}},
            "ToolOverrides.x must be",
        ),
        (
            {"Team": {"ChannelAttachments": {"AllowedCategories": ["Image"], "MaxFileBytes": 0}}},
            "at least 1",
        ),
        ({"Team": {"ChannelAttachments": {"MaxFilesPerMessage": -1}}}, "at least 1"),
        ({"Team": {"ChannelAttachments": {"MaxFileBytes": 26214401}}}, "at most 26214400"),
        ({"Team": {"ChannelAttachments": {"AllowedCategories": ["Sound"]}}}, "must be"),
    ],
)
def test_a_word_that_nobody_knows_is_an_error(
    temp: TempHome, profiles: Section, words: str
) -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        load(temp, AudienceProfiles=profiles)
    assert words in f"{caught.value.sentence} {caught.value.fix}"


@pytest.mark.requirement("profiles.deny-rules")
def test_deny_rules_of_both_places_are_read(temp: TempHome) -> None:
    found = load(
        temp,
        HardDenyPatterns=["terraform destroy", "rm -rf --no-preserve-root=yes /srv"],
        overrides="""[
          // nobody pushes by force
          {"verb": ["git", "push"], "argFlags": ["--force"], "reason": "no force",
           "match": ["git push --force"], "notMatch": ["git push"]},
          {"verbPrefix": "aws", "reason": "no cloud"},
        ]""",
    )
    assert [rule.reason for rule in found.deny_rules] == [
        "terraform destroy",
        "rm -rf --no-preserve-root=yes /srv",
        "no force",
        "no cloud",
    ]
    flags = (frozenset({"-r"}), frozenset({"-f"}), frozenset({"--no-preserve-root"}))
    assert found.deny_rules[1].flags == flags
    assert (found.deny_rules_fault, found.shell_mode) == ("", ShellMode.SANDBOX_ONLY)


@pytest.mark.requirement("profiles.deny-rules-broken")
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[{]", "is malformed at line 1"),
        ("{}", "must hold one list"),
        ('[{"verbs": ["git"]}]', "reason"),
        ('[{"verbs": ["git"], "reason": "r", "allow": true}]', "known members"),
        ('[{"reason": "all of them"}]', "would match everything"),
        ('[{"verbs": ["git"], "reason": "r", "match": ["ls"]}]', "fails its example 'ls'"),
        ('[{"verbs": ["git"], "reason": "r", "notMatch": ["git x"]}]', "fails its example 'git x'"),
        ('[{"verbs": ["git"], "verbs": ["ls"], "reason": "r"}]', "given twice"),
    ],
)
@pytest.mark.parametrize("mode", ["HostAllowed", "SandboxOnly"])
def test_a_broken_file_of_deny_rules_turns_commands_off(
    temp: TempHome, text: str, words: str, mode: str
) -> None:
    found = load(temp, ShellMode=mode, HardDenyPatterns=["mkfs"], overrides=text)
    assert found.shell_mode is ShellMode.OFF
    assert words in found.deny_rules_fault
    assert str(temp.home.deny_overrides) in found.deny_rules_fault
    assert [rule.reason for rule in found.deny_rules] == ["mkfs"]
    assert found.deny_rules_fault in temp.load().warnings


@pytest.mark.requirement("profiles.deny-rules-broken")
def test_a_file_that_cannot_be_read_is_broken_and_an_empty_one_is_not(temp: TempHome) -> None:
    assert load(temp, overrides=" \n").deny_rules_fault == ""
    temp.home.deny_overrides.unlink()
    temp.home.deny_overrides.symlink_to("nowhere")
    assert "leads nowhere" in load(temp).deny_rules_fault
    temp.home.deny_overrides.unlink()
    temp.home.deny_overrides.mkdir()
    assert "no regular file" in load(temp).deny_rules_fault


def test_a_pattern_without_words_is_an_error_of_the_configuration(temp: TempHome) -> None:
    with pytest.raises(InvalidArgumentError, match="HardDenyPatterns"):
        load(temp, HardDenyPatterns=["  "])


@pytest.mark.requirement("profiles.deny-rules")
def test_a_changed_rule_takes_effect_like_the_configuration(temp: TempHome) -> None:
    load(temp)
    before = temp.load()
    temp.home.deny_overrides.write_text('[{"verbs": ["git"], "reason": "r"}]')
    after = temp.load()
    assert (effect_of(before, after), before.stamp == after.stamp) == (Effect.RESTART, False)
    temp.home.deny_overrides.write_text('[{"verbs": ["git"], "reason": "r"},]')
    assert effect_of(after, temp.load()) is Effect.NOTHING
    temp.home.deny_overrides.write_text("[")
    assert effect_of(after, temp.load()) is Effect.RESTART


@pytest.mark.requirement("profiles.audience")
def test_posture_and_the_audiences_of_places_arrive(temp: TempHome) -> None:
    security = {"DeploymentPosture": "team"}
    slack = {"ChannelAudiences": {"C1": "public", "dm": "Team"}}
    sections = f'"Security": {json.dumps(security)}, "Slack": {json.dumps(slack)},'
    temp.write(ONE_MODEL.replace("{\n", f"{{{sections}\n", 1))
    daemon = temp.load().daemon
    assert daemon.posture is Audience.TEAM
    assert daemon.channel_audiences == {"slack": {"C1": Audience.PUBLIC, "dm": Audience.TEAM}}
    bad = sections.replace("public", "friends")
    temp.write(ONE_MODEL.replace("{\n", f"{{{bad}\n", 1))
    with pytest.raises(InvalidArgumentError, match=r"ChannelAudiences\.C1 must be"):
        temp.load()


@pytest.mark.requirement("profiles.read")
def test_the_examples_of_the_page_load(temp: TempHome) -> None:
    page = (Path(__file__).parents[2] / "docs/operator/audiences.md").read_text()
    settings, rules = (block.split("```")[0] for block in page.split("```jsonc\n")[1:])
    temp.write(settings)
    temp.home.deny_overrides.write_text(rules)
    tools = temp.load().session.tools
    assert (tools.deny_rules_fault, len(tools.deny_rules)) == ("", 4)
    team = tools.profile_of(Audience.TEAM)
    assert not team.allows_server_tool("tickets", "delete")
    assert [root.canonical for root in team.read.roots] == ["/srv/handbook"]
