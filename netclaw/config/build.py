"""Turns the checked configuration into the plain settings that the core and sessions take."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from urllib.parse import urlsplit

from pydantic import BaseModel, SecretStr

from netclaw.config.audiences import Profiles
from netclaw.config.deny_overrides import read_operator
from netclaw.config.home import Home
from netclaw.config.loaded import LoadedConfig
from netclaw.config.schema.channels import Channel
from netclaw.config.schema.models import (
    DEFAULT_CONTEXT_WINDOW,
    MIN_CONTEXT_WINDOW,
    AuthMethod,
    ModelDefinition,
    Provider,
)
from netclaw.config.schema.root import Config
from netclaw.config.tool_servers import server_advice, server_credentials, servers_of
from netclaw.config.tree import dotted
from netclaw.core.authority import Audience, SourceKind
from netclaw.core.errors import InvalidArgumentError
from netclaw.core.settings import (
    DaemonSettings,
    LivenessSettings,
    ModelSettings,
    ProviderType,
    SessionSettings,
    SessionTuning,
    ShellMode,
    SignalSettings,
    StorageSettings,
    SupervisionSettings,
    ToolSettings,
    TurnTimeouts,
)
from netclaw.ports.model import Credential

DEFAULT_ENDPOINTS = {
    ProviderType.OLLAMA: "http://127.0.0.1:11434/v1",
    ProviderType.OPENAI: "https://api.openai.com/v1",
    ProviderType.OPENROUTER: "https://openrouter.ai/api/v1",
    ProviderType.ANTHROPIC: "https://api.anthropic.com",
    ProviderType.LOCAL: "",  # served by the daemon itself, on a port it chooses
}
NEEDS_KEY = frozenset({ProviderType.OPENAI, ProviderType.OPENROUTER, ProviderType.ANTHROPIC})
LEGACY_TURN_TIMEOUT = 180
DEFAULT_TOKEN_GAP = 600
MIN_REDACTED_LENGTH = 6
"""Shorter secrets would blacken ordinary words."""
CLI_KILL_S = 45.0
CLI_KILL_MARGIN_S = 15.0
"""Stop budgets nest (decision 9): the command line kills only after the daemon's own limit."""
PINGS_PER_LIVENESS = 3
NOT_CONFIGURED = "No model is configured. Configure one with `netclaw init`."


def build(
    home: Home,
    config: Config,
    warnings: tuple[str, ...],
    *,
    refused_servers: Mapping[str, str] = MappingProxyType({}),
) -> LoadedConfig:
    """The loaded configuration. Raises `InvalidArgumentError` where parts contradict each other.

    `refused_servers` are entries of McpServers that were left out, each with what is wrong.
    """
    credentials = dict(server_credentials(config)) | {
        name: Credential(secret=provider.api_key.get_secret_value())
        for name, provider in config.providers.items()
        if provider.api_key is not None
    }
    for name, provider in config.providers.items():
        _check_provider(name, provider)
    models = _Models(config)
    main = models.for_role("Main")
    tools = replace(_tools(home, config), servers=servers_of(config, refused_servers))
    return LoadedConfig(
        home=home,
        model=config,
        session=SessionSettings(
            timeouts=_timeouts(config),
            tuning=_tuning(config),
            tools=tools,
            limits=_limits(config),
            main_model=main,
            fallback_model=models.for_role("Fallback"),
            compaction_model=models.for_role("Compaction"),
            are_agents_offered=config.sub_agents.enabled,
            agent_timeout_s=float(config.sub_agents.default_timeout_seconds),
        ),
        daemon=DaemonSettings(
            max_live_sessions=config.daemon.max_live_sessions,
            start_concurrency=config.daemon.start_concurrency,
            max_live_children=config.sub_agents.max_live,
            drain_s=config.daemon.drain_seconds,
            shutdown_s=config.daemon.shutdown_seconds,
            cli_kill_s=max(CLI_KILL_S, config.daemon.shutdown_seconds + CLI_KILL_MARGIN_S),
            posture=config.security.deployment_posture,
            channel_audiences=_channel_audiences(config),
        ),
        supervision=SupervisionSettings(
            backoff_s=config.supervision.backoff_seconds,
            turn_crash_limit=config.supervision.turn_crash_limit,
            quarantine_crashes=config.supervision.quarantine_crashes,
            quarantine_window_s=config.supervision.quarantine_minutes * 60,
        ),
        storage=StorageSettings(timeout_s=config.storage.timeout_seconds),
        signals=SignalSettings(
            retention_days=config.signals.retention_days,
            row_cap=config.signals.row_cap,
            prune_interval_s=config.signals.prune_interval_seconds,
            wake_coalesce_s=config.signals.wake_coalesce_seconds,
            monitor_tick_s=config.signals.monitor_tick_seconds,
            wake_replies=config.signals.wake_replies,
        ),
        credentials=credentials,
        redactions=_redactions(config),
        degraded_reason="" if main else NOT_CONFIGURED,
        warnings=(*warnings, *_advice(config, tools)),
    )


def _check_provider(name: str, provider: Provider) -> None:
    key = dotted(("Providers", name))
    if provider.type is ProviderType.OPENAI_COMPATIBLE and provider.endpoint is None:
        raise InvalidArgumentError(
            f"{key}.Endpoint is missing: an openai-compatible provider has no default address.",
            fix=f"Run `netclaw config set {key}.Endpoint http://HOST/v1`.",
        )
    if provider.auth_method in (AuthMethod.OAUTH_DEVICE, AuthMethod.OAUTH_PKCE):
        raise InvalidArgumentError(
            f"{key}.AuthMethod {provider.auth_method} is not supported.",
            fix=f"Set it to ApiKey and run `netclaw secrets set {key}.ApiKey`.",
        )
    needs_key = provider.auth_method is AuthMethod.API_KEY or (
        provider.auth_method is None and provider.type in NEEDS_KEY
    )
    if needs_key and provider.api_key is None:
        raise InvalidArgumentError(
            f"{key} has no credential.", fix=f"Run `netclaw secrets set {key}.ApiKey`."
        )


def endpoint_of(provider: Provider) -> str:
    """The address below which a provider's interface begins; empty for `local`."""
    if provider.endpoint is None:
        return DEFAULT_ENDPOINTS[provider.type]
    address = provider.endpoint.rstrip("/")
    if provider.type is ProviderType.OLLAMA and not urlsplit(address).path:
        return f"{address}/v1"  # people name the server, its chat interface is one level down
    return address


class _Models:
    """Finds the model of each role, whichever of the two forms the file uses."""

    def __init__(self, config: Config) -> None:
        self._models = config.models
        self._providers = {name.casefold(): (name, p) for name, p in config.providers.items()}
        inline = [self._models.main, self._models.fallback, self._models.compaction]
        is_named = self._models.definitions is not None or self._models.roles is not None
        if is_named and any(inline):
            raise InvalidArgumentError(
                "Models names roles in two ways: by Definitions and Roles, and directly.",
                fix="Keep one of them.",
            )
        if is_named and (self._models.definitions is None or self._models.roles is None):
            raise InvalidArgumentError("Models.Definitions and Models.Roles belong together.")
        if (is_named or any(inline)) and self._definition("Main")[1] is None:
            place = "Models.Roles.Main" if is_named else "Models.Main"
            raise InvalidArgumentError(f"{place} is missing: some model has to answer.")

    def _definition(self, role: str) -> tuple[str, ModelDefinition | None]:
        """Where the role's definition stands, and the definition."""
        if self._models.roles is None:
            return f"Models.{role}", getattr(self._models, role.lower())
        name: str | None = getattr(self._models.roles, role.lower())
        if name is None:
            return "", None
        for known, definition in (self._models.definitions or {}).items():
            if known.casefold() == name.casefold():
                return dotted(("Models", "Definitions", known)), definition
        raise InvalidArgumentError(
            f"Models.Roles.{role} names {name!r}, which is not in Models.Definitions."
        )

    def for_role(self, role: str) -> ModelSettings | None:
        """The model of a role, None if the role is not given."""
        place, definition = self._definition(role)
        if definition is None:
            return None
        found = self._providers.get(definition.provider.casefold())
        if found is None:
            raise InvalidArgumentError(
                f"{place}.Provider names {definition.provider!r}, which is not in Providers."
            )
        window = definition.context_window
        if window is not None and window < MIN_CONTEXT_WINDOW:
            raise InvalidArgumentError(
                f"{place}.ContextWindow is {window}; a role needs at least {MIN_CONTEXT_WINDOW}."
            )
        name, provider = found
        modalities = definition.input_modalities or ()
        return ModelSettings(
            provider=name,
            provider_type=provider.type,
            endpoint=endpoint_of(provider),
            model_id=definition.model_id,
            context_window=window or DEFAULT_CONTEXT_WINDOW,
            max_output_tokens=definition.max_output_tokens,
            input_modalities=tuple(dict.fromkeys(["text", *(m.value.lower() for m in modalities)])),
        )


def _timeouts(config: Config) -> TurnTimeouts:
    session = config.session
    gap = session.first_token_timeout_seconds
    if gap is None:
        legacy = session.turn_llm_timeout_seconds
        gap = DEFAULT_TOKEN_GAP if legacy == LEGACY_TURN_TIMEOUT else legacy
    return TurnTimeouts(
        prefill_s=float(session.prefill_timeout_seconds),
        token_gap_s=float(gap),
        no_progress_s=float(session.no_progress_timeout_seconds),
        tool_execution_s=float(session.tool_execution_timeout_seconds),
        sidecar_s=float(session.sidecar_llm_timeout_seconds),
    )


def _tuning(config: Config) -> SessionTuning:
    session, tuning = config.session, config.session.tuning
    return SessionTuning(
        idle_s=session.idle_timeout.total_seconds(),
        passivation_grace_s=tuning.passivation_grace_seconds,
        snapshot_interval_events=tuning.snapshot_interval,
        max_inline_tool_result_chars=tuning.max_inline_tool_result_chars,
        compaction_threshold=tuning.compaction_threshold,
        keep_recent_tool_results=tuning.keep_recent_tool_results,
        keep_recent_messages=tuning.keep_recent_messages,
        title_interval_turns=tuning.title_generation_interval,
        max_tool_iterations_per_turn=session.max_tool_iterations_per_turn,
    )


def _place(text: str) -> str:
    """A configured place, absolute and without dot segments; links are followed when it is used."""
    return os.path.normpath(os.path.expanduser(text))  # noqa: PTH111


def _tools(home: Home, config: Config) -> ToolSettings:
    tools, sandbox, security = config.tools, config.tools.sandbox, config.security
    by_posture = (
        ShellMode.SANDBOX_ONLY
        if security.deployment_posture is Audience.PERSONAL
        else ShellMode.OFF
    )
    configured = tools.shell_mode or security.shell_execution_mode or by_posture
    profiles = Profiles(home, config)
    operator = read_operator(home, tools.hard_deny_patterns)
    return ToolSettings(
        shell_mode=ShellMode.OFF if operator.fault else configured,
        shell_timeout_s=float(tools.shell_timeout_seconds),
        max_tool_timeout_s=float(tools.max_tool_timeout_seconds),
        max_output_chars=tools.max_output_chars,
        capture_ceiling_bytes=tools.capture_ceiling_bytes,
        sandbox_backend=sandbox.backend,
        sandbox_network=sandbox.network,
        writable_roots=tuple(os.path.expanduser(root) for root in sandbox.writable_roots),  # noqa: PTH111
        credentials=tuple(map(_place, sandbox.credentials)),
        memory_mib=sandbox.memory_mib,
        processes=sandbox.processes,
        file_size_mib=sandbox.file_size_mib,
        cpu_seconds=sandbox.cpu_seconds,
        profiles=profiles.build(),
        global_read_roots=profiles.global_read_roots(),
        workspaces=profiles.workspaces(),
        deny_rules=operator.rules,
        deny_rules_fault=operator.fault,
    )


def _channel_audiences(config: Config) -> dict[str, dict[str, Audience]]:
    channels: dict[SourceKind, Channel] = {
        SourceKind.SLACK: config.slack,
        SourceKind.DISCORD: config.discord,
        SourceKind.MATTERMOST: config.mattermost,
    }
    others = {SourceKind.of_channel(name): channel for name, channel in config.channels.items()}
    return {
        kind.value: dict(channel.channel_audiences)
        for kind, channel in (channels | others).items()
        if channel.channel_audiences
    }


def _limits(config: Config) -> LivenessSettings:
    default = LivenessSettings()
    liveness = config.session.limits.liveness_seconds
    return LivenessSettings(
        memory_mib=config.session.limits.memory_mib,
        ping_interval_s=min(default.ping_interval_s, liveness / PINGS_PER_LIVENESS),
        liveness_s=liveness,
    )


def _redactions(config: Config) -> tuple[str, ...]:
    found: set[str] = set()

    def collect(value: object) -> None:
        if isinstance(value, SecretStr):
            found.add(value.get_secret_value())
        elif isinstance(value, BaseModel):
            for name in type(value).model_fields:
                collect(getattr(value, name))
        elif isinstance(value, dict):
            for item in value.values():
                collect(item)
        elif isinstance(value, tuple):
            for item in value:
                collect(item)

    collect(config)
    usable = (value for value in found if len(value) >= MIN_REDACTED_LENGTH)
    return tuple(sorted(usable, key=lambda value: (-len(value), value)))


def _advice(config: Config, tools: ToolSettings) -> list[str]:
    advice = [tools.deny_rules_fault] if tools.deny_rules_fault else []
    if "max_tool_iterations_per_turn" in config.session.model_fields_set:
        advice.append(
            "Session.MaxToolIterationsPerTurn is accepted and not enforced; the loop guard decides."
        )
    return [*advice, *server_advice(config, tools.servers)]
