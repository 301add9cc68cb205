"""Conversations in Slack threads while every process is killed: each message is answered once.

People write, interrupt each other, correct what they wrote, and Slack repeats itself, while
adapter, sessions and supervisor die at random and the platform fails now and then. Every
conversation has a word of its own and every message a token, which the model's answer repeats, so
that what people see says by itself what was answered where. A small dose by the tests, a large one
by `scripts/torture channels`.
"""

from __future__ import annotations

import asyncio
import random
from collections import Counter, deque
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain, repeat

from netclaw.wire.v1.gateway_pb2 import LedgerEntry
from tests.adapters.process.channel_checks import Line, Sight, check_talk, check_workspace
from tests.adapters.process.slack_world import restless_section
from tests.fakes.slack import Fault, SlackServer
from tests.fakes.slack_store import ANN, BEN, BOT_USER, CHANNEL, Json
from tests.process.checks import check_journal
from tests.process.run_calls import kill
from tests.process.world import World

PER_KILL = 5
"""Conversations that begin between two kills."""
AT_ONCE = 24
VICTIMS = {"session": 6, "adapter": 2, "daemon": 2}
"""Of ten kills in a row, in any order: an adapter that dies too often is started ever later, which
a new daemon forgets."""
FAULTS = (Fault.RATE_LIMITED, Fault.ACCEPTED_THEN_500, Fault.ACCEPTED_THEN_CUT, Fault.ERROR_500)
PACE = "[[echo]] [[pace:{pace}]]"
TOOL = '[[tool:file_list {"path":"."}]] [[next]] '
LONGEST_PAUSE_S = 0.3
PATIENCE_S = 120.0
"""For one answer and for the end: a daemon that was killed with many sessions starts them all."""
FINAL = frozenset({"completed", "failed", "stopped", "guard-ended", "closed"})
CLOSED = frozenset({"delivered", "failed"})


@dataclass(slots=True, kw_only=True)
class ChannelToll:
    """What was done to a channel, and what people had of it in spite of that."""

    kills: Counter[str] = field(default_factory=Counter)
    faults: Counter[str] = field(default_factory=Counter)
    conversations: int = 0
    messages: int = 0
    answered: int = 0
    interrupted: int = 0
    """Whose turn ended with a notice, because a tool may have run already."""
    adopted: int = 0
    """That came as context of the message behind them."""

    def lines(self) -> Iterator[str]:
        """The figures for people."""
        yield f"{dict(self.kills)} killed, {dict(self.faults)}"
        yield (
            f"{self.conversations} conversations, {self.messages} messages: {self.answered}"
            f" answered, {self.interrupted} told of an interruption,"
            f" {self.adopted} taken as context of the next"
        )


@dataclass(slots=True, kw_only=True)
class Talk:
    """One conversation."""

    number: int
    root: str = ""
    lines: list[Line] = field(default_factory=list)

    @property
    def word(self) -> str:
        """What stands in each of its messages and in no other conversation's."""
        return f"w{self.number}x"

    @property
    def session_id(self) -> str:
        """Its session."""
        return f"{CHANNEL}/{self.root}"


class ChannelTorture:
    """One workspace and one daemon under fire."""

    def __init__(self, world: World, slack: SlackServer, *, seed: int) -> None:
        self._world = world
        self._slack = slack
        self._dice = random.Random(seed)
        self._sight = Sight(slack)
        self._room = asyncio.Semaphore(AT_ONCE)
        self._talks: list[Talk] = []
        self._deck: list[str] = []
        self.toll = ChannelToll()

    async def run(self, *, conversations: int) -> ChannelToll:
        """Talk and kill, then check each promise."""
        talking: set[asyncio.Task[None]] = set()
        for number in range(conversations):
            # Its own dice: what people say is the same however fast the machine is.
            talk = Talk(number=number)
            self._talks.append(talk)
            dice = random.Random(self._dice.random())
            talking.add(asyncio.create_task(self._talk(talk, dice)))
            if number % PER_KILL == PER_KILL - 1:
                self._disturb()
                await asyncio.sleep(self._dice.uniform(0.0, LONGEST_PAUSE_S))
                await self._strike()
                for task in [task for task in talking if task.done()]:
                    talking.discard(task)
                    task.result()
        await asyncio.gather(*talking)
        await self._settle()
        await self._check()
        return self.toll

    # What people do -----------------------------------------------------------------------

    async def _talk(self, talk: Talk, dice: random.Random) -> None:
        async with self._room:
            self.toll.conversations += 1
            for _ in range(dice.randrange(1, 5)):
                await self._say(talk, dice)
                if dice.random() < 0.5:
                    await self._until_told(talk)
                else:
                    await asyncio.sleep(dice.uniform(0.0, LONGEST_PAUSE_S))

    async def _say(self, talk: Talk, dice: random.Random) -> None:
        """Somebody writes, and may change it; Slack may tell of it more than once."""
        token = f"{talk.word}-m{len(talk.lines)}"
        script = (TOOL if dice.random() < 0.2 else "") + PACE.format(pace=dice.choice((0, 2, 10)))
        mention = "" if talk.root else f"<@{BOT_USER}> "
        message = await self._slack.say(
            f"{mention}{token} {script}",
            user=dice.choice((ANN, BEN)),
            thread=talk.root,
            as_mention=bool(mention) and dice.random() < 0.5,
        )
        talk.root = message.thread
        talk.lines.append(Line(token=token, ts=message.ts))
        self.toll.messages += 1
        event: Json = message.as_json() | {"channel": CHANNEL, "channel_type": "channel"}
        if dice.random() < 0.3:
            await self._slack.tell(event)
        if dice.random() < 0.2:
            edited = {"message": event | {"text": f"{token} and more"}, "hidden": True}
            change: Json = {"type": "message", "subtype": "message_changed", "ts": message.ts}
            await self._slack.tell(change | {"channel": CHANNEL} | edited)

    async def _until_told(self, talk: Talk) -> None:
        """Wait until something was posted behind the newest message; bounded."""
        newest = talk.lines[-1].ts
        async with asyncio.timeout(PATIENCE_S):
            while not self._sight.has_post_behind(talk.root, newest):
                await asyncio.sleep(0.03)

    # What happens to them -----------------------------------------------------------------

    def _disturb(self) -> None:
        if self._dice.random() < 0.4:
            fault = self._dice.choice(FAULTS)
            self.toll.faults[fault.name.lower()] += 1
            self._slack.faults.append(fault)

    async def _strike(self) -> None:
        """Kill one of the processes there are."""
        if not self._deck:
            self._deck = [*chain(*(repeat(kind, n) for kind, n in VICTIMS.items()))]
            self._dice.shuffle(self._deck)
        kind = self._deck.pop()
        self.toll.kills[kind] += 1
        connects = self._slack.events.connects
        match kind:
            case "session":
                kill(self._dice.choice(await self._sessions()))
                return
            case "adapter":
                kill(await self._adapter())
            case _:
                await self._world.kill()
                await self._world.start()
                await self._release_held()
        if self._dice.random() < 0.5:
            await self._slack.events.until_connects(connects + 1)

    async def _sessions(self) -> list[int]:
        """Processes of sessions, once there is one; bounded."""
        async with asyncio.timeout(PATIENCE_S):
            while not (
                pids := [row.pid for row in (await self._world.peer.rows()).values() if row.pid]
            ):
                await asyncio.sleep(0.02)
        return pids

    async def _adapter(self) -> int:
        status = await self._world.peer.wait_status(lambda found: found.adapters[0].pid != 0)
        return int(status.adapters[0].pid)

    async def _release_held(self) -> None:
        """A start that two deaths of the supervisor in a row cut short is held for the operator."""
        for name, row in (await self._world.peer.rows()).items():
            if row.phase == "quarantined":
                await self._world.peer.restart_session(name)

    # What is left -------------------------------------------------------------------------

    async def _settle(self) -> None:
        """Wait until the platform has nothing left to tell, and every message its end; bounded."""
        await self._release_held()
        open_ones: object = None
        try:
            async with asyncio.timeout(PATIENCE_S):
                await self._until_acknowledged()
                for talk in self._talks:
                    while open_ones := _open(await self._world.peer.ledger(talk.session_id)):
                        await asyncio.sleep(0.05)
        except TimeoutError:
            waiting = self._slack.events.waiting
            text = f"{waiting} events were not acknowledged; not over: {open_ones}"
            raise AssertionError(text) from None

    async def _until_acknowledged(self) -> None:
        while self._slack.events.waiting:
            with suppress(TimeoutError):
                await self._slack.events.until_acknowledged()

    async def _check(self) -> None:
        check_workspace(self._sight)
        for talk in self._talks:
            rows = await self._world.peer.journal(talk.session_id)
            check_journal(rows)
            entries = await self._world.peer.ledger(talk.session_id)
            found = check_talk(talk.word, talk.lines, self._sight.replies(talk.root), entries, rows)
            self.toll.answered += found.answered
            self.toll.interrupted += found.interrupted
            self.toll.adopted += found.adopted


def _open(entries: list[LedgerEntry]) -> list[LedgerEntry]:
    """What is not over; a session without any entry is not over either."""
    if not entries:
        return [LedgerEntry()]
    return [
        entry
        for entry in entries
        if entry.outcome not in FINAL
        or any(delivery.state not in CLOSED for delivery in entry.deliveries)
    ]


async def torture_channels(*, seed: int, conversations: int) -> ChannelToll:
    """One whole run in a home and a workspace of its own."""
    async with SlackServer(page_size=50) as slack, World(config=restless_section(slack)) as world:
        await world.start()
        try:
            torture = ChannelTorture(world, slack, seed=seed)
            return await torture.run(conversations=conversations)
        except BaseException:
            log = world.home / "logs" / "adapter-slack.log"
            tail = deque(log.read_text().splitlines() if log.exists() else (), 40)
            print(f"seed {seed}; the adapter said:", *tail, sep="\n")
            print(f"the daemon said:\n{world.log[-6000:]}")
            raise
