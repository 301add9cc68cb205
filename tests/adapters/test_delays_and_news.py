"""Waiting times, and what an adapter is told of its sessions."""

from __future__ import annotations

import asyncio

import pytest

from netclaw.adapters.driver import ChannelConfig, FatalFailure
from netclaw.adapters.names import is_name, source_kind_of
from netclaw.adapters.parts import Counters
from netclaw.adapters.reconnects import Reconnects
from netclaw.adapters.registry import make_driver
from netclaw.adapters.reports import Reports
from netclaw.adapters.setup import from_setup, to_setup
from netclaw.core.authority import (
    Audience,
    Authenticity,
    Authority,
    DeliveryTarget,
    Principal,
    Provenance,
    Requester,
    SourceKind,
)
from netclaw.core.ids import AppendId, SessionId, TurnId
from netclaw.core.session.events import TurnStarted
from netclaw.ports.journal import Commit, JournalRow
from netclaw.supervisor.channel_news import News
from netclaw.wire.journal_codec import encode_event
from netclaw.wire.v1.gateway_pb2 import ChannelNews, ChannelReport


@pytest.mark.requirement("channel_host.backoff")
def test_waits_grow_until_a_connection_holds() -> None:
    now = 0.0
    delays = Reconnects(monotonic=lambda: now, uniform=lambda: 0.0)
    waits = []
    for _ in range(9):
        delays.begin()
        now += 59.0
        waits.append(delays.delay_s())
    assert waits == [1, 2, 4, 8, 16, 32, 60, 60, 60]
    assert delays.delay_s(retry_after_s=300.0) == 300.0
    delays.begin()
    now += 60.0
    assert delays.delay_s() == 1.0


def test_waits_are_spread() -> None:
    delays = Reconnects(first_s=0.5, monotonic=lambda: 0.0, uniform=lambda: 1.0)
    assert delays.delay_s() == pytest.approx(0.6)


def _commit(*types: str, session: str = "room/1") -> Commit:
    rows = tuple(
        JournalRow(seq=n, at=0, type=kind, version=1, incarnation=1, payload=b"{}", cause="")
        for n, kind in enumerate(types, 1)
    )
    return Commit(session_id=SessionId(session), append_id=AppendId("a"), rows=rows)


async def _told(news: News) -> list[ChannelNews]:
    news.close()
    return [piece async for piece in news]


@pytest.mark.requirement("channel_host.news")
async def test_who_comes_looks_at_everything_once() -> None:
    assert [piece.kind for piece in await _told(News())] == ["approvals", "outbox"]


@pytest.mark.requirement("channel_host.news")
async def test_many_steps_are_few_news() -> None:
    news = News()
    told = aiter(news)
    assert {(await anext(told)).kind, (await anext(told)).kind} == {"approvals", "outbox"}
    news.take(_commit("InputAdmitted", "TurnStarted"))
    news.take(_commit("ToolBatchStarted"))
    news.take(_commit("InputAdmitted", "TurnStarted", session="room/2"))
    news.take(_commit("TurnRecorded"))
    news.take_replies()
    news.take(_commit("TurnFailed", "ConsentWithdrawn", session="room/3"))
    news.drain(budget_s=1.5, notice="Stopping.")
    news.close()
    assert [piece async for piece in told] == [
        ChannelNews(kind="approvals"),
        ChannelNews(kind="outbox"),
        ChannelNews(kind="phase", session_id="room/1", phase="ready"),
        ChannelNews(kind="phase", session_id="room/2", phase="processing"),
        ChannelNews(kind="phase", session_id="room/3", phase="ready"),
        ChannelNews(kind="drain", budget_ms=1500, notice="Stopping."),
    ]


@pytest.mark.requirement("channels.progress")
async def test_a_turn_that_began_tells_where_on_the_channel_its_answer_goes() -> None:
    news = News(SourceKind.SLACK)
    targets = (
        DeliveryTarget(channel=SourceKind.CLI, address=""),
        DeliveryTarget(channel=SourceKind.SLACK, address="C1/1"),
    )
    authority = Authority(
        requester=Requester(
            session_id=SessionId("C1/1"),
            audience=Audience.TEAM,
            boundary="slack:T1/C1",
            channel_type=SourceKind.SLACK,
            sender_id="U1",
            principal=Principal.TRUSTED,
        ),
        provenance=Provenance(source_kind=SourceKind.SLACK, authenticity=Authenticity.VERIFIED),
        delivery_targets=targets,
    )
    draft = encode_event(TurnStarted(turn_id=TurnId("t1"), input_ids=(), authority=authority))
    row = JournalRow(
        seq=1,
        at=0,
        type=draft.type,
        version=draft.version,
        incarnation=1,
        payload=draft.payload,
        cause="",
    )
    news.take(Commit(session_id=SessionId("C1/1"), append_id=AppendId("a"), rows=(row,)))
    assert (await _told(news))[-1] == ChannelNews(
        kind="phase", session_id="C1/1", phase="processing", turn_id="t1", addresses=["C1/1"]
    )


@pytest.mark.requirement("channel_host.process")
async def test_the_last_word_is_told_even_if_it_is_the_first() -> None:
    reports = Reports(Counters(admitted=3))
    reports.say_failure("The token is refused.", at_ms=5, retry_after_s=1.5)
    reports.close()
    (last,) = [report async for report in reports.stream()]
    assert (last.state, last.last_failure, last.retry_after_ms) == (
        "starting",
        "The token is refused.",
        1500,
    )
    assert last.counters["admitted"] == 3


async def test_what_changes_is_told_at_once_and_nothing_twice() -> None:
    reports = Reports(Counters())
    told = reports.stream()
    first: ChannelReport = await anext(told)
    reports.say_state("ready")
    second = await asyncio.wait_for(anext(told), 10)
    assert (first.state, second.state) == ("starting", "ready")
    reports.say_state("ready")
    reports.close()
    assert [report async for report in told] == []


@pytest.mark.requirement("channel_host.fourth")
def test_names_of_channels() -> None:
    assert source_kind_of("slack").value == "slack"
    assert source_kind_of("loop").value == "channel:loop"
    assert is_name("my-chat2")
    assert not any(map(is_name, ("", "Loop", "a/b", "2x", "x" * 33)))
    with pytest.raises(FatalFailure, match="No channel called nowhere is installed"):
        make_driver(ChannelConfig(name="nowhere"))


def test_a_section_crosses_the_wire_whole() -> None:
    config = ChannelConfig(
        name="loop",
        default_channel_id="room",
        allowed_channel_ids=frozenset({"a", "b"}),
        allowed_user_ids=frozenset({"ann"}),
        allow_direct_messages=True,
        mention_only=False,
        mention_required_in_thread=True,
        mention_required_in_dm=True,
        channel_audiences={"room": "Team"},
        secrets={"bot_token": "very secret"},
        options={"server_url": "http://127.0.0.1:1"},
    )
    assert from_setup(to_setup(config)) == config
    assert "very secret" not in repr(config)
