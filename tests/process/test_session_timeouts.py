"""Each timeout of the Session section, set as a person sets it, binds what it says."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.process.world import World

pytestmark = pytest.mark.timeout(90)


def shell(command: str) -> str:
    """The directive for one shell call."""
    return f"[[tool:shell_execute {json.dumps({'command': command})}]]"


@pytest.mark.requirement("limits.session-settings-bind")
@pytest.mark.parametrize(
    ("session", "script", "named"),
    [
        ({"FirstTokenTimeoutSeconds": 10}, "[[tokens:5]] [[stall_after:2:600]]", "10 s"),
        ({"TurnLlmTimeoutSeconds": 3}, "[[tokens:5]] [[stall_after:2:600]]", "3 s"),
        (
            {"NoProgressTimeoutSeconds": 3},
            "[[stall:600]] [[keepalive:0.1]] [[reply:x]]",
            "NoProgressTimeoutSeconds",
        ),
        (
            {"NoProgressTimeoutSeconds": 1},
            "[[think_tokens:1000]] [[pace:50]] [[reply:x]]",
            "nothing but think for 3 s",
        ),
    ],
    ids=["first-token", "legacy", "no-progress", "thinking-only"],
)
async def test_a_model_that_stalls_fails_the_turn_and_the_next_message_works(
    session: dict[str, Any], script: str, named: str
) -> None:
    async with World(config={"Session": session}) as world:
        await world.start()
        turn = await world.peer.turn("s", script)
        assert turn.error is not None
        assert turn.error.category == "Timeout"
        assert named in turn.error.text
        assert (await world.peer.rows())["s"].phase == "ready"
        assert (await world.peer.turn("s", "[[reply:works]]")).text == "works"


@pytest.mark.requirement("limits.session-settings-bind")
async def test_a_tool_must_speak_in_time_and_each_line_counts() -> None:
    async with World(config={"Session": {"ToolExecutionTimeoutSeconds": 3}}) as world:
        await world.start()
        turn = await world.peer.turn("silent", f"{shell('sleep 600')} [[results]]")
        assert "gave nothing for 3 seconds" in turn.text
        command = "for i in 1 2 3 4 5; do echo line $i; sleep 0.8; done"
        turn = await world.peer.turn("talking", f"{shell(command)} [[results]]")
        assert "line 5" in turn.text


@pytest.mark.requirement("limits.session-settings-bind")
async def test_an_idle_timeout_of_zero_ends_no_session_and_one_round_stops_nothing() -> None:
    timer = {"IdleTimeout": "00:00:00", "Tuning": {"PassivationGraceSeconds": 0.05}}
    rounds = " [[next]] ".join(shell(f"echo {n}") for n in range(4))
    async with World(config={"Session": {"MaxToolIterationsPerTurn": 1, **timer}}) as world:
        await world.start()
        turn = await world.peer.turn("s", f"{rounds} [[reply:done]]")
        assert (turn.text, turn.error) == ("done", None), "the legacy limit binds nothing"
        pid = (await world.peer.rows())["s"].pid
        # Another session's whole life passes meanwhile; there is no timer to wait for.
        for number in range(3):
            await world.peer.turn(f"other-{number}", "[[reply:y]]")
        row = (await world.peer.rows())["s"]
        assert (row.phase, row.pid) == ("ready", pid)
        assert "Passivated" not in [r["type"] for r in await world.peer.journal("s")]
