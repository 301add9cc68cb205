"""How a session reaches tools of other programs: servers that speak the Model Context Protocol."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from netclaw.ports.tool import ToolTrees


class ServerState(StrEnum):
    """How a configured server stands."""

    CONNECTED = "connected"
    AWAITING_AUTH = "awaiting auth"
    """It asked for a sign-in by a real challenge."""
    AUTH_FAILED = "auth failed"
    """It refused the credentials that are configured."""
    UNREACHABLE = "unreachable"
    DISABLED = "disabled"
    """Switched off, or its entry cannot be used."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerTool:
    """One tool in a server's catalogue. Name and texts are the server's: data, never trusted."""

    server: str
    name: str
    description: str
    parameters: str
    """JSON schema text of the arguments."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerStatus:
    """One configured server and what became of it."""

    name: str
    transport: str
    state: ServerState
    tools: int = 0
    sentence: str = ""
    """Why it is not connected and what to do; empty if it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Catalogue:
    """What the servers offered when they were last asked."""

    tools: tuple[ServerTool, ...] = ()
    statuses: tuple[ServerStatus, ...] = ()


class ReplyKind(StrEnum):
    """How a call of a server's tool ended (glossary "MCP")."""

    RESULT = "result"
    TOOL_ERROR = "tool-error"
    """The tool ran and reported a failure in its own words (`isError`)."""
    APPLICATION = "application"
    """The server received the request and answered with an error."""
    TRANSPORT = "transport"
    """No usable answer came; whether the call took effect is not known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerReply:
    """The end of one call, neither redacted nor bounded for a model yet."""

    kind: ReplyKind
    text: str
    """The tool's own output, or the reason that there is none."""
    is_complete: bool = True
    """False if the text was cut at the capture ceiling."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerCallRequest:
    """One call of a server's tool."""

    server: str
    tool: str
    arguments: str
    """JSON text of one object."""
    max_chars: int
    """Text beyond this is cut before it comes here."""
    silence_s: float
    """How long the call may show no sign of life."""


class ToolServers(Protocol):
    """All configured servers of one session."""

    def announce_to(self, trees: ToolTrees) -> None:
        """Tell these of every process that is started from now on."""

    @property
    def names(self) -> tuple[str, ...]:
        """Servers that may have tools: those that are enabled and usable as configured."""

    @property
    def known(self) -> Catalogue:
        """The last catalogue; empty before one was asked for."""

    async def catalogue(self) -> Catalogue:
        """Ask the servers, unless they were asked a moment ago; takes a bounded time.

        A server that does not answer in time has a status that says so and no tools.
        """

    async def call(self, request: ServerCallRequest, *, on_item: Callable[[], None]) -> ServerReply:
        """Run one call, once: whatever fails, it is never sent again. `on_item` at each progress.

        Cancelling it tells the server so. Never raises for what a server does.
        """

    async def close(self) -> None:
        """End the servers that were started; nothing may be called afterwards."""
