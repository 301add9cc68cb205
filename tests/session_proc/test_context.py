"""What a session's model calls are told, on the wire: block, prompt, project, pictures."""

from __future__ import annotations

import asyncio
import base64
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from netclaw.core.authority import Audience, SourceKind
from netclaw.core.context.git_facts import GitFacts
from netclaw.core.messages import MediaRef, UserMessage
from netclaw.core.session.events import InputAdmitted, WorkingDirectorySet
from netclaw.core.session.state import OpenTurn
from netclaw.core.settings import SessionSettings, SessionStorage
from netclaw.session_proc import model_requests
from netclaw.session_proc.ending import Ending
from netclaw.session_proc.ids import new_id
from netclaw.session_proc.model_requests import ModelRequests
from netclaw.session_proc.pictures import COUNT_MAX, Pictures
from netclaw.session_proc.run_freezing import RunFreezing
from netclaw.testing.story import Story
from netclaw.tools.git_inspection import GitInspection
from netclaw.tools.places import Root, usable_project
from netclaw.wire.v1.session_host_pb2 import Committed, ToSession
from tests.fakes.model import FakeModel, Recorded
from tests.session_proc.conftest import Start, model_settings
from tests.session_proc.host import ScriptedHost
from tests.session_proc.journal import SESSION, local_authority
from tests.session_proc.tools import ScriptedTools
from tests.tools.rig import Trees

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


def calls(model: FakeModel) -> list[Recorded]:
    """The model calls of turns."""
    return [item for item in model.requests if not item.is_title]


def blocks(recorded: Recorded) -> list[str]:
    """The blocks of a turn in a request."""
    texts = [str(message["content"]) for message in recorded.messages]
    return [text for text in texts if text.startswith("[current-time]")]


def admit(host: ScriptedHost, event: InputAdmitted) -> None:
    """Admit an input that is more than a text."""
    rows = host.journal.commit((event,))
    host.send(ToSession(committed=Committed(rows=rows)))


def saying(text: str, *media: MediaRef, audience: Audience = Audience.PERSONAL) -> InputAdmitted:
    """An input of the operator."""
    authority = local_authority()
    requester = replace(authority.requester, audience=audience, channel_type=SourceKind.CLI)
    return InputAdmitted(
        input_id=new_id(),  # type: ignore[arg-type]
        source_message_id=None,
        text=text,
        authority=replace(authority, requester=requester),
        attended=True,
        media=media,
    )


def upload(host: ScriptedHost, data: bytes, *, media_type: str = "image/png") -> MediaRef:
    """A staged file."""
    staging = host.folder / "root" / "attachment-staging"
    staging.mkdir(parents=True, exist_ok=True)
    upload_id = new_id()
    (staging / upload_id).write_bytes(data)
    return MediaRef(
        upload_id=upload_id, media_type=media_type, size_bytes=len(data), name="pic.png"
    )


@pytest.fixture
def project(host: ScriptedHost, tmp_path: Path) -> Path:
    """A declared project directory with instructions."""
    folder = tmp_path.resolve() / "project"
    folder.mkdir()
    (folder / "AGENTS.md").write_text("Use tabs.")
    host.journal.commit((WorkingDirectorySet(path=str(folder), actor="test"),))
    return folder


@pytest.mark.requirement("context.turn-block")
async def test_one_block_a_turn_equal_in_all_its_calls(
    host: ScriptedHost, start: Start, model: FakeModel
) -> None:
    start()
    host.admit('[[tool:say {"key":"a"}]] [[tool:say {"key":"b"}]] [[reply:done]]')
    await host.turn_completed()
    host.admit("[[reply:again]]")
    await host.turn_completed(2)
    *first, last = calls(model)
    (block,) = {text for request in first for text in blocks(request)}
    assert block.startswith("[current-time]\n20")
    for request in first:
        assert request.messages[1]["content"] == block
        assert request.messages[2]["role"] == "user"
    assert last.messages[-2]["content"] == blocks(last)[0]
    assert len(blocks(last)) == 1


@pytest.mark.requirement("context.project-instructions")
async def test_a_declared_project_brings_its_instructions_and_its_place(
    host: ScriptedHost, start: Start, model: FakeModel, project: Path
) -> None:
    start()
    host.admit("[[reply:one]]")
    await host.turn_completed()
    (project / "AGENTS.md").write_text("Use spaces.")
    host.admit("[[reply:two]]")
    await host.turn_completed(2)
    admit(host, saying("[[reply:three]]", audience=Audience.PUBLIC))
    await host.turn_completed(3)
    first, second, public = calls(model)
    system = str(first.messages[0]["content"])
    assert "[project-instructions: AGENTS.md]\nUse tabs.\n\n[session]" in system
    assert second.messages[0]["content"] == system.replace("tabs", "spaces")
    assert f"[working-context]\nproject_dir: {project}" in blocks(first)[0]
    assert str(host.folder) not in str(public.messages[0]["content"])
    assert "working-context" not in str(public.messages)


@pytest.mark.requirement("context.turn-block")
async def test_a_project_that_is_gone_is_not_named(
    host: ScriptedHost, start: Start, model: FakeModel
) -> None:
    host.journal.commit((WorkingDirectorySet(path="/gone/project", actor="test"),))
    start()
    host.admit("[[reply:x]]")
    await host.turn_completed()
    assert "project_dir" not in blocks(calls(model)[0])[0]


@pytest.mark.requirement("context.pictures")
async def test_a_model_that_sees_is_shown_the_picture_in_every_later_call(
    host: ScriptedHost, start: Start, model: FakeModel
) -> None:
    seeing = model_settings(model.url, input_modalities=("text", "image"))
    host.settings = SessionSettings(main_model=seeing)
    start()
    admit(host, saying("[[reply:nice]]", upload(host, PNG)))
    await host.turn_completed()
    host.admit("[[reply:still nice]]")
    await host.turn_completed(2)
    shown = [_pictures(request) for request in calls(model)]
    url = f"data:image/png;base64,{base64.b64encode(PNG).decode()}"
    assert shown == [[url], [url]]


@pytest.mark.requirement("context.modality-restored")
async def test_restored_media_is_a_line_once_the_model_cannot_see(
    host: ScriptedHost, start: Start, model: FakeModel, caplog: pytest.LogCaptureFixture
) -> None:
    seeing = model_settings(model.url, input_modalities=("text", "image"))
    blind, host.settings = host.settings, SessionSettings(main_model=seeing)
    host.watch(start())
    admit(host, saying("[[reply:nice]]", upload(host, PNG)))
    await host.turn_completed()
    host.cut()
    await host.ended()
    host.settings = blind
    start()
    await host.until(lambda seen: seen.phases.count("ready") >= 2)
    for number in (2, 3):
        host.admit("[[reply:on we go]]")
        await host.turn_completed(number)
    told = str(calls(model)[-1].messages)
    assert "pic.png, image/png, 70 bytes; not shown, because you cannot see it" in told
    assert not host.seen.of_type("error")
    warnings = [item for item in caplog.messages if "is not shown to the model" in item]
    assert len(warnings) == 1


@pytest.mark.requirement("context.pictures")
async def test_what_is_no_picture_or_cannot_be_read_is_never_sent(
    host: ScriptedHost, start: Start, model: FakeModel
) -> None:
    seeing = model_settings(model.url, input_modalities=("text", "image"))
    host.settings = SessionSettings(main_model=seeing)
    false, gone = upload(host, b"<svg/>"), upload(host, PNG)
    (host.folder / "root/attachment-staging" / gone.upload_id).unlink()
    start()
    admit(host, saying("[[reply:hm]]", false, gone, replace(gone, upload_id="../../x")))
    await host.turn_completed()
    (request,) = calls(model)
    assert _pictures(request) == []
    assert str(request.messages).count("not shown") == 3


@pytest.mark.requirement("context.pictures")
async def test_the_newest_pictures_are_shown_within_bounds(
    host: ScriptedHost, model: FakeModel
) -> None:
    seeing = SessionSettings(
        main_model=model_settings(model.url, input_modalities=("text", "image"))
    )
    storage = SessionStorage(home="/h", root=str(host.folder / "root"), tmp="/t")
    pictures = Pictures(storage, seeing)
    media = [upload(host, PNG) for _ in range(COUNT_MAX + 2)]
    messages = [_message(item) for item in (*media, media[-1])]
    shown = await pictures.of(messages)
    assert set(shown) == {item.upload_id for item in media[2:]}
    assert await pictures.of(messages[:1]) == {
        media[0].upload_id: next(iter(shown.values())),
    }
    assert await pictures.of([]) == {}


@pytest.mark.requirement("context.pictures")
async def test_what_cannot_be_read_is_said_once_and_not_before_every_call(
    host: ScriptedHost, model: FakeModel, caplog: pytest.LogCaptureFixture
) -> None:
    seeing = SessionSettings(
        main_model=model_settings(model.url, input_modalities=("text", "image"))
    )
    storage = SessionStorage(home="/h", root=str(host.folder / "root"), tmp="/t")
    pictures = Pictures(storage, seeing)
    gone, there = upload(host, PNG), upload(host, PNG)
    (host.folder / "root/attachment-staging" / gone.upload_id).unlink()
    messages = [_message(gone), _message(there)]
    for _ in range(3):
        assert set(await pictures.of(messages)) == {there.upload_id}
    assert [line for line in caplog.messages if gone.upload_id in line] == [
        f"attachment {gone.upload_id} cannot be read: No such file or directory",
        f"attachment {gone.upload_id} is not shown to the model",
    ]


def _message(media: MediaRef) -> UserMessage:
    return UserMessage(input_id=new_id(), text="", at=0, media=(media,))  # type: ignore[arg-type]


def _pictures(recorded: Recorded) -> list[str]:
    return [
        part["image_url"]["url"]
        for message in recorded.messages
        if isinstance(message["content"], list)
        for part in message["content"]
        if part["type"] == "image_url"
    ]


class _SlowGit(GitInspection):
    """Git that answers when the test says so, and cannot be stopped."""

    def __init__(self) -> None:
        self.is_let = asyncio.Event()
        self.is_over = asyncio.Event()

    async def inspect(self, project: Root, **_more: object) -> GitFacts | None:
        """See `GitInspection`."""
        del project
        try:
            await self.is_let.wait()
        except asyncio.CancelledError:
            self.is_over.set()
        return GitFacts(branch="late")


def requests_of(host: ScriptedHost, git: GitInspection | None = None) -> ModelRequests:
    """The request maker of a session, alone."""
    root = str(host.folder / "root")
    storage = SessionStorage(home=str(host.folder), root=root, tmp="/tmp/netclaw-0/x/p")
    return ModelRequests(
        session_id=SESSION,
        storage=storage,
        settings=host.settings,
        tools=ScriptedTools(),
        git=git,
        trees=Trees(),
        ending=Ending(),
        freezing=RunFreezing(
            session_id=SESSION, storage=storage, settings=host.settings, tools=lambda _by: ()
        ),
    )


def story_in(project: Path) -> tuple[Story, OpenTurn]:
    """A session with an open turn and a declared project."""
    story = Story()
    story.given(WorkingDirectorySet(path=str(project), actor="test"))
    story.start()
    story.admit("work")
    turn = story.state.turn
    assert turn is not None
    return story, turn


@pytest.mark.requirement("context.git-facts")
async def test_a_model_call_waits_no_longer_than_the_budget_and_a_late_answer_is_dropped(
    host: ScriptedHost, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model_requests, "BUDGET_S", 0.05)
    git = _SlowGit()
    requests = requests_of(host, git)
    story, turn = story_in(tmp_path)
    before = await requests.make(turn, story.state, story.runtime)
    await git.is_over.wait()
    after = await requests.make(turn, story.state, story.runtime)
    assert before.messages == after.messages
    assert "project_dir" in before.messages[0].text
    assert "late" not in before.messages[0].text


@pytest.mark.requirement("context.project-instructions")
async def test_the_prompt_is_made_anew_within_a_turn_only_after_a_compaction(
    host: ScriptedHost, tmp_path: Path
) -> None:
    (tmp_path / "AGENTS.md").write_text("Use tabs.")
    requests = requests_of(host)
    story, turn = story_in(tmp_path)
    counted = replace(story.state, last_input_tokens=100)
    first = await requests.make(turn, counted, story.runtime)
    (tmp_path / "AGENTS.md").write_text("Use spaces.")
    same = await requests.make(turn, counted, story.runtime)
    compacted = replace(counted, last_input_tokens=0)
    anew = await requests.make(turn, compacted, story.runtime)
    assert "Use tabs." in first.system_prompt
    assert same.system_prompt == first.system_prompt
    assert anew.system_prompt == first.system_prompt.replace("tabs", "spaces")
    assert anew.messages == first.messages, "the block of the turn stays"


@pytest.mark.requirement("context.project-instructions")
async def test_a_project_that_does_not_answer_holds_up_neither_the_loop_nor_the_turn(
    host: ScriptedHost, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    may_answer = threading.Event()

    def slow(declared: str, **more: Any) -> Root | None:
        assert not declared or may_answer.wait(20), "the turn went on meanwhile"
        return usable_project(declared, **more)

    monkeypatch.setattr(model_requests, "usable_project", slow)
    monkeypatch.setattr(model_requests, "PROJECT_S", 0.05)
    story, turn = story_in(tmp_path)
    made = await requests_of(host).make(turn, story.state, story.runtime)
    may_answer.set()
    assert "project_dir" not in made.messages[0].text
    assert "[session]" in made.system_prompt
