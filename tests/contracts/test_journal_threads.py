"""How far threads were read: kept with an admission, gone with the session."""

from __future__ import annotations

from dataclasses import replace

import pytest

from netclaw.core.errors import StorageFullError
from tests.contracts.journal_world import OTHER, SESSION, World


async def admit(world: World, message: str, cursor: str) -> bool:
    """Admit an input that brings a cursor; whether it was known."""
    request = world.input_request("hello", message=message, session_id=SESSION)
    admission = await world.journal.admit(replace(request, thread_cursor=cursor))
    return admission.is_duplicate


@pytest.mark.requirement("channels.cursor")
async def test_the_newest_admission_with_a_cursor_says_how_far_a_thread_was_read(
    journal_world: World,
) -> None:
    world = journal_world
    assert await world.journal.thread_cursor(SESSION) == ""
    await world.create()
    await world.create(OTHER)
    assert await world.journal.thread_cursor(SESSION) == ""
    await admit(world, "m1", "one")
    assert await world.journal.thread_cursor(SESSION) == "one"
    await admit(world, "m2", "two")
    await admit(world, "m3", "")
    assert await admit(world, "m1", "again")
    assert await world.journal.thread_cursor(SESSION) == "two"
    assert await world.journal.thread_cursor(OTHER) == ""
    await world.journal.reset_session(SESSION, at=1)
    assert await world.journal.thread_cursor(SESSION) == "two"
    await world.journal.delete_session(SESSION)
    assert await world.journal.thread_cursor(SESSION) == ""
    await world.create()
    assert await world.journal.thread_cursor(SESSION) == ""


@pytest.mark.requirement("channels.cursor")
async def test_what_is_not_admitted_was_not_read(journal_world: World) -> None:
    world = journal_world
    await world.create()
    await admit(world, "m1", "one")
    request = world.input_request("x" * 2000, message="m2", session_id=SESSION)
    (refused,) = await world.journal.admit_many((replace(request, thread_cursor="two"),))
    assert isinstance(refused, Exception)
    assert not isinstance(refused, StorageFullError)
    assert await world.journal.thread_cursor(SESSION) == "one"
