"""Transcripts taken over: which are, what becomes of them, and what is refused."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import AsyncIterator
from pathlib import Path

import grpc
import pytest

from tests.process.lending import Lender
from tests.process.test_command_line import cli
from tests.process.transcripts import QUICK, Adopter, Transcript, row, turns_of
from tests.process.world import World

pytestmark = pytest.mark.timeout(120)

TALK = (row("what is it?"), row("It is a test.", "assistant"))


@pytest.fixture
async def quick(lender: Lender) -> AsyncIterator[World]:
    """A daemon that looks at transcripts ten times a second."""
    async with lender.lend(QUICK) as world:
        yield world


def asked_for(world: World, words: str) -> str:
    """The newest request with these words: whoever watches the session is woken, and asks too."""
    bodies = (json.dumps(request.body) for request in reversed(world.model.requests))
    return next(body for body in bodies if words in body)


@pytest.mark.requirement("upstream.history")
@pytest.mark.requirement("upstream.claude-code")
async def test_a_session_goes_on_from_a_session_file_of_claude_code(quick: World) -> None:
    def claude(kind: str, content: object, **fields: object) -> str:
        message = {"role": kind, "content": content}
        stamp = "2026-11-30T10:00:00.000Z"
        known = {"type": kind, "sessionId": "0d7c", "timestamp": stamp, "message": message}
        return json.dumps(known | fields) + "\n"

    result = [{"type": "tool_result", "tool_use_id": "t1", "content": "1 failed"}]
    rows = (
        json.dumps({"type": "summary", "summary": "A bug", "leafUuid": "5f"}) + "\n",
        claude("user", "why does it fail?"),
        claude("assistant", [{"type": "thinking", "thinking": "hm"}]),
        claude("assistant", [{"type": "text", "text": "I look."}]),
        claude("assistant", [{"type": "tool_use", "id": "t1", "name": "Bash", "input": {}}]),
        claude("user", result),
        claude("assistant", [{"type": "text", "text": "The clock is wrong."}]),
        claude("user", "Caveat", isMeta=True),
    )
    with Adopter(quick) as adopter, Transcript(*rows) as talk:
        adopted = await adopter.adopt(talk)
        assert (adopted.catalog, adopted.messages, adopted.omitted) == ("claude-code", 2, 0)
        await adopter.watch(adopted.session_id)
        turn = await quick.peer.turn(adopted.session_id, "[[reply:so it is]]")
        assert turn.text == "so it is"
        spoken = [
            (item.role, item.text)
            for item in await quick.peer.history(adopted.session_id)
            if item.role in {"user", "assistant"}
        ]
        assert ("user", "why does it fail?") in spoken
        assert ("assistant", "I look.\n\nThe clock is wrong.") in spoken
        assert "The clock is wrong." in asked_for(quick, "so it is")
        own = len(await adopter.wait_signals(adopted.session_id, 1))
        talk.add(claude("user", result) + claude("user", "and the other one?"))
        found = await adopter.wait_signals(adopted.session_id, own + 1)
        assert (found[-1].summary, found[-1].payload.turns) == (
            "human message via claude-code",
            0,
        )


@pytest.mark.requirement("upstream.history")
async def test_of_a_long_transcript_the_newest_part_is_taken(quick: World) -> None:
    text = "x" * 100_000
    with Adopter(quick) as adopter, Transcript(*(row(f"{n} {text}") for n in range(15))) as talk:
        adopted = await adopter.adopt(talk, "cli/long")
        assert (adopted.messages, adopted.omitted) == (10, 5)
        kinds = [item["type"] for item in await quick.peer.journal("cli/long")]
        assert kinds[:2] == ["SessionCreated", "SessionAdopted"]
        assert kinds[2:] == ["HistoryAdopted"] * 5
        # More than the model's window: it is shortened and the turn goes on.
        quick.model.enqueue("[[overflow]]", "[[reply:Only x.]]", "[[reply:read]]")
        turn = await quick.peer.turn("cli/long", "go on")
        assert turn.text == "read"
        kinds = [item["type"] for item in await quick.peer.journal("cli/long")]
        assert kinds.count("Compacted") == 1
        assert len(asked_for(quick, "go on")) < 500_000


@pytest.mark.requirement("upstream.keeps-history")
@pytest.mark.requirement("upstream.progress")
async def test_a_session_with_history_keeps_it_and_its_progress(quick: World) -> None:
    with Adopter(quick) as adopter, Transcript(*TALK) as talk:
        await quick.peer.turn("cli/own", "[[reply:mine]]")
        before = await quick.peer.journal("cli/own")
        pid = (await quick.peer.rows())["cli/own"].pid
        adopted = await adopter.adopt(talk, "cli/own")
        assert (adopted.messages, adopted.upstream) == (0, str(talk.path))
        after = await quick.peer.journal("cli/own")
        assert "SessionAdopted" not in {item["type"] for item in after}
        assert after[: len(before)] == before
        assert (await quick.peer.rows())["cli/own"].pid == pid
        talk.add(row("since then"))
        await adopter.adopt(talk, "cli/own")
        await adopter.watch("cli/own")
        assert turns_of(await adopter.wait_signals("cli/own", 1)) == 1


@pytest.mark.requirement("upstream.at-rest")
async def test_a_session_at_work_and_a_child_runs_take_nothing_over(quick: World) -> None:
    with Adopter(quick) as adopter, Transcript(*TALK) as talk:
        sent = await quick.peer.send("cli/busy", "[[gate:work]] [[reply:done]]")
        await quick.at_gate("work")
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await adopter.adopt(talk, "cli/busy")
        assert "at work" in (refused.value.details() or "")
        quick.open_gate("work")
        await quick.peer.follow("cli/busy", sent)
        assert (await adopter.adopt(talk, "cli/busy")).upstream == str(talk.path)
        with pytest.raises(grpc.aio.AioRpcError) as unknown:
            await adopter.adopt(talk, "slack/C1/17.1")
        assert unknown.value.code() is grpc.StatusCode.NOT_FOUND


@pytest.mark.requirement("upstream.refused")
async def test_what_is_no_transcript_is_refused_and_nothing_is_made(
    quick: World, tmp_path: Path
) -> None:
    def file(name: str, content: bytes) -> Path:
        path = tmp_path / name
        path.write_bytes(content)
        return path

    good = row("hi").encode()
    (tmp_path / "link").symlink_to(quick.home / "config" / "netclaw.json")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    os.mkfifo(tmp_path / "pipe")
    cases = {
        tmp_path / "none.jsonl": "There is no file",
        file("empty", b""): "is empty",
        file("half", good[:-4]): "has no complete row",
        file("binary", b"\x00\x01\n\x02" * 99): "binary file",
        file("text", b"hello\nworld\n"): "is no transcript that netclaw knows",
        file("other", b'{"a": 1}\n'): "is no transcript that netclaw knows",
        file("torn", good + b'{"role": "us\n' + good): "Row 2 of the transcript",
        file("silent", b'{"role": "user", "text": " "}\n'): "holds no message",
        tmp_path: "not a regular file",
        tmp_path / "pipe": "not a regular file",
        tmp_path / "link": "lies in a netclaw home",
        tmp_path / "loop": "does not name a file on a disk",
        Path("/proc/self/environ"): "does not name a file on a disk",
        Path("/dev/zero"): "does not name a file on a disk",
        Path("talk.jsonl"): "must be absolute",
    }
    with Adopter(quick) as adopter:
        for path, words in cases.items():
            with pytest.raises(grpc.aio.AioRpcError) as refused:
                await adopter.adopt(path, "cli/new")
            assert words in (refused.value.details() or ""), path
        huge = tmp_path / "huge"
        with huge.open("wb") as sparse:
            sparse.truncate(300 * 1024 * 1024)
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await adopter.adopt(huge)
        assert "at most 268435456 are read" in (refused.value.details() or "")
    assert await quick.peer.rows() == {}
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)


@pytest.mark.requirement("signals.cli-adopt")
@pytest.mark.requirement("signals.case-28")
async def test_a_watcher_learns_of_a_transcript_that_the_command_line_adopted(
    quick: World,
) -> None:
    with Adopter(quick) as adopter, Transcript(*TALK) as talk:
        adopted = (await cli(quick, "sessions", "adopt", str(talk.path), "--json")).json
        assert adopted["upstream"] == str(talk.path)
        assert (adopted["catalog"], adopted["messages"]) == ("jsonl", 2)
        await adopter.watch(adopted["id"])
        shown = (await cli(quick, "signals", "show", adopted["id"], "--json")).json
        (event,) = shown["stateChanges"]["events"]
        assert (event["kind"], event["actorType"]) == ("adopted", "human")
        talk.add(row("and now?"))
        await quick.until_requests(1)
        line = (
            f'Session "{adopted["id"]}" changed (other actor). Reconcile before acting:'
            f' session_status sessionKey "{adopted["id"]}" changesSince {shown["stateVersion"]}.'
        )
        assert json.dumps(line)[1:-1] in json.dumps(quick.model.requests[0].body)
        refused = await cli(quick, "sessions", "adopt", f"{talk.path}x", "--json", code=1)
        assert refused.json["error"]["code"] == "not_found"
