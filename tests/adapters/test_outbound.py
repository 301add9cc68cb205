"""Replies on their way out: in order, in parts, and once."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import pytest

from netclaw.adapters.driver import (
    Abilities,
    Post,
    RefusedFailure,
    Thread,
    TransientFailure,
)
from netclaw.adapters.outbound import SIDE_BY_SIDE
from netclaw.core.errors import (
    DaemonDownError,
    StorageTimeoutError,
)
from tests.adapters.outbound_bench import HERE, THERE, Bench, Live, running
from tests.adapters.scripted import (
    ScriptedDriver,
    quiet,
    until,
)

pytestmark = pytest.mark.unit


@pytest.mark.requirement("channels.outbox-order")
async def test_replies_of_a_thread_come_in_order_and_threads_beside_each_other() -> None:
    bench = Bench()
    gate = bench.driver.gates[HERE] = asyncio.Event()
    for text in ("one", "two", "three"):
        bench.link.reply(HERE, text)
    bench.link.reply(THERE, "other")
    async with running(bench):
        await until(lambda: bench.driver.shown(THERE) == ["other"])
        assert bench.driver.shown(HERE) == []
        gate.set()
        await until(lambda: bench.counters["delivered"] == 4)
    assert bench.driver.shown(HERE) == ["one", "two", "three"]
    assert [one.state for one in bench.link.outbox.replies] == ["delivered"] * 4


@pytest.mark.requirement("channels.outbox-order")
async def test_no_more_replies_are_claimed_than_can_be_under_way() -> None:
    bench = Bench()
    gate = asyncio.Event()
    for number in range(SIDE_BY_SIDE + 5):
        bench.driver.gates[f"C1/{number}"] = gate
        bench.link.reply(f"C1/{number}", "text")
    async with running(bench):
        states = [one.state for one in bench.link.outbox.replies]
        assert states.count("claimed") == SIDE_BY_SIDE
        gate.set()
        await until(lambda: bench.counters["delivered"] == SIDE_BY_SIDE + 5)


@pytest.mark.requirement("channels.outbox-keys")
async def test_a_long_reply_is_posted_in_parts_under_its_row_and_part() -> None:
    bench = Bench()
    bench.link.reply(HERE, "a" * 80 + "\n\n" + "b" * 80 + "\n\n" + "c" * 10)
    async with running(bench):
        await until(lambda: bench.counters["delivered"] == 1)
    assert list(bench.driver.ids) == ["1.0", "1.1"]
    assert bench.driver.shown(HERE) == ["a" * 80, "b" * 80 + "\n\n" + "c" * 10]
    assert bench.link.outbox.replies[0].external_id == "m1"
    assert not [call for call in bench.driver.calls if call.startswith("find")]


@pytest.mark.requirement("channels.outbox-keys")
async def test_a_blank_reply_needs_no_post() -> None:
    bench = Bench()
    bench.link.reply(HERE, " \n")
    async with running(bench):
        await until(lambda: bench.link.state(1) == "delivered")
    assert bench.driver.posts == []


@pytest.mark.requirement("channels.outbox-once")
async def test_a_post_that_was_made_and_seemed_to_fail_is_not_made_again() -> None:
    bench = Bench()
    bench.link.reply(HERE, "a" * 80 + "\n\n" + "b" * 80)
    bench.driver.silent_failures.append(TransientFailure("The platform failed."))
    async with running(bench):
        assert bench.link.state(1) == "waiting"
        await bench.pass_time(10)
        await until(lambda: bench.link.state(1) == "delivered")
    assert bench.driver.shown(HERE) == ["a" * 80, "b" * 80]
    assert bench.counters == {"delivered": 1, "retried": 1, "given_up": 0}


@pytest.mark.requirement("channels.outbox-once")
async def test_what_a_dead_start_had_posted_is_looked_up() -> None:
    bench = Bench(start="dead")
    bench.link.reply(HERE, "a" * 80 + "\n\n" + "b" * 80)
    bench.driver.stuck = asyncio.Event()
    task = asyncio.create_task(bench.parts.run())
    await until(lambda: len(bench.driver.posts) == 1)
    task.cancel()  # as a kill would: nothing is confirmed
    with suppress(asyncio.CancelledError):
        await task
    assert bench.link.state(1) == "claimed"
    bench.driver.stuck = None
    async with running(Bench(bench.driver, bench.link, start="new")) as new:
        await until(lambda: new.link.state(1) == "delivered")
    assert bench.driver.shown(HERE) == ["a" * 80, "b" * 80]
    assert bench.driver.calls[-3:] == ["find 1.0", "find 1.1", "post 1.1"]


@pytest.mark.requirement("channels.outbox-once")
async def test_a_platform_that_enforces_keys_is_just_asked_again() -> None:
    abilities = Abilities(
        text_limit=100, has_buttons=True, has_edit=True, has_status=True, enforces_keys=True
    )
    bench = Bench(ScriptedDriver(abilities))
    bench.link.reply(HERE, "once")
    bench.driver.silent_failures.append(TransientFailure("The platform failed."))
    async with running(bench):
        await bench.pass_time(10)
        await until(lambda: bench.link.state(1) == "delivered")
    assert bench.driver.calls == ["post 1.0", "post 1.0"]
    assert bench.driver.shown(HERE) == ["once"]


@pytest.mark.requirement("channels.outbox-once")
async def test_a_confirmation_is_repeated_until_the_daemon_has_it() -> None:
    bench = Bench()
    bench.link.reply(HERE, "text")
    async with running(bench):
        await until(lambda: bench.link.state(1) == "delivered")
        bench.link.reply(HERE, "more")
        gate = bench.driver.gates[HERE] = asyncio.Event()
        bench.parts.look()
        await quiet()
        bench.link.failures.append(StorageTimeoutError("The disk is slow."))
        gate.set()
        await until(lambda: bench.link.state(2) == "delivered")
    assert bench.driver.shown(HERE) == ["text", "more"]


@pytest.mark.requirement("channels.outbox-once")
async def test_a_claim_that_lapsed_under_us_makes_no_second_post() -> None:
    bench = Bench()
    bench.link.reply(HERE, "text")
    gate = bench.driver.gates[HERE] = asyncio.Event()
    async with running(bench):
        bench.link.outbox.claim("slack", limit=9, claimant="another", at=bench.link.now_ms)
        gate.set()
        await until(lambda: bench.link.state(1) == "delivered")
    assert len(bench.link.confirmed) == 2, "the first one was refused"
    assert bench.driver.shown(HERE) == ["text"]


@pytest.mark.requirement("channels.outbox-drain")
async def test_at_the_end_all_that_is_due_is_delivered_and_nothing_more_claimed() -> None:
    bench = Bench()
    gate = bench.driver.gates[HERE] = asyncio.Event()
    bench.link.reply(HERE, "claimed")
    bench.link.reply(HERE, "its session's last word")
    async with running(bench):
        settling = asyncio.create_task(bench.parts.settle())
        await quiet()
        assert not settling.done()
        gate.set()
        await settling
        bench.link.reply(HERE, "of the next start")
        await bench.pass_time(1)
    assert [one.state for one in bench.link.outbox.replies] == ["delivered"] * 2 + ["waiting"]


@pytest.mark.requirement("channels.outbox-drain")
async def test_the_last_words_of_more_threads_than_fit_at_once_are_delivered() -> None:
    bench = Bench()
    gate = asyncio.Event()
    for number in range(SIDE_BY_SIDE + 5):
        bench.driver.gates[f"C1/{number}"] = gate
        bench.link.reply(f"C1/{number}", "We are stopping.")
    async with running(bench):
        settling = asyncio.create_task(bench.parts.settle())
        await quiet()
        gate.set()
        await settling
    assert {one.state for one in bench.link.outbox.replies} == {"delivered"}


@pytest.mark.requirement("channels.outbox-drain")
async def test_at_the_end_a_failed_claim_is_made_again_and_a_failed_reply_is_left() -> None:
    bench = Bench()
    async with running(bench):
        bench.link.failures.append(StorageTimeoutError("The disk takes too long."))
        bench.driver.broken[THERE] = TransientFailure("The platform failed.")
        bench.link.reply(HERE, "text")
        bench.link.reply(THERE, "later")
        async with asyncio.timeout(10):
            await bench.parts.settle()
    assert [one.state for one in bench.link.outbox.replies] == ["delivered", "waiting"]


@pytest.mark.requirement("channels.outbox-drain")
async def test_nobody_waits_for_deliveries_that_ended() -> None:
    bench = Bench()
    bench.link.failures.append(DaemonDownError("The daemon is gone."))
    async with running(bench):
        async with asyncio.timeout(10):
            await bench.parts.settle()


@pytest.mark.requirement("channels.live-edit")
async def test_the_reply_replaces_the_post_that_showed_it_while_it_was_made() -> None:
    live = Live(t1="m1")
    bench = Bench(live=live)
    bench.driver.posts.append(_post("partly"))
    bench.driver.ids["live"] = "m1"
    bench.link.reply(HERE, "whole", turn="t1")
    bench.link.reply(HERE, "next", turn="t2")
    async with running(bench):
        await until(lambda: bench.counters["delivered"] == 2)
    assert bench.driver.shown(HERE) == ["whole", "next"]
    assert live.ended == ["t1", "t2"]


@pytest.mark.requirement("channels.live-edit")
async def test_a_reply_whose_live_post_was_deleted_is_posted() -> None:
    bench = Bench(live=Live(t1="m9"))
    bench.link.reply(HERE, "whole", turn="t1")
    async with running(bench):
        await until(lambda: bench.counters["delivered"] == 1)
    assert bench.driver.shown(HERE) == ["whole"]


@pytest.mark.requirement("channels.live-edit")
@pytest.mark.parametrize("may_go", [True, False])
async def test_a_live_post_that_may_not_be_changed_is_taken_away(*, may_go: bool) -> None:
    bench = Bench(live=Live(t1="m1"))
    bench.driver.posts.append(_post("partly"))
    bench.driver.ids["live"] = "m1"
    bench.driver.edit_failures.append(RefusedFailure("It is too old to be changed."))
    if not may_go:
        bench.driver.delete_failures.append(RefusedFailure("You may not delete this."))
    bench.link.reply(HERE, "whole", turn="t1")
    async with running(bench):
        await until(lambda: bench.counters["delivered"] == 1)
    assert bench.driver.calls == ["edit m1", "delete m1", "post 1.0"]
    assert bench.driver.shown(HERE)[-1] == "whole"


def _post(text: str) -> Post:
    return Post(thread=Thread.at(HERE), key="live", text=text)
