"""Uploads of one session: a limit for all together, and no leftovers."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from netclaw.core.errors import NotFoundError, TooLargeError
from netclaw.supervisor import uploads
from netclaw.wire.v1 import gateway_pb2
from netclaw.wire.v1.common_pb2 import MediaRef
from tests.supervisor.test_admin import upload
from tests.supervisor.test_gateway import refused
from tests.supervisor.world import InProcess


async def staging_of(world: InProcess) -> Path:
    """The folder of session `hello`."""
    detail = await world.gateway.GetSession(
        gateway_pb2.GetSessionRequest(session_id="hello"), metadata=world.metadata
    )
    return Path(detail.storage_root) / "attachment-staging"


@pytest.mark.requirement("supervisor.uploads")
async def test_all_uploads_of_a_session_together_have_a_limit(
    world: InProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(uploads, "SESSION_LIMIT", 100)
    await world.ensure("hello")
    await world.ensure("other")
    await upload(world, b"x" * 60)
    assert isinstance(await refused(upload(world, b"x" * 30, b"y" * 30)), TooLargeError)
    await upload(world, b"x" * 40)
    assert isinstance(await refused(upload(world, b"x")), TooLargeError)
    places = [place for place in (await staging_of(world)).iterdir() if not place.suffix]
    assert sorted(place.stat().st_size for place in places) == [40, 60]


@pytest.mark.requirement("supervisor.uploads")
async def test_uploads_at_the_same_time_share_the_limit(
    world: InProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(uploads, "SESSION_LIMIT", 100)
    await world.ensure("hello")
    is_first_in, go_on = asyncio.Event(), asyncio.Event()

    async def slow() -> AsyncIterator[gateway_pb2.UploadChunk]:
        yield gateway_pb2.UploadChunk(session_id="hello", name="a", data=b"x" * 70)
        is_first_in.set()
        await go_on.wait()

    first = world.gateway.Upload(slow(), metadata=world.metadata)
    await is_first_in.wait()
    staging = await staging_of(world)
    await world.until(lambda: staging.is_dir() and bool(list(staging.iterdir())))
    assert isinstance(await refused(upload(world, b"x" * 70)), TooLargeError)
    go_on.set()
    assert (await first).media.size_bytes == 70
    await upload(world, b"x" * 30)


@pytest.mark.requirement("supervisor.uploads")
async def test_what_nobody_named_goes_after_a_day_and_what_was_named_stays(
    world: InProcess,
) -> None:
    await world.ensure("hello")
    named, forgotten, fresh = [await upload(world, b"x") for _ in range(3)]
    await world.send("hello", "look", media=[MediaRef(upload_id=named.upload_id)])
    staging = await staging_of(world)
    half = staging / ("h" * 16)
    half.write_bytes(b"left by a killed daemon")
    yesterday = time.time() - uploads.UNNAMED_LIMIT_S - 60
    for media in (named, forgotten):
        os.utime(staging / media.upload_id, (yesterday, yesterday))
    await upload(world, b"tidies")
    assert not half.exists()
    message = [MediaRef(upload_id=forgotten.upload_id)]
    assert isinstance(await refused(world.send("hello", "", media=message)), NotFoundError)
    for media in (named, fresh):
        await world.send("hello", "", media=[MediaRef(upload_id=media.upload_id)])
