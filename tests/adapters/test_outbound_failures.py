"""Replies that a platform does not take: tried again, waited out, and given up in sight."""

from __future__ import annotations

import asyncio

import pytest

from netclaw.adapters.driver import (
    FatalFailure,
    RefusedFailure,
    TransientFailure,
)
from netclaw.adapters.outbound import FIRST_DELAY_S, POISON_ATTEMPTS, SIDE_BY_SIDE
from netclaw.core.errors import (
    DaemonDownError,
    DeliveryUnconfirmedError,
)
from netclaw.wire.v1.gateway_pb2 import ClaimOutboxRequest
from tests.adapters.outbound_bench import HERE, THERE, Bench, running
from tests.adapters.scripted import (
    CHANNEL,
    until,
)

pytestmark = pytest.mark.unit


async def hang(seconds: float) -> None:
    """Wait for ever, however short it should be."""
    assert seconds > 0
    await asyncio.Event().wait()


@pytest.mark.requirement("channels.outbox-retry")
async def test_a_failure_is_tried_again_later_and_later() -> None:
    bench = Bench()
    bench.link.reply(HERE, "text")
    bench.driver.refusals.extend(TransientFailure("The platform failed.") for _ in range(5))
    async with running(bench):
        for _ in range(5):
            await bench.pass_time(600)
        await until(lambda: bench.link.state(1) == "delivered")
    waits = [one.retry_after_ms / 1000 for one in bench.link.confirmed[:-1]]
    for number, wait_s in enumerate(waits):
        assert 2**number <= wait_s <= 1.5 * 2**number
    assert len(set(waits)) == len(waits)
    assert bench.told == ["The platform failed."] * 5


@pytest.mark.requirement("channels.outbox-retry")
async def test_the_adapter_claims_by_itself_when_a_retry_is_due() -> None:
    bench = Bench()
    bench.link.reply(HERE, "text")
    bench.link.outbox.replies[0].next_attempt_at = bench.link.now_ms + 30
    async with running(bench):
        assert bench.link.state(1) == "waiting"
        bench.link.now_ms += 30  # the daemon's clock; nobody tells the adapter
        async with asyncio.timeout(15):
            while bench.link.state(1) != "delivered":
                await asyncio.sleep(0.005)


@pytest.mark.requirement("channels.outbox-rate")
async def test_a_short_rate_limit_is_waited_out_for_the_whole_channel() -> None:
    bench = Bench()
    bench.link.reply(HERE, "text")
    bench.driver.refusals.append(TransientFailure("Too often.", retry_after_s=3.0))
    async with running(bench):
        await until(lambda: bench.link.state(1) == "delivered")
    (slept,) = bench.slept
    assert 2.5 < slept <= 4.0
    assert bench.link.outbox.replies[0].attempts == 1, "it was no attempt of its own"


@pytest.mark.requirement("channels.outbox-rate")
async def test_a_long_rate_limit_lets_the_reply_go_until_then() -> None:
    bench = Bench()
    bench.link.reply(HERE, "text")
    bench.driver.refusals.append(TransientFailure("Too often.", retry_after_s=90.0))
    async with running(bench):
        await until(lambda: len(bench.link.confirmed) == 1)
        assert 90_000 <= bench.link.confirmed[0].retry_after_ms <= 135_000
        await bench.pass_time(140)
        await until(lambda: bench.link.state(1) == "delivered")


@pytest.mark.requirement("channels.outbox-rate")
async def test_a_channel_that_must_wait_keeps_no_place_from_another() -> None:
    bench = Bench()
    for number in range(SIDE_BY_SIDE + 8):
        bench.link.reply(f"C1/{number}", "text")
        bench.driver.broken[f"C1/{number}"] = TransientFailure("Too often.", retry_after_s=20.0)
    bench.link.reply(THERE, "elsewhere")
    bench.parts._sleep = hang
    async with running(bench):
        await until(lambda: bench.link.state(SIDE_BY_SIDE + 9) == "delivered")
    assert all(one.retry_after_ms >= 15_000 for one in bench.link.confirmed if one.failure)


@pytest.mark.requirement("channels.outbox-retry")
async def test_a_platform_that_asks_for_no_wait_is_not_asked_for_ever() -> None:
    bench = Bench()
    bench.link.reply(HERE, "text")
    bench.driver.broken[HERE] = TransientFailure("Too often.", retry_after_s=0.0)
    async with running(bench):
        await until(lambda: bool(bench.link.confirmed))
    assert bench.link.confirmed[0].retry_after_ms >= FIRST_DELAY_S * 1000
    assert len([call for call in bench.driver.calls if call.startswith("post")]) < 100


@pytest.mark.requirement("channels.outbox-given-up")
async def test_a_refused_reply_is_given_up_in_sight_and_holds_up_nothing() -> None:
    bench = Bench()
    bench.link.reply(HERE, "bad")
    bench.link.reply(HERE, "good")
    bench.driver.refusals.append(RefusedFailure("The text is not accepted."))
    async with running(bench):
        await until(lambda: bench.link.state(2) == "delivered")
    assert bench.link.state(1) == "failed"
    assert bench.told == [f"A reply to {HERE} was given up: The text is not accepted."]
    assert bench.counters == {"delivered": 1, "retried": 0, "given_up": 1}


@pytest.mark.requirement("channels.outbox-given-up")
async def test_what_fails_while_others_are_taken_is_given_up() -> None:
    bench = Bench()
    bench.link.reply(HERE, "poison")
    bench.driver.broken[HERE] = TransientFailure("The platform failed.")
    async with running(bench):
        for attempt in range(1, POISON_ATTEMPTS):
            assert bench.link.state(1) == "waiting", attempt
            bench.link.reply(THERE, "fine")
            await bench.pass_time(600)
    assert bench.link.state(1) == "failed"
    assert bench.counters["delivered"] == POISON_ATTEMPTS - 1


@pytest.mark.requirement("channels.outbox-retry")
async def test_an_outage_of_the_platform_gives_nothing_up() -> None:
    bench = Bench()
    bench.link.reply(HERE, "patient")
    bench.driver.refusals.extend(
        TransientFailure("The platform failed.") for _ in range(POISON_ATTEMPTS * 3)
    )
    async with running(bench):
        for _ in range(POISON_ATTEMPTS * 3):
            await bench.pass_time(600)
        await until(lambda: bench.link.state(1) == "delivered")


@pytest.mark.requirement("channels.outbox-given-up")
async def test_a_fault_of_the_driver_is_a_failure_of_one_reply() -> None:
    bench = Bench()
    bench.link.reply(HERE, "text")
    bench.driver.refusals.append(KeyError("ts"))
    async with running(bench):
        await bench.pass_time(10)
        await until(lambda: bench.link.state(1) == "delivered")
    assert bench.told == ["The channel's driver failed."]


@pytest.mark.requirement("channels.outbox-retry")
async def test_a_revoked_token_ends_the_adapter_and_keeps_the_reply() -> None:
    bench = Bench()
    bench.link.reply(HERE, "text")
    bench.driver.refusals.append(FatalFailure("The token was revoked."))
    with pytest.raises(FatalFailure):
        await bench.parts.run()
    assert bench.link.state(1) == "waiting"


@pytest.mark.requirement("channels.outbox-retry")
async def test_replies_of_a_claim_whose_answer_was_lost_are_delivered_by_the_next_start() -> None:
    bench = Bench()
    bench.link.reply(HERE, "text")
    await bench.link.claim_outbox(
        ClaimOutboxRequest(channel=CHANNEL, limit=1, adapter_start="s1")
    )  # the answer of this one is lost
    bench.link.failures.append(DeliveryUnconfirmedError("The daemon gave no answer."))
    with pytest.raises(DeliveryUnconfirmedError):
        await bench.parts.run()
    async with running(Bench(link=bench.link, start="s2")):
        await until(lambda: bench.link.state(1) == "delivered")


@pytest.mark.requirement("channels.outbox-retry")
async def test_a_daemon_that_is_gone_ends_the_adapter() -> None:
    bench = Bench()
    bench.link.failures.append(DaemonDownError("No daemon answers."))
    with pytest.raises(DaemonDownError):
        await bench.parts.run()
