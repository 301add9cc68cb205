"""What a session and the supervisor say of consents to each other, in `Ask` and `Answer` frames.

JSON of the values in `netclaw.ports.consents`. Both sides run the same program, so there is no
version; a payload that is not of its form is refused.
"""

from __future__ import annotations

import msgspec

from netclaw.core.errors import InvalidArgumentError
from netclaw.ports.consents import KnownConsents, NewConsents

ASK_CONSENTS = "consents"
"""Kind of the question for the consents there are; its payload is empty."""
ASK_RECORD = "record_consents"
"""Kind of the request to keep new ones; it is answered, empty, once they are durable."""

_encoder = msgspec.json.Encoder()
_known = msgspec.json.Decoder(KnownConsents)
_new = msgspec.json.Decoder(NewConsents)


def encode_known(known: KnownConsents) -> bytes:
    """The answer to `ASK_CONSENTS`."""
    return _encoder.encode(known)


def decode_known(payload: bytes) -> KnownConsents:
    """Raises `InvalidArgumentError` for what is not of the form that `encode_known` makes."""
    try:
        return _known.decode(payload)
    except msgspec.MsgspecError:
        raise InvalidArgumentError("The consents cannot be read.") from None


def encode_new(added: NewConsents) -> bytes:
    """The payload of `ASK_RECORD`. Raises `InvalidArgumentError` for invalid Unicode."""
    try:
        return _encoder.encode(added)
    except UnicodeEncodeError:
        raise InvalidArgumentError("A word of the consent is not valid Unicode.") from None


def decode_new(payload: bytes) -> NewConsents:
    """Raises `InvalidArgumentError` for what is not of the form that `encode_new` makes."""
    try:
        return _new.decode(payload)
    except msgspec.MsgspecError:
        raise InvalidArgumentError("The new consents cannot be read.") from None
