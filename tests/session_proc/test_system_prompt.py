"""The system message of model calls: identity files read before each turn."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from netclaw.core.authority import Audience
from netclaw.core.context.layers import CUT, FILE_MAX_BYTES
from netclaw.core.settings import SessionStorage
from netclaw.session_proc.system_prompt import SystemPrompt
from tests.fakes.model import FakeModel
from tests.session_proc.conftest import Start
from tests.session_proc.host import ScriptedHost


def identity(host: ScriptedHost, name: str, text: str) -> None:
    """Write an identity file of the home."""
    folder = host.folder / "identity"
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(text)


def system_of(model: FakeModel, number: int) -> str:
    """The system message of a request, which is its first and only one."""
    messages = model.requests[number].messages
    assert [m["role"] for m in messages].count("system") == 1
    assert messages[0]["role"] == "system"
    return str(messages[0]["content"])


@pytest.mark.requirement("session_proc.system-prompt")
async def test_an_edit_is_seen_by_the_next_turn_and_not_within_one(
    host: ScriptedHost, start: Start, model: FakeModel
) -> None:
    identity(host, "SOUL.md", "You are patient.")
    identity(host, "AGENTS.md", "Be brief.")
    start()
    host.admit('[[tool:say {"key":"a"}]] [[gate:g]] [[reply:done]]')
    await model.gates.wait_for_arrival("g")
    identity(host, "SOUL.md", "You are swift.")
    model.gates.open("g")
    await host.turn_completed()
    host.admit("[[reply:again]]")
    await host.turn_completed(2)
    first, same_turn, next_turn = (system_of(model, number) for number in range(3))
    assert first.startswith("You are patient.\n\nBe brief.\n\n[session]\n")
    assert f"session_dir: {host.folder}/root/workspace" in first
    assert same_turn == first
    assert next_turn == first.replace("patient", "swift")


@pytest.mark.requirement("session_proc.system-prompt")
async def test_without_identity_files_the_model_still_knows_its_paths(
    host: ScriptedHost, start: Start, model: FakeModel
) -> None:
    start()
    host.admit("[[reply:x]]")
    await host.turn_completed()
    assert system_of(model, 0).startswith("[session]\nsession_dir: ")


@pytest.mark.requirement("session_proc.system-prompt")
def test_a_file_is_bounded_and_what_is_no_file_is_told_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = tmp_path / "identity"
    folder.mkdir()
    (folder / "SOUL.md").write_bytes(b"x" * 10 * FILE_MAX_BYTES)
    os.mkfifo(folder / "AGENTS.md")
    (folder / "TOOLING.md").mkdir()
    prompt = SystemPrompt(SessionStorage(home=str(tmp_path), root="/r", tmp="/t"))
    text = prompt.render(prompt.read(Audience.PERSONAL, None))
    assert text.startswith("x" * FILE_MAX_BYTES + f"\n{CUT}\n\n[session]")
    again = prompt.render(prompt.read(Audience.PERSONAL, None))
    assert again is text, "equal bytes are not rendered again"
    assert [record.getMessage() for record in caplog.records] == [
        "identity file AGENTS.md cannot be read: it is no regular file",
        "identity file TOOLING.md cannot be read: it is no regular file",
    ]
