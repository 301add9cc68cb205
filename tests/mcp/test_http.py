"""Servers over loopback HTTP: statuses are read as numbers, never out of texts."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import replace

import pytest

from netclaw.core.tool_servers import ToolServerSettings
from netclaw.mcp.link import ToolServerLink
from netclaw.ports.tool_servers import ReplyKind, ServerState, ServerStatus
from tests.mcp.conftest import Fake, Links, ask, make_fake

pytestmark = pytest.mark.timeout(120)

CHECK = "Check configured credentials or headers."


@pytest.fixture(scope="module")
def shared() -> Iterator[tuple[Fake, ToolServerSettings]]:
    """One server for all tests that do not end it."""
    with make_fake() as fake:
        yield fake, fake.http()


@pytest.fixture
def site(shared: tuple[Fake, ToolServerSettings]) -> Iterator[tuple[Fake, ToolServerSettings]]:
    """It works, and nothing was called yet."""
    fake, server = shared
    (fake.folder / "notes").unlink(missing_ok=True)
    yield fake, server
    fake.answer()


Site = tuple[Fake, ToolServerSettings]


def status_of(link: ToolServerLink) -> ServerStatus:
    """How the one server stands."""
    (status,) = link.known.statuses
    return status


@pytest.mark.requirement("mcp.transports")
@pytest.mark.parametrize("kind", ["http", "json"])
async def test_a_server_over_http_gets_its_headers_and_answers(
    fake: Fake, links: Links, kind: str
) -> None:
    server = fake.http("web", "X-Api-Key", kind=kind)
    link = links.make(server, **{"web_header_X-Api-Key": "sesame-open"})
    assert len((await link.catalogue()).tools) == 12
    assert status_of(link).state is ServerState.CONNECTED
    assert (await ask(link, "header", "web", name="x-api-key")).text == "sesame-open"
    failed = await ask(link, "fail", "web", text="Internal Server Error")
    assert failed.kind is ReplyKind.TOOL_ERROR
    flooded = await ask(link, "flood", "web", mib=50)
    assert (flooded.kind, flooded.text) == (
        ReplyKind.APPLICATION,
        "Its answer is larger than 16 MiB.",
    )
    assert (await ask(link, "echo", "web", text="on")).text == "on"


@pytest.mark.requirement("mcp.transports")
@pytest.mark.requirement("mcp.no-replay")
async def test_a_server_over_the_older_transport_works_and_is_seen_to_go(
    fake: Fake, links: Links
) -> None:
    link = links.make(fake.http(kind="sse"))
    assert len((await link.catalogue()).tools) == 12
    assert (await ask(link, "echo", "web", text="one")).text == "one"
    assert (await ask(link, "fail", "web", text="no")).kind is ReplyKind.TOOL_ERROR
    stalled = asyncio.create_task(ask(link, "stall", "web"))
    while "stall" not in fake.notes:
        await ask(link, "pid", "web")
    fake.processes[0].kill()
    fake.processes[0].wait()
    assert (await stalled).kind is ReplyKind.TRANSPORT
    assert status_of(link).state is ServerState.UNREACHABLE
    assert fake.notes == ["echo one", "fail", "stall"]


LIMIT = '{"statusCode":429,"message":"Rate limit exceeded, retry in 52 seconds"}'
NULL_ID = '{"jsonrpc":"2.0","error":{"code":-32000,"message":"Unauthorized: No API key"},"id":null}'


@pytest.mark.requirement("mcp.application-error")
@pytest.mark.parametrize(
    ("answer", "text", "state"),
    [
        (("429", "", LIMIT), f"HTTP 429: {LIMIT}", ServerState.CONNECTED),
        (("500", "", "see /var/401/log"), "HTTP 500: see /var/401/log", ServerState.CONNECTED),
        (("401", "", NULL_ID), f"HTTP 401: {NULL_ID} {CHECK}", ServerState.AUTH_FAILED),
        (
            ("401", "Bearer realm=x", "{}"),
            "HTTP 401: {} It asks the operator to sign in with OAuth.",
            ServerState.AWAITING_AUTH,
        ),
        (("403", "", "no"), f"HTTP 403: no {CHECK}", ServerState.AUTH_FAILED),
    ],
)
@pytest.mark.requirement("mcp.typed-status")
async def test_an_answer_is_given_back_without_a_new_connection(
    site: Site, links: Links, answer: tuple[str, ...], text: str, state: ServerState
) -> None:
    fake, server = site
    link = links.make(server)
    await ask(link, "echo", "web", text="one")
    fake.answer(*answer)
    reply = await ask(link, "echo", "web", text="refused")
    assert (reply.kind, reply.text) == (ReplyKind.APPLICATION, text)
    assert status_of(link).state is state
    fake.answer()
    assert (await ask(link, "echo", "web", text="two")).text == "two"
    assert status_of(link).state is ServerState.CONNECTED
    assert fake.notes == ["echo one", "echo two"]


@pytest.mark.requirement("mcp.no-replay")
async def test_a_session_that_the_server_forgot_is_made_anew_for_the_next_call(
    site: Site, links: Links
) -> None:
    fake, server = site
    link = links.make(server)
    await ask(link, "echo", "web", text="one")
    fake.answer("404", "", "gone")
    reply = await ask(link, "echo", "web", text="lost")
    assert reply.kind is ReplyKind.TRANSPORT
    assert status_of(link).state is ServerState.UNREACHABLE
    fake.answer()
    assert (await ask(link, "echo", "web", text="two")).text == "two"
    assert fake.notes == ["echo one", "echo two"]


@pytest.mark.requirement("mcp.no-replay")
async def test_a_server_that_went_away_is_asked_once_by_each_later_call(
    fake: Fake, links: Links
) -> None:
    link = links.make(fake.http())
    await ask(link, "echo", "web", text="one")
    fake.processes[0].kill()
    fake.processes[0].wait()
    for _ in range(2):
        assert (await ask(link, "echo", "web", text="lost")).kind is ReplyKind.TRANSPORT
    assert status_of(link).sentence == "Its address cannot be reached."
    assert fake.notes == ["echo one"]


@pytest.mark.requirement("mcp.states")
@pytest.mark.requirement("mcp.typed-status")
@pytest.mark.parametrize(
    ("answer", "headers", "state"),
    [
        (("401", "Bearer realm=x"), (), ServerState.AWAITING_AUTH),
        (("401", "Bearer realm=x"), ("Authorization",), ServerState.AUTH_FAILED),
        (("401", "Basic realm=Bearer"), (), ServerState.AUTH_FAILED),
        (("403",), ("X-Api-Key",), ServerState.AUTH_FAILED),
        (("500", "", "401 Bearer"), (), ServerState.UNREACHABLE),
        (("200", "", "401 is not JSON"), (), ServerState.UNREACHABLE),
    ],
)
async def test_a_refusal_at_the_door_says_what_it_is(
    site: Site, links: Links, answer: tuple[str, ...], headers: tuple[str, ...], state: ServerState
) -> None:
    fake, shared = site
    server = replace(shared, headers=headers)
    link = links.make(server, **{f"web_header_{name}": "sesame-open" for name in headers})
    fake.answer(*answer)
    await link.catalogue()
    assert status_of(link).state is state
    assert "sesame" not in status_of(link).sentence
    if state is ServerState.AWAITING_AUTH:
        assert "OAuth" in status_of(link).sentence
    if state is ServerState.AUTH_FAILED:
        assert CHECK in status_of(link).sentence


@pytest.mark.requirement("mcp.states")
async def test_an_address_without_anybody_is_unreachable(links: Links) -> None:
    nobody = ToolServerSettings(name="web", transport="http", url="http://127.0.0.1:9/401/mcp")
    link = links.make(nobody)
    await link.catalogue()
    assert status_of(link).state is ServerState.UNREACHABLE
    assert status_of(link).sentence == "Its address cannot be reached."


@pytest.mark.requirement("mcp.slow")
async def test_a_server_that_hangs_costs_a_bounded_time(
    site: Site, links: Links, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake, server = site
    monkeypatch.setattr("netclaw.mcp.link.CATALOGUE_S", 0.5)
    fake.answer("hang")
    link = links.make(server)
    await link.catalogue()
    assert status_of(link).state is ServerState.UNREACHABLE
    assert status_of(link).sentence == "It did not answer in time."
