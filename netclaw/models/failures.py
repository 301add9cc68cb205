"""Turns what can go wrong with a model call into errors with a category and one plain sentence.

Provider words never reach the sentence (they may quote a credential or a prompt); they go to
`detail`, bounded and with the credential taken out, for logs alone.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import Any

import orjson

from netclaw.core.errors import ErrorCategory
from netclaw.ports.model import ModelCallError

DETAIL_MAX_CHARS = 500
TRANSIENT_STATUSES = frozenset(
    {408, 409, 425, 429, 500, 502, 503, 504, 520, 521, 522, 523, 524, 529}
)
OVERFLOW_STATUSES = frozenset({400, 413, 422, 500})

_OVERFLOW_CODES = frozenset(
    {"context_length_exceeded", "exceed_context_size_error", "string_above_max_length"}
)
_OVERFLOW_WORDS = re.compile(
    r"context (?:length|size|window)"
    r"|(?:prompt|input|request|conversation)[^.]{0,40} too (?:long|large)"
    r"|too many (?:input )?tokens"
    r"|(?:input|prompt) (?:token count|length)[^.]{0,40} exceeds?"
    r"|exceed[a-z]* (?:the )?max(?:imum)? (?:context|input|prompt|number of tokens)"
    r"|reduce the length",
    re.IGNORECASE,
)
_RATE_WORDS = re.compile(r"rate.?limit|too many requests|quota|overloaded", re.IGNORECASE)
_QUOTA_CODES = frozenset({"insufficient_quota", "billing_hard_limit_reached"})


@dataclass(frozen=True, slots=True)
class Secrets:
    """What must be taken out of the provider's words before they reach a log."""

    credential: str | None = None

    def scrub(self, text: str) -> str:
        """`text` on one line, without the credential, at most `DETAIL_MAX_CHARS` long."""
        if self.credential:
            text = text.replace(self.credential, "[credential]")
        return " ".join(text.split())[:DETAIL_MAX_CHARS]


@dataclass(frozen=True, slots=True)
class ErrorObject:
    """What the error shapes of the providers have in common."""

    message: str
    code: str

    @property
    def is_overflow(self) -> bool:
        """Whether it says that the conversation is too long for the model."""
        return self.code in _OVERFLOW_CODES or bool(_OVERFLOW_WORDS.search(self.message))

    @property
    def is_rate_limit(self) -> bool:
        """Whether it asks for patience."""
        return self.code == "429" or bool(_RATE_WORDS.search(f"{self.code} {self.message}"))


def read_error(value: Any) -> ErrorObject:
    """Read `{"error": {...}}`, `{"error": "..."}`, `{"message": ...}` or a plain string."""
    if isinstance(value, dict):
        inner = value.get("error")
        if isinstance(inner, dict | str):
            return read_error(inner)
        codes = (value.get("code"), value.get("type"))
        code = next((str(c) for c in codes if isinstance(c, str | int) and str(c)), "")
        if str(value.get("type")) in _OVERFLOW_CODES:
            code = str(value["type"])
        return ErrorObject(str(value.get("message") or value.get("detail") or ""), code)
    return ErrorObject(value if isinstance(value, str) else "", "")


def from_status(
    status: int, headers: Mapping[str, str], body: bytes, *, secrets: Secrets, now_s: float
) -> ModelCallError:
    """The error that an HTTP answer other than 200 stands for. `now_s` is seconds since 1970."""
    text = body.decode("utf-8", "replace")
    try:
        error = read_error(orjson.loads(body))
    except orjson.JSONDecodeError:
        error = ErrorObject(text, "")
    # The answer to a refused credential quotes parts of it in forms of its own.
    detail = f"HTTP {status}"
    if status not in (401, 403):
        detail = secrets.scrub(f"HTTP {status}: {error.message or text}")
    is_overflow = status == 413 or (status in OVERFLOW_STATUSES and error.is_overflow)
    category, sentence = _judge_status(status, is_overflow=is_overflow)
    is_transient = status in TRANSIENT_STATUSES and not is_overflow
    return ModelCallError(
        category,
        sentence,
        detail=detail,
        retry_after_s=retry_after_s(headers, now_s) if is_transient else None,
        is_transient=is_transient and error.code not in _QUOTA_CODES,
        is_context_overflow=is_overflow,
    )


def _judge_status(status: int, *, is_overflow: bool) -> tuple[ErrorCategory, str]:
    if is_overflow:
        return OVERFLOW
    if 300 <= status < 400:
        return (
            ErrorCategory.PROVIDER_FAILURE,
            f"The model service tried to redirect the call (HTTP {status}), which is refused.",
        )
    known = _STATUS_SENTENCES.get(status)
    if known is not None:
        return known
    if 400 <= status < 500:
        return (
            ErrorCategory.INPUT_COMPATIBILITY,
            f"The model service did not accept the request (HTTP {status}).",
        )
    return (ErrorCategory.PROVIDER_FAILURE, f"The model service failed (HTTP {status}).")


OVERFLOW = (
    ErrorCategory.INPUT_COMPATIBILITY,
    "The conversation is too long for the model's context window.",
)

_STATUS_SENTENCES: dict[int, tuple[ErrorCategory, str]] = {
    401: (
        ErrorCategory.PROVIDER_FAILURE,
        "The model service refused the credential (HTTP 401).",
    ),
    402: (ErrorCategory.PROVIDER_FAILURE, "The model service asks for payment (HTTP 402)."),
    403: (
        ErrorCategory.PROVIDER_FAILURE,
        "The model service denies access with this credential (HTTP 403).",
    ),
    404: (
        ErrorCategory.PROVIDER_FAILURE,
        "The model service does not know this model or address (HTTP 404).",
    ),
    405: (
        ErrorCategory.PROVIDER_FAILURE,
        "The address does not take model calls (HTTP 405).",
    ),
    408: (ErrorCategory.TIMEOUT, "The model service timed out (HTTP 408)."),
    409: (ErrorCategory.PROVIDER_FAILURE, "The model service reported a conflict (HTTP 409)."),
    425: (ErrorCategory.PROVIDER_FAILURE, "The model service is not ready (HTTP 425)."),
    429: (ErrorCategory.RATE_LIMITED, "The model service is limiting requests (HTTP 429)."),
    504: (ErrorCategory.TIMEOUT, "The model service timed out (HTTP 504)."),
    524: (ErrorCategory.TIMEOUT, "The model service timed out (HTTP 524)."),
    529: (ErrorCategory.RATE_LIMITED, "The model service is overloaded (HTTP 529)."),
}


def from_error_event(value: Any, *, secrets: Secrets) -> ModelCallError:
    """The error that a provider reports inside a stream that began well."""
    error = read_error(value)
    detail = secrets.scrub(f"{error.code} {error.message}")
    if error.is_overflow:
        category, sentence = OVERFLOW
        return ModelCallError(category, sentence, detail=detail, is_context_overflow=True)
    if error.is_rate_limit:
        return ModelCallError(
            ErrorCategory.RATE_LIMITED,
            "The model service is limiting requests.",
            detail=detail,
            is_transient=error.code not in _QUOTA_CODES,
        )
    return ModelCallError(
        ErrorCategory.PROVIDER_FAILURE,
        "The model service reported an error while answering.",
        detail=detail,
        is_transient=True,
    )


def retry_after_s(headers: Mapping[str, str], now_s: float) -> float | None:
    """How long the provider asks to wait: `retry-after-ms`, or `Retry-After` as seconds or date."""
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    value = headers.get("Retry-After")
    seconds = _number(value)
    if seconds is not None or value is None:
        return seconds
    try:
        when = parsedate_to_datetime(value)
    except ValueError:
        return None
    if when.tzinfo is None:
        when = when.replace(tzinfo=UTC)
    return max(0.0, when.timestamp() - now_s)


def _number(value: str | None) -> float | None:
    try:
        number = float(value) if value is not None else math.nan
    except ValueError:
        return None
    return max(0.0, number) if math.isfinite(number) else None
