"""What the model asks of a tool, what came of it, and the trusted receipt beside it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from netclaw.core.ids import CallId


class OutcomeCategory(StrEnum):
    """The closed status of a tool receipt (glossary "outcome category")."""

    SUCCESS = "Success"
    INVALID_INPUT = "InvalidInput"
    ACCESS_DENIED = "AccessDenied"
    NOT_FOUND = "NotFound"
    TRANSIENT_FAILURE = "TransientFailure"
    FAILURE = "Failure"
    TIMEOUT = "Timeout"
    RECOVERABLE_CORRECTION = "RecoverableCorrection"
    INTERRUPTED = "Interrupted"
    """Launched, and nothing is known of its effect: never run again."""
    CANCELLED = "Cancelled"
    """Closed before it was launched, or ended on request."""


UNREAL = frozenset({OutcomeCategory.INTERRUPTED, OutcomeCategory.CANCELLED})
"""Categories of a call whose effect nobody can vouch for."""


class FileOperation(StrEnum):
    """The authorization category of a path (glossary "file operation")."""

    READ = "Read"
    WRITE = "Write"
    ATTACH = "Attach"
    DECLARE_PROJECT_SCOPE = "DeclareProjectScope"


@dataclass(frozen=True, slots=True, kw_only=True)
class FileActivity:
    """One canonical path that a call really touched, and how."""

    path: str
    operation: FileOperation
    is_folder: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """A request by the model; proof of nothing.

    `call_id` is minted by netclaw and unique for ever; `provider_call_id` is kept only to pair
    on the wire, because providers reuse theirs. `arguments` is the JSON text as prepared;
    `argument_fault` says why it cannot be used, in which case the tool is not run.
    """

    call_id: CallId
    provider_call_id: str
    name: str
    arguments: str
    argument_fault: str | None = None
    attempt_id: str = ""
    """Authorization attempt id of this call (glossary); it grants nothing. Empty if the call was
    recorded before calls had one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spill:
    """The full redacted result in session-owned storage, named only by its call id."""

    size_bytes: int
    is_complete: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Attachment:
    """A file that a call gave to the people of the session: the session's own copy of it."""

    path: str
    media_type: str
    size_bytes: int
    sha256: str = ""
    """Of its content when it was judged, in hex; empty if the call was recorded before it was kept.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolReceipt:
    """Trusted internal data about one invocation; state is updated from it, never from text."""

    category: OutcomeCategory
    file_activity: tuple[FileActivity, ...] = ()
    declared_directory: str | None = None
    remediation: str | None = None
    duration_ms: int = 0
    is_still_running: bool = False
    """The call asked after a background job that has not ended; asking again is no repetition."""
    attachment: Attachment | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """The bounded, redacted text the model sees, with its receipt."""

    call_id: CallId
    text: str
    receipt: ToolReceipt
    spill: Spill | None = None
    loaded_tool: str = ""
    """A deferred tool that the call loaded: later model requests show it (see `exposure`)."""
    answered_input: str = ""
    """The message to another session whose reply this result holds, by its id there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolDefinition:
    """What the model can see of a tool: name, description, JSON schema text of the arguments."""

    name: str
    description: str
    parameters: str
