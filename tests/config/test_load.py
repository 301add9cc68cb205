"""Layers, names and faults of the configuration."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netclaw.config.load import list_problems, load_config
from netclaw.core.errors import InvalidArgumentError, NetclawError
from netclaw.core.settings import ProviderType, ShellMode
from tests.config.homes import ONE_MODEL, TempHome


@pytest.mark.requirement("config.degraded-without-model")
def test_a_home_without_files_loads_degraded(temp: TempHome) -> None:
    loaded = temp.load()
    assert "No model is configured" in loaded.degraded_reason
    assert loaded.session.main_model is None
    assert not temp.home.root.exists(), "loading creates nothing"


@pytest.mark.requirement("config.comments")
def test_comments_and_trailing_commas_are_read(temp: TempHome) -> None:
    temp.write(ONE_MODEL)
    main = temp.load().session.main_model
    assert main is not None
    assert (main.provider, main.provider_type) == ("fake", ProviderType.OPENAI_COMPATIBLE)
    assert (main.endpoint, main.model_id) == ("http://127.0.0.1:9/v1", "m1")
    assert main.context_window == 16_000
    assert temp.load().degraded_reason == ""


@pytest.mark.parametrize("prefix", ["\ufeff", "", "\n\n// head\n"])
def test_a_byte_order_mark_and_line_ends_of_other_systems(temp: TempHome, prefix: str) -> None:
    temp.write((prefix + ONE_MODEL).replace("\n", "\r\n"))
    assert temp.load().session.main_model is not None


def test_an_empty_file_counts_as_nothing(temp: TempHome) -> None:
    temp.write("  \n")
    assert temp.load().degraded_reason


@pytest.mark.requirement("config.letter-case")
def test_keys_are_found_in_any_letter_case(temp: TempHome) -> None:
    temp.write('{"SESSION": {"tuning": {"SNAPSHOTinterval": 7}}, "tools": {"shellmode": "OFF"}}')
    loaded = temp.load()
    assert loaded.session.tuning.snapshot_interval_events == 7
    assert loaded.session.tools.shell_mode is ShellMode.OFF


@pytest.mark.parametrize(
    "text",
    [
        '{"Session": {}, "session": {}}',
        '{"Session": {"IdleTimeout": "00:01:00", "idletimeout": "00:01:00"}}',
        '{"Providers": {"a": {"Type": "ollama"}, "A": {"Type": "ollama"}}}',
    ],
)
def test_one_thing_under_two_spellings_is_refused(temp: TempHome, text: str) -> None:
    temp.write(text)
    with pytest.raises(InvalidArgumentError, match="twice"):
        temp.load()


@pytest.mark.requirement("config.precedence")
def test_later_layers_win(temp: TempHome) -> None:
    temp.write(
        '{"Providers": {"x": {"Type": "openai", "ApiKey": "from-file-1"}},'
        ' "Session": {"NoProgressTimeoutSeconds": 11, "SidecarLlmTimeoutSeconds": 12}}'
    )
    temp.write_secrets('{"providers": {"X": {"apikey": "from-secrets"}}}')
    assert temp.load().credentials["x"].secret == "from-secrets"
    loaded = temp.load(
        NETCLAW_Providers__x__ApiKey="from-environment",
        NETCLAW_Session__NoProgressTimeoutSeconds="33",
    )
    assert loaded.credentials["x"].secret == "from-environment"
    assert loaded.session.timeouts.no_progress_s == 33
    assert loaded.session.timeouts.sidecar_s == 12


def test_environment_values_take_the_type_of_their_key(temp: TempHome) -> None:
    loaded = temp.load(
        NETCLAW_SESSION__IDLETIMEOUT="00:00:00",
        NETCLAW_Supervision__BackoffSeconds="[0, 0.5]",
        NETCLAW_Tools__Sandbox__WritableRoots__0="/srv/a",
        NETCLAW_Tools__Sandbox__WritableRoots__1="/srv/b",
        NETCLAW_Tools__Sandbox__Credentials__0="~/./.ssh/",
        NETCLAW_Memory__Enabled="false",
        NETCLAW_Slack__DefaultChannelId="123",
        NETCLAW_HOME="/elsewhere",
        NETCLAW_TEST_SEED="5",
        NETCLAW_McpServers__one__Command="true",
    )
    assert loaded.session.tuning.idle_s == 0
    assert loaded.supervision.backoff_s == (0.0, 0.5)
    assert loaded.session.tools.writable_roots == ("/srv/a", "/srv/b")
    assert loaded.session.tools.credentials == (str(Path("~/.ssh").expanduser()),)
    assert loaded.model.memory.enabled is False
    assert loaded.model.slack.default_channel_id == "123"
    assert loaded.model.mcp_servers["one"].command == "true"


def test_the_environment_changes_one_entry_of_a_list(temp: TempHome) -> None:
    temp.write('{"Supervision": {"BackoffSeconds": [1, 2, 3]}}')
    loaded = temp.load(NETCLAW_Supervision__BackoffSeconds__1="9")
    assert loaded.supervision.backoff_s == (1.0, 9.0, 3.0)


def test_a_fault_in_the_environment_names_the_variable(temp: TempHome) -> None:
    with pytest.raises(InvalidArgumentError, match="NETCLAW_Sesion__IdleTimeout") as caught:
        temp.load(NETCLAW_Sesion__IdleTimeout="1")
    assert "Session" in caught.value.fix
    with pytest.raises(InvalidArgumentError, match="NETCLAW_Daemon__Port"):
        temp.load(NETCLAW_Daemon__Port="99999")


@pytest.mark.parametrize(
    ("text", "sentence", "fix"),
    [
        ('{"Sesion": {}}', "Sesion is not a known key", "Did you mean Session?"),
        ('{"Session": {"IdleTimout": 1}}', "Session.IdleTimout is", "Session.IdleTimeout?"),
        ('{"Zzz": 1}', "Zzz is not a known key", "Known sections: $schema, Channels"),
        ('{"Memory": {"Qqq": 1}}', "Memory.Qqq is", "Known keys of Memory: AutoRecallMaxItems"),
        ('{"Session": []}', "Session must be a section", ""),
        ('{"Providers": {"a": 1}}', "Providers.a must be a section", ""),
        ('{"Providers": {"a": {}}}', "Providers.a.Type is missing", ""),
        ('{"Providers": {"a.b": {}}}', 'Providers."a.b".Type is missing', ""),
        ('{"Daemon": {"Port": "high"}}', "Daemon.Port must be a whole number", ""),
        ('{"Daemon": {"Port": 70000}}', "Daemon.Port must be at most 65535", ""),
        ('{"Memory": {"Enabled": "maybe"}}', "Memory.Enabled must be true or false", ""),
        ('{"Session": {"IdleTimeout": 5}}', "Session.IdleTimeout must be a time span", ""),
        ('{"Session": {"IdleTimeout": "25:00:00"}}', "with at most 23 hours", ""),
        ('{"Session": {"PrefillTimeoutSeconds": 59}}', "must be at least 60", ""),
        ('{"Session": {"MaxToolIterationsPerTurn": 501}}', "must be at most 500", ""),
        ('{"Session": {"Tuning": {"CompactionThreshold": 0.05}}}', "must be at least 0.1", ""),
        ('{"Tools": {"ShellMode": "Sometimes"}}', "must be 'Off', 'SandboxOnly' or", ""),
        ('{"Tools": {"Sandbox": {"WritableRoots": ["here"]}}}', "WritableRoots.0 must be an", ""),
        ('{"Supervision": {"BackoffSeconds": []}}', "needs at least 1 entries", ""),
        ('{"Slack": {"SocketMode": false}}', "Slack.SocketMode must be True", ""),
        ('{"configVersion": 2}', "configVersion must be 1", ""),
        ('{"Daemon": {"DrainSeconds": 31}}', "DrainSeconds must not be longer", ""),
        ('{"Storage": {"TimeoutSeconds": 1e400}}', "must be a finite number", ""),
        ('{"Telemetry": {"Otlp": {"Endpoint": "nowhere"}}}', "must be an address like", ""),
        (
            '{"Mattermost": {"ServerUrl": "chat"}}',
            "must be an address like https://host.example",
            "",
        ),
        ('{"Discord": {"GatewayUrl": "http://x"}}', "must be an address like wss", ""),
        ('{"Session": {"IdleTimeout": "x", "NoProgressTimeoutSeconds": 0}}', "1 more value", ""),
        ("[]", "must hold one object", ""),
        ('{"a":', "malformed at line 1, column 6", "Correct line 1"),
    ],
)
@pytest.mark.requirement("config.one-sentence")
def test_a_fault_is_one_sentence(temp: TempHome, text: str, sentence: str, fix: str) -> None:
    temp.write(text)
    with pytest.raises(InvalidArgumentError) as caught:
        temp.load()
    assert sentence in caught.value.sentence
    assert fix in caught.value.fix
    assert "\n" not in caught.value.sentence


@pytest.mark.requirement("config.persistence-refused")
@pytest.mark.parametrize("name", ["Persistence", "persistence"])
def test_a_persistence_section_is_refused_wherever_it_stands(temp: TempHome, name: str) -> None:
    temp.write(f'{{"{name}": {{"ConnectionString": "x"}}}}')
    with pytest.raises(InvalidArgumentError, match="Persistence must not be supplied"):
        temp.load()
    temp.write("{}")
    with pytest.raises(InvalidArgumentError, match="Persistence must not be supplied"):
        temp.load(**{f"NETCLAW_{name}__Path": "x"})


def test_a_wrong_value_is_not_shown(temp: TempHome) -> None:
    temp.write_secrets('{"Providers": {"a": {"Type": "sk-looks-secret"}}}')
    with pytest.raises(InvalidArgumentError) as caught:
        temp.load()
    assert "sk-looks-secret" not in caught.value.sentence + caught.value.fix


def test_a_file_that_is_no_text_is_one_sentence(temp: TempHome) -> None:
    temp.write(b'{\n"a": "\xff\xfe"}')
    with pytest.raises(InvalidArgumentError, match="not valid UTF-8 in line 2"):
        temp.load()
    temp.write(b" " * (4 * 1024 * 1024 + 1))
    with pytest.raises(InvalidArgumentError, match="larger than"):
        temp.load()


def test_a_folder_in_place_of_the_file_is_one_sentence(temp: TempHome) -> None:
    temp.home.config_file.mkdir(parents=True)
    with pytest.raises(InvalidArgumentError, match="is no regular file"):
        temp.load()


def test_validate_lists_every_problem(temp: TempHome) -> None:
    temp.write('{"Session": {"IdleTimeout": 1}, "Daemon": {"Port": 0}}')
    found = list_problems(temp.home, temp.environ)
    assert [key for key, _, _ in found] == ["Session.IdleTimeout", "Daemon.Port"]
    temp.write('{"Nope": 1}')
    assert len(list_problems(temp.home, temp.environ)) == 1
    temp.write(ONE_MODEL)
    assert list_problems(temp.home, temp.environ) == ()


@pytest.mark.requirement("config.one-sentence")
@given(text=st.text(max_size=60) | st.binary(max_size=60))
def test_rubbish_loads_or_fails_in_one_sentence(
    tmp_path_factory: pytest.TempPathFactory, text: str | bytes
) -> None:
    temp = TempHome(tmp_path_factory.mktemp("rubbish"))
    temp.write(text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass"))
    before = temp.home.config_file.read_bytes()
    said = "nothing"
    try:
        load_config(temp.home, temp.environ)
    except NetclawError as error:
        said = error.sentence
    assert said.strip()
    assert "\n" not in said
    assert temp.home.config_file.read_bytes() == before
    assert [path.name for path in Path(temp.home.config_dir).iterdir()] == ["netclaw.json"]


@pytest.mark.requirement("config.one-sentence")
@pytest.mark.parametrize("name", ["netclaw.json", "secrets.json"])
def test_a_pipe_in_the_place_of_a_file_is_refused_at_once(temp: TempHome, name: str) -> None:
    temp.home.config_dir.mkdir(parents=True, exist_ok=True)
    (temp.home.config_dir / name).unlink(missing_ok=True)
    os.mkfifo(temp.home.config_dir / name)
    with pytest.raises(InvalidArgumentError, match="is no regular file"):
        temp.load()
