"""Two providers on loopback and a real daemon: what a main model's failures mean for a turn."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from netclaw.wire.v1.common_pb2 import Output
from tests.fakes.model import FakeModel
from tests.process.checks import check_journal
from tests.process.peer import EVERYTHING, LIFECYCLE
from tests.process.world import World

pytestmark = pytest.mark.timeout(60)


def two_models(main: str, spare: str) -> dict[str, Any]:
    """The sections that name a main model and a fallback at these addresses."""
    return {
        "Providers": {
            "one": {"Type": "openai-compatible", "Endpoint": main},
            "two": {"Type": "openai-compatible", "Endpoint": spare},
        },
        "Models": {
            "Definitions": {
                "main": {"Provider": "one", "ModelId": "main-model"},
                "spare": {"Provider": "two", "ModelId": "spare-model"},
            },
            "Roles": {"Main": "main", "Fallback": "spare"},
        },
    }


@pytest.fixture
async def spare() -> AsyncIterator[FakeModel]:
    """The provider of the Fallback model."""
    async with FakeModel(default="[[reply:from the fallback]]") as fake:
        fake.rule("", "[[reply:from the fallback]]")
        yield fake


@pytest.fixture
async def world(spare: FakeModel) -> AsyncIterator[World]:
    """A daemon with a main model (`world.model`) and a fallback, each a server of its own."""
    async with World(has_model=False) as made:
        made.edit_config(two_models(made.model.url, spare.url))
        await made.start()
        yield made


async def who_answered(world: World, name: str) -> str:
    """The model that the journal names for the last turn."""
    rows = await world.peer.journal(name)
    check_journal(rows)
    (recorded,) = (row["payload"] for row in rows if row["type"] == "TurnRecorded")
    model: str = recorded["model"]
    return model


def retries(outputs: list[Output]) -> list[str]:
    """What a turn's watcher was told of retries."""
    return [output.text for output in outputs if output.type == "retry"]


async def watched(
    world: World, name: str, text: str, *, filters: tuple[int, ...]
) -> list[list[Output]]:
    """What subscribers that were there before see of a turn, one list for each filter."""

    async def watch(filter_bits: int, opened: asyncio.Event) -> list[Output]:
        outputs = []
        async for output in world.peer.attach(name, filter_bits=filter_bits, opened=opened):
            outputs.append(output)
            if output.type == "turn_completed":
                break
        return outputs

    signs = [asyncio.Event() for _ in filters]
    watching = [
        asyncio.create_task(watch(bits, opened))
        for bits, opened in zip(filters, signs, strict=True)
    ]
    for opened in signs:
        await opened.wait()
    await world.peer.send(name, text)
    async with asyncio.timeout(30):
        return list(await asyncio.gather(*watching))


@pytest.mark.requirement("failover.who-answered")
async def test_a_main_model_that_answers_is_named_and_the_fallback_left_alone(
    world: World, spare: FakeModel
) -> None:
    turn = await world.peer.turn("well", "hi [[reply:from the main model]]")
    assert turn.text == "from the main model"
    assert await who_answered(world, "well") == "main-model"
    assert spare.request_count == 0
    assert retries(turn.outputs) == []


@pytest.mark.requirement("failover.before-first-chunk")
@pytest.mark.requirement("failover.who-answered")
@pytest.mark.requirement("failover.told")
@pytest.mark.parametrize(
    "refusal",
    [
        "[[status:503]]",
        "[[status:429]][[retry_after:30]]",
        "[[status:401]]",
        "[[status:403]]",
        "[[status:404]]",
        "[[status:500]]",
        "[[cut:0]]never",
        "[[html]]",
        "[[error_event:0]]never",
    ],
)
async def test_what_a_main_model_refuses_the_fallback_answers(
    world: World, spare: FakeModel, refusal: str
) -> None:
    world.model.enqueue(refusal)
    sent = await world.peer.send("calm", "hello")
    turn = await world.peer.follow("calm", sent)
    assert turn.text == "from the fallback"
    assert turn.error is None
    assert await who_answered(world, "calm") == "spare-model"
    assert (world.model.request_count, spare.request_count) == (1, 1)
    assert b'"spare-model"' in spare.requests[0].raw


@pytest.mark.requirement("failover.told")
async def test_who_watches_the_processing_state_is_told_and_nobody_else(world: World) -> None:
    await world.peer.ensure("seen")
    world.model.enqueue("[[status:503]]")
    watching, listening = await watched(world, "seen", "hello", filters=(EVERYTHING, LIFECYCLE))
    (line,) = retries(watching)
    assert "HTTP 503" in line
    assert line.endswith("The fallback model is asked instead.")
    assert retries(listening) == []
    assert {output.type for output in listening} == {"turn_completed"}


@pytest.mark.requirement("failover.before-first-chunk")
@pytest.mark.parametrize("cut", ["[[tokens:4]][[cut:2]]", "[[think:hm]][[reply:x]][[cut:1]]"])
async def test_after_its_first_chunk_a_broken_answer_fails_the_turn(
    world: World, spare: FakeModel, cut: str
) -> None:
    world.model.enqueue(cut)
    turn = await world.peer.turn("cut", "hello")
    assert turn.error is not None
    assert turn.error.category == "ProviderFailure"
    assert spare.request_count == 0
    assert (await world.peer.turn("cut", "again [[reply:fine]]")).text == "fine"
    check_journal(await world.peer.journal("cut"))


@pytest.mark.requirement("failover.not-elsewhere")
async def test_a_request_that_is_invalid_goes_nowhere_else(world: World, spare: FakeModel) -> None:
    world.model.enqueue("[[status:400]]")
    turn = await world.peer.turn("bad", "hello")
    assert turn.error is not None
    assert turn.error.category == "InputCompatibility"
    assert (world.model.request_count, spare.request_count) == (1, 0)


@pytest.mark.requirement("failover.both-failed")
async def test_if_the_fallback_refuses_too_one_sentence_names_both(
    world: World, spare: FakeModel
) -> None:
    world.model.enqueue("[[status:401]]")
    spare.enqueue("[[status:404]]")
    turn = await world.peer.turn("both", "hello")
    assert turn.error is not None
    assert turn.error.category == "ProviderFailure"
    assert "HTTP 401" in turn.error.text
    assert "The fallback model failed too" in turn.error.text
    assert "HTTP 404" in turn.error.text
    assert turn.text == ""


@pytest.mark.requirement("failover.told")
async def test_the_last_model_is_asked_again_and_who_waits_is_told_when(
    world: World, spare: FakeModel
) -> None:
    await world.peer.ensure("wait")
    world.model.enqueue("[[status:503]]")
    spare.enqueue("[[status:429]][[retry_after:1]]", "[[reply:after a pause]]")
    (outputs,) = await watched(world, "wait", "hello", filters=(EVERYTHING,))
    assert [output.text for output in outputs if output.type == "text"] == ["after a pause"]
    waits = [output.duration_ms for output in outputs if output.type == "retry"]
    assert waits[0] == 0
    assert 1_000 <= waits[1] <= 1_500
    assert not [output for output in outputs if output.type == "error"]
    moved, again = retries(outputs)
    assert "fallback" in moved
    assert "HTTP 429" in again
    assert spare.request_count == 2
