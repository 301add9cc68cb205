"""The remaining sections: memory, search, agents, skills, schedules, signals, alerts, servers."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from pydantic import BeforeValidator, Field

from netclaw.config.schema.base import Secret, Section, Text, WebAddress, fold
from netclaw.config.schema.tools import FolderPath


class Memory(Section):
    """What is remembered between conversations."""

    enabled: bool = Field(True, description="Distil and recall memories.")
    recall_timeout_ms: int = Field(
        300, ge=50, le=10_000, description="Time a turn waits for memories, in milliseconds."
    )
    auto_recall_max_items: int = Field(3, ge=1, le=10, description="Memories recalled per turn.")


class SearchBackend(StrEnum):
    """Who answers web searches (`Search.Backend`)."""

    DUCKDUCKGO = "duckduckgo"
    BRAVE = "brave"
    SEARXNG = "searxng"


class Search(Section):
    """Web search."""

    enabled: bool = Field(True, description="Offer the search tool.")
    backend: Annotated[SearchBackend, BeforeValidator(fold(SearchBackend))] = Field(
        SearchBackend.DUCKDUCKGO, description="Who answers."
    )
    brave_api_key: Secret | None = Field(None, description="For backend brave.")
    sear_xng_endpoint: WebAddress | None = Field(
        None, alias="SearXngEndpoint", description="For backend searxng."
    )


class SubAgents(Section):
    """Runs that a conversation hands work to."""

    enabled: bool = Field(True, description="Offer the spawn_agent tool.")
    default_timeout_seconds: int = Field(60, ge=5, le=600, description="Inactivity limit of a run.")
    store_memory: int = Field(180, ge=5, le=600, description="Seconds for storing a memory.")
    search_memories: int = Field(30, ge=5, le=600, description="Seconds for searching memories.")
    max_live: int = Field(50, ge=1, le=1000, description="Runs that are live at the same time.")


class SkillSync(Section):
    """Bringing skills up to date."""

    enabled: bool = Field(True, description="Fetch skills from their feeds.")
    disable_system_skill_sync: bool = Field(False, description="Leave the built-in skills alone.")


class ExternalSkillSource(Section):
    """A folder with skills that something else maintains."""

    name: Text | None = Field(None, description="How it is listed.")
    path: FolderPath = Field(description="The folder.")
    enabled: bool = Field(True, description="Use it.")
    allow_symlinks: bool = Field(False, description="Follow links out of the folder.")


class ExternalSkills(Section):
    """Skills from other folders."""

    sources: tuple[ExternalSkillSource, ...] = Field((), description="The folders.")


class SkillFeed(Section):
    """A server that offers skills."""

    name: Text = Field(description="How it is listed.")
    url: WebAddress = Field(description="Its address.")
    api_key: Secret | None = Field(None, description="If it asks for one.")
    enabled: bool = Field(True, description="Use it.")
    timeout_seconds: int = Field(30, ge=1, le=600, description="Time one fetch may take.")


class SkillFeeds(Section):
    """Skills from servers."""

    sync_interval_minutes: int = Field(
        60, ge=0, le=1440, description="Minutes between two fetches; 0 fetches only when told."
    )
    feeds: tuple[SkillFeed, ...] = Field((), description="The servers.")
    plugins: tuple[Text, ...] = Field((), description="Plug-ins whose skills are used.")


class Scheduling(Section):
    """Reminders."""

    enabled: bool = Field(True, description="Off withdraws the tools and keeps the definitions.")


class Signals(Section):
    """The log of session state and those who watch it."""

    retention_days: int = Field(30, ge=1, le=3650, description="Days that events are kept.")
    row_cap: int = Field(50_000, ge=100, le=10_000_000, description="Events that are kept.")
    prune_interval_seconds: int = Field(
        3600, ge=1, le=604_800, description="Time between two prunings."
    )
    wake_coalesce_seconds: float = Field(
        20.0, ge=0, le=3600, description="Further wakes of a watcher in this time become one."
    )
    monitor_tick_seconds: float = Field(
        60.0, ge=0.1, le=86_400, description="Time between two looks at adopted transcripts."
    )
    wake_replies: bool | None = Field(
        None, description="Post the answer of a wake; unset: only for sessions of this terminal."
    )


class AlertFormat(StrEnum):
    """Shape of an alert (`Notifications.Webhooks[].Format`)."""

    GENERIC = "Generic"
    SLACK = "Slack"


class AlertTarget(Section):
    """An address that alerts go to."""

    url: WebAddress = Field(description="The address.")
    name: Text | None = Field(None, description="How it is listed.")
    headers: dict[Text, Secret] = Field(default_factory=dict, description="Headers to send.")
    format: Annotated[AlertFormat, BeforeValidator(fold(AlertFormat))] = Field(
        AlertFormat.GENERIC, description="Shape of the body."
    )


class Notifications(Section):
    """Alerts about the daemon itself."""

    webhooks: tuple[AlertTarget, ...] = Field((), description="Where alerts go.")
    deduplication_window_seconds: int = Field(
        300, ge=0, le=86_400, description="The same alert is sent once in this time."
    )
    max_retries: int = Field(2, ge=0, le=10, description="Further attempts of one alert.")
    timeout_seconds: int = Field(10, ge=1, le=300, description="Time one attempt may take.")


class Otlp(Section):
    """Where telemetry is sent."""

    endpoint: WebAddress = Field("http://127.0.0.1:4317", description="An OTLP receiver (gRPC).")


class Telemetry(Section):
    """Metrics for an outside system."""

    enabled: bool = Field(False, description="Send them.")
    otlp: Otlp = Field(default_factory=Otlp)


class LogLevelName(StrEnum):
    """How much is logged (`Logging.LogLevel.Default`)."""

    TRACE = "Trace"
    DEBUG = "Debug"
    INFORMATION = "Information"
    WARNING = "Warning"
    ERROR = "Error"
    CRITICAL = "Critical"
    NONE = "None"


class LogLevel(Section):
    """How much is logged."""

    default: Annotated[LogLevelName, BeforeValidator(fold(LogLevelName))] = Field(
        LogLevelName.WARNING, description="The level of everything."
    )


class Console(Section):
    """Logging to the terminal."""

    enabled: bool = Field(False, description="Log to standard error too.")


class Logging(Section):
    """The daemon's log."""

    log_level: LogLevel = Field(default_factory=LogLevel)
    console: Console = Field(default_factory=Console)


class Workspaces(Section):
    """Where projects live."""

    directory: FolderPath | None = Field(None, description="Unset: `workspaces` in the home.")


class McpTransport(StrEnum):
    """How a tool server is reached (`McpServers.<name>.Transport`)."""

    STDIO = "stdio"
    HTTP = "http"
    SSE = "sse"


class McpServer(Section):
    """A server that offers tools."""

    transport: Annotated[McpTransport, BeforeValidator(fold(McpTransport))] = Field(
        McpTransport.STDIO, description="How it is reached."
    )
    command: Text | None = Field(None, description="Program to start, for stdio.")
    arguments: tuple[str, ...] = Field((), description="Its arguments.")
    url: WebAddress | None = Field(None, description="Its address, for http and sse.")
    environment_variables: dict[Text, Secret] = Field(
        default_factory=dict, description="Its environment, for stdio."
    )
    headers: dict[Text, Secret] = Field(default_factory=dict, description="Headers, for http, sse.")
    enabled: bool = Field(True, description="Use it.")
    grant_category: Text | None = Field(None, description="Unset: mcp:<name>.")
    o_auth_client_id: Text | None = Field(
        None, alias="OAuthClientId", description="A registered client, if it needs one."
    )
    o_auth_scope: Text | None = Field(None, alias="OAuthScope", description="What to ask for.")
