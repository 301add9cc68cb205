"""The fake knows netclaw's calls for a title in either dialect and keeps them out of scripts."""

from __future__ import annotations

from dataclasses import replace

import pytest

from netclaw.core.session import titles
from netclaw.ports.model import Finished, ModelClient
from tests.fakes.model import FakeModel
from tests.models.tools import asking

SCRIPT = "<conversation>\nPerson: hi [[reply:not this]]\n</conversation>"


async def answer(client: ModelClient, *, is_title: bool) -> str:
    """What the fake answers to a call for a title, or to the same messages without one."""
    request = asking(SCRIPT)
    if is_title:
        request = replace(request, system_prompt=titles.PROMPT)
    (finished,) = [item async for item in client.stream(request) if isinstance(item, Finished)]
    return finished.text


@pytest.mark.requirement("fakes.titles")
async def test_a_call_for_a_title_takes_nothing_of_a_script(
    client: ModelClient, fake: FakeModel
) -> None:
    fake.enqueue("[[reply:from the queue]]")
    assert await answer(client, is_title=True) == ""
    fake.enqueue_titles("[[reply:A title]]")
    assert await answer(client, is_title=True) == "A title"
    assert (fake.title_count, fake.request_count) == (2, 0)
    assert await answer(client, is_title=False) == "from the queue"
    assert await answer(client, is_title=False) == "not this"
    assert (fake.title_count, fake.request_count) == (2, 2)
    assert [request.is_title for request in fake.requests] == [False, False]
    await fake.wait_for_titles(2)
    fake.reset()
    assert (fake.title_count, len(fake.title_requests)) == (0, 0)
