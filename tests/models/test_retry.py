"""Trying again: when, how often, how late, and never once something was said."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netclaw.core.errors import ErrorCategory
from netclaw.core.session.commands import FinishReason
from netclaw.models.retry import RetryingClient, RetryPolicy
from netclaw.ports.model import (
    Finished,
    Keepalive,
    ModelCallError,
    ModelRequest,
    RetryScheduled,
    StreamItem,
    TextDelta,
)
from tests.models.tools import hear

FINISHED = Finished(finish=FinishReason.STOP, text="hi")


def failed(
    *, is_transient: bool = True, is_before: bool = True, retry_after_s: float | None = None
) -> ModelCallError:
    return ModelCallError(
        ErrorCategory.RATE_LIMITED,
        "The model service is limiting requests.",
        is_transient=is_transient,
        is_before_first_chunk=is_before,
        retry_after_s=retry_after_s,
    )


class Scripted:
    """A client whose attempts are given; keeps count of those begun and closed."""

    def __init__(self, *attempts: Sequence[StreamItem | ModelCallError]) -> None:
        self._attempts = list(attempts)
        self.begun = 0
        self.closed = 0

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamItem, None]:
        del request
        self.begun += 1
        try:
            for item in self._attempts.pop(0):
                if isinstance(item, ModelCallError):
                    raise item
                yield item
        finally:
            self.closed += 1


class Waits(list[float]):
    """The waits that were asked for; nobody really waits."""

    async def __call__(self, seconds: float) -> None:
        self.append(seconds)


def retrying(client: Scripted, waits: Waits, chance: float = 0.5) -> RetryingClient:
    return RetryingClient(client, sleep=waits, chance=lambda: chance)


@pytest.mark.requirement("models.retry")
async def test_three_retries_with_doubling_waits_then_the_error() -> None:
    client, waits = Scripted(*[[failed()] for _ in range(4)]), Waits()
    heard = await hear(retrying(client, waits), "x")
    assert heard.failure.category is ErrorCategory.RATE_LIMITED
    assert waits == [1.0, 2.0, 4.0]
    assert client.begun == client.closed == 4
    assert [(item.attempt, item.wait_s) for item in heard.of(RetryScheduled)] == [
        (1, 1.0),
        (2, 2.0),
        (3, 4.0),
    ]


@pytest.mark.requirement("models.retry")
async def test_a_later_attempt_answers() -> None:
    client, waits = Scripted([Keepalive(), failed()], [TextDelta(text="hi"), FINISHED]), Waits()
    heard = await hear(retrying(client, waits), "x")
    assert heard.finished == FINISHED
    assert [type(item) for item in heard.items] == [Keepalive, RetryScheduled, TextDelta, Finished]


@pytest.mark.requirement("models.retry")
async def test_nothing_is_tried_again_once_something_was_said() -> None:
    client, waits = Scripted([TextDelta(text="h"), failed(is_before=False)]), Waits()
    heard = await hear(retrying(client, waits), "x")
    assert heard.failure.is_transient
    assert (client.begun, waits) == (1, [])


@pytest.mark.requirement("models.retry")
async def test_what_will_not_get_better_is_not_tried_again() -> None:
    client, waits = Scripted([failed(is_transient=False)]), Waits()
    assert not (await hear(retrying(client, waits), "x")).failure.is_transient
    assert (client.begun, waits) == (1, [])


@pytest.mark.requirement("models.retry-after")
async def test_the_providers_wish_is_waited_for() -> None:
    client, waits = Scripted([failed(retry_after_s=12.0)], [FINISHED]), Waits()
    assert (await hear(retrying(client, waits), "x")).finished == FINISHED
    assert waits == [12.0]


@pytest.mark.requirement("models.retry-after")
async def test_a_wish_for_more_patience_than_anyone_has_is_told_at_once() -> None:
    client, waits = Scripted([failed(retry_after_s=3600.0)]), Waits()
    assert (await hear(retrying(client, waits), "x")).failure.retry_after_s == 3600.0
    assert (client.begun, waits) == (1, [])


@pytest.mark.requirement("models.retry")
async def test_leaving_early_closes_the_attempt() -> None:
    client = Scripted([TextDelta(text="a"), FINISHED])
    stream = retrying(client, Waits()).stream(ModelRequest(messages=()))
    assert await anext(stream) == TextDelta(text="a")
    await stream.aclose()
    assert client.closed == 1


@pytest.mark.requirement("models.retry")
@given(attempt=st.integers(1, 12), chance=st.floats(0, 1), asked=st.none() | st.floats(0, 60))
def test_waits_stay_in_their_bounds(attempt: int, chance: float, asked: float | None) -> None:
    policy = RetryPolicy(retries=10)
    wait_s = policy.wait_s(attempt, failed(retry_after_s=asked), chance)
    if attempt > 10 or (asked or 0.0) > policy.max_s:
        assert wait_s is None
    else:
        assert wait_s is not None
        backoff_s = min(30.0, 2.0 ** (attempt - 1))
        assert max(asked or 0.0, backoff_s * 0.75) <= wait_s <= max(asked or 0.0, backoff_s * 1.25)
