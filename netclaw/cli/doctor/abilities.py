"""Checks of what netclaw can do here: versions, configuration, sandbox, model."""

from __future__ import annotations

import importlib.metadata
import platform
import sys
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from netclaw import __version__
from netclaw.cli.doctor.findings import Finding, failed, passed, warned
from netclaw.core.errors import NetclawError
from netclaw.core.settings import ModelSettings, ProviderType, ShellMode, ToolSettings

if TYPE_CHECKING:
    from netclaw.config.home import Home
    from netclaw.config.loaded import LoadedConfig
    from netclaw.wire.v1.admin_pb2 import StatusResponse

LIBRARIES = ("grpcio", "protobuf", "apsw", "pydantic", "cryptography", "aiohttp")
OLDEST_PYTHON = (3, 11)
HOST_ALLOWED = (
    "Tools.ShellMode is HostAllowed: it gives a tool everything the user has, the operator token"
    " included."
)


def check_versions() -> Finding:
    """Python and the libraries that matter."""
    found = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in LIBRARIES)
    text = f"netclaw {__version__}, Python {platform.python_version()}, {found}."
    if sys.version_info < OLDEST_PYTHON:
        return failed("versions", text, "netclaw needs Python 3.11 or newer.")
    return passed("versions", text)


def check_config(
    home: Home, environ: Mapping[str, str]
) -> tuple[LoadedConfig | None, list[Finding]]:
    """Whether the configuration loads; every problem is a finding of its own."""
    from netclaw.config.load import list_problems, load_config

    try:
        loaded = load_config(home, environ)
    except NetclawError as error:
        problems = list_problems(home, environ)
        found = [(sentence, fix) for _, sentence, fix in problems] or [(error.sentence, error.fix)]
        return None, [failed("configuration", sentence, fix) for sentence, fix in found]
    if not home.config_file.exists():
        finding = warned("configuration", "There is none yet.", "Run `netclaw init`.")
    else:
        finding = passed("configuration", f"{home.config_file} is valid.")
    fault = loaded.session.tools.deny_rules_fault  # a failure, told with the rules of access
    told = (warned("configuration", line) for line in loaded.warnings if line != fault)
    return loaded, [finding, *told]


def check_sandbox(tools: ToolSettings, status: StatusResponse | None) -> Finding:
    """Which confinement works and why; tried for real when no daemon has."""
    if tools.shell_mode is ShellMode.OFF:
        return passed("sandbox", "Not needed: Tools.ShellMode is Off.")
    if tools.shell_mode is ShellMode.HOST_ALLOWED:
        return warned("sandbox", HOST_ALLOWED, "netclaw config set Tools.ShellMode SandboxOnly")
    if status is not None:
        backend, why, limits = (
            status.sandbox_backend,
            status.sandbox_why,
            status.sandbox_limits,
        )
    else:
        from netclaw.sandbox.probe import prove_backends

        facts = prove_backends(tools)
        backend = facts.backend.value if facts.backend is not None else ""
        why, limits = facts.why, facts.limits
    if not backend:
        return failed(
            "sandbox",
            why or "No sandbox works here.",
            "Install bubblewrap, or see Tools.ShellMode.",
        )
    return passed("sandbox", f"{backend}, limits by {limits}. {why}")


def check_models(loaded: LoadedConfig, *, is_running: bool) -> Iterator[Finding]:
    """Whether each role's model can be reached."""
    session = loaded.session
    if session.main_model is None:
        yield failed("model", loaded.degraded_reason, "Run `netclaw init`.")
        return
    seen = set()
    for role, model in (
        ("Main", session.main_model),
        ("Fallback", session.fallback_model),
        ("Compaction", session.compaction_model),
    ):
        if model is not None and (model.provider, model.model_id) not in seen:
            seen.add((model.provider, model.model_id))
            yield _check_model(loaded, role, model, is_running=is_running)


def _check_model(
    loaded: LoadedConfig, role: str, model: ModelSettings, *, is_running: bool
) -> Finding:
    name = "model" if role == "Main" else f"model ({role})"
    if model.provider_type is ProviderType.LOCAL:
        return _check_local(loaded.home, name, model, is_running=is_running)
    from netclaw.cli.probe import judge_model, probe_service

    credential = loaded.credentials.get(model.provider)
    secret = credential.secret if credential is not None else None
    probe = judge_model(probe_service(model.provider_type, model.endpoint, secret), model)
    fix = probe.fix.replace("<name>", model.provider)
    if not probe.is_reachable:
        return failed(name, f"{model.provider}: {probe.sentence}", fix)
    return warned(name, probe.sentence, fix) if fix else passed(name, probe.sentence)


def _check_local(home: Home, name: str, model: ModelSettings, *, is_running: bool) -> Finding:
    from pathlib import Path

    from netclaw.models.local import has_engine

    if model.model_id.startswith("/"):
        found = [Path(model.model_id)] if Path(model.model_id).is_file() else []
        fix = "Correct ModelId to the path of a GGUF file."
    else:
        found = sorted((home.models_dir / model.model_id).glob("*.gguf"))
        fix = f"Run `netclaw model pull {model.model_id}`."
    if not found:
        return failed(name, f"The weights of {model.model_id} are not here.", fix)
    if not has_engine():
        return failed(
            name,
            "The engine for local models is not installed.",
            "Install the package xllamacpp (the extra `local`) beside netclaw.",
        )
    served = "served by the daemon" if is_running else "the daemon will serve it"
    return passed(name, f"{model.model_id} is at {found[0]}; {served}.")
