"""Mints what must be unique or unguessable: ids, references and tokens."""

from __future__ import annotations

import base64
import os
import secrets
import time

from netclaw.core.ids import CLI_ID_LENGTH, InputId, SessionId

_ID_BYTES = 10
_REFERENCE_LENGTH = 8
_TOKEN_BYTES = 32


def new_id() -> str:
    """A fresh random 80-bit base32 id of 16 characters (protocol, "Identifiers")."""
    return base64.b32encode(os.urandom(_ID_BYTES)).decode("ascii").lower()


def new_input_id() -> InputId:
    """Name one admitted input."""
    return InputId(new_id())


def new_cli_session_id() -> SessionId:
    """Name a chat that was started without a name (decision 32)."""
    return SessionId(f"cli/{new_id()[:CLI_ID_LENGTH]}")


def new_reference() -> str:
    """Name one fault in the log and in the sentence a person reads."""
    return new_id()[:_REFERENCE_LENGTH]


def new_token() -> str:
    """A capability token of 256 random bits, fit for a header."""
    return secrets.token_urlsafe(_TOKEN_BYTES)


def now_ms() -> int:
    """The time as the journal knows it: milliseconds since the Unix epoch."""
    return time.time_ns() // 1_000_000
