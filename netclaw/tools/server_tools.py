"""Tools of MCP servers as tools of ours: named, deferred, judged, redacted and bounded alike."""

from __future__ import annotations

import hashlib
import logging
import re
from collections.abc import Iterable

from netclaw.core.tool_call import OutcomeCategory
from netclaw.ports.tool_servers import (
    Catalogue,
    ReplyKind,
    ServerCallRequest,
    ServerReply,
    ServerState,
    ServerStatus,
    ServerTool,
    ToolServers,
)
from netclaw.tools.faults import ToolFault
from netclaw.tools.schema import Arguments, Field
from netclaw.tools.tool import EVERYONE, OfServer, Outcome, Scope

_log = logging.getLogger(__name__)

MAX_TEXT_CHARS = 4_000_000
"""However high the capture ceiling is: a result is one message between two processes."""
MAX_NAME_CHARS = 64
"""What the providers of models take."""
_DIGEST_CHARS = 8
_OWN_NAME = re.compile(r"[A-Za-z0-9_.-]{1,128}")
"""What a grant can name; a tool with any other name is left out."""
_UNSHOWABLE = re.compile(r"[^A-Za-z0-9_-]")


class McpTool(OfServer):
    """One tool of one server. Its description and schema are the server's words, nothing more."""

    fields: tuple[Field, ...] = ()
    audiences = EVERYONE

    def __init__(self, name: str, tool: ServerTool, servers: ToolServers) -> None:
        self.name = name
        self.description = tool.description
        self.parameters = tool.parameters
        self.server = tool.server
        self.server_tool = tool.name
        self._servers = servers

    async def run(self, arguments: Arguments, scope: Scope) -> Outcome:
        """See `Tool`. Sends the call once; whatever fails, it is not sent again."""
        context = scope.context
        reply = await self._servers.call(
            ServerCallRequest(
                server=self.server,
                tool=self.server_tool,
                arguments=arguments.source,
                max_chars=min(context.settings.capture_ceiling_bytes, MAX_TEXT_CHARS),
                silence_s=context.silence_s,
            ),
            on_item=context.on_item,
        )
        return self._outcome(reply)

    def _outcome(self, reply: ServerReply) -> Outcome:
        place = f"MCP tool '{self.server}/{self.server_tool}'"
        match reply.kind:
            case ReplyKind.RESULT:
                return Outcome(text=reply.text, is_complete=reply.is_complete)
            case ReplyKind.TOOL_ERROR:
                # Its words may hold anything: the log has the fact, the redacted result the words.
                _log.warning("%s reported a failure", place)
                return Outcome(
                    text=f"Error: {place} reported a failure: {reply.text}",
                    category=OutcomeCategory.FAILURE,
                    is_complete=reply.is_complete,
                )
            case ReplyKind.APPLICATION:
                _log.warning("%s was answered with an error", place)
                raise ToolFault.failed(f"Error: {place} failed: {reply.text}")
            case ReplyKind.TRANSPORT:
                _log.warning("%s got no usable answer", place)
                raise ToolFault(
                    OutcomeCategory.TRANSIENT_FAILURE,
                    f"Error: {place} got no usable answer: {reply.text} It was not repeated.",
                )


class ServerTools:
    """The tools of all servers of a session as they were last listed."""

    def __init__(self, servers: ToolServers) -> None:
        self._servers = servers
        self._made_of: Catalogue | None = None
        self._tools: dict[str, McpTool] = {}

    @property
    def names(self) -> tuple[str, ...]:
        """The servers that may have tools."""
        return self._servers.names

    def status(self, server: str) -> ServerStatus | None:
        """How a server stands."""
        found = (item for item in self._servers.known.statuses if item.name == server)
        return next(found, None)

    def is_listed(self, server: str) -> bool:
        """Whether it is known which tools a server has."""
        status = self.status(server)
        return status is not None and status.state is ServerState.CONNECTED

    @property
    def tools(self) -> dict[str, McpTool]:
        """By the name that models see, in the order of the servers' own lists."""
        known = self._servers.known
        if self._made_of is None or known.tools is not self._made_of.tools:
            self._tools = {
                name: McpTool(name, tool, self._servers) for name, tool in named(known.tools)
            }
            self._made_of = known
        return self._tools

    async def refresh(self) -> None:
        """Ask the servers what they have; takes a bounded time."""
        await self._servers.catalogue()


def named(tools: Iterable[ServerTool]) -> Iterable[tuple[str, ServerTool]]:
    """Each tool with the name that models see: `server__tool`, made distinct where it must be."""
    taken: set[str] = set()
    for tool in tools:
        if not _OWN_NAME.fullmatch(tool.name):
            _log.warning("the tool server %r has a tool whose name cannot be used", tool.server)
            continue
        name = _UNSHOWABLE.sub("_", f"{tool.server}__{tool.name}")
        if len(name) > MAX_NAME_CHARS or name in taken:
            exact = hashlib.sha256(f"{tool.server}\0{tool.name}".encode()).hexdigest()
            name = f"{name[: MAX_NAME_CHARS - _DIGEST_CHARS - 1]}_{exact[:_DIGEST_CHARS]}"
        if name not in taken:
            taken.add(name)
            yield name, tool
