"""What one reply of the fake model is: content, shape and faults, as data."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import Enum, StrEnum


class IdStyle(StrEnum):
    """How provider call ids come out."""

    UNIQUE = "unique"
    SAME = "same"
    MISSING = "missing"
    EMPTY = "empty"


class CallStyle(StrEnum):
    """How tool calls are cut into chunks."""

    FRAGMENTS = "fragments"
    WHOLE = "whole"
    NO_INDEX = "no_index"
    EMPTY_CHUNKS = "empty_chunks"


class Body(Enum):
    """What a successful status carries."""

    STREAM = "stream"
    HTML = "html"


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One tool call; `arguments` is the raw text, valid JSON or not."""

    name: str
    arguments: str = "{}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Token counts of one reply; `cached` is the part of `prompt` served from a cache."""

    prompt: int = 11
    completion: int = 7
    cached: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Faults:
    """What goes wrong; counts are chunks, times are seconds, `attempts` None means always."""

    attempts: int | None = None
    status: int | None = None
    retry_after: str | None = None
    overflow: str | None = None
    redirect_to: str | None = None
    body: Body = Body.STREAM
    stall_headers_s: float = 0.0
    stall_s: float = 0.0
    stall_after: tuple[int, float] | None = None
    gate: tuple[int, str] | None = None
    keepalive_s: float | None = None
    pace_s: float = 0.0
    cut_after: int | None = None
    garbage_after: int | None = None
    error_event_after: int | None = None
    error_type: str | None = None
    is_finish_sent: bool = True
    is_done_sent: bool = True
    is_drip: bool = False

    @property
    def is_plain(self) -> bool:
        """Whether the body may be written at once: nothing happens between its chunks."""
        return (
            not self.is_drip
            and self.stall_after is None
            and self.gate is None
            and self.cut_after is None
            and self.garbage_after is None
            and self.error_event_after is None
        )


NO_FAULTS = Faults()


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """One answer of the fake model."""

    text: str = ""
    pieces: tuple[str, ...] = ()
    thinking: str = ""
    calls: tuple[Call, ...] = ()
    is_echo: bool = False
    is_results: bool = False
    chunk_chars: int | None = None
    ids: IdStyle = IdStyle.UNIQUE
    call_style: CallStyle = CallStyle.FRAGMENTS
    reasoning_key: str = "reasoning_content"
    usage: Usage | None = field(default_factory=Usage)
    finish: str | None = None
    newline: str = "\n"
    is_bad_utf8: bool = False
    is_spaceless: bool = False
    is_multiline: bool = False
    faults: Faults = NO_FAULTS

    def on_attempt(self, attempt: int) -> Reply:
        """What the `attempt`-th call of this round gets, counted from 1."""
        limit = self.faults.attempts
        return self if limit is None or attempt <= limit else replace(self, faults=NO_FAULTS)
