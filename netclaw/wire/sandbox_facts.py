"""Carries what the sandbox proved at start from the supervisor to each session, as JSON."""

from __future__ import annotations

import msgspec

from netclaw.core.errors import InvalidArgumentError
from netclaw.ports.shell_runner import SandboxFacts

UNKNOWN = SandboxFacts(
    backend=None, program="", why="The supervisor proved no sandbox.", limits="rlimits"
)
"""What a session assumes that was told nothing: no shell at all."""

_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(SandboxFacts)


def encode_facts(facts: SandboxFacts) -> bytes:
    """The facts for a Welcome."""
    return _encoder.encode(facts)


def decode_facts(payload: bytes) -> SandboxFacts:
    """Read what `encode_facts` made; empty means `UNKNOWN`.

    Raises `InvalidArgumentError` when it is something else.
    """
    if not payload:
        return UNKNOWN
    try:
        return _decoder.decode(payload)
    except msgspec.MsgspecError as error:
        raise InvalidArgumentError("The sandbox facts of the session cannot be read.") from error
