"""The configuration as core settings."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from netclaw.config.build import CLI_KILL_S
from netclaw.core.errors import InvalidArgumentError
from netclaw.core.settings import (
    DaemonSettings,
    SessionSettings,
    ShellMode,
    StorageSettings,
    SupervisionSettings,
)
from tests.config.homes import ONE_MODEL, TempHome

SERVICE_KILL_S = 60
"""TimeoutStopSec of the service unit in docs/operator/install.md."""

Value = str | int | float | bool | None | list["Value"] | dict[str, "Value"]


def write(temp: TempHome, **sections: Value) -> None:
    """Write sections on top of one model."""
    base: dict[str, Value] = {
        "Providers": {"fake": {"Type": "openai-compatible", "Endpoint": "http://h/v1"}},
        "Models": {"Main": {"Provider": "fake", "ModelId": "m1"}},
    }
    temp.write(json.dumps(base | sections))


@pytest.mark.requirement("config.defaults")
def test_defaults_are_those_of_the_core(temp: TempHome) -> None:
    loaded = temp.load()
    tools = loaded.session.tools
    bare = replace(tools, global_read_roots=(), workspaces=None)
    assert replace(loaded.session, tools=bare) == SessionSettings()
    assert tools.workspaces == tools.global_read_roots[-1]
    roots = [root.canonical for root in tools.global_read_roots if root.is_read_only]
    assert roots == [f"{temp.home.root}/{name}" for name in ("skills", "identity", "workspaces")]
    assert loaded.daemon == DaemonSettings()
    assert loaded.supervision == SupervisionSettings()
    assert loaded.storage == StorageSettings()
    assert dict(loaded.credentials) == {}
    assert loaded.redactions == ()


@pytest.mark.parametrize(
    ("session", "gap_s"),
    [
        ({}, 600),
        ({"TurnLlmTimeoutSeconds": 180}, 600),
        ({"TurnLlmTimeoutSeconds": 240}, 240),
        ({"TurnLlmTimeoutSeconds": 240, "FirstTokenTimeoutSeconds": 30}, 30),
    ],
)
@pytest.mark.requirement("config.legacy-token-gap")
def test_the_gap_between_tokens(temp: TempHome, session: dict[str, Value], gap_s: float) -> None:
    write(temp, Session=session)
    assert temp.load().session.timeouts.token_gap_s == gap_s


@pytest.mark.requirement("config.legacy-tuning")
def test_older_places_of_tuning_keys_are_read(temp: TempHome) -> None:
    write(temp, Session={"snapshotInterval": 5, "KeepRecentMessages": 9})
    tuning = temp.load().session.tuning
    assert (tuning.snapshot_interval_events, tuning.keep_recent_messages) == (5, 9)
    write(temp, Session={"SnapshotInterval": 5, "Tuning": {"SnapshotInterval": 6}})
    assert temp.load().session.tuning.snapshot_interval_events == 6


@pytest.mark.parametrize(
    ("text", "idle_s"),
    [("00:00:00", 0), ("00:00:01.5", 1.5), ("1.02:03:04", 93_784), ("1:00:00", 3600)],
)
def test_time_spans(temp: TempHome, text: str, idle_s: float) -> None:
    write(temp, Session={"IdleTimeout": text})
    assert temp.load().session.tuning.idle_s == idle_s


@pytest.mark.parametrize(
    ("security", "tools", "mode"),
    [
        ({}, {}, ShellMode.SANDBOX_ONLY),
        ({"DeploymentPosture": "Team"}, {}, ShellMode.OFF),
        ({"DeploymentPosture": "public"}, {}, ShellMode.OFF),
        ({"DeploymentPosture": "Team"}, {"ShellMode": "SandboxOnly"}, ShellMode.SANDBOX_ONLY),
        ({"ShellExecutionMode": "HostAllowed"}, {}, ShellMode.HOST_ALLOWED),
        ({"ShellExecutionMode": "HostAllowed"}, {"ShellMode": "Off"}, ShellMode.OFF),
    ],
)
@pytest.mark.requirement("config.posture")
def test_the_shell_mode_follows_the_posture_unless_set(
    temp: TempHome, security: dict[str, Value], tools: dict[str, Value], mode: ShellMode
) -> None:
    write(temp, Security=security, Tools=tools)
    assert temp.load().session.tools.shell_mode is mode


@pytest.mark.requirement("config.write-deadline")
def test_every_number_arrives(temp: TempHome) -> None:
    write(
        temp,
        Session={
            "PrefillTimeoutSeconds": 61,
            "NoProgressTimeoutSeconds": 62,
            "ToolExecutionTimeoutSeconds": 63,
            "SidecarLlmTimeoutSeconds": 64,
            "Limits": {"MemoryMiB": 65, "LivenessSeconds": 1.5},
            "Tuning": {"PassivationGraceSeconds": 0.5, "MaxInlineToolResultChars": 101},
        },
        Tools={"CaptureCeilingBytes": 5000, "Sandbox": {"Network": "ALWAYS", "MemoryMiB": 66}},
        Daemon={"MaxLiveSessions": 67, "StartConcurrency": 3, "DrainSeconds": 4},
        SubAgents={"MaxLive": 9},
        Supervision={"TurnCrashLimit": 68, "QuarantineCrashes": 69, "QuarantineMinutes": 0.5},
        Storage={"TimeoutSeconds": 2},
    )
    loaded = temp.load()
    session = loaded.session
    assert (session.timeouts.prefill_s, session.timeouts.no_progress_s) == (61, 62)
    assert (session.timeouts.tool_execution_s, session.timeouts.sidecar_s) == (63, 64)
    assert (session.limits.memory_mib, session.limits.liveness_s) == (65, 1.5)
    assert session.limits.ping_interval_s == 0.5
    assert session.tuning.passivation_grace_s == 0.5
    assert session.tuning.max_inline_tool_result_chars == 101
    assert (session.tools.capture_ceiling_bytes, session.tools.memory_mib) == (5000, 66)
    assert (loaded.daemon.max_live_sessions, loaded.daemon.start_concurrency) == (67, 3)
    assert loaded.daemon.max_live_children == 9
    assert loaded.daemon.drain_s == 4
    assert loaded.supervision.turn_crash_limit == 68
    assert loaded.supervision.quarantine_window_s == 30
    assert loaded.storage.write_deadline_s == 12


@pytest.mark.requirement("upstream.budgets-nest")
def test_the_command_line_kills_only_after_the_daemons_own_limit(temp: TempHome) -> None:
    usual = temp.load().daemon
    assert usual.drain_s < usual.shutdown_s < usual.cli_kill_s == CLI_KILL_S < SERVICE_KILL_S
    write(temp, Daemon={"ShutdownSeconds": 100})
    assert temp.load().daemon.cli_kill_s > 100


@pytest.mark.parametrize(
    ("provider", "endpoint"),
    [
        ({"Type": "ollama"}, "http://127.0.0.1:11434/v1"),
        ({"Type": "ollama", "Endpoint": "http://box:11434"}, "http://box:11434/v1"),
        ({"Type": "ollama", "Endpoint": "http://box/api/v1/"}, "http://box/api/v1"),
        ({"Type": "OpenAI", "ApiKey": "k"}, "https://api.openai.com/v1"),
        ({"Type": "openai-compatible", "Endpoint": "http://h:1/"}, "http://h:1"),
        ({"Type": "local"}, ""),
    ],
)
def test_endpoints(temp: TempHome, provider: dict[str, Value], endpoint: str) -> None:
    write(temp, Providers={"fake": provider})
    main = temp.load().session.main_model
    assert main is not None
    assert main.endpoint == endpoint


MAIN: dict[str, Value] = {"Provider": "fake", "ModelId": "m1"}


@pytest.mark.parametrize(
    ("models", "sentence"),
    [
        ({"Definitions": {"a": MAIN}}, "belong together"),
        ({"Roles": {"Main": "a"}}, "belong together"),
        ({"Definitions": {"a": MAIN}, "Roles": {}}, "Models.Roles.Main is missing"),
        ({"Fallback": MAIN}, "Models.Main is missing"),
        ({"Definitions": {"a": MAIN}, "Roles": {"Main": "b"}}, "'b', which is not in"),
        ({"Definitions": {"a": MAIN}, "Roles": {"Main": "a"}, "Main": MAIN}, "two ways"),
        ({"Main": MAIN | {"ContextWindow": 4095}}, "needs at least 4096"),
        ({"Main": MAIN | {"Provider": "other"}}, "'other', which is not in Providers"),
        ({"Main": {"Provider": "fake"}}, "Models.Main.ModelId is missing"),
    ],
)
@pytest.mark.requirement("config.models")
def test_models_that_contradict_themselves(
    temp: TempHome, models: dict[str, Value], sentence: str
) -> None:
    write(temp, Models=models)
    with pytest.raises(InvalidArgumentError) as caught:
        temp.load()
    assert sentence in caught.value.sentence


@pytest.mark.requirement("config.models")
def test_roles_are_found_whatever_their_letters(temp: TempHome) -> None:
    write(
        temp,
        Models={
            "Definitions": {
                "Big": MAIN | {"MaxOutputTokens": 5, "InputModalities": ["image", "Text"]},
                "small": {"Provider": "FAKE", "ModelId": "m2"},
            },
            "Roles": {"Main": "big", "Compaction": "SMALL"},
        },
    )
    session = temp.load().session
    assert session.main_model is not None
    assert session.main_model.max_output_tokens == 5
    assert session.main_model.input_modalities == ("text", "image")
    assert session.compaction_model is not None
    assert (session.compaction_model.provider, session.compaction_model.model_id) == ("fake", "m2")
    assert session.fallback_model is None


@pytest.mark.parametrize(
    ("provider", "sentence"),
    [
        ({"Type": "openai"}, "has no credential"),
        ({"Type": "anthropic"}, "has no credential"),
        ({"Type": "ollama", "AuthMethod": "ApiKey"}, "has no credential"),
        ({"Type": "openai-compatible"}, "Endpoint is missing"),
        ({"Type": "openai", "AuthMethod": "OAuthDevice"}, "is not supported"),
        ({"Type": "ollama", "Endpoint": "ftp://x"}, "must be an address like"),
        ({"Type": "ollama", "Endpoint": "http://u:p@x"}, "without a name and password"),
        ({"Type": "ollama", "Endpoint": "http://x:port"}, "must be an address like"),
    ],
)
def test_providers_that_cannot_be_used(
    temp: TempHome, provider: dict[str, Value], sentence: str
) -> None:
    write(temp, Providers={"fake": provider})
    with pytest.raises(InvalidArgumentError) as caught:
        temp.load()
    assert sentence in caught.value.sentence


def test_secrets_are_redacted_longest_first_and_never_shown(temp: TempHome) -> None:
    write(
        temp,
        McpServers={"m": {"Command": "x", "EnvironmentVariables": {"T": "token-in-environment"}}},
        Notifications={"Webhooks": [{"Url": "http://h", "Headers": {"A": "header-value"}}]},
        Slack={"BotToken": "xoxb"},
    )
    temp.write_secrets('{"Providers": {"fake": {"ApiKey": "api-key-1"}}}')
    loaded = temp.load()
    assert loaded.redactions == ("token-in-environment", "header-value", "api-key-1")
    shown = repr(loaded) + repr(loaded.model) + str(loaded.credentials)
    assert not [secret for secret in loaded.redactions if secret in shown]


def test_the_legacy_iteration_limit_is_accepted_with_a_warning(temp: TempHome) -> None:
    temp.write(ONE_MODEL)
    assert temp.load().warnings == ()
    write(temp, Session={"MaxToolIterationsPerTurn": 10})
    loaded = temp.load()
    assert loaded.session.tuning.max_tool_iterations_per_turn == 10
    assert "not enforced" in loaded.warnings[0]


@pytest.mark.requirement("agents.configured")
def test_sub_agents_are_switched_and_limited(temp: TempHome) -> None:
    write(temp, SubAgents={"Enabled": False, "DefaultTimeoutSeconds": 30})
    session = temp.load().session
    assert not session.are_agents_offered
    assert session.agent_timeout_s == 30.0
