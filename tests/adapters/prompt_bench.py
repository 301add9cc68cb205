"""Consent prompts at work between a scripted platform and a scripted daemon."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from netclaw.adapters.driver import (
    Abilities,
    ChannelConfig,
    Clicked,
    DriverFailure,
    Place,
    Received,
    Thread,
)
from netclaw.adapters.prompts import ConsentPrompts
from netclaw.core.errors import NetclawError
from netclaw.wire.v1.common_pb2 import ConsentOption, Output, Sender
from netclaw.wire.v1.gateway_pb2 import PendingApproval
from tests.adapters.scripted import CHANNEL, ScriptedDriver, ScriptedLink, context_of, quiet

HERE = "C1/1"
ANN, BOB = "U1", "U2"
BOUNDARY = "slack:T1/C1"
THREAD = Thread(channel_id="C1", thread_id="1", place=Place.CHANNEL, boundary=BOUNDARY)
KEY = "p.64.1"
LETTERS_ONLY = Abilities(text_limit=500, has_buttons=False, has_edit=True, has_status=False)
BUTTONS = Abilities(text_limit=500, has_buttons=True, has_edit=True, has_status=False)
OPTIONS = (
    ConsentOption(key="approve_once", label="Once", effect="approve"),
    ConsentOption(key="approve_everywhere", label="Always anywhere", effect="approve"),
    ConsentOption(key="deny", label="Deny", effect="refuse"),
)


def request_of(
    call_id: str = "c1",
    *,
    position: int = 1,
    seq: int = 5,
    asked_at_ms: int = 100,
    sender_id: str = ANN,
    principal: str = "trusted",
    source: str = CHANNEL,
    run_id: str = "",
) -> PendingApproval:
    """An open request of the session here."""
    return PendingApproval(
        call_id=call_id,
        session_id=HERE,
        tool="shell_execute",
        display=f"rm {call_id}",
        options=OPTIONS,
        requester=Sender(
            sender_id=sender_id, principal=principal, source_kind=source, boundary=BOUNDARY
        ),
        run_id=run_id,
        seq=seq,
        asked_at_ms=asked_at_ms,
        position=position,
    )


class Bench:
    """The prompts of one start, and what people and the daemon do."""

    def __init__(
        self,
        driver: ScriptedDriver | None = None,
        link: ScriptedLink | None = None,
        *,
        allowed_user_ids: frozenset[str] = frozenset(),
        now_ms: int = 50,
    ) -> None:
        self.driver = driver or ScriptedDriver(BUTTONS)
        self.link = link or ScriptedLink()
        self.told: list[str] = []
        self.now_ms = now_ms
        config = ChannelConfig(
            name=CHANNEL,
            allowed_channel_ids=frozenset(("C1",)),
            allowed_user_ids=allowed_user_ids,
        )
        context = context_of(
            self.driver, self.link, config=config, told=self.told, now_ms=lambda: self.now_ms
        )
        self.parts = ConsentPrompts(context, first_delay_s=0.001)

    async def ask(self, *requests: PendingApproval) -> None:
        """Requests are opened."""
        for request in requests:
            self.link.approvals[request.call_id] = request
        await self.look()

    async def look(self) -> None:
        """The daemon says that something changed."""
        self.parts.look()
        await quiet()

    async def end(self, call_id: str = "c1", outcome: str = "approved", run_id: str = "") -> None:
        """The session takes an answer up, or the request ends otherwise."""
        self.link.approvals.pop(call_id, None)
        await self.link.say(
            HERE,
            Output(type="consent_update", seq=9, call_id=call_id, outcome=outcome, run_id=run_id),
        )
        await self.look()

    def token(self, label: str, key: str = KEY) -> str:
        """What a button carries."""
        return self.driver.buttons(key)[label].token

    async def press(
        self, token: str, sender_id: str = ANN, *, post_id: str = "", thread: Thread = THREAD
    ) -> None:
        """A person presses a button."""
        found = post_id or self.driver.ids.get(KEY, "")
        await self.parts.click(
            Clicked(token=token, sender_id=sender_id, post_id=found, thread=thread)
        )
        await quiet()

    async def write(
        self, text: str, sender_id: str = ANN, *, event_id: str = "e1", at_ms: int = 0
    ) -> bool:
        """A person writes below the prompt."""
        taken = await self.parts.take_letter(
            Received(
                event_id=event_id,
                thread=THREAD,
                sender_id=sender_id,
                text=text,
                at_ms=at_ms,
                mention="<@us>",
            )
        )
        await quiet()
        return taken

    def shown(self, place: int = -1) -> str:
        """A post of the thread."""
        return self.driver.shown(HERE)[place]


@asynccontextmanager
async def running(bench: Bench) -> AsyncIterator[Bench]:
    """Prompts that run until the block ends."""
    task = asyncio.create_task(bench.parts.run())
    try:
        await quiet()
        yield bench
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError, NetclawError, DriverFailure):
            await task
