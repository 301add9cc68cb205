"""Calls to a real server over pipes: results, failures, ends, and that none is sent twice."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from netclaw.core.redaction_shapes import REDACTED
from netclaw.core.tool_servers import ToolServerSettings
from netclaw.mcp.link import ToolServerLink
from netclaw.ports.tool_servers import Catalogue, ReplyKind, ServerState
from netclaw.session_proc.process_setup import private_bytes
from tests.mcp.conftest import Fake, Links, ask, is_alive, until_gone

pytestmark = pytest.mark.timeout(120)
MIB = 1024 * 1024


def command_line(pid: int) -> str:
    """The arguments of a process as anybody can read them."""
    return Path(f"/proc/{pid}/cmdline").read_text()


def state_of(link: ToolServerLink) -> ServerState:
    """How the one server stands."""
    (status,) = link.known.statuses
    return status.state


@pytest.mark.requirement("mcp.transports")
@pytest.mark.requirement("mcp.states")
async def test_a_server_over_pipes_lists_its_tools_and_runs_them(fake: Fake, links: Links) -> None:
    link = links.make(fake.stdio())
    found = await link.catalogue()
    (status,) = found.statuses
    assert (status.state, status.tools, status.sentence) == (ServerState.CONNECTED, 12, "")
    echo = found.tools[0]
    assert (echo.server, echo.name, echo.description) == ("files", "echo", "Says a text again.")
    assert json.loads(echo.parameters)["properties"]["text"] == {"title": "Text", "type": "string"}
    reply = await ask(link, "echo", text="hello — “there”")
    assert (reply.kind, reply.text) == (ReplyKind.RESULT, "hello — “there”")
    assert (await ask(link, "chatter")).text == "quiet again"


@pytest.mark.requirement("mcp.is-error")
@pytest.mark.requirement("mcp.application-error")
async def test_errors_of_tools_and_of_the_protocol_keep_the_connection(
    fake: Fake, links: Links
) -> None:
    link = links.make(fake.stdio())
    before = await ask(link, "pid")
    failed = await ask(link, "fail", text="token expired: 401")
    assert failed.kind is ReplyKind.TOOL_ERROR
    assert "token expired: 401" in failed.text
    refused = await ask(link, "refuse", text="not today")
    assert (refused.kind, refused.text) == (ReplyKind.APPLICATION, "not today")
    unknown = await ask(link, "no_such_tool")
    assert unknown.kind in (ReplyKind.APPLICATION, ReplyKind.TOOL_ERROR)
    assert (await ask(link, "pid")).text == before.text
    assert state_of(link) is ServerState.CONNECTED


@pytest.mark.requirement("mcp.no-replay")
async def test_a_dying_server_is_told_of_once_and_started_for_the_next_call(
    fake: Fake, links: Links
) -> None:
    link = links.make(fake.stdio())
    await ask(link, "echo", text="one")
    died = await ask(link, "die")
    assert died.kind is ReplyKind.TRANSPORT
    assert "not known whether the call took effect" in died.text
    assert state_of(link) is ServerState.UNREACHABLE
    assert (await ask(link, "echo", text="two")).text == "two"
    assert state_of(link) is ServerState.CONNECTED
    assert fake.notes == ["echo one", "die", "echo two"]


@pytest.mark.requirement("mcp.bounds")
async def test_fifty_megabytes_are_refused_and_a_large_result_is_cut_where_it_is_read(
    fake: Fake, links: Links
) -> None:
    link = links.make(fake.stdio())
    await ask(link, "pid")
    before = private_bytes()
    refused = await ask(link, "flood", mib=50)
    assert private_bytes() - before < 10 * MIB
    assert (refused.kind, refused.text) == (
        ReplyKind.TRANSPORT,
        "Its answer is larger than 16 MiB.",
    )
    cut = await ask(link, "flood", mib=4, max_chars=1000)
    assert (cut.kind, len(cut.text), cut.is_complete) == (ReplyKind.RESULT, 1000, False)
    assert fake.notes == ["flood", "flood"]


@pytest.mark.requirement("mcp.progress")
async def test_progress_is_a_sign_of_life(fake: Fake, links: Links) -> None:
    items: list[int] = []
    link = links.make(fake.stdio())
    reply = await ask(link, "drip", times=3, gap_s=0.1, items=items)
    assert reply.text == "dripped"
    assert len(items) == 3


@pytest.mark.requirement("mcp.cancel")
async def test_a_cancelled_call_is_taken_back_and_others_go_on(fake: Fake, links: Links) -> None:
    link = links.make(fake.stdio())
    before = (await ask(link, "pid")).text
    stalled = asyncio.create_task(ask(link, "stall"))
    while "stall" not in fake.notes:
        assert (await ask(link, "pid")).text == before
    stalled.cancel()
    with pytest.raises(asyncio.CancelledError):
        await stalled
    assert (await ask(link, "pid")).text == before


@pytest.mark.requirement("mcp.progress")
@pytest.mark.requirement("mcp.no-replay")
async def test_a_call_that_was_silent_for_too_long_costs_the_connection(
    fake: Fake, links: Links
) -> None:
    link = links.make(fake.stdio())
    before = int((await ask(link, "pid")).text)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(3.0):
            await ask(link, "stall", silence_s=2.0)
    assert int((await ask(link, "pid")).text) != before
    await until_gone(before)
    assert fake.notes == ["stall"]


@pytest.mark.requirement("mcp.secrets")
async def test_a_program_gets_a_few_variables_and_its_own_and_nothing_by_arguments(
    fake: Fake, links: Links, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NETCLAW_TEST_LEAK", "leaked")
    link = links.make(fake.stdio("files", API_TOKEN=""), files_env_API_TOKEN="sesame-open-wide")
    assert (await ask(link, "environment", name="API_TOKEN")).text == "sesame-open-wide"
    names, arguments = json.loads((await ask(link, "variables")).text)
    assert set(names) <= {
        *("API_TOKEN", "PYTHONPATH", "HOME", "LANG", "LC_ALL", "LC_CTYPE", "LOGNAME", "PATH"),
        *("SHELL", "TERM", "TZ", "USER"),
    }
    assert arguments[1:] == ["stdio", str(fake.folder / "notes")]
    assert "netclaw.mcp" in command_line(link.pid)
    for pid in (link.pid, int((await ask(link, "pid")).text)):
        assert "sesame" not in command_line(pid)


@pytest.mark.requirement("mcp.secrets")
async def test_a_definition_tells_no_secret(fake: Fake, links: Links) -> None:
    link = links.make(fake.stdio("files", API_TOKEN=""), files_env_API_TOKEN="text again")
    descriptions = [tool.description for tool in (await link.catalogue()).tools]
    assert descriptions[0] == f"Says a {REDACTED}."


@pytest.mark.requirement("mcp.slow")
@pytest.mark.requirement("mcp.states")
async def test_servers_that_cannot_be_started_or_say_nonsense_harm_no_other(
    fake: Fake, links: Links
) -> None:
    missing = ToolServerSettings(
        name="a-missing", transport="stdio", command="/no/such-401-program"
    )
    mute = ToolServerSettings(name="b-mute", transport="stdio", command="/bin/true")
    babble = ToolServerSettings(
        name="c-babble", transport="stdio", command=sys.executable, arguments=("-c", "print('hi')")
    )
    off = ToolServerSettings(name="d-off", transport="stdio", command="x", is_enabled=False)
    bad = ToolServerSettings(name="e-bad", transport="", is_enabled=False, fault="Nonsense.")
    link = links.make(missing, mute, babble, off, bad, fake.stdio())
    assert link.names == ("a-missing", "b-mute", "c-babble", "files")
    statuses = {status.name: status for status in (await link.catalogue()).statuses}
    ended = "Its program ended, or did not speak the protocol."
    for name in ("a-missing", "b-mute", "c-babble"):
        assert (statuses[name].state, statuses[name].sentence) == (ServerState.UNREACHABLE, ended)
    assert (statuses["d-off"].state, statuses["d-off"].sentence) == (
        ServerState.DISABLED,
        "It is switched off.",
    )
    assert (statuses["e-bad"].state, statuses["e-bad"].sentence) == (
        ServerState.DISABLED,
        "Nonsense.",
    )
    assert statuses["files"].state is ServerState.CONNECTED
    reply = await ask(link, "echo", "a-missing", text="x")
    assert reply.kind is ReplyKind.TRANSPORT
    assert reply.text == f"The call was not sent. {ended}"


@pytest.mark.requirement("mcp.dies-with-session")
async def test_closing_ends_host_and_servers(fake: Fake, links: Links) -> None:
    link = links.make(fake.stdio())
    server = int((await ask(link, "pid")).text)
    host = link.pid
    await link.close()
    assert not is_alive(host)
    await until_gone(server)


@pytest.mark.requirement("mcp.host-anew")
@pytest.mark.requirement("mcp.dies-with-session")
async def test_a_killed_host_takes_its_servers_along_and_is_started_again(
    fake: Fake, links: Links
) -> None:
    link = links.make(fake.stdio())
    server = int((await ask(link, "pid")).text)
    host = link.pid
    stalled = asyncio.create_task(ask(link, "stall"))
    while "stall" not in fake.notes:  # noqa: ASYNC110 - another process sets no event of ours
        await asyncio.sleep(0)
    os.kill(host, 9)
    reply = await stalled
    assert reply.kind is ReplyKind.TRANSPORT
    assert "not known what the call did" in reply.text
    await until_gone(server)
    assert int((await ask(link, "pid")).text) != server
    assert link.pid != host
    assert fake.notes == ["stall"]


@pytest.mark.requirement("mcp.lazy")
async def test_nothing_is_started_before_it_is_needed(fake: Fake, links: Links) -> None:
    link = links.make(fake.stdio(), replace(fake.stdio("off"), is_enabled=False))
    assert link.pid == 0
    assert link.known.tools == ()
    assert await links.make().catalogue() == Catalogue()


@pytest.mark.requirement("mcp.lazy")
async def test_the_sessions_side_loads_nothing_of_the_library() -> None:
    program = (
        "import sys, netclaw.mcp.link, netclaw.tools.server_tools;"
        "print({'mcp', 'mcp_types', 'httpx2', 'anyio', 'pydantic'} & set(sys.modules))"
    )
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-I", "-c", program, stdout=asyncio.subprocess.PIPE
    )
    said, _ = await process.communicate()
    assert said.strip() == b"set()"
