"""Names every identifier of the daemon, so that one kind is never passed for another.

Forms are settled in the protocol page: session ids are persisted keys of 1 to 256 bytes
without control characters; ids minted here are random 80-bit base32.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NewType

from netclaw.core.errors import InvalidArgumentError

SessionId = NewType("SessionId", str)
InputId = NewType("InputId", str)
TurnId = NewType("TurnId", str)
CallId = NewType("CallId", str)
RunId = NewType("RunId", str)
JobId = NewType("JobId", str)
AppendId = NewType("AppendId", str)
DispatchToken = NewType("DispatchToken", str)
"""Names one model call or one tool launch of one process; a late result carries a stale one."""

IdMaker = Callable[[], str]
"""Returns a fresh random 80-bit base32 id (16 characters); the shell supplies it."""

SESSION_ID_MAX_BYTES = 256
MINTED_ID_LENGTH = 16
CLI_ID_LENGTH = 10
_CLI_PREFIX = "cli/"
_CHILD_INFIX = "/sub/"
_KINDS_OF_OTHERS = ("cli/", "webhook/", "reminder/")


def parse_session_id(text: str) -> SessionId:
    """Check a session id at the edge; the value is kept exactly, case included.

    Raises `InvalidArgumentError` when it is empty, longer than 256 bytes of UTF-8, not valid
    UTF-8 or holds a control character.
    """
    try:
        size = len(text.encode("utf-8"))
    except UnicodeEncodeError:
        raise InvalidArgumentError("The session id is not valid UTF-8.") from None
    if not 1 <= size <= SESSION_ID_MAX_BYTES:
        raise InvalidArgumentError(
            f"A session id has 1 to {SESSION_ID_MAX_BYTES} bytes; this one has {size}."
        )
    if any(ord(char) < 0x20 or 0x7F <= ord(char) < 0xA0 for char in text):
        raise InvalidArgumentError("The session id holds a control character.")
    return SessionId(text)


def is_child_key(session_id: SessionId) -> bool:
    """Whether the id is `<parent id>/sub/<run id>`: only the parent makes such a session."""
    return _CHILD_INFIX in session_id


def is_run_of(session_id: SessionId, owner: SessionId) -> bool:
    """Whether the session is a child run of `owner`, or of one of its runs."""
    return session_id.startswith(f"{owner}{_CHILD_INFIX}")


def chat_key(session_id: SessionId) -> SessionId:
    """The session that people know: the parent of a child run, any other session itself."""
    return SessionId(session_id.rpartition(_CHILD_INFIX)[0] or session_id)


def run_of_key(session_id: SessionId) -> RunId | None:
    """The run whose own session this is, by its id; None for a session of people."""
    parent, _, run_id = session_id.rpartition(_CHILD_INFIX)
    return RunId(run_id) if parent else None


def may_create_by_name(session_id: SessionId) -> bool:
    """Whether a person may create this id by naming it (cli.md, `--resume`).

    True for `cli/...` and for names without a slash, so nobody can pre-create a channel's key.
    """
    if session_id.startswith(_CLI_PREFIX):
        return len(session_id) > len(_CLI_PREFIX) and not is_child_key(session_id)
    return "/" not in session_id


def may_be_thread(session_id: SessionId) -> bool:
    """Whether the id is `{channel}/{thread}`: the form that a channel's adapter creates."""
    channel, slash, thread = session_id.partition("/")
    return bool(
        channel
        and slash
        and thread
        and not session_id.startswith(_KINDS_OF_OTHERS)
        and not is_child_key(session_id)
    )
