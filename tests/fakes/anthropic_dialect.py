"""Anthropic's Messages as a dialect of the fake model, at `/v1/messages`."""

from __future__ import annotations

from tests.fakes import anthropic_wire
from tests.fakes.anthropic_request import complaint, conversation, system_prompt
from tests.fakes.model_dialect import Dialect, bearer_key

ANTHROPIC = Dialect(
    path="/v1/messages",
    credential=lambda headers: headers.get("x-api-key") or bearer_key(headers),
    complaint=complaint,
    conversation=conversation,
    system_prompt=system_prompt,
    whole=anthropic_wire.whole,
    chunks=anthropic_wire.chunks,
    finish=anthropic_wire.finish,
    end=anthropic_wire.end,
    error_event=anthropic_wire.error_event,
    error_body=anthropic_wire.error_body,
    keepalive=anthropic_wire.PING,
    overflow="anthropic",
)
