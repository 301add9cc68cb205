"""Large answers and long histories, from the model to the command line."""

from __future__ import annotations

import asyncio
import json
import signal

import pytest

from tests.process.test_command_line import begin, cli
from tests.process.world import World

pytestmark = pytest.mark.timeout(90)

TURNS, SIZE = 4, 1_500_000


@pytest.mark.requirement("supervisor.message-size")
@pytest.mark.requirement("supervisor.history-pages")
async def test_what_is_larger_than_a_message_is_read_whole(world: World) -> None:
    for _ in range(TURNS):
        words = ("chat", "-p", f"[[big:{SIZE}]]", "--resume", "cli/large", "--json")
        assert len((await cli(world, *words)).json["response"]) == SIZE
    items = (await cli(world, "sessions", "history", "cli/large", "--json")).json
    assert [len(item["text"]) for item in items if item["role"] == "assistant"] == [SIZE] * TURNS
    rows = (await cli(world, "sessions", "journal", "cli/large", "--json")).out.splitlines()
    texts = [json.loads(row)["payload"]["message"]["text"] for row in rows if "TurnRecorded" in row]
    assert [len(text) for text in texts] == [SIZE] * TURNS

    watching = await begin(world, "sessions", "attach", "cli/large", "--after", "0", "--json")
    assert watching.stdout is not None
    found: list[int] = []
    rest = b""
    async with asyncio.timeout(30):
        while len(found) < TURNS:
            piece = await watching.stdout.read(1024 * 1024)
            assert piece, "the command ended"
            *lines, rest = (rest + piece).split(b"\n")
            outputs = [json.loads(line) for line in lines]
            found += [len(output["text"]) for output in outputs if output["type"] == "text"]
    watching.send_signal(signal.SIGINT)
    await watching.wait()
    assert found == [SIZE] * TURNS


@pytest.mark.requirement("models.answer-bounded")
async def test_an_answer_without_end_fails_its_turn_and_nothing_else(world: World) -> None:
    words = ("chat", "--resume", "runaway", "--json", "-p")
    failed = (await cli(world, *words, "[[big:5000000]]", code=1)).json
    assert "does not end" in failed["error"]["message"]
    assert (await cli(world, *words, "[[reply:fine]]")).json["response"] == "fine"


@pytest.mark.requirement("store.message-id-reuse")
async def test_a_message_id_is_good_for_one_message(world: World) -> None:
    words = ("chat", "--resume", "ids", "--json", "--message-id", "m1", "-p")
    first = (await cli(world, *words, "[[reply:one]]")).json
    assert (await cli(world, *words, "[[reply:one]]")).json["turnId"] == first["turnId"]
    refused = (await cli(world, *words, "[[reply:two]]", code=1)).json
    assert refused["error"]["code"] == "invalid_argument"
    assert "used for another message" in refused["error"]["message"]
