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
    r"|reduce the length"
    r"|maximum (?:prompt|input) length"
    r"|must have less than \d+ tokens"
    r"|tokens \+ \W?max_new_tokens\W? must be"
    r"|exceed[a-z]* (?:the )?model token limit"
    r"|input token count is \d+ but"
    r"|range of input length"
    r"|(?:prompt|input|request) exceeds? (?:the )?max(?:imum)? length",
    re.IGNORECASE,
)
_RATE_WORDS = re.compile(r"rate.?limit|too many requests|quota|overloaded", re.IGNORECASE)
_QUOTA_CODES = frozenset({"insufficient_quota", "billing_hard_limit_reached"})
_LOADING_WORDS = re.compile(r"loading model|model is (?:still )?loading", re.IGNORECASE)
_CREDIT_WORDS = re.compile(r"credit balance is too low", re.IGNORECASE)
_STATUS_OF_CODE = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "timeout_error": 504,
    "overloaded_error": 529,
}
"""The HTTP status that a provider would have sent, had the error come before the stream."""


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
    def is_unpaid(self) -> bool:
        """Whether the account is out of credit, which some services tell as a bad request."""
        return self.code == "billing_error" or bool(_CREDIT_WORDS.search(self.message))

    @property
    def is_loading(self) -> bool:
        """Whether the service is up and its model is not, as local servers say after a start."""
        return bool(_LOADING_WORDS.search(self.message))

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
    status: int,
    headers: Mapping[str, str],
    body: bytes,
    *,
    secrets: Secrets,
    now_s: float,
    unknown_hint: str = "",
) -> ModelCallError:
    """The error that an HTTP answer other than 200 stands for. `now_s` is seconds since 1970.

    `unknown_hint` is said behind the sentence when the service does not know the model.
    """
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
    category, sentence = _judge_status(
        402 if error.is_unpaid else status, is_overflow=is_overflow, told=f" (HTTP {status})"
    )
    if status == 404:
        sentence += unknown_hint
    if status == 503 and error.is_loading:
        sentence = "The model service is still loading the model."
    is_transient = status in TRANSIENT_STATUSES and not is_overflow
    return ModelCallError(
        category,
        sentence,
        detail=detail,
        retry_after_s=retry_after_s(headers, now_s) if is_transient else None,
        is_transient=is_transient and error.code not in _QUOTA_CODES,
        is_context_overflow=is_overflow,
    )


def _judge_status(status: int, *, is_overflow: bool, told: str) -> tuple[ErrorCategory, str]:
    """The category and the sentence, which ends with `told`, where the number came from."""
    if is_overflow:
        return OVERFLOW
    if 300 <= status < 400:
        return (
            ErrorCategory.PROVIDER_FAILURE,
            f"The model service tried to redirect the call{told}, which is refused.",
        )
    category, words = _STATUS_WORDS.get(status) or (
        (ErrorCategory.INPUT_COMPATIBILITY, "The model service did not accept the request")
        if 400 <= status < 500
        else (ErrorCategory.PROVIDER_FAILURE, "The model service failed")
    )
    return category, f"{words}{told}."


OVERFLOW = (
    ErrorCategory.INPUT_COMPATIBILITY,
    "The conversation is too long for the model's context window.",
)

_STATUS_WORDS: dict[int, tuple[ErrorCategory, str]] = {
    401: (ErrorCategory.PROVIDER_FAILURE, "The model service refused the credential"),
    402: (ErrorCategory.PROVIDER_FAILURE, "The model service asks for payment"),
    403: (
        ErrorCategory.PROVIDER_FAILURE,
        "The model service denies access with this credential",
    ),
    404: (
        ErrorCategory.PROVIDER_FAILURE,
        "The model service does not know this model or address",
    ),
    405: (ErrorCategory.PROVIDER_FAILURE, "The address does not take model calls"),
    408: (ErrorCategory.TIMEOUT, "The model service timed out"),
    409: (ErrorCategory.PROVIDER_FAILURE, "The model service reported a conflict"),
    425: (ErrorCategory.PROVIDER_FAILURE, "The model service is not ready"),
    429: (ErrorCategory.RATE_LIMITED, "The model service is limiting requests"),
    504: (ErrorCategory.TIMEOUT, "The model service timed out"),
    524: (ErrorCategory.TIMEOUT, "The model service timed out"),
    529: (ErrorCategory.RATE_LIMITED, "The model service is overloaded"),
}


def from_error_event(value: Any, *, secrets: Secrets) -> ModelCallError:
    """The error that a provider reports inside a stream that began well."""
    error = read_error(value)
    status = 402 if error.is_unpaid else _STATUS_OF_CODE.get(error.code)
    # The answer to a refused credential quotes parts of it in forms of its own.
    is_quoted = status in (401, 403)
    detail = secrets.scrub(error.code if is_quoted else f"{error.code} {error.message}")
    if error.is_overflow or status == 413:
        category, sentence = OVERFLOW
        return ModelCallError(category, sentence, detail=detail, is_context_overflow=True)
    if status is None and error.is_rate_limit:
        status = 429
    if status is not None:
        category, sentence = _judge_status(status, is_overflow=False, told="")
        return ModelCallError(
            category,
            sentence,
            detail=detail,
            is_transient=status in TRANSIENT_STATUSES and error.code not in _QUOTA_CODES,
        )
    return ModelCallError(
        ErrorCategory.PROVIDER_FAILURE,
        "The model service reported an error while answering.",
        detail=detail,
        is_transient=True,
    )


_ALTERNATION_WORDS = re.compile(r"roles? must alternate|must alternate between", re.IGNORECASE)


def wants_alternation(error: ModelCallError) -> bool:
    """Whether a chat template refused two messages of one role in a row, before any answer."""
    return error.is_before_first_chunk and bool(_ALTERNATION_WORDS.search(error.detail))


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
