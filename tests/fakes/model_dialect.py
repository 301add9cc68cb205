"""What the fake model needs to know of a vendor's wire, and OpenAI's as one such dialect."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tests.fakes.model_play import complaint, text_of
from tests.fakes.model_wire import DONE, ERROR_EVENT, closing_events, content_events, sse, whole

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from tests.fakes.model_reply import Reply
    from tests.fakes.model_wire import Frame

JsonObject = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """One vendor's requests, streams and errors; what a script means is the same in each."""

    path: str
    credential: Callable[[Mapping[str, str]], str | None]
    """The key that the headers of a request carry."""
    complaint: Callable[[JsonObject, Mapping[str, str]], str | None]
    """What the vendor would refuse in a request, as one sentence."""
    conversation: Callable[[JsonObject], list[JsonObject]]
    """The messages of a request as chat messages, by which scripts are found and rounds counted."""
    system_prompt: Callable[[JsonObject], str]
    """What stands above the conversation of a request."""
    whole: Callable[[Reply, Frame], JsonObject]
    chunks: Callable[[Reply, Frame], Iterator[bytes]]
    """The content as written to the stream; what faults count."""
    finish: Callable[[Reply, Frame], Iterator[bytes]]
    """Why the answer ended, and usage."""
    end: Callable[[Reply], bytes]
    error_event: Callable[[Reply], bytes]
    error_body: Callable[[int, str, str | None], JsonObject]
    """An HTTP error from its status, message and code."""
    keepalive: bytes
    overflow: str
    """The shape in which this vendor says that a prompt is too long."""


def bearer_key(headers: Mapping[str, str]) -> str | None:
    """The key of an `Authorization` header."""
    scheme, _, key = headers.get("Authorization", "").partition(" ")
    return key if scheme == "Bearer" else None


def _error_body(status: int, message: str, code: str | None) -> JsonObject:
    kind = "server_error" if status >= 500 else "invalid_request_error"
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}


def _system_prompt(body: JsonObject) -> str:
    first = body["messages"][0]
    return text_of(first) if first.get("role") in ("system", "developer") else ""


OPENAI = Dialect(
    path="/v1/chat/completions",
    credential=bearer_key,
    complaint=lambda body, _headers: complaint(body),
    conversation=lambda body: list(body["messages"]),
    system_prompt=_system_prompt,
    whole=whole,
    chunks=lambda reply, frame: (sse(reply, event) for event in content_events(reply, frame)),
    finish=lambda reply, frame: (sse(reply, event) for event in closing_events(reply, frame)),
    end=lambda reply: sse(reply, DONE),
    error_event=lambda reply: sse(reply, ERROR_EVENT),
    error_body=_error_body,
    keepalive=b": keepalive\n\n",
    overflow="openai",
)
