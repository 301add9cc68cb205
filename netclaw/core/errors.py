"""The error tree: one class per stable code, one table for status, exit code and way out.

    NetclawError
    ├── NotFoundError            not_found
    ├── InvalidArgumentError     invalid_argument
    ├── TooLargeError            too_large
    ├── QueueFullError           queue_full
    ├── DeniedByPolicyError      denied_by_policy
    ├── NotRequesterError        not_requester
    ├── UnauthenticatedError     unauthenticated
    ├── StaleIncarnationError    stale_incarnation
    ├── HeadMovedError           head_moved          (.head)
    ├── QuarantinedError         quarantined
    ├── DrainingError            draining
    ├── DaemonDownError          daemon_down
    ├── AlreadyRunningError      already_running
    ├── StorageError             (never raised itself)
    │   ├── StorageFullError     storage_full
    │   ├── StorageReadOnlyError storage_read_only
    │   ├── StorageCorruptError  storage_corrupt
    │   ├── SchemaNewerError     schema_newer
    │   └── StorageTimeoutError  storage_timeout
    ├── SessionUnreadableError   session_unreadable
    ├── ApprovalStoreError       approval_store_unavailable
    ├── NoSandboxError           no_sandbox
    ├── NoModelError             no_model
    ├── ProviderFailureError     provider_failure
    ├── RateLimitedError         rate_limited        (.retry_after_s)
    ├── OperationTimeoutError    timeout
    ├── ModelBehaviorError       model_behavior
    ├── InputIncompatibleError   input_incompatible
    ├── InterruptedByStopError   interrupted
    ├── DeliveryUnconfirmedError delivery_unconfirmed
    └── InternalError            internal

A sentence is written for the person who reads it: no exception text, no path of ours unless the
person must act on it, never a secret. `IllegalTransitionError` and `ProgrammingError` are faults
of this program and stand outside the tree.
"""

from __future__ import annotations

from enum import StrEnum
from typing import ClassVar


class ErrorCode(StrEnum):
    """The stable codes of the protocol page; a code is never renamed or reused."""

    NOT_FOUND = "not_found"
    INVALID_ARGUMENT = "invalid_argument"
    TOO_LARGE = "too_large"
    QUEUE_FULL = "queue_full"
    DENIED_BY_POLICY = "denied_by_policy"
    NOT_REQUESTER = "not_requester"
    UNAUTHENTICATED = "unauthenticated"
    STALE_INCARNATION = "stale_incarnation"
    HEAD_MOVED = "head_moved"
    QUARANTINED = "quarantined"
    DRAINING = "draining"
    DAEMON_DOWN = "daemon_down"
    ALREADY_RUNNING = "already_running"
    STORAGE_FULL = "storage_full"
    STORAGE_READ_ONLY = "storage_read_only"
    STORAGE_CORRUPT = "storage_corrupt"
    SCHEMA_NEWER = "schema_newer"
    STORAGE_TIMEOUT = "storage_timeout"
    SESSION_UNREADABLE = "session_unreadable"
    APPROVAL_STORE_UNAVAILABLE = "approval_store_unavailable"
    NO_SANDBOX = "no_sandbox"
    NO_MODEL = "no_model"
    PROVIDER_FAILURE = "provider_failure"
    RATE_LIMITED = "rate_limited"
    TIMEOUT = "timeout"
    MODEL_BEHAVIOR = "model_behavior"
    INPUT_INCOMPATIBLE = "input_incompatible"
    INTERRUPTED = "interrupted"
    DELIVERY_UNCONFIRMED = "delivery_unconfirmed"
    INTERNAL = "internal"


class ErrorCategory(StrEnum):
    """Why a turn failed, as a closed set shown to people (decision 14)."""

    TIMEOUT = "Timeout"
    PROVIDER_FAILURE = "ProviderFailure"
    RATE_LIMITED = "RateLimited"
    INPUT_COMPATIBILITY = "InputCompatibility"
    MODEL_BEHAVIOR = "ModelBehavior"
    TOOL_FAILURE = "ToolFailure"
    STORAGE = "Storage"
    POLICY = "Policy"
    INTERRUPTED = "Interrupted"
    INTERNAL = "Internal"


class NetclawError(Exception):
    """Base of every error that may cross a boundary: a code, a sentence, a way out."""

    code: ClassVar[ErrorCode] = ErrorCode.INTERNAL
    default_fix: ClassVar[str] = "Run `netclaw doctor`; the daemon log names the reference id."

    def __init__(self, sentence: str, *, fix: str | None = None, reference: str = "") -> None:
        super().__init__(sentence)
        self.sentence = sentence
        self.fix = self.default_fix if fix is None else fix
        self.reference = reference


class NotFoundError(NetclawError):
    """The named thing does not exist (or may not be known to this caller)."""

    code = ErrorCode.NOT_FOUND
    default_fix = "List what exists with `netclaw sessions`."


class InvalidArgumentError(NetclawError):
    """A value is malformed or outside its bounds; nothing was changed."""

    code = ErrorCode.INVALID_ARGUMENT
    default_fix = "Correct the value; `--help` shows the accepted form."


class TooLargeError(NetclawError):
    """A value is over its size limit; nothing of it was kept."""

    code = ErrorCode.TOO_LARGE
    default_fix = "Send less text, or attach it as a file."


class QueueFullError(NetclawError):
    """A session has its limit of unanswered inputs; this one was not admitted."""

    code = ErrorCode.QUEUE_FULL
    default_fix = "Wait for the session to answer, then send again."


class DeniedByPolicyError(NetclawError):
    """Policy forbids it for this caller, whatever the text says."""

    code = ErrorCode.DENIED_BY_POLICY
    default_fix = "Ask the operator of this daemon."


class NotRequesterError(NetclawError):
    """Only the person who asked may answer this consent request."""

    code = ErrorCode.NOT_REQUESTER
    default_fix = "Let the person who made the request answer it."


class UnauthenticatedError(NetclawError):
    """The connection presented no capability token, or one that is not valid."""

    code = ErrorCode.UNAUTHENTICATED
    default_fix = "Run the command as the user who runs the daemon."


class StaleIncarnationError(NetclawError):
    """A process that was replaced tried to write; the fence refused it."""

    code = ErrorCode.STALE_INCARNATION


class HeadMovedError(NetclawError):
    """Another author committed first; decide again on top of `head`."""

    code = ErrorCode.HEAD_MOVED

    def __init__(self, sentence: str, *, head: int) -> None:
        super().__init__(sentence)
        self.head = head


class QuarantinedError(NetclawError):
    """The session crashed too often and waits for the operator."""

    code = ErrorCode.QUARANTINED
    default_fix = "Look at its log, then run `netclaw sessions restart ID`."


class DrainingError(NetclawError):
    """The daemon is stopping or restarting and takes no new work of this kind."""

    code = ErrorCode.DRAINING
    default_fix = "Try again once `netclaw daemon status` says running."


class DaemonDownError(NetclawError):
    """No daemon answers for this home."""

    code = ErrorCode.DAEMON_DOWN
    default_fix = "Start it with `netclaw daemon start`."


class AlreadyRunningError(NetclawError):
    """Another daemon holds this home's lock."""

    code = ErrorCode.ALREADY_RUNNING
    default_fix = "Use the running daemon, or stop it with `netclaw daemon stop`."


class StorageError(NetclawError):
    """Base of what the database can refuse; nothing unacknowledged is promised."""

    code = ErrorCode.INTERNAL


class StorageFullError(StorageError):
    """The disk that holds the home has no room; nothing was written."""

    code = ErrorCode.STORAGE_FULL
    default_fix = (
        "Free space on the disk that holds the netclaw home; the daemon resumes by itself."
    )


class StorageReadOnlyError(StorageError):
    """The home or the database cannot be written."""

    code = ErrorCode.STORAGE_READ_ONLY
    default_fix = "Make the netclaw home writable for the user who runs the daemon."


class StorageCorruptError(StorageError):
    """The database is damaged; it was left as it is."""

    code = ErrorCode.STORAGE_CORRUPT
    default_fix = "Keep a copy of the file, then restore a backup of netclaw.db."


class SchemaNewerError(StorageError):
    """The database was written by a newer netclaw; it was left as it is."""

    code = ErrorCode.SCHEMA_NEWER
    default_fix = "Run the newer netclaw, or point NETCLAW_HOME at another home."


class StorageTimeoutError(StorageError):
    """A write did not start before its deadline and was dropped."""

    code = ErrorCode.STORAGE_TIMEOUT
    default_fix = "Check the disk; raise Storage.TimeoutSeconds if it is merely slow."


class SessionUnreadableError(NetclawError):
    """What is stored of one session cannot be read; the database and other sessions are sound."""

    code = ErrorCode.SESSION_UNREADABLE
    default_fix = (
        "Run the netclaw that wrote it, or restore a backup; `netclaw sessions delete ID` gives"
        " the session up."
    )


class ApprovalStoreError(NetclawError):
    """The grants file cannot be used; it was left as it is and no stored grant counts."""

    code = ErrorCode.APPROVAL_STORE_UNAVAILABLE
    default_fix = "Mend config/tool-approvals.json, or move it away and consent anew."


class NoSandboxError(NetclawError):
    """No sandbox backend works on this machine, so the shell is refused."""

    code = ErrorCode.NO_SANDBOX
    default_fix = "Install bubblewrap; `netclaw doctor` names what was tried."


class NoModelError(NetclawError):
    """No usable model is configured; the daemon runs degraded."""

    code = ErrorCode.NO_MODEL
    default_fix = "Configure one with `netclaw init`, then check `netclaw config validate`."


class ProviderFailureError(NetclawError):
    """The model's service failed or broke off."""

    code = ErrorCode.PROVIDER_FAILURE
    default_fix = "`netclaw doctor` checks endpoint and credential; then send the message again."


class RateLimitedError(NetclawError):
    """The model's service asks to wait; `retry_after_s` is 0 when it gave no time."""

    code = ErrorCode.RATE_LIMITED
    default_fix = "Wait a moment, then send the message again."

    def __init__(
        self,
        sentence: str,
        *,
        retry_after_s: float = 0.0,
        fix: str | None = None,
        reference: str = "",
    ) -> None:
        super().__init__(sentence, fix=fix, reference=reference)
        self.retry_after_s = retry_after_s


class OperationTimeoutError(NetclawError):
    """Something took longer than its limit, which the sentence names."""

    code = ErrorCode.TIMEOUT
    default_fix = "Try again; the limits are under Session in netclaw.json."


class ModelBehaviorError(NetclawError):
    """The model answered in a way that cannot be used."""

    code = ErrorCode.MODEL_BEHAVIOR
    default_fix = "Send the message again, or choose another model."


class InputIncompatibleError(NetclawError):
    """The model cannot take this input."""

    code = ErrorCode.INPUT_INCOMPATIBLE
    default_fix = "Send it in a form the model takes, or choose another model."


class InterruptedByStopError(NetclawError):
    """The work was ended before it finished."""

    code = ErrorCode.INTERRUPTED
    default_fix = "Send the message again if it still matters."


class DeliveryUnconfirmedError(NetclawError):
    """A send got no reliable answer: the message may or may not have been admitted."""

    code = ErrorCode.DELIVERY_UNCONFIRMED
    default_fix = "Look it up with `netclaw ledger ID` before sending it again."


class InternalError(NetclawError):
    """A fault of netclaw itself; the log holds the details under the reference id."""

    code = ErrorCode.INTERNAL


class ProgrammingError(Exception):
    """A rule of this program was broken by this program; never shown as a user's mistake."""


class IllegalTransitionError(ProgrammingError):
    """A phase move that the table does not list (S0 Lifecycle)."""


CATEGORY_CODES: dict[ErrorCategory, ErrorCode] = {
    ErrorCategory.TIMEOUT: ErrorCode.TIMEOUT,
    ErrorCategory.PROVIDER_FAILURE: ErrorCode.PROVIDER_FAILURE,
    ErrorCategory.RATE_LIMITED: ErrorCode.RATE_LIMITED,
    ErrorCategory.INPUT_COMPATIBILITY: ErrorCode.INPUT_INCOMPATIBLE,
    ErrorCategory.MODEL_BEHAVIOR: ErrorCode.MODEL_BEHAVIOR,
    ErrorCategory.TOOL_FAILURE: ErrorCode.INTERNAL,
    ErrorCategory.STORAGE: ErrorCode.STORAGE_TIMEOUT,
    ErrorCategory.POLICY: ErrorCode.DENIED_BY_POLICY,
    ErrorCategory.INTERRUPTED: ErrorCode.INTERRUPTED,
    ErrorCategory.INTERNAL: ErrorCode.INTERNAL,
}
"""The stable code of each turn failure category."""


def _classes(root: type[NetclawError]) -> list[type[NetclawError]]:
    found = [root]
    for child in root.__subclasses__():
        found.extend(_classes(child))
    return found


ERROR_CLASSES: dict[ErrorCode, type[NetclawError]] = {
    cls.code: cls for cls in _classes(NetclawError) if cls is not StorageError
}
"""The class that carries each code; InternalError for `internal`."""
