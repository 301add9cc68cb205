"""Any events in any order, lost answers, failures and restarts: each message once, in its order."""

from __future__ import annotations

import asyncio
import random
import tempfile
from collections import defaultdict
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netclaw.adapters.driver import Received
from netclaw.adapters.lanes import Lanes
from netclaw.core.errors import (
    DeliveryUnconfirmedError,
    NetclawError,
    QueueFullError,
    StorageTimeoutError,
)
from tests.adapters.ingress_world import US, Ingress, message, thread

THREADS = ("1", "2", "3")
FAILURES: tuple[NetclawError | None, ...] = (
    *(None, None, None),
    StorageTimeoutError("Too slow."),
    DeliveryUnconfirmedError("No answer."),
    QueueFullError("Full."),
)


@dataclass(slots=True)
class Plan:
    """What a platform does: deliveries of a few messages, some of them again, some unheard."""

    deliveries: list[tuple[str, int]]
    lost_acknowledgements: set[int]
    restarts: set[int]
    before: list[int]
    after: list[int]
    chatter: set[int] = field(default_factory=set)


plans = st.builds(
    Plan,
    deliveries=st.lists(
        st.tuples(st.sampled_from(THREADS), st.integers(0, 5)), min_size=1, max_size=25
    ),
    lost_acknowledgements=st.sets(st.integers(0, 24)),
    restarts=st.sets(st.integers(0, 24), max_size=3),
    before=st.lists(st.integers(0, len(FAILURES) - 1), max_size=20),
    after=st.lists(st.integers(0, len(FAILURES) - 1), max_size=20),
)


def event(name: str, number: int) -> Received:
    """A message of a thread; everyone mentions us."""
    return message(
        f"{name}-{number}",
        f"{US} text {number} of {name}",
        where=thread(name),
        sender=f"U{number % 2}",
        at_ms=number,
    )


async def play(plan: Plan, staging: Path) -> Ingress:
    """Deliver as planned; what was not acknowledged comes once more at the end."""
    ingress = Ingress(staging)
    ingress.daemon.before.extend(FAILURES[index] for index in plan.before)
    ingress.daemon.after.extend(FAILURES[index] for index in plan.after)
    again: list[Received] = []
    for index, (name, number) in enumerate(plan.deliveries):
        if index in plan.restarts:
            ingress.restart()
        received = event(name, number)
        if index in plan.lost_acknowledgements:
            again.append(received)
        await ingress.take(received)
    for received in again:
        await ingress.take(received)
    return ingress


@pytest.mark.requirement("channels.dedupe")
@pytest.mark.requirement("channels.order")
@given(plans)
def test_each_message_is_admitted_once_in_the_order_of_its_thread(plan: Plan) -> None:
    with tempfile.TemporaryDirectory() as staging:
        ingress = asyncio.run(play(plan, Path(staging)))
    first = list(dict.fromkeys(plan.deliveries))
    wanted: dict[str, list[str]] = defaultdict(list)
    for name, number in first:
        wanted[f"C1/{name}"].append(f"{name}-{number}")
    found: dict[str, list[str]] = defaultdict(list)
    for session, event_id in ingress.daemon.order:
        found[session].append(event_id)
    assert found == wanted
    for name, number in first:
        assert ingress.daemon.input(f"{name}-{number}").text == f"text {number} of {name}"
    assert ingress.counters.denied == 0


@pytest.mark.requirement("channels.order")
async def test_threads_side_by_side_keep_their_order_each(tmp_path: Path, seed: int) -> None:
    """As the host runs it: one lane for each thread, and a daemon that fails at random."""
    chance = random.Random(seed)
    ingress = Ingress(tmp_path)
    ingress.daemon.before.extend(chance.choice(FAILURES) for _ in range(100))
    ingress.daemon.after.extend(chance.choice(FAILURES) for _ in range(100))
    lanes = Lanes(at_work=4)
    written: dict[str, list[str]] = defaultdict(list)
    for number in range(60):
        received = event(chance.choice(THREADS), number)
        written[received.thread.address].append(received.event_id)
        for _ in range(chance.choice((1, 1, 2))):
            incoming = ingress.incoming(received)
            await lanes.put(received.thread.address, partial(ingress.pipeline.take, incoming))
    await lanes.settle()
    found: dict[str, list[str]] = defaultdict(list)
    for session, event_id in ingress.daemon.order:
        found[session].append(event_id)
    assert found == written
    assert ingress.counters.admitted == 60
