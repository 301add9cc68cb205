"""What a session's process asks about channels, in `Ask` and `Answer` frames.

JSON of the values in `netclaw.ports.channels`, between two sides of one program.
"""

from __future__ import annotations

from typing import TypeVar

import msgspec

from netclaw.core.errors import InvalidArgumentError
from netclaw.ports.channels import Hits, NameQuestion, PostOrder, PostQuestion, PostReport

ASK_POST = "channel_post"
"""`PostOrder`, answered with a `PostReport` once the message is durable."""
ASK_POSTED = "channel_posted"
"""`PostQuestion`, answered with a `PostReport` when the message was sent, or in time."""
ASK_NAME = "channel_name"
"""`NameQuestion`, answered with `Hits`."""

Said = PostOrder | PostQuestion | PostReport | NameQuestion | Hits
_Value = TypeVar("_Value", PostOrder, PostQuestion, PostReport, NameQuestion, Hits)

_encoder = msgspec.json.Encoder()


def encode(value: Said) -> bytes:
    """The payload. Raises `InvalidArgumentError` for invalid Unicode."""
    try:
        return _encoder.encode(value)
    except UnicodeEncodeError:
        raise InvalidArgumentError("A text about channels is not valid Unicode.") from None


def decode(payload: bytes, kind: type[_Value]) -> _Value:
    """Raises `InvalidArgumentError` for what is not of the form that `encode` makes."""
    try:
        return msgspec.json.decode(payload, type=kind)
    except msgspec.MsgspecError:
        raise InvalidArgumentError("What was asked about channels cannot be read.") from None
