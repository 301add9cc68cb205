"""Messages to sessions that are gone before they answered, while nobody waits."""

from __future__ import annotations

import pytest

from netclaw.wire.v1 import admin_pb2
from tests.process.session_calls import ASKER, TARGET, late_replies, send
from tests.process.world import World

pytestmark = pytest.mark.timeout(90)


@pytest.mark.requirement("sends.wait", "sends.reply-once")
async def test_who_waits_no_more_is_told_that_the_target_is_gone(world: World) -> None:
    await world.peer.turn(ASKER, "[[reply:here]]")
    await world.peer.turn(TARGET, "[[reply:there]]")
    asked = send("[[gate:no]] [[reply:x]]", wait_s=0)
    await world.peer.turn(ASKER, f"{asked} [[reply:went on]]")
    await world.at_gate("no")

    await world.peer.admin.DeleteSession(
        admin_pb2.SessionRef(session_id=TARGET), metadata=world.peer.metadata
    )

    (late,) = await late_replies(world, 1)
    assert "deleted" in late["text"]
