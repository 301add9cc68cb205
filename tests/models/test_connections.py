"""The pool: connections are kept, the environment is not asked, nothing is left behind."""

from __future__ import annotations

import asyncio

import pytest

from netclaw.models.connections import ModelConnections
from netclaw.models.openai_compatible import OpenAICompatibleClient
from tests.fakes.model import FakeModel
from tests.models.tools import hear, raw_server, settings_for, sse_answer

WHOLE = sse_answer(b'data: {"choices":[{"delta":{"content":"a"},"finish_reason":"stop"}]}\n\n')


def kept(connections: ModelConnections) -> int:
    connector = connections.session().connector
    assert connector is not None
    return sum(len(held) for held in connector._conns.values())


@pytest.mark.requirement("models.keep-alive")
async def test_calls_one_after_another_share_a_connection(
    client: OpenAICompatibleClient, connections: ModelConnections
) -> None:
    for _ in range(5):
        await hear(client, "[[reply:x]]")
    assert kept(connections) == 1


@pytest.mark.requirement("models.keep-alive")
async def test_a_failed_or_left_answer_does_not_poison_the_pool(
    client: OpenAICompatibleClient, connections: ModelConnections
) -> None:
    for script in (
        "[[status:500]]",
        "[[garbage:1]][[reply:a b]]",
        "[[cut:1]][[reply:a b]]",
        "[[html]]",
    ):
        assert (await hear(client, script)).error is not None
        assert (await hear(client, "[[reply:clean]]")).finished.text == "clean"
    assert kept(connections) == 1


@pytest.mark.requirement("models.keep-alive")
async def test_a_kept_connection_that_the_server_closed_costs_no_attempt(
    connections: ModelConnections,
) -> None:
    async with FakeModel() as first:
        port = first.port
        client = OpenAICompatibleClient(settings_for(first.url), connections)
        assert (await hear(client, "[[reply:a]]")).finished.text == "a"
    async with FakeModel(port=port):
        assert (await hear(client, "[[reply:b]]")).finished.text == "b"


@pytest.mark.requirement("models.keep-alive")
async def test_a_connection_closed_on_us_is_opened_again_once(
    connections: ModelConnections,
) -> None:
    answers = [b"", WHOLE]
    async with raw_server(lambda _request: answers.pop(0)) as url:
        client = OpenAICompatibleClient(settings_for(url), connections)
        assert (await hear(client, "x")).finished.text == "a"
    assert not answers


@pytest.mark.requirement("models.no-environment")
async def test_proxies_of_the_environment_are_not_used(
    client: OpenAICompatibleClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    monkeypatch.delenv("no_proxy", raising=False)
    assert (await hear(client, "[[reply:direct]]")).finished.text == "direct"


@pytest.mark.requirement("models.no-environment")
async def test_no_cookie_is_kept(connections: ModelConnections) -> None:
    seen: list[bytes] = []

    def answer(request: bytes) -> bytes:
        seen.append(request)
        return WHOLE.replace(b"\r\n\r\n", b"\r\nSet-Cookie: a=b\r\n\r\n", 1)

    async with raw_server(answer) as url:
        client = OpenAICompatibleClient(settings_for(url), connections)
        for _ in range(2):
            await hear(client, "x")
    assert len(seen) == 2
    assert all(b"cookie" not in request.lower() for request in seen)


@pytest.mark.requirement("models.keep-alive")
async def test_many_calls_at_once(client: OpenAICompatibleClient) -> None:
    heard = await asyncio.gather(*(hear(client, f"[[reply:answer {n}]]") for n in range(50)))
    assert [h.finished.text for h in heard] == [f"answer {n}" for n in range(50)]


@pytest.mark.requirement("models.keep-alive")
async def test_closing_twice_is_harmless_and_using_again_works(fake: FakeModel) -> None:
    connections = ModelConnections()
    client = OpenAICompatibleClient(settings_for(fake.url), connections)
    await hear(client, "[[reply:x]]")
    await connections.close()
    await connections.close()
    assert (await hear(client, "[[reply:y]]")).finished.text == "y"
    await connections.close()


@pytest.mark.requirement("models.request")
async def test_a_large_conversation_goes_out_with_its_length(
    client: OpenAICompatibleClient, fake: FakeModel
) -> None:
    text = "x" * 3_000_000 + "[[reply:read]]"
    assert (await hear(client, text)).finished.text == "read"
    assert int(fake.requests[0].headers["Content-Length"]) > 3_000_000
