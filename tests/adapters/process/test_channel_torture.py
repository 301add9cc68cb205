"""Conversations under random kills in a bounded dose; `scripts/torture channels` gives the large
one.
"""

from __future__ import annotations

import pytest

from tests.adapters.process.channel_torture import torture_channels
from tests.conftest import random_seed

CONVERSATIONS = 60


@pytest.mark.timeout(300)
@pytest.mark.requirement("channels.torture")
async def test_each_message_is_answered_once_and_in_its_thread_whoever_is_killed() -> None:
    toll = await torture_channels(seed=random_seed(), conversations=CONVERSATIONS)

    assert toll.conversations == CONVERSATIONS
    assert all(toll.kills[kind] for kind in ("adapter", "session", "daemon"))
    assert toll.answered + toll.interrupted == toll.messages
