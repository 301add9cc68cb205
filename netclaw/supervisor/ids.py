"""Mints what must be unique or unguessable: ids, references and tokens."""

from __future__ import annotations

import os
import secrets
import time

from netclaw.core.ids import CLI_ID_LENGTH, InputId, SessionId

_ID_BYTES = 10
_ID_SHIFTS = tuple(range(_ID_BYTES * 8 - 10, -1, -10))
_ALPHABET = "abcdefghijklmnopqrstuvwxyz234567"
_PAIRS = tuple(first + second for first in _ALPHABET for second in _ALPHABET)
_POOL_IDS = 400
_REFERENCE_LENGTH = 8
_TOKEN_BYTES = 32


class _Randomness:
    """Takes randomness from the kernel for many ids at once: an admission needs one each."""

    def __init__(self) -> None:
        self._bytes = b""
        self._place = 0

    def take(self) -> int:
        """80 fresh random bits."""
        begin = self._place
        end = begin + _ID_BYTES
        if end > len(self._bytes):
            self._bytes = os.urandom(_ID_BYTES * _POOL_IDS)
            begin, end = 0, _ID_BYTES
        self._place = end
        return int.from_bytes(self._bytes[begin:end], "big")


_randomness = _Randomness()


def new_id() -> str:
    """A fresh random 80-bit base32 id of 16 characters (protocol, "Identifiers").

    For the supervisor alone: a forked process would repeat what its parent holds in stock.
    """
    bits = _randomness.take()
    return "".join([_PAIRS[(bits >> shift) & 1023] for shift in _ID_SHIFTS])


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
