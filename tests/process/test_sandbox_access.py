"""A real daemon holds each command to what a person let it do."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from tests.process.lending import Lender
from tests.process.test_consent import NAME, answered, ask, call
from tests.process.world import ASKING, World
from tests.sandbox.rig import visible_folder

SHARED = Path("/tmp/netclaw-access-test")
pytestmark = pytest.mark.timeout(120)


@pytest.fixture
async def asking(lender: Lender) -> AsyncIterator[World]:
    """A daemon whose commands ask."""
    async with lender.lend(ASKING) as world:
        yield world


@pytest.fixture
def away() -> Iterator[Path]:
    """A folder of the operator's that no session has to do with."""
    with visible_folder() as folder:
        yield folder.resolve()


@pytest.mark.requirement("access.nearest-folder")
@pytest.mark.requirement("access.boundary-is-named")
async def test_a_consented_command_writes_what_it_named_and_no_more(
    asking: World, away: Path
) -> None:
    for name in ("named", "beside"):
        (away / name).mkdir()
    command = f"tee {away}/named/made < /etc/passwd && echo {away}/beside/made | xargs touch"
    sent, request = await ask(asking, command)
    await asking.peer.answer(request, "approve_once")
    text = await answered(asking, sent)
    assert (away / "named/made").exists()
    assert not (away / "beside/made").exists()
    assert f"{away}/named and $TMPDIR; the network was on." in text


@pytest.mark.requirement("access.network")
async def test_the_network_is_there_for_what_was_consented_alone(asking: World) -> None:
    server = await asyncio.start_server(lambda _reader, writer: writer.close(), "127.0.0.1", 0)
    address = f"/dev/tcp/127.0.0.1/{server.sockets[0].getsockname()[1]}"
    command = f'bash -c "exec 3<>{address}" && echo reached'
    async with server:
        sent, request = await ask(asking, command)
        assert [option.key for option in request.options] == ["approve_once", "deny"]
        await asking.peer.answer(request, "approve_once")
        assert "reached" in await answered(asking, sent)
    looked = await asking.peer.turn(NAME, f"{call('cat /proc/net/route')} [[results]]")
    assert "eth" not in looked.text


@pytest.mark.requirement("access.temporary-retry")
async def test_an_advised_call_that_is_repeated_is_asked_for_once(asking: World) -> None:
    command = f"touch {SHARED}"
    sent, request = await ask(asking, command, then=f"[[next]] {call(command)} [[results]]")
    assert request.display == command
    assert [option.key for option in request.options] == ["approve_once", "deny"]
    await asking.peer.answer(request, "approve_once")
    text = await answered(asking, sent)
    assert "nothing written there remains" in text
    assert SHARED not in SHARED.parent.iterdir()
