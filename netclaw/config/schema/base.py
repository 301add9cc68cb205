"""What every configuration section shares: names, strictness and a few value types."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta
from enum import StrEnum
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    PlainSerializer,
    SecretStr,
    WithJsonSchema,
)
from pydantic.alias_generators import to_pascal

_TIME_SPAN = re.compile(r"(?:(\d{1,4})\.)?(\d{1,2}):(\d{2}):(\d{2})(?:\.(\d{1,7}))?\Z")


class Section(BaseModel):
    """A section of netclaw.json: PascalCase keys, unknown ones refused, never changed in place."""

    model_config = ConfigDict(
        alias_generator=to_pascal,
        populate_by_name=True,  # for type checkers alone: documents are canonicalised before
        extra="forbid",
        frozen=True,
        allow_inf_nan=False,
        hide_input_in_errors=True,
        validate_default=False,
    )


def fold(choices: type[StrEnum]) -> Callable[[object], object]:
    """A validator that accepts an enum's values in any letter case, as upstream does."""
    by_folded = {member.value.casefold(): member for member in choices}

    def match(value: object) -> object:
        return by_folded.get(value.casefold(), value) if isinstance(value, str) else value

    return match


def _time_span(value: object) -> object:
    if isinstance(value, timedelta):
        return value
    found = _TIME_SPAN.match(value) if isinstance(value, str) else None
    if found is None:
        raise ValueError('a time span like "01:30:00" (hours:minutes:seconds)')
    days, hours, minutes, seconds = (int(part or 0) for part in found.groups()[:4])
    if hours > 23 or minutes > 59 or seconds > 59:
        raise ValueError('a time span like "01:30:00" with at most 23 hours and 59 minutes')
    fraction = int((found[5] or "0").ljust(7, "0")) // 10
    return timedelta(
        days=days, hours=hours, minutes=minutes, seconds=seconds, microseconds=fraction
    )


def time_span_text(value: timedelta) -> str:
    """The canonical text of a time span: `[d.]hh:mm:ss[.fffffff]`."""
    minutes, seconds = divmod(value.seconds, 60)
    hours, minutes = divmod(minutes, 60)
    days = f"{value.days}." if value.days else ""
    fraction = f".{value.microseconds * 10:07}" if value.microseconds else ""
    return f"{days}{hours:02}:{minutes:02}:{seconds:02}{fraction}"


TimeSpan = Annotated[
    timedelta,
    BeforeValidator(_time_span),
    PlainSerializer(time_span_text, return_type=str),
    WithJsonSchema({"type": "string", "pattern": _TIME_SPAN.pattern.replace("\\Z", "$")}),
]
"""A length of time as upstream writes it, `hh:mm:ss`."""


def _web_address(value: str) -> str:
    if not _is_web_address(value):
        raise ValueError("an address like https://host.example or http://127.0.0.1:8080/v1")
    if "@" in urlsplit(value).netloc:
        raise ValueError("an address without a name and password; store those as a secret")
    return value


def _is_web_address(value: str) -> bool:
    if any(char.isspace() or not char.isprintable() for char in value):
        return False
    try:
        parts = urlsplit(value)
        _ = parts.port  # raises ValueError for a port that is no number
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.hostname)


WebAddress = Annotated[str, AfterValidator(_web_address)]
"""An http or https URL with a host and without credentials."""


def _one_line(value: str) -> str:
    if not value.strip() or any(ord(char) < 0x20 for char in value):
        raise ValueError("text that is not empty and has no control characters")
    return value


Text = Annotated[str, AfterValidator(_one_line)]
"""A name or id: one line, not empty."""


def _no_line_breaks(value: SecretStr) -> SecretStr:
    text = value.get_secret_value()
    if not text or any(ord(char) < 0x20 for char in text):
        raise ValueError("a secret that is not empty and has no control characters")
    return value


Secret = Annotated[SecretStr, AfterValidator(_no_line_breaks)]
"""A credential; belongs into secrets.json and is shown nowhere."""
