"""The fake provider itself: the conversation alone decides, in a process of its own too."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from netclaw.core.authority import Audience
from netclaw.core.context.turn_block import LocalTime, TurnFacts, render_turn_block
from netclaw.core.context.working_context import WorkingContext
from tests.fakes.model import FakeModel
from tests.fakes.model_play import attempt_key, complaint, find_play
from tests.fakes.model_reply import Call, Reply
from tests.fakes.model_script import ScriptError, parse_directives, parse_rounds
from tests.fakes.port_file import await_port
from tests.repo.tree import ROOT

DEFAULT = Reply(is_echo=True)


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def assistant(text: str = "", *, calls: int = 0) -> dict[str, Any]:
    tool_calls = [
        {"id": f"{n}", "function": {"name": "a", "arguments": "{}"}} for n in range(calls)
    ]
    return {"role": "assistant", "content": text, "tool_calls": tool_calls or None}


def tool(text: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": "0", "content": text}


SCRIPT = "[[tool:a {}]][[results]][[tool:b {}]][[reply:done]]"


@pytest.mark.requirement("fakes.model-script")
def test_rounds_of_a_script() -> None:
    rounds = parse_rounds('say [[reply:x]][[tool:a {"k":[["]]"]]}]][[tool:b]][[next]][[reply:y]]')
    assert [(r.text, r.calls) for r in rounds] == [
        ("x", (Call(name="a", arguments='{"k":[["]]"]]}'), Call(name="b"))),
        ("y", ()),
    ]
    assert parse_rounds("plain [text]") == ()
    assert parse_directives("[[tool:a {bad]] [[x]") == [("tool", "a {bad")]


@pytest.mark.requirement("fakes.model-script")
@pytest.mark.parametrize("text", ["[[bogus]]", "[[status:abc]]", "[[stall]]", "[[ids:odd]]"])
def test_a_script_that_cannot_be_read_is_told(text: str) -> None:
    with pytest.raises(ScriptError):
        parse_rounds(text)


@pytest.mark.requirement("fakes.model-script")
@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        ([user("hi")], "echo: hi"),
        ([user(SCRIPT)], "call a"),
        ([user(SCRIPT), assistant(calls=1), tool("R")], "results: R"),
        ([user(SCRIPT), assistant(calls=1), tool("R"), user("a note")], "results: R"),
        ([user(SCRIPT), *[assistant(calls=1), tool("R")] * 2], "done"),
        (
            [user(SCRIPT), *[assistant(calls=1), tool("R")] * 3, assistant("end"), user("next")],
            "echo: next",
        ),
        (
            [user("[[status:500]]"), user("after a failed turn")],
            "echo: [[status:500]] | after a failed turn",
        ),
        ([user("[[reply:old]]"), assistant("old"), user("[[reply:new]]")], "new"),
        ([user("one"), assistant("echo: one"), user("two"), user("three")], "echo: two | three"),
    ],
)
def test_the_conversation_alone_decides(messages: list[dict[str, Any]], expected: str) -> None:
    reply = find_play(messages, DEFAULT).reply
    said = reply.text or "call " + ",".join(call.name for call in reply.calls)
    assert said == expected


@pytest.mark.requirement("fakes.model-script")
@pytest.mark.parametrize(
    ("messages", "words"),
    [
        ([], "non-empty"),
        ([user("x"), tool("R")], "must follow"),
        ([user("x"), assistant(calls=1), user("y")], "without a tool message"),
        ([user("x"), assistant(calls=1)], "without a tool message"),
        ([user("x"), assistant()], "needs content"),
        ([{"role": "wizard", "content": "x"}], "unknown role"),
    ],
)
def test_the_fake_is_as_strict_as_a_provider(messages: list[dict[str, Any]], words: str) -> None:
    assert words in (complaint({"model": "m", "messages": messages}) or "")


def begun(at_ms: int, text: str, *, directory: str = "") -> list[dict[str, Any]]:
    """A turn that began then, as a session asks for it."""
    facts = TurnFacts(
        audience=Audience.PERSONAL,
        time=LocalTime(at_ms=at_ms, offset_s=7200, zone="CEST"),
        working=WorkingContext(directory=directory),
    )
    return [user(render_turn_block(facts)), user(text)]


@pytest.mark.requirement("fakes.model-script")
def test_a_turn_that_is_begun_again_later_makes_the_same_call() -> None:
    """Who was killed before its turn was recorded leaves a turn that begins at another second."""
    key = attempt_key(begun(1_000, "hi"))
    assert attempt_key(begun(61_000, "hi")) == key
    # Dialects that join the messages of one role leave no line between.
    joined = ["".join(m["content"] for m in begun(at_ms, "hi")) for at_ms in (1_000, 61_000)]
    assert len({attempt_key([user(text)]) for text in joined}) == 1
    others = (begun(1_000, "ho"), begun(1_000, "hi", directory="/d"), begun(1_000, "hi") * 2)
    assert key not in {attempt_key(messages) for messages in others}


@pytest.mark.requirement("fakes.model-script")
async def test_queue_and_rules_come_before_directives(fake: FakeModel) -> None:
    fake.rule("weather", "[[reply:rain]]")
    fake.enqueue("[[reply:first]]", Reply(text="second"))
    async with aiohttp.ClientSession() as session:
        texts = [await ask(session, fake.url, "weather [[reply:own]]") for _ in range(3)]
        texts.append(await ask(session, fake.url, "[[reply:own]]"))
    assert texts == ["first", "second", "rain", "own"]
    fake.reset()
    assert (fake.request_count, len(fake.requests)) == (0, 0)


async def ask(session: aiohttp.ClientSession, url: str, text: str) -> str:
    body = {"model": "m", "messages": [user(text)]}
    async with session.post(f"{url}/chat/completions", json=body) as response:
        answer = await response.json()
    content: str = answer["choices"][0]["message"]["content"]
    return content


@pytest.mark.requirement("fakes.model-process")
@pytest.mark.timeout(60)
async def test_as_a_process_of_its_own(short_tmp: Path) -> None:
    port_file = short_tmp / "port"
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.fakes.model", f"--port-file={port_file}"),
        *("--latency-ms=1", "--die-with-parent"),
        cwd=ROOT,
    )
    try:
        base = f"http://127.0.0.1:{await asyncio.to_thread(await_port, port_file)}"
        async with aiohttp.ClientSession() as session:
            answer = asyncio.create_task(ask(session, f"{base}/v1", "[[gate:g]][[reply:through]]"))
            async with session.get(f"{base}/__gates/g?wait_s=10") as response:
                assert await response.json() == {"waiting": 1}
            async with session.post(f"{base}/__gates/g") as response:
                assert response.status == 200
            assert await answer == "through"
            async with session.post(f"{base}/__enqueue", data="[[reply:queued]]") as response:
                assert response.status == 200
            assert await ask(session, f"{base}/v1", "x") == "queued"
            async with session.get(f"{base}/__requests?min=2&wait_s=10&bodies=1") as response:
                shown = await response.json()
            assert [r["outcome"] for r in shown["requests"]] == ["sent", "sent"]
            assert shown["requests"][1]["body"]["messages"] == [user("x")]
            async with session.get(f"{base}/__counters") as response:
                assert (await response.json())["by_message"]["x"] == 1
            async with session.post(f"{base}/__enqueue", data="[[bogus]]") as response:
                assert response.status == 422
    finally:
        process.terminate()
        assert await process.wait() == 0


@pytest.mark.requirement("fakes.model-process")
@pytest.mark.timeout(60)
@pytest.mark.parametrize("default", ["plain text, no script", "[[reply:plain text, no script]]"])
async def test_the_default_reply_of_the_process(short_tmp: Path, default: str) -> None:
    port_file = short_tmp / "port"
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.fakes.model", f"--port-file={port_file}"),
        *("--default", default, "--die-with-parent"),
        cwd=ROOT,
    )
    try:
        port = await asyncio.to_thread(await_port, port_file)
        async with aiohttp.ClientSession() as session:
            assert await ask(session, f"http://127.0.0.1:{port}/v1", "x") == "plain text, no script"
    finally:
        process.terminate()
        assert await process.wait() == 0


@pytest.mark.requirement("fakes.model-process")
@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    ("default", "complaint_told"),
    [
        ("[[bogus]]", "unknown directive [[bogus]]"),
        ("[[tool:a {}]][[reply:x]]", "the default reply is one round"),
    ],
)
async def test_a_default_that_cannot_be_a_reply_is_told(default: str, complaint_told: str) -> None:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.fakes.model", "--default", default),
        cwd=ROOT,
        stderr=asyncio.subprocess.PIPE,
    )
    _, err = await process.communicate()
    assert process.returncode == 2
    assert complaint_told in err.decode()
