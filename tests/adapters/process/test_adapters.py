"""The processes of channels, under a real daemon: start, death, tokens, reload, drain."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from contextlib import suppress
from pathlib import Path
from typing import Any

import grpc
import pytest

from netclaw.wire.v1 import gateway_pb2
from tests.adapters.loop.server import TOKEN
from tests.adapters.process.conftest import Channels
from tests.process.checks import is_alive
from tests.process.errors import code_of

LARGEST_MIB = 70
pytestmark = pytest.mark.timeout(90)


@pytest.mark.requirement("channel_host.process")
@pytest.mark.requirement("channel_host.token")
@pytest.mark.requirement("repo.no-listener")
async def test_an_enabled_channel_has_a_process_that_tells_how_it_is(channels: Channels) -> None:
    await channels.begin(loop=channels.section())
    row = await channels.until("loop", "ready")

    assert row.pid not in (0, channels.world.pid)
    assert (row.account, row.scope) == ("netclaw-bot", "loopers")
    assert (row.last_failure, row.restarts) == ("", 0)
    assert "pydantic_core" not in about(row.pid, "maps")  # the daemon's, and large
    shown = about(row.pid, "cmdline") + about(row.pid, "environ") + about(row.pid, "comm")
    assert TOKEN not in shown + channels.log() + channels.world.daemon_log
    assert "nc-loop" in shown
    assert resident_mib(row.pid) < LARGEST_MIB
    assert listeners(os.getpid()), "the platform's is seen"
    assert not listeners(channels.world.pid) + listeners(row.pid)
    peer = channels.world.peer
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await peer.gateway.GetChannel(gateway_pb2.GetChannelRequest(), metadata=peer._metadata)
    assert code_of(refused.value) == "denied_by_policy"


@pytest.mark.requirement("channel_host.restart")
async def test_a_connection_comes_back_in_its_process_and_a_process_by_a_new_one(
    channels: Channels,
) -> None:
    await channels.begin(loop=channels.section())
    first = await channels.until("loop", "ready")
    await channels.server.drop()
    await channels.world.until(lambda: channels.server.connects >= 2)
    same = await channels.until("loop", "ready")
    assert (same.pid, same.restarts) == (first.pid, 0)
    status = await channels.world.peer.wait_status(
        lambda found: found.adapters[0].counters["reconnects"] == 1
    )
    assert status.adapters[0].last_failure

    os.kill(first.pid, signal.SIGKILL)
    await channels.world.until(lambda: channels.server.connects >= 3)
    second = await channels.until("loop", "ready")
    assert second.pid != first.pid
    assert second.restarts == 1


@pytest.mark.requirement("channel_host.fatal")
async def test_a_bad_token_ends_one_channel_and_no_other(channels: Channels) -> None:
    wrong = channels.section(BotToken="wrong-token-0123456789")
    await channels.begin(loop=wrong, missing={"Enabled": True}, pool=channels.section())
    failed = await channels.until("loop", "failed")
    missing = await channels.until("missing", "failed")
    good = await channels.until("pool", "ready")

    assert failed.pid == missing.pid == 0
    assert failed.last_failure == "The loop server refuses the token."
    assert missing.last_failure == "No channel called missing is installed."
    assert (failed.restarts, missing.restarts) == (0, 0)
    assert "wrong-token" not in channels.world.daemon_log + channels.log()
    assert (await channels.world.peer.turn("cli-one", "[[reply:fine]]")).text == "fine"
    assert channels.server.calls.count("GET /me") == 2  # the wrong one is not tried again

    channels.edit(loop=channels.section(), missing={"Enabled": True}, pool=channels.section())
    mended = await channels.until("loop", "ready")
    assert mended.restarts == 0
    assert (await channels.row("pool")).pid == good.pid


@pytest.mark.requirement("channel_host.off")
@pytest.mark.requirement("channel_host.transient")
@pytest.mark.requirement("channels.disabled-listed")
async def test_nothing_runs_before_it_is_enabled_then_it_is_tried_again(
    channels: Channels,
) -> None:
    await channels.begin(loop=channels.section(Enabled=False))
    row = await channels.row("loop")
    assert (row.state, row.pid) == ("disabled", 0)
    home = channels.world.home
    assert not [*home.glob("logs/adapter*"), *home.glob("run/adapter*")]

    channels.edit(loop=channels.section(Options={"server_url": "http://127.0.0.1:1"}))
    row = await channels.until("loop", "backoff")
    assert row.last_failure == "The loop server cannot be reached."
    await channels.world.peer.wait_status(lambda found: found.adapters[0].restarts >= 2)


@pytest.mark.requirement("channel_host.reload")
@pytest.mark.requirement("channel_symptoms.edit-in-mid-turn")
@pytest.mark.requirement("channels.log-level")
async def test_a_reload_touches_the_changed_channel_alone(channels: Channels) -> None:
    await channels.begin(loop=channels.section(), missing={"Enabled": True})
    first = await channels.until("loop", "ready")
    generation = (await channels.world.peer.status()).generation
    channels.edit(loop=channels.section(), missing={"Enabled": False})
    await channels.world.peer.wait_status(lambda found: found.adapters[1].state == "disabled")
    channels.world.edit_config(
        {"Channels": {"loop": channels.section()}, "Logging": {"LogLevel": {"Default": "Debug"}}}
    )
    await channels.world.until(lambda: "logs by Debug" in channels.log())
    assert (await channels.row("loop")).pid == first.pid

    asked = await channels.server.say("@netclaw [[gate:mid]][[reply:the answer]]")
    await channels.world.at_gate("mid")
    session = f"room/{asked.thread}"
    at_work = (await channels.world.peer.rows())[session].pid
    channels.edit(loop=channels.section(AllowedUserIds=["ann", "bob"]))
    await channels.world.until(lambda: channels.server.connects >= 2)
    second = await channels.until("loop", "ready")
    assert second.pid != first.pid
    assert second.restarts == 0
    assert (await channels.world.peer.rows())[session].pid == at_work
    channels.world.open_gate("mid")
    await channels.world.until(lambda: bool(channels.server.ours(thread=asked.thread)))
    assert [post.text for post in channels.server.ours(thread=asked.thread)] == ["the answer"]
    assert (await channels.world.peer.status()).generation == generation

    channels.edit(loop=channels.section(Enabled=False))
    await channels.until("loop", "disabled")
    await channels.world.until(lambda: not is_alive(second.pid))


@pytest.mark.requirement("channel_host.no-orphan")
async def test_no_adapter_outlives_its_daemon(channels: Channels) -> None:
    await channels.begin(loop=channels.section())
    row = await channels.until("loop", "ready")
    await channels.world.kill()
    await channels.world.until(lambda: not is_alive(row.pid))

    await channels.world.start()
    again = await channels.until("loop", "ready")
    await channels.world.restart()
    await channels.world.until(lambda: not is_alive(again.pid))
    last = await channels.until("loop", "ready")
    assert await channels.world.stop() == 0
    assert not is_alive(last.pid)
    assert "is killed" not in channels.world.daemon_log


@pytest.mark.requirement("channel_host.doctor")
@pytest.mark.requirement("channel_host.unloadable")
async def test_doctor_asks_each_platform_now(channels: Channels, python: Path) -> None:
    wrong = channels.section(BotToken="wrong-token-0123456789")
    nobody = channels.section(Options={"server_url": "http://127.0.0.1:1"}, DefaultChannelId=None)
    found = await doctor(
        channels, python, loop=channels.section(), pool=wrong, torn=wrong, missing=wrong
    )
    assert {message: verdict for message, verdict, _ in found} == {
        "loop: connected as netclaw-bot of loopers.": "PASS",
        "pool: The loop server refuses the token.": "FAIL",
        "torn: The channel torn cannot be loaded:"
        " ModuleNotFoundError (tests.adapters.loop.absent).": "FAIL",
        "missing: No channel called missing is installed.": "FAIL",
    }
    fixes = {message.partition(":")[0]: fix for message, _, fix in found}
    assert "netclaw secrets set Channels.pool.BotToken" in fixes["pool"]
    assert "Install loop-channel anew" in fixes["torn"]
    assert f"`{python} -m pip install PACKAGE`" in fixes["missing"]
    assert "Channels.missing" in fixes["missing"]
    assert [each[:2] for each in await doctor(channels, python, loop=nobody)] == [
        ("loop: The loop server cannot be reached.", "WARN"),
        ("loop serves nobody: no channel is allowed, and no direct message.", "WARN"),
    ]


async def doctor(
    channels: Channels, python: Path, **sections: dict[str, Any]
) -> list[tuple[str, str, str]]:
    """What it finds of channels: message, verdict and what to do."""
    world = channels.world
    world.write_config({**world._config, "Channels": sections})
    process = await asyncio.create_subprocess_exec(
        *(str(python), str(world.cli), "doctor", "--json"),
        env=world.environment(),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    said, _ = await process.communicate()
    checks = json.loads(said)["checks"]
    return [
        (each["message"], each["verdict"], each.get("fix") or "")
        for each in checks
        if each["name"] == "channel"
    ]


def about(pid: int, what: str) -> str:
    """What the kernel tells of a process."""
    return Path(f"/proc/{pid}/{what}").read_text()


def listeners(pid: int) -> list[str]:
    """Where a process listens on the network: local addresses as the kernel writes them."""
    folder = Path(f"/proc/{pid}/fd")
    held = set()
    for entry in folder.iterdir():
        with suppress(FileNotFoundError):  # it is closed meanwhile
            held.add(str(entry.readlink()))
    rows = (
        line.split() for name in ("net/tcp", "net/tcp6") for line in about(pid, name).split("\n")
    )
    return [
        row[1] for row in rows if len(row) > 9 and row[3] == "0A" and f"socket:[{row[9]}]" in held
    ]


def resident_mib(pid: int) -> float:
    """Memory of a process that is in use now."""
    (line,) = (line for line in about(pid, "status").splitlines() if line.startswith("VmRSS:"))
    return int(line.split()[1]) / 1024
