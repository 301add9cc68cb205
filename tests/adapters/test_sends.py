"""Files and beginnings of threads as an adapter sends them, and what names it finds."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from netclaw.adapters.acl import Destination, Refusal, judge_destination, may_be_found
from netclaw.adapters.driver import ChannelConfig, Found, Place, RefusedFailure, TransientFailure
from netclaw.adapters.lookups import USERS, Lookups
from netclaw.adapters.outbound import Deliveries
from netclaw.core.authority import Audience, DeliveryTarget, SourceKind
from netclaw.core.ids import CallId, SessionId, TurnId
from netclaw.core.session.events import OutboxRow
from netclaw.core.tool_call import Attachment
from netclaw.ports.outbox import OpeningRequest
from netclaw.wire.v1.gateway_pb2 import ChannelAnswer, ChannelNews
from tests.adapters.outbound_bench import HERE, Bench, running
from tests.adapters.scripted import ABILITIES, ScriptedDriver, ScriptedLink, until

pytestmark = pytest.mark.unit

CONFIG = ChannelConfig(
    name="slack",
    default_channel_id="C0",
    allowed_channel_ids=frozenset({"C1"}),
    allowed_user_ids=frozenset({"U1"}),
    allow_direct_messages=True,
    channel_audiences={"C1": "Personal", "dm": "Public"},
)
PATH = "/e/artifacts/attached/t1/a.txt"


def bench_of(
    tmp_path: Path, *, config: ChannelConfig = CONFIG, file_limit: int = 1000, start: str = "s1"
) -> Callable[..., Bench]:
    """Makes an adapter with a staging folder."""

    def make(
        driver: ScriptedDriver | None = None, link: ScriptedLink | None = None, start: str = start
    ) -> Bench:
        abilities = replace(ABILITIES, file_limit_bytes=file_limit)
        bench = Bench(driver or ScriptedDriver(abilities), link, start=start)
        context = replace(bench.context, staging=tmp_path, config=config)
        bench.context = context
        bench.parts = Deliveries(context, sleep=bench.sleep)
        return bench

    return make


def begin(bench: Bench, place: str, text: str = "hello") -> None:
    """A session begins a thread."""
    bench.link.outbox.open(
        OpeningRequest(
            session_id=SessionId("s"),
            turn_id=TurnId("t1"),
            call_id=CallId("c1"),
            target=DeliveryTarget(channel=SourceKind.SLACK, address=place),
            text=text,
            at=0,
        )
    )


def attach(bench: Bench, data: bytes = b"abc", *, now: bytes | None = b"abc") -> None:
    """A session attached a file; `now` is what is there by now, None: nothing."""
    file = Attachment(
        path=PATH,
        media_type="text/plain",
        size_bytes=len(data),
        sha256=hashlib.sha256(data).hexdigest(),
    )
    target = DeliveryTarget(channel=SourceKind.SLACK, address=HERE)
    row = OutboxRow(target=target, text="", turn_id=TurnId("t1"), input_ids=(), file=file)
    bench.link.outbox.enqueue(SessionId("s"), (row,))
    if now is not None:
        bench.link.files[PATH] = now


def _names(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


@pytest.mark.requirement("channel_sends.acl")
def test_only_what_is_listed_by_its_id_is_written_to() -> None:
    def judged(wanted: str, **other: object) -> Destination | Refusal:
        return judge_destination(replace(CONFIG, **other), wanted)  # type: ignore[arg-type]

    assert judged("C1") == Destination(id="C1", place=Place.CHANNEL, audience=Audience.PERSONAL)
    assert judged("C0") == Destination(id="C0", place=Place.CHANNEL, audience=Audience.TEAM)
    assert judged("U1") == Destination(id="U1", place=Place.DIRECT, audience=Audience.PUBLIC)
    assert judged("U1", allow_direct_messages=False) is Refusal.DIRECT
    assert judged("U2") is Refusal.CHANNEL
    assert judged("U2", allowed_user_ids=frozenset()) is Refusal.CHANNEL
    assert judged("c1") is Refusal.CHANNEL
    assert judged("") is Refusal.CHANNEL
    assert judged("C1", channel_audiences={"C1": "Nobody"}) is Refusal.AUDIENCE
    assert judge_destination(ChannelConfig(name="slack"), "C1") is Refusal.CHANNEL
    assert may_be_found(CONFIG, "C1", Place.CHANNEL)
    assert not may_be_found(CONFIG, "C1", Place.DIRECT)
    assert not may_be_found(CONFIG, "C9", Place.CHANNEL)


@pytest.mark.requirement("channel_sends.session")
async def test_a_thread_is_begun_bound_and_told(tmp_path: Path) -> None:
    bench = bench_of(tmp_path)()
    begin(bench, "C1", "x" * 150)
    async with running(bench):
        await until(lambda: bool(bench.link.confirmed))
    (confirmed,) = bench.link.confirmed
    assert (confirmed.external_id, confirmed.failure) == ("C1/1.0", "")
    assert "".join(bench.driver.shown("C1/1.0")) == "x" * 150
    (ensured,) = bench.link.ensured
    assert (ensured.session_id, ensured.sender.audience) == ("C1/1.0", "Personal")


@pytest.mark.requirement("channel_sends.once")
async def test_a_thread_that_may_be_there_is_looked_for(tmp_path: Path) -> None:
    make = bench_of(tmp_path)
    bench = make()
    bench.driver.silent_failures.append(TransientFailure("It failed."))
    begin(bench, "U1")
    async with running(bench):
        await until(lambda: bool(bench.link.confirmed))
        await bench.pass_time(10)
        await until(lambda: len(bench.link.confirmed) == 2)
    assert bench.driver.shown("D-U1/1.0") == ["hello"]
    # The same after another start took the claim over.
    begin_again = make(start="s0")
    begin(begin_again, "C1")
    assert begin_again.link.outbox.claim("slack", limit=1, claimant="dead", at=0)
    async with running(begin_again):
        await until(lambda: bool(begin_again.link.confirmed))
    assert "find thread 1.0" in begin_again.driver.calls


@pytest.mark.requirement("channel_sends.acl")
async def test_what_is_not_listed_any_more_is_given_up_unsent(tmp_path: Path) -> None:
    bench = bench_of(tmp_path)()
    begin(bench, "C9")
    async with running(bench):
        await until(lambda: bool(bench.link.confirmed))
    assert bench.link.confirmed[0].failure == "The destination is not listed for this channel."
    assert bench.link.state(1) == "failed"
    assert bench.driver.posts == []


@pytest.mark.requirement("channel_sends.file")
async def test_a_file_is_sent_once_and_nothing_of_it_stays_behind(tmp_path: Path) -> None:
    bench = bench_of(tmp_path)()
    bench.driver.silent_failures.append(TransientFailure("It failed."))
    attach(bench)
    bench.link.reply(HERE, "there it is")
    async with running(bench):
        await until(lambda: bool(bench.link.confirmed))
        await bench.pass_time(10)
        await until(lambda: len(bench.link.confirmed) == 3)
    assert bench.driver.shown(HERE) == ["a.txt: abc", "there it is"]
    assert _names(tmp_path) == []


@pytest.mark.requirement("channel_sends.file")
@pytest.mark.parametrize(
    ("limit", "now", "told"),
    [
        (0, b"abc", "The file `a.txt` cannot be shown: this channel takes no files."),
        (2, b"abc", "The file `a.txt` is too large for this channel."),
        (9, b"xyz", "The file `a.txt` is no longer there as it was attached."),
        (9, None, "The file `a.txt` is no longer there as it was attached."),
    ],
)
async def test_a_file_that_cannot_be_sent_is_told_of(
    tmp_path: Path, limit: int, now: bytes | None, told: str
) -> None:
    bench = bench_of(tmp_path, file_limit=limit)()
    attach(bench, now=now)
    async with running(bench):
        await until(lambda: bool(bench.link.confirmed))
    assert bench.driver.shown(HERE) == [told]
    assert bench.link.state(1) == "delivered"


@pytest.mark.requirement("channel_sends.file")
async def test_a_file_that_is_not_taken_is_told_of(tmp_path: Path) -> None:
    bench = bench_of(tmp_path)()
    bench.driver.refusals.append(RefusedFailure("No."))
    attach(bench)
    async with running(bench):
        await until(lambda: bool(bench.link.confirmed))
    assert bench.driver.shown(HERE) == ["The channel did not take the file `a.txt`."]


@pytest.mark.requirement("channel_sends.lookup")
async def test_a_name_is_asked_for_once_in_five_minutes() -> None:
    driver = _Directory()
    answers: list[ChannelAnswer] = []
    now = [0.0]
    lookups = Lookups(driver, answers.append, monotonic=lambda: now[0])

    async def ask(number: int, text: str) -> ChannelAnswer:
        lookups.ask(ChannelNews(kind=USERS, number=number, text=text))
        await until(lambda: answers[-1:] != [] and answers[-1].number == number)
        return answers[-1]

    first = await ask(1, "Ann")
    assert [hit.id for hit in first.hits] == [f"U{number}" for number in range(10)]
    assert len((await ask(2, "ann ")).hits) == 10
    assert driver.asked == ["Ann"]
    now[0] = 301.0
    await ask(3, "ann")
    assert driver.asked == ["Ann", "ann"]
    driver.failure = TransientFailure("The platform's own words.")
    assert (await ask(4, "bob")).failed
    driver.failure = None
    assert not (await ask(5, "bob")).failed
    await lookups.close()


class _Directory(ScriptedDriver):
    """People by the dozen."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[str] = []
        self.failure: TransientFailure | None = None

    async def find_users(self, text: str) -> tuple[Found, ...]:
        """Twelve."""
        await asyncio.sleep(0)
        if self.failure is not None:
            raise self.failure
        self.asked.append(text)
        return tuple(Found(id=f"U{number}", name="Ann") for number in range(12))
