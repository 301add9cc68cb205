"""Two models that answer every message with another one do not go on for ever."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from netclaw.core.session.inter_session import MAX_RELAYS
from tests.process.session_calls import (
    ASKER,
    TARGET,
    answers,
    at_rest,
    from_sessions,
    send,
)
from tests.process.world import World

pytestmark = pytest.mark.timeout(120)
CHAIN_S = 90.0


@pytest.mark.requirement("sends.end")
async def test_models_that_answer_every_message_with_another_come_to_an_end() -> None:
    async with World() as world:
        await world.start()
        await world.peer.turn(TARGET, "[[reply:there]]")
        for other in (ASKER, TARGET):
            world.model.rule(
                f'Message of session "{other}"',
                f"{send('more', to=other, wait_s=0)} [[reply:said]]",
            )
        await world.peer.turn(ASKER, f"{send('begin', wait_s=0)} [[reply:begun]]")
        refused: list[dict[str, Any]] = []
        async with asyncio.timeout(CHAIN_S):
            while not refused:
                await asyncio.sleep(0.1)
                told = [
                    *answers(await world.peer.journal(ASKER)),
                    *answers(await world.peer.journal(TARGET)),
                ]
                refused = [answer for answer in told if answer["status"] == "forbidden"]
        await at_rest(world, ASKER, TARGET)
        journals = [await world.peer.journal(name) for name in (ASKER, TARGET)]
        assert sum(len(from_sessions(rows, "send:")) for rows in journals) == MAX_RELAYS
        assert [answer["code"] for answer in refused] == ["denied_by_policy"]
        # A person begins anew.
        world.model.forget_rules()
        await world.peer.turn(ASKER, f"{send('[[reply:again]]')} [[reply:thanks]]")
        assert answers(await world.peer.journal(ASKER))[-1]["reply"] == "again"
