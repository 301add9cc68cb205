"""Says from what people see, the ledger and the journal whether a channel kept its promises."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import Any

from netclaw.wire.v1.gateway_pb2 import LedgerEntry
from tests.fakes.slack import SlackServer
from tests.fakes.slack_store import BOT, CHANNEL, Message

TOKEN = re.compile(r"w\d+x-m\d+")
WORD = re.compile(r"w\d+x")


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A message that a person wrote."""

    token: str
    ts: str

    @property
    def event_id(self) -> str:
        """By which the ledger knows it."""
        return f"{CHANNEL}/{self.ts}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What became of the messages of a conversation."""

    answered: int
    interrupted: int
    adopted: int


class Sight:
    """Our posts in a workspace, by thread."""

    def __init__(self, slack: SlackServer) -> None:
        self._slack = slack
        self._seen = 0
        self._threads: dict[str, list[Message]] = defaultdict(list)

    def replies(self, root: str) -> list[Message]:
        """Ours in a thread, oldest first."""
        # Nothing of ours is deleted, and messages are kept in the order in which they came.
        for message in [*self._slack.store.messages.values()][self._seen :]:
            self._seen += 1
            if message.bot_id == BOT:
                self._threads[message.thread].append(message)
        return self._threads[root]

    def has_post_behind(self, root: str, ts: str) -> bool:
        """Whether we posted something after a message."""
        found = self.replies(root)
        return bool(found) and float(found[-1].ts) > float(ts)

    def posts(self) -> list[Message]:
        """All of ours."""
        self.replies("")
        return [message for found in self._threads.values() for message in found]


def check_workspace(sight: Sight) -> None:
    """No key was posted twice, and every post has one."""
    keys = Counter(str(message.metadata) for message in sight.posts())
    assert "None" not in keys, "a post has no key"
    twice = {key: count for key, count in keys.items() if count > 1}
    assert not twice, f"posted twice: {twice}"


def check_talk(
    word: str,
    lines: list[Line],
    replies: list[Message],
    entries: list[LedgerEntry],
    rows: list[dict[str, Any]],
) -> Found:
    """One conversation: known, answered, once, in order, and nobody else's."""
    known = {entry.source_message_id: entry for entry in entries}
    assert len(known) == len(entries), f"a message is in the ledger twice: {entries}"
    admitted = {
        row["payload"]["input_id"]: str(row["payload"]["text"])
        for row in rows
        if row["type"] == "InputAdmitted"
    }
    strangers = {found for text in admitted.values() for found in WORD.findall(text)} - {word}
    assert not strangers, f"{word} was told of {strangers}"
    shown = [token for reply in replies for token in TOKEN.findall(reply.shown)]
    mixed = {found for reply in replies for found in WORD.findall(reply.shown)} - {word}
    assert not mixed, f"the thread of {word} was answered with {mixed}"
    assert shown == sorted(set(shown), key=shown.index), f"answered twice: {shown}"
    assert shown == sorted(shown, key=_place), f"answered out of order: {shown}"
    interrupted = adopted = 0
    for line in lines:
        entry = known.get(line.event_id) or _adopter(line, entries, admitted)
        adopted += line.event_id not in known
        _check_delivered(line, entry)
        if line.token not in shown:
            assert entry.outcome != "completed", f"{line.token} was answered, nobody saw it"
            interrupted += 1
    return Found(answered=len(shown), interrupted=interrupted, adopted=adopted)


def _place(token: str) -> int:
    return int(token.rpartition("m")[2])


def _adopter(line: Line, entries: list[LedgerEntry], admitted: dict[str, str]) -> LedgerEntry:
    """The input that quotes a message which was acknowledged and has no entry of its own."""
    for entry in entries:
        if line.token in admitted[entry.input_id]:
            return entry
    raise AssertionError(f"{line.token} was acknowledged, and the ledger does not know of it")


def _check_delivered(line: Line, entry: LedgerEntry) -> None:
    states = [delivery.state for delivery in entry.deliveries]
    assert "delivered" in states, f"{line.token} has no delivered answer: {entry}"
    assert set(states) == {"delivered"}, f"a reply to {line.token} was given up: {entry}"
