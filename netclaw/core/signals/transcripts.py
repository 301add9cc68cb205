"""Reads lines of a transcript that another program writes: who wrote what, and when.

A transcript is a file of JSON objects, one a line, that is only ever added to. Two formats are
known (decision 60: one kind of catalog, files of JSON lines): the generic one, and the session
files of Claude Code. Of both only what people and the model said counts; results of tools, notes
of the program to itself and side conversations of its agents do not.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import cast

Json = Mapping[str, object]


class Catalog(StrEnum):
    """The format of a transcript."""

    JSONL = "jsonl"
    """One object a line with `role`, `text` or `content`, and perhaps `timestamp`."""
    CLAUDE_CODE = "claude-code"
    """What Claude Code keeps below `~/.claude/projects`."""


class Speaker(StrEnum):
    """Who a line of a transcript is by."""

    PERSON = "person"
    MODEL = "model"
    NOBODY = "nobody"
    """Neither: the program's own business."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One line, understood; `at` is its own time (epoch ms), None if it has none."""

    speaker: Speaker
    text: str = ""
    at: int | None = None


_NOBODY = Line(speaker=Speaker.NOBODY)

# Compared, not looked up: what stands there need not be a text.
_PEOPLE = ("user", "human")
_MODELS = ("assistant", "model", "ai")

_MESSAGE_ROWS = ("user", "assistant")
"""Types of Claude Code's rows that hold messages."""
_NOT_TYPED = (
    "<local-command-",
    "<bash-stdout>",
    "<bash-stderr>",
    "<task-notification>",
    "<system-reminder>",
    "[Request interrupted by user",
)
"""How texts begin that Claude Code writes in the place of a person."""
_NOT_A_TURN = ("isMeta", "isSidechain", "isCompactSummary", "isVisibleInTranscriptOnly")
"""Marks of Claude Code on rows that no person wrote and that are no part of the conversation."""
_HUMAN = "human"
_MILLISECONDS_FROM = 100_000_000_000
"""A number of a time from here on counts milliseconds; as seconds it would be the year 5138."""
_LAST_TIME = 253_402_300_800_000
"""The first millisecond of the year 10000."""


def parse_object(line: bytes) -> Json | None:
    """The JSON object of a line, or None for anything else."""
    try:
        value: object = json.loads(line.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        return None
    return cast("Json", value) if isinstance(value, dict) else None


def detect_catalog(objects: Iterable[Json]) -> Catalog | None:
    """The format that the first lines of a file show, or None if they show none.

    Claude Code begins files with rows about the file itself, so a row decides only if it is a
    message.
    """
    for found in objects:
        if found.get("type") in _MESSAGE_ROWS and isinstance(found.get("message"), dict):
            return Catalog.CLAUDE_CODE
        if isinstance(found.get("role"), str) and ("text" in found or "content" in found):
            return Catalog.JSONL
    return None


def read_line(catalog: Catalog, line: bytes) -> Line | None:
    """Understand a complete line; None if it is no JSON object."""
    found = parse_object(line)
    if found is None:
        return None
    if catalog is Catalog.CLAUDE_CODE:
        return _of_claude_code(found)
    return _of_generic(found)


def _of_generic(found: Json) -> Line:
    role = found.get("role")
    content = found["text"] if "text" in found else found.get("content")
    return _line(_speaker(role), content, found.get("timestamp"))


def _of_claude_code(found: Json) -> Line:
    if any(found.get(mark) is True for mark in _NOT_A_TURN) or not _is_by_human(found):
        return _NOBODY
    attachment = found.get("attachment")
    if found.get("type") == "attachment" and isinstance(attachment, dict):
        return _of_queued(found, cast("Json", attachment))
    message = found.get("message")
    if found.get("type") not in _MESSAGE_ROWS or not isinstance(message, dict):
        return _NOBODY
    line = _line(_speaker(found["type"]), message.get("content"), found.get("timestamp"))
    if line.speaker is Speaker.PERSON and line.text.lstrip().startswith(_NOT_TYPED):
        return _NOBODY
    return line


def _of_queued(found: Json, attachment: Json) -> Line:
    """What was typed while the model worked stands in an attachment and in no other row."""
    if attachment.get("type") != "queued_command" or not _is_by_human(attachment):
        return _NOBODY
    if attachment.get("commandMode", "prompt") != "prompt":
        return _NOBODY
    line = _line(Speaker.PERSON, attachment.get("prompt"), found.get("timestamp"))
    return _NOBODY if line.text.lstrip().startswith(_NOT_TYPED) else line


def _is_by_human(found: Json) -> bool:
    """Whether a row that names its origin names a person; older rows name none."""
    origin = found.get("origin")
    if found.get("promptSource") == "system":
        return False
    return not isinstance(origin, dict) or origin.get("kind", _HUMAN) == _HUMAN


def _speaker(role: object) -> Speaker:
    if role in _PEOPLE:
        return Speaker.PERSON
    return Speaker.MODEL if role in _MODELS else Speaker.NOBODY


def _line(speaker: Speaker, content: object, time: object) -> Line:
    """A line by its content: a text, or blocks of which only some are anybody's words."""
    if speaker is Speaker.NOBODY:
        return _NOBODY
    if isinstance(content, str):
        return Line(speaker=speaker, text=_valid(content), at=_time(time))
    blocks = _blocks(content)
    texts = [
        text
        for block in blocks
        if block.get("type", "text") == "text" and isinstance(text := block.get("text"), str)
    ]
    if not texts and not any(block.get("type") in _SHOWN for block in blocks):
        return _NOBODY
    return Line(speaker=speaker, text=_valid("\n".join(texts)), at=_time(time))


_SHOWN = ("image", "document")
"""Blocks without words that a person put there."""


def _blocks(content: object) -> list[dict[str, object]]:
    if not isinstance(content, list):
        return []
    return [block for block in content if isinstance(block, dict)]


def _valid(text: str) -> str:
    """The text without halves of characters, which no database keeps."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def _time(value: object) -> int | None:
    """A time in epoch ms: ISO 8601, or a number of seconds or milliseconds; None for neither."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return _time_of_number(value)
    if not isinstance(value, str):
        return None
    try:
        found = datetime.fromisoformat(value)
    except ValueError:
        return None
    if found.tzinfo is None:
        found = found.replace(tzinfo=UTC)
    return round(found.timestamp() * 1000)


def _time_of_number(value: float) -> int | None:
    if not -_LAST_TIME < value < _LAST_TIME:  # NaN is neither
        return None
    return round(value) if abs(value) >= _MILLISECONDS_FROM else round(value * 1000)
