"""The operator's umask reaches tools through the whole daemon, whose own is private."""

from __future__ import annotations

import pytest

from tests.process.world import World

WITH_GROUP = ("/bin/sh", "-c", 'umask 0002; exec "$@"', "sh")
ASK = (
    '[[tool:shell_execute {"command": "umask; touch made; mkdir -p in; stat -c %a made in"}]] '
    "[[results]]"
)


@pytest.mark.timeout(60)
@pytest.mark.requirement("sandbox.umask")
async def test_a_tool_has_the_umask_the_daemon_was_started_with() -> None:
    """Also in the next generation, which inherits the daemon's own."""
    async with World(launcher=WITH_GROUP) as world:
        await world.start()
        assert "0002\n664\n775" in (await world.peer.turn("s", ASK)).text
        await world.restart()
        assert "0002\n664\n775" in (await world.peer.turn("again", ASK)).text
        envelopes = list((world.home / "sessions").iterdir())
        assert [path.stat().st_mode & 0o777 for path in envelopes] == [0o700] * 2
        await world.stop()
