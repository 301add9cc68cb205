"""A thread to post to."""

from __future__ import annotations

from netclaw.adapters.driver import Place, Thread
from tests.fakes.slack_store import CHANNEL, TEAM

THREAD = Thread(
    channel_id=CHANNEL,
    thread_id="1700000000.000000",
    place=Place.CHANNEL,
    boundary=f"slack:{TEAM}/{CHANNEL}",
)
