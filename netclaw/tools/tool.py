"""What every tool is: a name, arguments, who may use it, and one coroutine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from netclaw.core.authority import Audience
from netclaw.core.ids import CallId
from netclaw.core.tool_call import Attachment, FileActivity, OutcomeCategory
from netclaw.ports.tool import ToolContext
from netclaw.tools.authorization.clearance import Clearance
from netclaw.tools.schema import Arguments, Field

EVERYONE = frozenset(Audience)
NOT_PUBLIC = frozenset({Audience.PERSONAL, Audience.TEAM})
OPERATOR_ONLY = frozenset({Audience.PERSONAL})


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a tool gives back, before it is redacted and bounded."""

    text: str
    category: OutcomeCategory = OutcomeCategory.SUCCESS
    note: str = ""
    """A last line that bounding never removes."""
    activity: tuple[FileActivity, ...] = ()
    declared_directory: str | None = None
    """The project directory that the call declared."""
    loaded_tool: str = ""
    """A deferred tool that later model requests show."""
    answered_input: str = ""
    """A message to another session whose reply `text` holds."""
    attachment: Attachment | None = None
    """The session's copy of a file that the call attached."""
    is_complete: bool = True
    """False if the tool could not keep all of its own output."""
    is_still_running: bool = False
    """The call asked after a background job that has not ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """One call as its tool sees it."""

    call_id: CallId
    context: ToolContext
    clearance: Clearance
    """The decision that lets this call run, and the policy it was judged by."""


class OfServer:
    """What makes a tool one of an MCP server; its `name` is the one that models see.

    To be derived from, and no protocol: every judgement and every request asks it of each tool,
    and a protocol answers "no" only after it has looked through all that a tool has.
    """

    __slots__ = ()

    server: str
    server_tool: str
    """The server's own name for it."""


class Tool(Protocol):
    """Implementations hold no state of a session; one object serves all calls."""

    name: str
    description: str
    fields: tuple[Field, ...]
    audiences: frozenset[Audience]

    async def run(self, arguments: Arguments, scope: Scope) -> Outcome:
        """Raises `ToolFault` for every outcome without a result of its own."""
