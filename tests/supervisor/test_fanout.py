"""Outputs on their way to many subscribers."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from netclaw.supervisor.fanout import SessionHub, Subscriber, encode
from netclaw.wire.v1.common_pb2 import Output, OutputBatch

TEXT, STREAMING, TOOLS = 1, 2, 8


def batch(*words: str, seq: int = 0) -> OutputBatch:
    """Outputs of these types; durable ones carry `seq`."""
    durable = {"text", "turn_completed", "tool_call"}
    return OutputBatch(
        outputs=[
            Output(type=word, seq=seq if word in durable else 0, text=f"{word} of the turn")
            for word in words
        ]
    )


async def take(subscriber: Subscriber) -> list[Output]:
    """The outputs of the next message."""
    message = await asyncio.wait_for(subscriber.next(), 15)
    assert message is not None
    return list(OutputBatch.FromString(message).outputs)


def subscribed(hub: SessionHub, chosen: int, **options: int) -> Subscriber:
    """A new subscriber of a hub."""
    subscriber = Subscriber(chosen, seq=options.pop("seq", 0), **options)
    hub.subscribe(subscriber)
    return subscriber


@pytest.mark.requirement("supervisor.filters")
async def test_each_subscriber_gets_its_own_view_and_lifecycle_always() -> None:
    hub = SessionHub()
    everything, text, nothing = (subscribed(hub, chosen) for chosen in (127, TEXT, 0))
    hub.publish(batch("text_delta", "tool_call", "text", "turn_completed", seq=3))
    words = {
        name: [output.type for output in await take(subscriber)]
        for name, subscriber in (("all", everything), ("text", text), ("none", nothing))
    }
    assert words == {
        "all": ["text_delta", "tool_call", "text", "turn_completed"],
        "text": ["text", "turn_completed"],
        "none": ["turn_completed"],
    }


@pytest.mark.requirement("supervisor.filters")
async def test_all_subscribers_see_one_order_with_the_same_numbers() -> None:
    hub = SessionHub()
    hub.begin_incarnation(4)
    first, second = subscribed(hub, 127), subscribed(hub, 127)
    for number in range(50):
        hub.publish(batch("text_delta", "text", seq=number + 1))
    seen = [
        [(output.type, output.seq, output.index, output.incarnation) for output in await take(s)]
        for s in (first, second)
    ]
    assert seen[0] == seen[1]
    assert [index for _, _, index, _ in seen[0]] == list(range(1, 101))
    assert {incarnation for *_, incarnation in seen[0]} == {4}


async def test_a_batch_is_encoded_once_for_all_subscribers_of_one_filter(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calls: list[int] = []

    def counting(outputs: Sequence[Output], chosen: int, bits: int) -> list[bytes]:
        calls.append(chosen)
        return encode(outputs, chosen, bits)

    monkeypatch.setattr("netclaw.supervisor.fanout.encode", counting)
    hub = SessionHub()
    for _ in range(16):
        subscribed(hub, 127)
        subscribed(hub, TEXT)
    hub.publish(batch("text_delta"))
    assert sorted(calls) == [TEXT, 127]


async def test_what_waits_for_a_reader_comes_joined_and_in_order() -> None:
    hub = SessionHub()
    subscriber = subscribed(hub, 127)
    for number in range(1, 6):
        hub.publish(batch("text", seq=number))
    assert [output.seq for output in await take(subscriber)] == [1, 2, 3, 4, 5]


@pytest.mark.requirement("supervisor.resync")
async def test_one_that_falls_behind_is_told_from_where_to_read_again() -> None:
    hub = SessionHub()
    slow = subscribed(hub, 127, limit=2000)
    hub.publish(batch("text", seq=7))
    assert [output.seq for output in await take(slow)] == [7]
    for number in range(8, 200):
        hub.publish(batch("text", seq=number))
    seen = await take(slow)
    assert seen[0].type == "resync"
    assert seen[0].seq == 7
    assert seen[-1].seq == 199
    hub.publish(batch("text", seq=200))
    assert [output.seq for output in await take(slow)] == [200]


@pytest.mark.requirement("supervisor.replay")
async def test_what_was_published_during_a_replay_follows_it_without_what_it_showed() -> None:
    hub = SessionHub()
    late = Subscriber(127, seq=2)
    late.hold()
    hub.subscribe(late)
    hub.publish(batch("text_delta", "text", seq=5))
    hub.publish(batch("text_delta", "text_delta"))
    hub.publish(batch("text", "turn_completed", seq=6))
    assert [(output.type, output.seq) for output in late.release(5)] == [
        ("text_delta", 0),
        ("text_delta", 0),
        ("text", 6),
        ("turn_completed", 6),
    ]
    hub.publish(batch("text", seq=7))
    assert [output.seq for output in await take(late)] == [7]


@pytest.mark.requirement("supervisor.resync")
async def test_a_replay_that_takes_too_long_ends_with_a_resync() -> None:
    hub = SessionHub()
    late = Subscriber(127, seq=0, limit=500)
    late.hold()
    hub.subscribe(late)
    for number in range(10, 60):
        hub.publish(batch("text", seq=number))
    released = late.release(9)
    assert (released[0].type, released[0].seq) == ("resync", 9)
    assert released[-1].seq == 59


@pytest.mark.requirement("supervisor.subscriber-death")
async def test_the_session_hears_only_of_a_changed_interest() -> None:
    interests: list[int] = []
    hub = SessionHub(interests.append)
    first = subscribed(hub, TEXT | STREAMING)
    second = subscribed(hub, TEXT)
    third = subscribed(hub, TOOLS)
    hub.unsubscribe(second)
    hub.unsubscribe(second)
    hub.unsubscribe(first)
    hub.unsubscribe(third)
    assert interests == [3, 11, 8, 0]
    assert not hub.has_subscribers
    hub.publish(batch("text", seq=1))


async def test_a_closed_subscription_ends_after_what_is_queued() -> None:
    hub = SessionHub()
    subscriber = subscribed(hub, 127)
    hub.publish(batch("text", seq=1))
    hub.close()
    assert len(await take(subscriber)) == 1
    assert await subscriber.next() is None


async def test_closing_wakes_a_waiting_reader() -> None:
    hub = SessionHub()
    subscriber = subscribed(hub, 127)
    waiting = asyncio.create_task(subscriber.next())
    await asyncio.sleep(0)
    hub.close()
    assert await asyncio.wait_for(waiting, 15) is None
