"""The clients of both dialects against a server that fails, lies, stalls and vanishes."""

from __future__ import annotations

import asyncio
import socket
from functools import partial

import pytest

from netclaw.core.errors import ErrorCategory
from netclaw.models import exchange
from netclaw.models.connections import ModelConnections
from netclaw.models.openai_compatible import OpenAICompatibleClient
from netclaw.models.retry import RetryingClient, RetryPolicy
from netclaw.models.sse import SseDecoder
from netclaw.ports.model import Credential, ModelClient, RetryScheduled, TextDelta
from tests.fakes.model import FakeModel, Outcome
from tests.models.tools import asking, hear, next_output, raw_server, settings_for, sse_answer


def client_at(url: str, connections: ModelConnections) -> OpenAICompatibleClient:
    return OpenAICompatibleClient(
        settings_for(url), connections, credential=Credential(secret="sk-very-secret")
    )


@pytest.mark.requirement("models.cut-streams")
@pytest.mark.parametrize(
    ("script", "text"),
    [
        ("[[cut:0]][[reply:a b]]", ""),
        ("[[cut:1]][[reply:a b]]", "a"),
        ("[[no_finish]][[reply:a b]]", "a b"),
        ("[[cut:1]][[think:a b]]", ""),
        ('[[cut:2]][[tool:sh {"command":"ls"}]]', ""),
    ],
)
async def test_a_cut_answer_is_a_provider_failure(
    client: ModelClient, script: str, text: str
) -> None:
    heard = await hear(client, script)
    assert heard.text == text
    assert heard.failure.category is ErrorCategory.PROVIDER_FAILURE
    assert heard.failure.is_transient
    assert heard.failure.is_before_first_chunk is ("cut:0" in script)


@pytest.mark.requirement("models.cut-streams")
async def test_an_answer_with_its_finish_reason_is_whole_without_done(
    chat_client: OpenAICompatibleClient,
) -> None:
    assert (await hear(chat_client, "[[no_done]][[reply:a b]]")).finished.text == "a b"


@pytest.mark.requirement("models.cut-streams")
async def test_a_whole_answer_does_not_wait_for_a_stream_that_never_ends(
    connections: ModelConnections, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exchange, "TAIL_TIMEOUT_S", 0.05)
    chunk = b'data: {"choices":[{"delta":{"content":"a"},"finish_reason":"stop"}]}\n\n'
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 9999\r\n\r\n"
    is_over = asyncio.Event()

    async def serve(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(head + chunk)
        await is_over.wait()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
        assert (await hear(client_at(url, connections), "x")).finished.text == "a"
        is_over.set()


@pytest.mark.requirement("models.garbage")
@pytest.mark.parametrize(
    ("script", "text"),
    [
        ("[[garbage:0]][[reply:a b]]", ""),
        ("[[garbage:1]][[reply:a b]]", "a"),
        ("[[error_event:1]][[error_type:api_error]][[reply:a b]]", "a"),
        ("[[html]]", ""),
    ],
)
async def test_garbage_is_a_provider_failure(client: ModelClient, script: str, text: str) -> None:
    heard = await hear(client, script)
    assert heard.text == text
    assert heard.failure.category is ErrorCategory.PROVIDER_FAILURE


@pytest.mark.requirement("models.garbage")
@pytest.mark.parametrize(
    "answer",
    [
        b"not http at all\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 50\r\n\r\ndata",
        b"",
        sse_answer(b"garbage without any event\n\n"),
        sse_answer(b"\x00\xff\xfe" * 100),
        sse_answer(b"{broken", "application/json"),
    ],
)
async def test_a_server_that_speaks_something_else_is_a_provider_failure(
    connections: ModelConnections, answer: bytes
) -> None:
    async with raw_server(answer) as url:
        failure = (await hear(client_at(url, connections), "x")).failure
    assert failure.category is ErrorCategory.PROVIDER_FAILURE
    assert failure.is_before_first_chunk


@pytest.mark.requirement("models.garbage")
async def test_bytes_that_are_no_text_cost_their_characters_only(
    client: ModelClient,
) -> None:
    assert (await hear(client, "[[bad_utf8]][[reply:abc]]")).finished.text == "\ufffd\ufffdabc"


@pytest.mark.requirement("models.sse-bounded")
async def test_a_line_without_end_is_refused(
    connections: ModelConnections, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exchange, "SseDecoder", partial(SseDecoder, max_event_bytes=1000))
    async with raw_server(sse_answer(b"data: " + b"x" * 5000)) as url:
        failure = (await hear(client_at(url, connections), "x")).failure
    assert "without end" in failure.sentence
    assert not failure.is_transient


@pytest.mark.requirement("models.http-errors")
@pytest.mark.parametrize(
    ("script", "category"),
    [
        ("[[status:400]]", ErrorCategory.INPUT_COMPATIBILITY),
        ("[[status:401]]", ErrorCategory.PROVIDER_FAILURE),
        ("[[status:404]]", ErrorCategory.PROVIDER_FAILURE),
        ("[[status:429]][[retry_after:2]]", ErrorCategory.RATE_LIMITED),
        ("[[status:500]]", ErrorCategory.PROVIDER_FAILURE),
        ("[[status:503]]", ErrorCategory.PROVIDER_FAILURE),
        ("[[status:529]]", ErrorCategory.RATE_LIMITED),
        ("[[overflow]]", ErrorCategory.INPUT_COMPATIBILITY),
        ("[[overflow:llamacpp]]", ErrorCategory.INPUT_COMPATIBILITY),
    ],
)
async def test_http_errors(client: ModelClient, script: str, category: ErrorCategory) -> None:
    failure = (await hear(client, script)).failure
    assert failure.category is category
    assert failure.retry_after_s == (2.0 if "retry_after" in script else None)
    assert failure.is_context_overflow is ("overflow" in script)


@pytest.mark.requirement("models.retry-after")
async def test_retry_after_as_a_date_is_read_against_the_injected_clock(
    fake: FakeModel, connections: ModelConnections
) -> None:
    client = OpenAICompatibleClient(
        settings_for(fake.url), connections, wall_clock=lambda: 784_111_757.0
    )
    script = "[[status:429]][[retry_after:Sun, 06 Nov 1994 08:49:37 GMT]]"
    assert (await hear(client, script)).failure.retry_after_s == 20.0


@pytest.mark.requirement("models.redirects-refused")
async def test_a_redirect_is_refused_and_the_credential_stays(
    fake: FakeModel, connections: ModelConnections
) -> None:
    async with FakeModel() as other:
        script = f"[[redirect:{other.url}/chat/completions]]"
        failure = (await hear(client_at(fake.url, connections), script)).failure
        assert other.request_count == 0
    assert failure.category is ErrorCategory.PROVIDER_FAILURE
    assert "redirect" in failure.sentence


def unused_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@pytest.mark.requirement("models.unreachable")
@pytest.mark.parametrize(
    ("endpoint", "is_transient"),
    [
        ("http://127.0.0.1:{port}/v1", True),
        ("nonsense", False),
        ("http://127.0.0.1:99999/v1", False),
        ("ftp://127.0.0.1/v1", False),
    ],
)
async def test_an_address_where_no_model_is(
    connections: ModelConnections, endpoint: str, is_transient: bool
) -> None:
    client = client_at(endpoint.format(port=unused_port()), connections)
    failure = (await hear(client, "x")).failure
    assert failure.category is ErrorCategory.PROVIDER_FAILURE
    assert failure.is_transient is is_transient
    assert failure.is_retryable_elsewhere


@pytest.mark.requirement("models.unreachable")
async def test_a_plain_server_behind_an_https_address(
    fake: FakeModel, connections: ModelConnections
) -> None:
    client = client_at(fake.url.replace("http:", "https:"), connections)
    failure = (await hear(client, "x")).failure
    assert failure.category is ErrorCategory.PROVIDER_FAILURE


@pytest.mark.requirement("models.unreachable")
async def test_a_connection_that_nobody_takes_times_out() -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        port = listener.getsockname()[1]
        # The one place in the backlog is taken, so the kernel leaves the next one waiting.
        with socket.create_connection(("127.0.0.1", port)):
            async with ModelConnections(connect_timeout_s=0.2) as connections:
                client = client_at(f"http://127.0.0.1:{port}/v1", connections)
                async with asyncio.timeout(10):
                    failure = (await hear(client, "x")).failure
    assert failure.category is ErrorCategory.TIMEOUT
    assert failure.is_transient


@pytest.mark.requirement("models.cancel")
async def test_cancelling_the_caller_drops_the_connection(
    client: ModelClient, fake: FakeModel
) -> None:
    task = asyncio.create_task(hear(client, "[[gate:never]][[reply:x]]"))
    await fake.gates.wait_for_arrival("never")
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await fake.wait_for_outcome(Outcome.DISCONNECTED)


@pytest.mark.requirement("models.cancel")
async def test_leaving_the_stream_drops_the_connection(
    client: ModelClient, fake: FakeModel
) -> None:
    stream = client.stream(asking("[[gate_after:1:never]][[reply:a b]]"))
    assert await next_output(stream) == TextDelta(text="a")
    await stream.aclose()
    await fake.wait_for_outcome(Outcome.DISCONNECTED)


@pytest.mark.requirement("models.retry")
@pytest.mark.parametrize(
    "script", ["[[status:503:2]]", "[[cut:0:2]]", "[[garbage:0]][[attempts:2]]"]
)
async def test_a_provider_that_recovers_answers_after_retries(
    client: ModelClient, fake: FakeModel, script: str
) -> None:
    patient = RetryingClient(client, policy=RetryPolicy(base_s=0.001))
    heard = await hear(patient, f"{script}[[reply:at last]]")
    assert heard.finished.text == heard.text == "at last"
    assert len(heard.of(RetryScheduled)) == 2
    assert [r.attempt for r in fake.requests] == [1, 2, 3]


@pytest.mark.requirement("models.retry")
async def test_a_provider_that_breaks_off_in_mid_answer_is_not_asked_again(
    client: ModelClient, fake: FakeModel
) -> None:
    patient = RetryingClient(client, policy=RetryPolicy(base_s=0.001))
    heard = await hear(patient, "[[cut:1]][[reply:a b]]")
    assert heard.text == "a"
    assert not heard.failure.is_before_first_chunk
    assert fake.request_count == 1
