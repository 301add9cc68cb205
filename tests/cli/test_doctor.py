"""`doctor`: what it finds, and how it ends."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from netclaw.cli.doctor import abilities, places
from netclaw.cli.doctor.findings import Verdict
from netclaw.cli.probe import headers_for, judge_model, models_url, probe_service
from netclaw.config.home import Home
from netclaw.core.authz.path_access import Root
from netclaw.core.errors import StorageCorruptError
from netclaw.core.settings import ModelSettings, ProviderType, ShellMode, ToolSettings
from netclaw.wire.v1.admin_pb2 import CheckStorageResponse, StatusResponse
from tests.cli.runner import Cli
from tests.cli.scripted_daemon import ScriptedDaemon


class ModelService:
    """A loopback service that lists models, or whatever it is told."""

    def __init__(self) -> None:
        self.status = 200
        self.body = b'{"data": [{"id": "m1"}, {"id": "big:latest"}]}'
        self.headers: dict[str, str] = {}
        self.paths: list[str] = []
        service = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                service.paths.append(self.path)
                service.headers = dict(self.headers)
                self.send_response(service.status)
                self.send_header("Content-Length", str(len(service.body)))
                self.end_headers()
                self.wfile.write(service.body)

            def log_message(self, *_arguments: object) -> None:
                """Quiet."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.endpoint = f"http://127.0.0.1:{self._server.server_address[1]}/v1"
        self._thread = Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop listening."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


@pytest.fixture
def service() -> Iterator[ModelService]:
    """A model service."""
    made = ModelService()
    yield made
    made.close()


@pytest.fixture(autouse=True)
def quick_sandbox(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sandbox is proved by its own tests; here it says that it works."""
    from netclaw.ports.shell_runner import Confinement, SandboxFacts

    facts = SandboxFacts(
        backend=Confinement.BUBBLEWRAP, program="bwrap", why="It ran.", limits="rlimits"
    )
    monkeypatch.setattr("netclaw.sandbox.probe.prove_backends", lambda _tools: facts)


def init(cli: Cli, endpoint: str) -> None:
    """A configuration with one model."""
    words = ["init", "--non-interactive", "--provider", "openai-compatible"]
    cli.ok(*words, "--endpoint", endpoint, "--model", "m1")


def by_name(result: Any) -> dict[str, Any]:
    """Checks by their names."""
    return {check["name"]: check for check in result.json["checks"]}


@pytest.mark.requirement("cli.doctor")
def test_all_is_well(cli: Cli, service: ModelService) -> None:
    init(cli, service.endpoint)
    result = cli("doctor", "--json")
    checks = by_name(result)
    assert (result.code, result.json["overall"]) == (0, "PASS"), result.out
    assert {"versions", "home", "disk", "configuration", "permissions", "secrets"} <= set(checks)
    assert {"daemon", "storage", "crashes", "sandbox", "model"} <= set(checks)
    assert checks["sandbox"]["message"] == "bubblewrap, limits by rlimits. It ran."
    assert "and has m1" in checks["model"]["message"]
    human = cli("doctor")
    assert human.code == 0
    assert "PASS  model" in human.out
    assert "0 warnings, 0 failures" in human.out


@pytest.mark.requirement("cli.doctor")
def test_nothing_is_there(cli: Cli) -> None:
    result = cli("doctor", "--json")
    checks = by_name(result)
    assert (result.code, result.json["overall"]) == (1, "FAIL")
    assert checks["home"]["fix"] == "Run `netclaw init`."
    assert checks["model"]["verdict"] == "FAIL"
    assert "fix: Run `netclaw init`." in cli("doctor").out


@pytest.mark.requirement("cli.doctor")
def test_warnings_alone_exit_2(cli: Cli, home: Home, service: ModelService) -> None:
    init(cli, service.endpoint)
    home.root.chmod(0o755)
    cli.ok("config", "set", "Tools.ShellMode", "HostAllowed")
    cli.ok("config", "set", "Session.MaxToolIterationsPerTurn", "9")
    result = cli("doctor", "--json")
    assert (result.code, result.json["overall"]) == (2, "WARN")
    warned = [check for check in result.json["checks"] if check["verdict"] == "WARN"]
    assert [check["name"] for check in warned] == [*("home", "configuration", "unasked", "sandbox")]
    assert "the operator token included" in warned[3]["message"]
    assert "not enforced" in warned[1]["message"]


def test_every_fault_of_the_configuration_is_listed(cli: Cli, home: Home) -> None:
    home.config_dir.mkdir(parents=True)
    home.config_file.write_text('{"Session": {"IdleTimeout": 1}, "Daemon": {"Port": 0}}')
    result = cli("doctor", "--json")
    faults = [c for c in result.json["checks"] if c["name"] == "configuration"]
    assert [fault["verdict"] for fault in faults] == ["FAIL", "FAIL"]


def test_what_others_may_read_is_a_failure(cli: Cli, home: Home, service: ModelService) -> None:
    init(cli, service.endpoint)
    cli.ok("secrets", "set", "Slack.BotToken", "xoxb-1")
    assert places.check_permissions(home).verdict is Verdict.PASS
    home.secrets_file.chmod(0o644)
    (home.keys_dir / "ring.json").chmod(0o640)
    finding = places.check_permissions(home)
    assert finding.verdict is Verdict.FAIL
    assert f"chmod 600 {home.secrets_file}" in finding.fix
    assert "and 1 more" in finding.message


def test_secrets(cli: Cli, home: Home, service: ModelService) -> None:
    init(cli, service.endpoint)
    assert places.check_secrets(home).message == "None are stored."
    cli.ok("secrets", "set", "Slack.BotToken", "xoxb-1")
    assert places.check_secrets(home).message == "1 stored, encrypted."
    home.config_file.write_text('{"Slack": {"AppToken": "xapp-plain"}}')
    finding = places.check_secrets(home)
    assert (finding.verdict, "Slack.AppToken" in finding.fix) == (Verdict.WARN, True)
    (home.keys_dir / "ring.json").unlink()
    assert places.check_secrets(home).verdict is Verdict.FAIL


@pytest.mark.requirement("cli.doctor")
def test_a_folder_of_projects_that_is_not_there_is_a_warning(home: Home, tmp_path: Path) -> None:
    def told(folder: Path) -> list[str]:
        root = Root(canonical=str(folder), resolved=str(folder))
        found = places.check_workspaces(ToolSettings(workspaces=root), home)
        return [finding.message for finding in found if finding.verdict is Verdict.WARN]

    (message,) = told(tmp_path / "cod")
    assert str(tmp_path / "cod") in message
    assert told(tmp_path) == told(home.workspaces_dir) == []


def test_crashes(home: Home) -> None:
    home.logs_dir.mkdir(parents=True)
    assert places.check_crashes(home).verdict is Verdict.PASS
    old = home.logs_dir / "crash-20200101T000000Z-1.log"
    old.write_text("old")
    os.utime(old, (time.time() - 30 * 86_400,) * 2)
    (home.logs_dir / "crash-fatal-7.log").write_text("")
    assert places.check_crashes(home).verdict is Verdict.PASS
    (home.logs_dir / "crash-20990101T000000Z-1.log").write_text("new")
    assert "1 in 7 days" in places.check_crashes(home).message


@pytest.mark.parametrize(
    ("free", "verdict"),
    [(1024, Verdict.FAIL), (1023 * 1024**2, Verdict.WARN), (10 * 1024**3, Verdict.PASS)],
)
def test_room_on_the_disk(
    home: Home, monkeypatch: pytest.MonkeyPatch, free: int, verdict: Verdict
) -> None:
    home.root.mkdir(mode=0o700)

    class Facts:
        f_bavail = free
        f_frsize = 1

    monkeypatch.setattr("netclaw.cli.doctor.places.os.statvfs", lambda _path: Facts)
    assert list(places.check_home(home))[-1].verdict is verdict


def test_a_home_that_is_none(home: Home) -> None:
    home.root.write_text("")
    assert [finding.message for finding in places.check_home(home)] == [
        f"{home.root} is no folder."
    ]


@pytest.mark.requirement("cli.doctor", "signals.degraded")
def test_a_running_daemon_is_asked(cli: Cli, daemon: ScriptedDaemon, service: ModelService) -> None:
    daemon.home.database.write_bytes(b"x")
    daemon.home.database.chmod(0o600)
    init(cli, service.endpoint)
    daemon.status.MergeFrom(
        StatusResponse(sandbox_backend="landlock", sandbox_limits="cgroup", sandbox_why="Alone.")
    )
    checks = by_name(cli("doctor", "--json"))
    assert checks["daemon"]["message"].startswith("running, process 4242")
    assert checks["sandbox"]["message"] == "landlock, limits by cgroup. Alone."
    assert checks["storage"]["verdict"] == "PASS"
    daemon.replies["CheckStorage"] = CheckStorageResponse(ok=False, detail="page 3")
    daemon.status.MergeFrom(
        StatusResponse(
            degraded_reason="No model.",
            storage_state="full",
            quarantined_sessions=2,
            signals_problem="The signal log cannot be written.",
        )
    )
    result = cli("doctor", "--json")
    checks = by_name(result)
    assert result.code == 1
    assert "damaged: page 3" in checks["storage"]["message"]
    assert checks["model in use"]["message"] == "No model."
    assert checks["storage in use"]["message"] == "full."
    assert checks["sessions"]["verdict"] == "WARN"
    assert "cannot be written" in checks["signal log"]["message"]
    assert checks["signal log"]["fix"]
    daemon.refuse["Status"] = StorageCorruptError("It is damaged.")
    assert by_name(cli("doctor", "--json"))["daemon"]["message"] == "It is damaged."


def test_the_database_is_checked_with_the_lock_held(cli: Cli, home: Home) -> None:
    home.root.mkdir(mode=0o700)
    home.database.write_bytes(b"this is no database, and longer than a header would be" * 10)
    checks = by_name(cli("doctor", "--json"))
    assert checks["storage"]["verdict"] == "FAIL"
    assert home.database.read_bytes().startswith(b"this is no database")


@pytest.mark.parametrize(
    ("status", "body", "is_reachable", "said"),
    [
        (200, b"not json", True, "answers"),
        (200, b'{"data": "x"}', True, "answers"),
        (401, b"", False, "refuses the credential"),
        (404, b"", True, "lists no models"),
        (500, b"", False, "HTTP 500"),
        (302, b"", True, "answers"),
    ],
)
def test_probes(
    service: ModelService, status: int, body: bytes, is_reachable: bool, said: str
) -> None:
    service.status, service.body = status, body
    probe = probe_service(ProviderType.OPENAI_COMPATIBLE, service.endpoint, "sk-1")
    assert (probe.is_reachable, said in probe.sentence) == (is_reachable, True)
    assert service.headers["Authorization"] == "Bearer sk-1"
    assert service.paths == ["/v1/models"]


def test_probes_of_what_is_not_there() -> None:
    import socket

    probe = probe_service(ProviderType.OLLAMA, "http://127.0.0.1:1/v1", None)
    assert (probe.is_reachable, "cannot be reached" in probe.sentence) == (False, True)
    assert "`ollama serve`" in probe.fix
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen(1)
        endpoint = f"http://127.0.0.1:{silent.getsockname()[1]}"
        probe = probe_service(ProviderType.OLLAMA, endpoint, None, timeout_s=0.2)
    assert "did not answer within" in probe.sentence


def test_the_model_is_looked_for(service: ModelService) -> None:
    def look(model_id: str) -> tuple[bool, bool]:
        model = ModelSettings(
            provider="p",
            provider_type=ProviderType.OLLAMA,
            endpoint=service.endpoint,
            model_id=model_id,
        )
        probe = judge_model(probe_service(ProviderType.OLLAMA, service.endpoint, None), model)
        return probe.is_reachable, bool(probe.fix)

    assert look("m1") == (True, False)
    assert look("big") == (True, False)
    assert look("absent") == (True, True)


def test_dialects_of_listing_models() -> None:
    assert models_url(ProviderType.ANTHROPIC, "https://a") == "https://a/v1/models"
    assert models_url(ProviderType.OPENAI, "https://a/v1/") == "https://a/v1/models"
    assert headers_for(ProviderType.ANTHROPIC, "k")["x-api-key"] == "k"
    assert headers_for(ProviderType.OLLAMA, None) == {}


def test_no_sandbox_is_a_failure_unless_it_is_not_needed() -> None:
    status = StatusResponse(sandbox_why="No sandbox works here.")
    assert abilities.check_sandbox(ToolSettings(), status).verdict is Verdict.FAIL
    off = ToolSettings(shell_mode=ShellMode.OFF)
    assert abilities.check_sandbox(off, status).verdict is Verdict.PASS


def test_a_local_model(cli: Cli, home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    cli.ok("init", "--non-interactive", "--provider", "local")
    model = by_name(cli("doctor", "--json"))["model"]
    assert (model["verdict"], model["fix"]) == ("FAIL", "Run `netclaw model pull smollm2-135m`.")
    folder = home.models_dir / "smollm2-135m"
    folder.mkdir(parents=True)
    (folder / "weights.gguf").write_bytes(b"GGUF")
    monkeypatch.setattr("netclaw.models.local.has_engine", lambda: False)
    assert "engine" in by_name(cli("doctor", "--json"))["model"]["message"]
    monkeypatch.setattr("netclaw.models.local.has_engine", lambda: True)
    assert by_name(cli("doctor", "--json"))["model"]["verdict"] == "PASS"
    cli.ok("config", "set", "Models.Definitions.main.ModelId", "/nowhere/x.gguf")
    assert "path of a GGUF" in by_name(cli("doctor", "--json"))["model"]["fix"]


@pytest.mark.requirement("cli.doctor")
def test_a_wrong_key_is_one_failure_with_a_way_out(cli: Cli, home: Home) -> None:
    home.config_dir.mkdir(parents=True, mode=0o700)
    home.config_file.write_text('{"configVersion": 1, "Sessoin": {}}')
    failures = [c for c in cli("doctor", "--json").json["checks"] if c["verdict"] == "FAIL"]
    assert [check["name"] for check in failures] == ["configuration"]
    assert failures[0]["fix"] == "Did you mean Session?"
    assert "fix: Did you mean Session?" in cli("config", "validate").err
    human = cli("doctor").out
    assert "FAIL  configuration         Sessoin is not a known key." in human
    assert "1 failure" in human.splitlines()[-1].split(", ")


def test_files_that_are_no_agents_are_warned_about(tmp_path: Path) -> None:
    folder = tmp_path / "agents"
    assert list(places.check_agents(Home(tmp_path))) == [], "no folder, no agents"
    folder.mkdir()
    definition = "---\nname: scout\ndescription: Looks around.\n---\nLook around.\n"
    (folder / "scout.md").write_text(definition)
    assert list(places.check_agents(Home(tmp_path))) == []
    (folder / "draft.md").write_text("nothing")
    (finding,) = places.check_agents(Home(tmp_path))
    assert finding.verdict is Verdict.WARN
    assert "draft.md" in finding.message
    assert "agents validate" in finding.fix
