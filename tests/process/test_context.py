"""What real sessions tell a model, read from the requests that reached it."""

from __future__ import annotations

import base64
import os
import signal
import subprocess
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import grpc
import orjson
import pytest

from netclaw.config.home import Home
from netclaw.config.secret_store import set_secret
from netclaw.wire.v1 import common_pb2, gateway_pb2
from tests.fakes.model import Recorded
from tests.process.checks import check_journal
from tests.process.errors import code_of
from tests.process.test_command_line import cli
from tests.process.world import World

pytestmark = pytest.mark.timeout(120)

BLOCK = "[current-time]"
DIALECTS = ("openai-compatible", "anthropic")
WRITE = '[[tool:file_write {"path": "notes.txt", "content": "x"}]]'
PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


@asynccontextmanager
async def speaking(dialect: str, **extra: Any) -> AsyncIterator[World]:
    """A running daemon whose model speaks this dialect."""
    config: dict[str, Any] = {"Providers": {"fake": {"Type": dialect}}, **extra}
    async with World(config=config) as world:
        set_secret(Home(world.home), "Providers.fake.ApiKey", "sk-1")
        await world.start()
        yield world


@pytest.fixture
def project() -> Iterator[Path]:
    """A project directory with a repository, where a session may work."""
    with tempfile.TemporaryDirectory(prefix="nc-", dir="/tmp") as made:
        folder = Path(made).resolve()
        (folder / "CLAUDE.md").write_text("Use tabs.")
        subprocess.run(["git", "init", "-q", "-b", "trunk", "."], cwd=folder, check=True)
        yield folder


def calls(world: World) -> list[Recorded]:
    """The model calls of turns."""
    return [request for request in world.model.requests if not request.is_title]


def parts(recorded: Recorded) -> list[bytes]:
    """A request as the provider reads it: tools, system prompt, then each piece of the talk.

    Cache marks are no content: they move along as the conversation grows.
    """
    body = recorded.body
    pieces: list[Any] = [body.get("tools"), body.get("system")]
    for message in body["messages"]:
        content = message["content"]
        blocks = content if isinstance(content, list) else [content]
        pieces.extend({**message, "content": block} for block in blocks)
    return [orjson.dumps(_unmarked(piece)) for piece in pieces]


def _unmarked(piece: Any) -> Any:
    if isinstance(piece, dict):
        return {key: _unmarked(value) for key, value in piece.items() if key != "cache_control"}
    return [_unmarked(item) for item in piece] if isinstance(piece, list) else piece


def stable(recorded: Recorded) -> list[bytes]:
    """What stands before the block of the turn."""
    pieces = parts(recorded)
    return pieces[: place_of_block(pieces)]


def place_of_block(pieces: list[bytes]) -> int:
    """Where the one block of the turn stands."""
    (place,) = [index for index, piece in enumerate(pieces) if BLOCK.encode() in piece]
    return place


def without_block(recorded: Recorded) -> list[bytes]:
    """The request without the block of its turn."""
    pieces = parts(recorded)
    place = place_of_block(pieces)
    return pieces[:place] + pieces[place + 1 :]


def assert_prefixes(requests: list[Recorded]) -> None:
    """Each request begins with the stable part of the one before; within a turn with all of it."""
    for before, after in pairwise(requests):
        begin = stable(before)
        assert parts(after)[: len(begin)] == begin
        if stable(after) == begin:
            assert parts(after)[: len(parts(before))] == parts(before)
        else:
            whole = without_block(before)
            assert stable(after)[: len(whole)] == whole


@pytest.mark.requirement("context.prefix")
@pytest.mark.parametrize("dialect", DIALECTS)
async def test_requests_share_their_beginning_across_rounds_turns_restarts_and_kills(
    dialect: str,
) -> None:
    async with speaking(dialect) as world:
        peer = world.peer
        await peer.turn("talk", f"{WRITE} [[next]] {WRITE} [[reply:one]]")
        await peer.turn("talk", "[[reply:two]]")
        row = (await peer.rows())["talk"]
        os.kill(row.pid, signal.SIGKILL)
        await peer.turn("talk", f"{WRITE} [[reply:three]]")
        sent = await peer.send("talk", f"{WRITE} [[next]] [[gate:held]][[reply:four]]")
        await world.at_gate("held")
        reached = len(world.model.requests)
        await world.kill()
        await world.start()
        await world.until_requests(reached + 1)
        world.open_gate("held")
        assert (await peer.follow("talk", sent)).text == "four"
        await world.restart()
        await peer.turn("talk", "[[reply:five]]")

        requests = calls(world)
        assert len(requests) == 3 + 1 + 2 + 3 + 1
        assert_prefixes(requests)
        assert parts(requests[-2]) == parts(requests[-3]), "the same turn, after the kill"
        check_journal(await peer.journal("talk"))


@pytest.mark.requirement("context.cache-marks")
async def test_the_marks_of_a_call_are_where_the_next_one_looks() -> None:
    async with speaking("anthropic") as world:
        for text in ("[[reply:one]]", f"{WRITE} [[reply:two]]", "[[reply:three]]"):
            await world.peer.turn("talk", text)
        marked = [
            [index for index, piece in enumerate(_pieces(request)) if b"cache_control" in piece]
            for request in calls(world)
        ]
        ends = [len(stable(request)) - 1 for request in calls(world)]
        assert all(len(marks) <= 4 for marks in marked)
        for marks, end in zip(marked[1:], ends[1:], strict=True):
            assert end in marks
        assert set(marked[-1]) >= {ends[-1], ends[-2]}


def _pieces(recorded: Recorded) -> list[bytes]:
    body = recorded.body
    blocks = (block for message in body["messages"] for block in message["content"])
    return [orjson.dumps(item) for item in (body.get("tools"), body.get("system"), *blocks)]


@pytest.mark.requirement("context.cached-tokens")
@pytest.mark.parametrize("dialect", DIALECTS)
async def test_tokens_from_the_cache_reach_journal_outputs_and_command_line(dialect: str) -> None:
    async with speaking(dialect) as world:
        script = f"[[usage:100,5,80]] {WRITE} [[reply:done]] [[usage:200,5,90]]"
        turn = await world.peer.turn("talk", script)
        usage = [output.usage for output in turn.outputs if output.type == "usage"]
        assert (usage[-1].input_tokens, usage[-1].cached_input_tokens) == (300, 170)
        recorded = (await world.peer.journal("talk"))[-1]["payload"]["usage"]
        assert (recorded["input_tokens"], recorded["cached_input_tokens"]) == (300, 170)

        shown = (await cli(world, "sessions", "show", "talk", "--json")).json
        assert shown["tokens"]["cachedInputTokens"] == 170
        one = await cli(world, "chat", "-p", "[[reply:x]] [[usage:50,5,40]]", "--json")
        assert one.json["usage"]["cachedInputTokens"] == 40


@pytest.mark.requirement("context.set-working-directory")
@pytest.mark.requirement("context.git-facts")
@pytest.mark.requirement("context.recent-files")
@pytest.mark.requirement("files.declare")
async def test_a_declared_project_is_worked_in_and_told_of(project: Path) -> None:
    async with World(config={"Workspaces": {"Directory": str(project)}}) as world:
        await world.start()
        await work_in(world, project)


async def work_in(world: World, project: Path) -> None:
    """Declare a project, work in it, and read what models and journal were told."""
    peer = world.peer
    declare = f'[[tool:set_working_directory {{"path": "{project}"}}]]'
    await peer.turn("work", f"{declare} [[reply:declared]]")
    await peer.turn(
        "work", f'{WRITE} [[tool:shell_execute {{"command": "pwd > where.txt"}}]] [[reply:wrote]]'
    )
    assert (project / "notes.txt").read_text() == "x"
    assert (project / "where.txt").read_text() == f"{project}\n"
    os.kill((await peer.rows())["work"].pid, signal.SIGKILL)
    await peer.turn("work", "[[reply:again]]")

    first, last = calls(world)[0], calls(world)[-1]
    assert "project_dir" not in str(first.messages)
    assert "[project-instructions: CLAUDE.md]\nUse tabs." in str(last.messages[0]["content"])
    block = str(last.messages[-2]["content"])
    assert f"project_dir: {project}\ngit: branch trunk; 3 untracked\n" in block
    assert f"recent_files (newest first):\n- {project}/notes.txt" in block
    rows = await peer.journal("work")
    check_journal(rows)
    kinds = [row["type"] for row in rows]
    place = kinds.index("WorkingDirectorySet")
    assert kinds[place - 1] == "ToolResultRecorded"
    assert rows[place]["payload"]["path"] == str(project)


async def upload(world: World, session_id: str, data: bytes, media_type: str) -> str:
    """Stage one file."""

    async def chunks() -> AsyncIterator[gateway_pb2.UploadChunk]:
        yield gateway_pb2.UploadChunk(
            session_id=session_id, name="pic.png", media_type=media_type, data=data
        )

    response = await world.peer.gateway.Upload(chunks(), metadata=world.peer.metadata)
    staged: str = response.media.upload_id
    return staged


async def send_media(world: World, session_id: str, upload_id: str, *, message_id: str = "") -> Any:
    """Send a message that names an upload."""
    return await world.peer.gateway.SendUserMessage(
        gateway_pb2.SendUserMessageRequest(
            session_id=session_id,
            text="[[reply:nice]]",
            source_message_id=message_id,
            media=[common_pb2.MediaRef(upload_id=upload_id)],
        ),
        metadata=world.peer.metadata,
    )


@pytest.mark.requirement("context.modality-ingress")
async def test_what_the_model_cannot_take_is_refused_and_leaves_nothing(world: World) -> None:
    await world.peer.ensure("pics")
    before = await world.peer.journal("pics")
    for data, media_type in ((PNG, "image/png"), (b"x", "audio/ogg"), (b"x", "nonsense")):
        upload_id = await upload(world, "pics", data, media_type)
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await send_media(world, "pics", upload_id)
        assert code_of(caught.value) == "input_incompatible"
    assert await world.peer.journal("pics") == before
    assert not world.model.requests
    zipped = await upload(world, "pics", b"PK", "application/zip")
    sent = await send_media(world, "pics", zipped)
    assert (await world.peer.follow("pics", sent)).text == "nice"


@pytest.mark.requirement("context.pictures")
@pytest.mark.requirement("context.modality-restored")
@pytest.mark.parametrize("dialect", DIALECTS)
async def test_a_picture_is_shown_and_its_session_outlives_a_change_to_a_blind_model(
    dialect: str,
) -> None:
    def models(*modalities: str) -> dict[str, Any]:
        return {"Models": {"Definitions": {"main": {"InputModalities": list(modalities)}}}}

    async with speaking(dialect, **models("Image")) as world:
        peer = world.peer
        await peer.ensure("pics")
        false = await upload(world, "pics", b"<svg/>", "image/png")
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await send_media(world, "pics", false)
        assert code_of(caught.value) == "input_incompatible"
        staged = await upload(world, "pics", PNG, "image/png")
        sent = await send_media(world, "pics", staged, message_id="m1")
        assert (await peer.follow("pics", sent)).text == "nice"
        await peer.turn("pics", "[[reply:again]]")
        encoded = base64.b64encode(PNG)
        assert [encoded in request.raw for request in calls(world)] == [True, True]
        assert_prefixes(calls(world))

        generation = (await peer.status()).generation
        world.edit_config(models())
        await world.wait_generation(generation + 1)
        assert (await peer.turn("pics", "[[reply:blind]]")).text == "blind"
        last = calls(world)[-1]
        assert encoded not in last.raw
        assert b"not shown, because you cannot see it" in last.raw
        again = await send_media(world, "pics", staged, message_id="m1")
        assert (again.duplicate, again.input_id) == (True, sent.input_id)


@pytest.mark.requirement("context.slash")
async def test_a_slash_command_is_answered_without_the_model_and_once(world: World) -> None:
    peer = world.peer
    await peer.turn("talk", "[[reply:hello]]")
    first = await peer.turn("talk", "/status", message_id="m1")
    assert first.text.startswith("Session: talk\n")
    again = await peer.send("talk", "/status", message_id="m1")
    assert again.duplicate
    assert again.input_id == first.input_id
    await peer.turn("talk", "//status [[reply:spoken]]")

    assert len(calls(world)) == 2
    told = [str(message["content"]) for message in calls(world)[-1].messages]
    assert not any(text.startswith("Session: talk") for text in told)
    (entry,) = [item for item in await peer.ledger("talk") if item.input_id == first.input_id]
    assert entry.outcome == "completed"
    check_journal(await peer.journal("talk"))


@pytest.mark.requirement("context.slash-stop")
async def test_stop_by_message_ends_the_turn_in_flight(world: World) -> None:
    peer = world.peer
    await peer.ensure("talk")
    sent = await peer.send("talk", "[[gate:never]][[reply:late]]")
    await world.at_gate("never")
    stop = await peer.send("talk", "/stop")
    assert (await peer.follow("talk", stop)).text == "Stopped. Nothing is running now."
    assert (await peer.follow("talk", sent)).text == ""
    check_journal(await peer.journal("talk"))
