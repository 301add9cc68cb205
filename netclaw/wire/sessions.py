"""What a session's process asks about other sessions, in `Ask` and `Answer` frames.

JSON of the values in `netclaw.ports.sessions`. Both sides run the same program, so there is no
version; a payload that is not of its form is refused.
"""

from __future__ import annotations

from typing import TypeVar

import msgspec

from netclaw.core.authority import Authority
from netclaw.core.errors import InvalidArgumentError
from netclaw.ports.sessions import (
    GoalQuestion,
    GoalView,
    HistoryQuestion,
    ListQuestion,
    SendOrder,
    SendReport,
    StatusQuestion,
    StatusView,
    WaitQuestion,
)

ASK_STATUS = "session_status"
"""`StatusQuestion`, answered with a `StatusView`."""
ASK_LIST = "sessions_list"
"""`ListQuestion`, answered with the JSON text that the model is shown."""
ASK_HISTORY = "sessions_history"
"""`HistoryQuestion`, answered with the JSON text that the model is shown."""
ASK_SEND = "sessions_send"
"""`SendOrder`, answered with a `SendReport` once the message is durable in its target."""
ASK_WAIT = "sessions_wait"
"""`WaitQuestion`, answered with a `SendReport` when the target's turn is over, or in time."""
ASK_GOAL = "session_goal"
"""`GoalQuestion`, answered with a `GoalView`."""

Said = (
    StatusQuestion
    | StatusView
    | ListQuestion
    | HistoryQuestion
    | SendOrder
    | WaitQuestion
    | SendReport
    | GoalQuestion
    | GoalView
)

_Value = TypeVar(
    "_Value",
    StatusQuestion,
    StatusView,
    ListQuestion,
    HistoryQuestion,
    SendOrder,
    WaitQuestion,
    SendReport,
    GoalQuestion,
    GoalView,
)

_encoder = msgspec.json.Encoder()
_authority = msgspec.json.Decoder(Authority)


def encode(value: Said) -> bytes:
    """The payload. Raises `InvalidArgumentError` for invalid Unicode."""
    return _encode(value)


def decode(payload: bytes, kind: type[_Value]) -> _Value:
    """Raises `InvalidArgumentError` for what is not of the form that `encode` makes."""
    try:
        return msgspec.json.decode(payload, type=kind)
    except msgspec.MsgspecError:
        raise InvalidArgumentError("What was asked about sessions cannot be read.") from None


def encode_authority(authority: Authority) -> str:
    """An authority as JSON text. Raises `InvalidArgumentError` for invalid Unicode."""
    return _encode(authority).decode()


def decode_authority(text: str) -> Authority:
    """Raises `InvalidArgumentError` for what `encode_authority` did not make."""
    try:
        return _authority.decode(text)
    except msgspec.MsgspecError:
        raise InvalidArgumentError("An authority cannot be read.") from None


def _encode(value: object) -> bytes:
    try:
        return _encoder.encode(value)
    except UnicodeEncodeError:
        raise InvalidArgumentError("A text about sessions is not valid Unicode.") from None
