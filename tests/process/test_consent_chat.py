"""A person at a terminal decides about real calls of a real daemon."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from netclaw.wire.v1 import gateway_pb2
from tests.cli.terminal import Terminal
from tests.process.checks import check_journal
from tests.process.lending import Lender
from tests.process.test_command_line import cli
from tests.process.world import ASKING, World

pytestmark = pytest.mark.timeout(150)

NAME = "notes"
ONE = "tee -a one.txt < /etc/passwd"
WRITTEN = Path("/etc/passwd").read_text()


@pytest.fixture
async def asking(lender: Lender, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[World]:
    """A daemon whose commands ask."""
    async with lender.lend(ASKING) as world:
        monkeypatch.setenv("NETCLAW_HOME", str(world.home))
        yield world


def shell(*commands: str, then: str = "[[next]] [[reply:All **done**.]]") -> str:
    """What the model does: these calls at once, then an answer."""
    calls = " ".join(f"[[tool:shell_execute {json.dumps({'command': c})}]]" for c in commands)
    return f"{calls} {then}"


async def made(world: World, name: str) -> Path:
    """A file in the workspace of the session."""
    detail: gateway_pb2.SessionDetail = await world.peer.detail(NAME)
    return Path(detail.storage_root) / "workspace" / name


async def journal(world: World) -> list[str]:
    """Types of what happened."""
    rows = await world.peer.journal(NAME)
    check_journal(rows)
    return [row["type"] for row in rows]


@pytest.mark.requirement("consent_cli.real")
async def test_once_lets_the_call_run_and_deny_does_not(asking: World) -> None:
    asking.model.rule("make it", shell(ONE, ONE.replace("one", "two")))
    with Terminal(["chat", "--resume", NAME], columns=110) as person:

        def decide() -> None:
            person.expect("| Ctrl-D leaves")
            person.type("make it\r")
            person.expect("shell_execute asks for a decision:")
            person.expect("    tee -a one.txt < /etc/passwd")
            person.expect("not allowed yet: tee")
            person.expect("A to ")
            person.type("once\r")
            person.expect("[consent] Once: tee -a one.txt")
            person.expect("[consent 2 of 2] shell_execute asks")
            person.expect("    tee -a two.txt < /etc/passwd")
            person.expect("A to ")
            person.type("\x1b")
            person.expect("[consent] Deny: tee -a two.txt")
            person.expect("All done.")
            person.type("\x04")
            assert person.ended() == 0

        await asyncio.to_thread(decide)
    assert (await made(asking, "one.txt")).read_text() == WRITTEN
    assert not (await made(asking, "two.txt")).exists()
    types = await journal(asking)
    assert types.count("ConsentRequested") == types.count("ConsentAnswered") == 2
    (answer,) = [row for row in await asking.peer.journal(NAME) if row["type"] == "TurnRecorded"]
    assert answer["payload"]["outcome"] == "completed"


@pytest.mark.requirement("consent_cli.real")
async def test_a_prompt_outlives_terminal_session_and_daemon(asking: World) -> None:
    asking.model.rule("make it", shell(ONE))
    with Terminal(["chat", "--resume", NAME], columns=110) as person:

        def leave() -> None:
            person.expect("| Ctrl-D leaves")
            person.type("make it\r")
            person.expect("A to ")
            person.type("/quit\r")
            assert person.ended() == 0

        await asyncio.to_thread(leave)
    assert "1 call to decide" in (await cli(asking, "status")).out
    await cli(asking, "sessions", "stop", NAME)
    await asking.kill()
    await asking.start()
    with Terminal(["chat", "--resume", NAME], columns=110) as person:

        def answer() -> None:
            person.expect("shell_execute asks for a decision:")
            person.expect("A to ")
            person.type("this chat\r")
            person.expect("[consent] This chat: tee")
            person.expect("All done.")
            person.type("make it\r")
            person.expect("All done.")
            person.type("\x04")
            assert person.ended() == 0

        await asyncio.to_thread(answer)
    assert (await made(asking, "one.txt")).read_text() == WRITTEN * 2, "the chat grant held"
    assert (await journal(asking)).count("ConsentRequested") == 1


@pytest.mark.requirement("consent_cli.real")
async def test_ctrl_c_at_a_prompt_and_an_answer_from_elsewhere(asking: World) -> None:
    asking.model.rule("make it", shell(ONE))
    with (
        Terminal(["chat", "--resume", NAME], columns=110) as person,
        Terminal(["chat", "--resume", NAME], columns=110) as other,
    ):

        def decide() -> None:
            for terminal in (person, other):
                terminal.expect("| Ctrl-D leaves")
            person.type("make it\r")
            for terminal in (person, other):
                terminal.expect("A to ")
            other.type("a\r")
            person.expect("[consent] allowed by")
            for terminal in (person, other):
                terminal.expect("All done.")
            other.type("make it\r")
            for terminal in (person, other):
                terminal.expect("A to ")
            person.type("\x03")
            for terminal in (person, other):
                terminal.expect("[consent] withdrawn, nothing is to be decided any more: tee")
                terminal.expect("[stopped]")
                terminal.type("\x04")
                assert terminal.ended() == 0

        await asyncio.to_thread(decide)
    assert (await made(asking, "one.txt")).read_text() == WRITTEN
    assert (await journal(asking)).count("ConsentWithdrawn") == 1


@pytest.mark.requirement("consent_cli.headless")
async def test_a_single_message_is_denied_what_needs_consent_and_says_so(asking: World) -> None:
    result = await cli(asking, "chat", "-p", shell(ONE), "--resume", NAME)
    assert result.out.strip().endswith("All **done**.")
    assert "[consent] denied, because nobody is here to decide: shell_execute" in result.err
    assert "tee -a one.txt" in result.err
    assert not (await made(asking, "one.txt")).exists()
    assert "ConsentRequested" not in await journal(asking)
