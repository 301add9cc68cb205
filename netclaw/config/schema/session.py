"""`Session`, `Supervision`, `Daemon` and `Storage`: how conversations run and what bounds them."""

from __future__ import annotations

from datetime import timedelta
from enum import StrEnum
from typing import Annotated, Self

from pydantic import BeforeValidator, Field, model_validator

from netclaw.config.schema.base import Section, Text, TimeSpan, fold

Seconds = Annotated[float, Field(ge=0, le=86_400)]


class Tuning(Section):
    """Numbers of the session rules."""

    compaction_threshold: float = Field(
        0.75, ge=0.1, le=1, description="Fraction of the model's window at which history shrinks."
    )
    snapshot_interval: int = Field(
        20, ge=1, le=10_000, description="Journal events between two snapshots of a small state."
    )
    keep_recent_tool_results: int = Field(
        3, ge=0, le=100, description="Tool results that compaction keeps whole."
    )
    keep_recent_messages: int = Field(
        6, ge=2, le=1000, description="Messages that compaction keeps; two are the floor."
    )
    max_inline_tool_result_chars: int = Field(
        12_000, ge=100, le=1_000_000, description="Longer tool results are spilled to a file."
    )
    discovered_tool_retention_turns: int = Field(
        3, ge=1, le=100, description="Turns for which a loaded tool stays visible."
    )
    discovered_tool_max_count: int = Field(
        12, ge=1, le=100, description="Loaded tools that are visible at once."
    )
    title_generation_interval: int = Field(
        10, ge=0, le=1000, description="Turns between two titles; 0 makes none."
    )
    deterministic_retrieval_enabled: bool = Field(
        True, description="Recall memories once per turn without asking the model."
    )
    memory_distillation_turn_interval: int = Field(
        0, ge=0, le=1000, description="Turns between two distillations; 0 leaves it to idle times."
    )
    minimum_recall_composite_score: float = Field(
        0.35, ge=0, le=1, description="Memories that score lower are not recalled."
    )
    passivation_grace_seconds: Seconds = Field(
        5.0, description="A message in this time brings a passivating session back to Ready."
    )


LEGACY_TUNING_KEYS = (
    "CompactionThreshold",
    "SnapshotInterval",
    "KeepRecentToolResults",
    "KeepRecentMessages",
    "MaxInlineToolResultChars",
    "DiscoveredToolRetentionTurns",
    "DiscoveredToolMaxCount",
    "TitleGenerationInterval",
    "DeterministicRetrievalEnabled",
)
"""Keys of Session.Tuning that older files have directly under Session; still read."""


class Limits(Section):
    """What one session's process may use before it is ended and recovered."""

    memory_mib: int = Field(
        1024,
        alias="MemoryMiB",
        ge=64,
        le=1_048_576,
        description="Memory of a session's process in MiB; beyond it that process is ended.",
    )
    liveness_seconds: float = Field(
        15.0,
        ge=0.5,
        le=3600,
        description="A process that answers no ping for so long counts as hung and is replaced.",
    )


class Session(Section):
    """One conversation: its timeouts, its idle time and its tuning."""

    prefill_timeout_seconds: int = Field(
        1800,
        ge=60,
        le=7200,
        description="Wait for the model's first token, prompt prefill included.",
    )
    first_token_timeout_seconds: int | None = Field(
        None,
        ge=10,
        le=1800,
        json_schema_extra={"x-when-unset": 600},
        description="Silence between tokens after the first, despite the name.",
    )
    no_progress_timeout_seconds: int = Field(
        1200,
        ge=1,
        le=86_400,
        description="Time without real output; keepalives do not count. Thinking alone: 3 times.",
    )
    tool_execution_timeout_seconds: int = Field(
        90, ge=1, le=86_400, description="A tool's first result, and each gap between its results."
    )
    turn_llm_timeout_seconds: int = Field(
        180,
        ge=1,
        le=86_400,
        description="Legacy: changed without FirstTokenTimeoutSeconds it limits the silence between"
        " tokens.",
    )
    sidecar_llm_timeout_seconds: int = Field(
        90, ge=1, le=3600, description="Background calls: titles, distillation, compaction notes."
    )
    max_tool_iterations_per_turn: int = Field(
        60, ge=1, le=500, description="Legacy: accepted, and not enforced; the loop guard decides."
    )
    idle_timeout: TimeSpan = Field(
        timedelta(hours=1),
        json_schema_extra={"default": "01:00:00"},
        description="Idle time after which a session's process ends; 00:00:00 never ends it.",
    )
    memory_observer_idle_seconds: int | None = Field(
        None, ge=10, le=86_400, description="Idle time after which memories are distilled."
    )
    tuning: Tuning = Field(default_factory=Tuning)
    limits: Limits = Field(default_factory=Limits)


class ExposureMode(StrEnum):
    """How the HTTP side of the daemon is reached (`Daemon.ExposureMode`)."""

    LOCAL = "local"
    REVERSE_PROXY = "reverse-proxy"
    TAILSCALE_SERVE = "tailscale-serve"
    TAILSCALE_FUNNEL = "tailscale-funnel"
    CLOUDFLARE_TUNNEL = "cloudflare-tunnel"


class Daemon(Section):
    """The daemon: its ceilings, its stop budgets, its HTTP address."""

    host: Text = Field("127.0.0.1", description="Address of the HTTP side (health, webhooks).")
    port: int = Field(5199, ge=1, le=65_535, description="Port of the HTTP side.")
    exposure_mode: Annotated[ExposureMode, BeforeValidator(fold(ExposureMode))] = Field(
        ExposureMode.LOCAL, description="How the HTTP side is reached from elsewhere."
    )
    trusted_proxies: tuple[Text, ...] = Field((), description="Proxies whose headers are believed.")
    skip_tunnel_process_check: bool = Field(
        False, description="Start even if the tunnel's own process is not found."
    )
    disable_self_update: bool = Field(False, description="Never offer or make an update.")
    max_live_sessions: int = Field(
        500, ge=1, le=10_000, description="Beyond it the longest idle session passivates."
    )
    start_concurrency: int = Field(
        8, ge=1, le=256, description="Sessions that may be starting at the same time."
    )
    drain_seconds: float = Field(
        20.0, ge=0, le=600, description="Time sessions get to reach a safe point at a stop."
    )
    shutdown_seconds: float = Field(
        30.0, ge=0.1, le=660, description="Time after which a stopping daemon ends in any case."
    )

    @model_validator(mode="after")
    def _budgets_nest(self) -> Self:
        """Stop budgets nest (decision 9)."""
        if self.drain_seconds > self.shutdown_seconds:
            raise ValueError("DrainSeconds must not be longer than ShutdownSeconds")
        return self


class Supervision(Section):
    """How often a crashing session is started again."""

    backoff_seconds: tuple[Seconds, ...] = Field(
        (0.0, 1.0, 5.0, 30.0),
        min_length=1,
        max_length=16,
        description="Pause before each start after a crash; the last one repeats.",
    )
    turn_crash_limit: int = Field(
        3, ge=1, le=100_000, description="Crashes within one turn after which that turn is failed."
    )
    quarantine_crashes: int = Field(
        5, ge=1, le=100_000, description="Crashes within the window that quarantine the session."
    )
    quarantine_minutes: float = Field(
        10.0, gt=0, le=10_080, description="The window in which crashes are counted."
    )


class Storage(Section):
    """How the database is written."""

    timeout_seconds: float = Field(
        10.0, ge=0.1, le=600, description="Base write timeout; a write fails 10 seconds after it."
    )
