"""The models of a soak: strict about what they are asked, honest about tokens, sometimes at fault.

Main and Fallback play the scripts in the messages; a Fallback is mostly sound. Calls without tools
are those netclaw makes on the side (notes, titles): their prompts quote people's messages, so they
are answered by themselves.
"""

from __future__ import annotations

import hashlib
import re
import time
from collections import Counter
from dataclasses import replace
from random import Random
from typing import Any

import orjson

from tests.fakes.model_play import Play
from tests.fakes.model_reply import NO_FAULTS, Faults, Reply, Usage
from tests.soak.evidence import Asked, Evidence
from tests.soak.scripts import CUT_REPLY

CHARACTERS_PER_TOKEN = 4
ROUNDS_PER_MESSAGE = 40
"""A compaction inside a turn takes rounds away, so a script may begin anew: not for ever."""

_SESSION = re.compile(rb"\b(soak\d+)-")


def count_tokens(body: dict[str, Any]) -> int:
    """A whole request by the provider's own count."""
    tools = body.get("tools")
    size = len(orjson.dumps(body["messages"])) + (len(orjson.dumps(tools)) if tools else 0)
    return size // CHARACTERS_PER_TOKEN


class Provider:
    """Directs one fake model; see `tests.fakes.model.Director`."""

    def __init__(self, evidence: Evidence, *, seed: str, is_sound: bool) -> None:
        self._evidence = evidence
        self._seed = seed
        self._is_sound = is_sound
        self._random = Random(seed)
        self._rounds: Counter[tuple[str, str]] = Counter()
        self._tokens = 0
        self.counts: Counter[str] = Counter()

    def saw(self, body: dict[str, Any], complaint: str | None) -> None:
        """Note the request's size, and what is wrong with it."""
        if complaint is not None:
            self._evidence.complaints.append(complaint)
        self._tokens = count_tokens(body)
        if not body.get("tools"):
            self.counts["on the side"] += 1
            return
        self.counts["asked"] += 1
        asked = Asked(
            session=session_of(body), at_ms=time.time_ns() // 1_000_000, tokens=self._tokens
        )
        self._evidence.asked.append(asked)

    def direct(self, body: dict[str, Any], play: Play) -> Play:
        """Too long a request is refused; otherwise the script, with an honest count."""
        if self._tokens > self._evidence.window:
            self.counts["over the window"] += 1
            return replace(play, reply=Reply(faults=Faults(status=400, overflow="")))
        if not body.get("tools"):
            return replace(play, reply=self._counted(self._on_the_side()))
        key = (session_of(body), play.message)
        self._rounds[key] += 1
        reply = play.reply
        if self._rounds[key] > ROUNDS_PER_MESSAGE:
            reply = Reply(text="that is enough")
        elif self._is_sound and Random(f"{self._seed}/{play.message}").random() < 0.8:
            reply = replace(reply, faults=NO_FAULTS)
        if reply.text == CUT_REPLY:
            reply = replace(reply, text=self._cut_text(play.message))
        return replace(play, reply=self._counted(reply))

    def _cut_text(self, message: str) -> str:
        marker = "cut-" + hashlib.sha256(message.encode()).hexdigest()[:16]
        if marker not in self._evidence.cut_markers:
            self._evidence.cut_markers.append(marker)
        return f"this was said last: {marker} and {marker}"

    def _on_the_side(self) -> Reply:
        """Notes or a title, or one of the ways in which such a call fails."""
        chance = self._random.random()
        if chance < 0.7:
            return Reply(text="They spoke of small things.")
        if chance < 0.8:
            return Reply()
        if chance < 0.9:
            return Reply(text="late", faults=Faults(stall_s=4.0))
        return Reply(faults=Faults(status=503))

    def _counted(self, reply: Reply) -> Reply:
        if reply.usage is None or self._random.random() < 0.1:
            return replace(reply, usage=None)
        spoken = len(reply.text) + sum(map(len, reply.pieces))
        return replace(
            reply,
            usage=Usage(prompt=self._tokens, completion=spoken // CHARACTERS_PER_TOKEN + 1),
        )


def session_of(body: dict[str, Any]) -> str:
    """The session that asks: its folders and its messages name it; empty if it is not named."""
    found = _SESSION.search(orjson.dumps(body["messages"]))
    return found.group(1).decode() if found else ""
