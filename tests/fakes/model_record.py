"""What the fake model remembers of a request."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Protocol

import orjson

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.fakes.model_play import Play


class Outcome(StrEnum):
    """How an answer ended, as the server saw it."""

    OPEN = "open"
    SENT = "sent"
    DISCONNECTED = "disconnected"


@dataclass(slots=True, kw_only=True)
class Recorded:
    """One request that came in. `at_s` is CLOCK_MONOTONIC, comparable between processes here."""

    index: int
    at_s: float
    headers: Mapping[str, str]
    raw: bytes
    message: str = ""
    round_index: int = 0
    attempt: int = 1
    outcome: Outcome = Outcome.OPEN
    is_title: bool = False

    @property
    def body(self) -> Any:
        """The request as JSON."""
        return orjson.loads(self.raw)

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The conversation that was sent."""
        messages: list[dict[str, Any]] = self.body["messages"]
        return messages


class Director(Protocol):
    """Looks at every request and has the last word on its answer."""

    def saw(self, body: dict[str, Any], complaint: str | None) -> None:
        """A request came in; `complaint` is what a strict provider refuses in it."""

    def direct(self, body: dict[str, Any], play: Play) -> Play:
        """What is answered, where the script asks for `play`."""
