"""The settings a session process and the rules need, as plain values with their defaults.

The configuration model (pydantic, supervisor side) builds these; session processes receive them
in their Welcome and never load configuration themselves. Lengths are seconds (`*_s`), sizes
bytes unless the name says otherwise. Key names beside the fields are those of `netclaw.json`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from netclaw.core.authority import Audience
from netclaw.core.authz.deny_rules import DenyRule
from netclaw.core.authz.path_access import Root
from netclaw.core.authz.profiles import DEFAULT_PROFILES, AudienceProfile
from netclaw.core.tool_servers import ToolServerSettings

DEFAULT_UMASK = 0o022
"""Taken where nobody knows the operator's."""


class ShellMode(StrEnum):
    """Whether and where shell commands may run (`Tools.ShellMode`)."""

    OFF = "Off"
    SANDBOX_ONLY = "SandboxOnly"
    HOST_ALLOWED = "HostAllowed"


class SandboxNetwork(StrEnum):
    """When a sandboxed command sees the network (`Tools.Sandbox.Network`, decision 44)."""

    NEVER = "never"
    GRANTED = "granted"
    ALWAYS = "always"


class SandboxBackendChoice(StrEnum):
    """Which confinement to use (`Tools.Sandbox.Backend`); auto tries them strongest first."""

    AUTO = "auto"
    BUBBLEWRAP = "bubblewrap"
    UNSHARE = "unshare"
    LANDLOCK = "landlock"


class ProviderType(StrEnum):
    """How a model endpoint is spoken to (`Providers.<name>.Type`)."""

    OPENAI_COMPATIBLE = "openai-compatible"
    OLLAMA = "ollama"
    OPENAI = "openai"
    OPENROUTER = "openrouter"
    ANTHROPIC = "anthropic"
    LOCAL = "local"


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnTimeouts:
    """What bounds a turn, in seconds (S0 "What ends or stalls a turn")."""

    prefill_s: float = 1800.0
    """Session.PrefillTimeoutSeconds: wait for the first substantive delta."""
    token_gap_s: float = 600.0
    """Session.FirstTokenTimeoutSeconds: silence between deltas after the first."""
    no_progress_s: float = 1200.0
    """Session.NoProgressTimeoutSeconds: time without real output; keepalives do not count."""
    tool_execution_s: float = 90.0
    """Session.ToolExecutionTimeoutSeconds: first result, and each gap between items."""
    sidecar_s: float = 90.0
    """Session.SidecarLlmTimeoutSeconds: titles, distillation, compaction notes."""
    thinking_factor: float = 3.0
    """A stream of thinking alone is stopped at this multiple of no_progress_s."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionTuning:
    """Numbers of the session rules (`Session`, `Session.Tuning`)."""

    idle_s: float = 3600.0
    """Session.IdleTimeout; 0 disables passivation."""
    passivation_grace_s: float = 5.0
    snapshot_interval_events: int = 20
    max_inline_tool_result_chars: int = 12_000
    compaction_threshold: float = 0.75
    keep_recent_tool_results: int = 3
    keep_recent_messages: int = 6
    title_interval_turns: int = 10
    """Session.Tuning.TitleGenerationInterval: turns between two titles; 0 makes none."""
    max_tool_iterations_per_turn: int = 60
    """Legacy: it binds and nothing enforces it (decision 19)."""
    output_flush_s: float = 0.015
    """Deltas are joined for this long or `output_flush_bytes`, whichever is first."""
    output_flush_bytes: int = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSettings:
    """Limits and modes of tools (`Tools`)."""

    shell_mode: ShellMode = ShellMode.SANDBOX_ONLY
    shell_timeout_s: float = 60.0
    max_tool_timeout_s: float = 600.0
    max_output_chars: int = 32_000
    capture_ceiling_bytes: int = 1_048_576
    """Tools.CaptureCeilingBytes: a spill is complete up to here (decision 87)."""
    sandbox_backend: SandboxBackendChoice = SandboxBackendChoice.AUTO
    sandbox_network: SandboxNetwork = SandboxNetwork.GRANTED
    writable_roots: tuple[str, ...] = ()
    credentials: tuple[str, ...] = ()
    """Tools.Sandbox.Credentials: shown, read-only, to commands that a person consented to."""
    memory_mib: int = 2048
    processes: int = 512
    file_size_mib: int = 2048
    cpu_seconds: int = 600
    umask: int = DEFAULT_UMASK
    """The operator's, for what tools make in a project directory; not configured: the daemon
    notes it at its start, before it sets a private one for itself."""
    profiles: tuple[AudienceProfile, ...] = DEFAULT_PROFILES
    """Tools.AudienceProfiles, one for each audience: Public within Team within Personal."""
    global_read_roots: tuple[Root, ...] = ()
    """Tools.AudienceProfiles.GlobalReadRoots: Read only, and never for Public."""
    workspaces: Root | None = None
    """Workspaces.Directory: where projects live."""
    deny_rules: tuple[DenyRule, ...] = ()
    """The operator's, beside those that ship: Tools.HardDenyPatterns and
    `config/hard-deny-overrides.json`."""
    servers: tuple[ToolServerSettings, ...] = ()
    """McpServers: programs that offer tools."""
    deny_rules_fault: str = ""
    """Why the operator's deny rules cannot be read. Not empty: `shell_mode` is Off, for a rule
    that was written to forbid something must not be missing while commands run."""

    def profile_of(self, audience: Audience) -> AudienceProfile:
        """What one audience may use."""
        return next(profile for profile in self.profiles if profile.audience is audience)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSettings:
    """One usable model: where it is, how it is spoken to, how large its window is.

    The credential is not here: it travels apart and is never logged.
    """

    provider: str
    provider_type: ProviderType
    endpoint: str
    model_id: str
    context_window: int = 32_768
    max_output_tokens: int | None = None
    input_modalities: tuple[str, ...] = ("text",)


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionStorage:
    """Where a session's files are (S0 "Storage on disk", decision 20). Absolute paths."""

    home: str
    root: str
    """The session storage envelope, fixed when the binding was made."""
    tmp: str
    """The managed temporary directory of the parent run, `/tmp/netclaw-<uid>/<key>/p`."""

    @property
    def workspace(self) -> str:
        """The session directory: working directory and relative-path base."""
        return f"{self.root}/workspace"

    @property
    def artifacts(self) -> str:
        """Outputs to keep."""
        return f"{self.root}/artifacts"

    @property
    def worktrees(self) -> str:
        """Managed Git worktrees."""
        return f"{self.root}/worktrees"

    @property
    def outer(self) -> str:
        """The envelope around a run's folder, which is that of its parent; else this envelope."""
        folder, _, _run = self.root.rpartition("/")
        envelope, _, name = folder.rpartition("/")
        return envelope if name == "subagents" else self.root

    @property
    def areas(self) -> tuple[str, ...]:
        """What may be written of an envelope, and for a run of its parent's, whose roots it has."""
        roots = dict.fromkeys((self.root, self.outer))
        return tuple(
            f"{root}/{name}" for root in roots for name in ("workspace", "artifacts", "worktrees")
        )

    @property
    def project_places(self) -> tuple[str, ...]:
        """Where in these envelopes a project may lie."""
        return tuple(path for path in self.areas if not path.endswith("/artifacts"))

    @property
    def logs(self) -> str:
        """Holds session.log."""
        return f"{self.root}/logs"

    @property
    def log_file(self) -> str:
        """The session log."""
        return f"{self.logs}/session.log"

    @property
    def spills(self) -> str:
        """Full tool results, read back only through `tool_output_read`."""
        return f"{self.root}/tool-calls"

    @property
    def jobs(self) -> str:
        """Definitions and logs of background jobs."""
        return f"{self.root}/jobs"

    @property
    def staging(self) -> str:
        """Untrusted uploads before they are scanned; masked in every sandbox."""
        return f"{self.root}/attachment-staging"


@dataclass(frozen=True, slots=True, kw_only=True)
class LivenessSettings:
    """Limits of a session process (`Session.Limits`)."""

    memory_mib: int = 1024
    ping_interval_s: float = 5.0
    liveness_s: float = 15.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SupervisionSettings:
    """Restart and quarantine rules (`Supervision`, decisions 4 and 5)."""

    backoff_s: tuple[float, ...] = (0.0, 1.0, 5.0, 30.0)
    turn_crash_limit: int = 3
    quarantine_crashes: int = 5
    quarantine_window_s: float = 600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class DaemonSettings:
    """Budgets and ceilings of the supervisor (`Daemon`, decisions 9 and 89)."""

    max_live_sessions: int = 500
    start_concurrency: int = 8
    max_live_children: int = 50
    """SubAgents.MaxLive: processes of child runs, beside `max_live_sessions`."""
    drain_s: float = 20.0
    shutdown_s: float = 30.0
    cli_kill_s: float = 45.0
    pending_inputs_max: int = 200
    pending_bytes_max: int = 8 * 1024 * 1024
    text_max_bytes: int = 1024 * 1024
    posture: Audience = Audience.PERSONAL
    """Security.DeploymentPosture: no session of a channel is wider."""
    channel_audiences: Mapping[str, Mapping[str, Audience]] = field(default_factory=dict)
    """`<channel>.ChannelAudiences`: by source kind, then by the id of a place there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SignalSettings:
    """The signal log and what watchers are told (`Signals`, decisions 57, 58 and 63)."""

    retention_days: int = 30
    row_cap: int = 50_000
    prune_interval_s: float = 3600.0
    wake_coalesce_s: float = 20.0
    monitor_tick_s: float = 60.0
    wake_replies: bool | None = None
    """Whether a wake's answer is posted; None: in sessions of the command line alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StorageSettings:
    """How the database is written (`Storage`, decision 11)."""

    timeout_s: float = 10.0
    timeout_grace_s: float = 10.0
    """Added to the base: a journal or snapshot write fails after both (seed: base + 10)."""
    free_space_floor_bytes: int = 16 * 1024 * 1024

    @property
    def write_deadline_s(self) -> float:
        """Seconds after which a write that has not begun is dropped."""
        return self.timeout_s + self.timeout_grace_s


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionSettings:
    """Everything a session process is told about how to behave; part of its Welcome."""

    timeouts: TurnTimeouts = field(default_factory=TurnTimeouts)
    tuning: SessionTuning = field(default_factory=SessionTuning)
    tools: ToolSettings = field(default_factory=ToolSettings)
    limits: LivenessSettings = field(default_factory=LivenessSettings)
    main_model: ModelSettings | None = None
    fallback_model: ModelSettings | None = None
    compaction_model: ModelSettings | None = None
    are_agents_offered: bool = True
    """SubAgents.Enabled: whether a conversation may hand work to agents."""
    agent_timeout_s: float = 60.0
    """SubAgents.DefaultTimeoutSeconds: for agents whose definition says nothing."""
