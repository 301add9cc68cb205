"""The folder of agents as it is on disk, and the agents that `init` writes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from netclaw.config.agents import DEFAULTS, write_default_agents
from netclaw.config.home import Home
from netclaw.core.agents import MAX_BYTES, AgentBook
from netclaw.tools.agent_files import look, read_agents

GOOD = "---\nname: {}\ndescription: Works.\n---\nWork.\n"


@pytest.mark.requirement("agents.files")
def test_files_are_read_in_the_order_of_their_names(tmp_path: Path) -> None:
    folder = tmp_path / "agents"
    folder.mkdir()
    (folder / "b.md").write_text(GOOD.format("worker"))
    (folder / "a.md").write_text(GOOD.format("worker"))
    (folder / "notes.txt").write_text(GOOD.format("other"))
    (folder / "large.md").write_text(GOOD.format("large") + "x" * MAX_BYTES)
    os.mkfifo(folder / "pipe.md")
    (folder / "gone.md").symlink_to("nowhere")
    book = read_agents(str(tmp_path))
    assert [(item.name, item.source) for item in book.agents] == [("worker", "a.md")]
    assert [item.source for item in book.problems] == ["b.md", "gone.md", "large.md", "pipe.md"]


@pytest.mark.requirement("agents.files")
def test_without_a_folder_there_are_none(tmp_path: Path) -> None:
    assert read_agents(str(tmp_path)) == AgentBook()


@pytest.mark.requirement("agents.files")
def test_a_file_that_became_bad_is_left_out_though_it_was_good(tmp_path: Path) -> None:
    folder = tmp_path / "agents"
    folder.mkdir()
    (folder / "a.md").write_text(GOOD.format("worker"))
    assert len(read_agents(str(tmp_path)).agents) == 1
    (folder / "a.md").write_text("nothing")
    assert read_agents(str(tmp_path)).agents == ()


@pytest.mark.requirement("agents.shipped")
def test_the_first_agents_can_be_used_as_they_are(tmp_path: Path) -> None:
    home = Home(tmp_path)
    assert write_default_agents(home) == tuple(DEFAULTS)
    book = read_agents(str(home.root))
    assert book.problems == ()
    assert [(item.name, item.timeout_s) for item in book.offered] == [
        ("code-analyst", 120),
        ("research-assistant", 120),
        ("summarizer", 60),
    ]


@pytest.mark.requirement("agents.shipped")
def test_agents_that_are_there_and_those_that_were_deleted_are_left_alone(tmp_path: Path) -> None:
    home = Home(tmp_path)
    write_default_agents(home)
    (tmp_path / "agents" / "summarizer.md").unlink()
    assert write_default_agents(home) == ()
    assert len(read_agents(str(tmp_path)).agents) == 2


@pytest.mark.requirement("agents.files")
def test_a_folder_looks_different_after_any_change(tmp_path: Path) -> None:
    looks = [look(str(tmp_path))]
    folder = tmp_path / "agents"
    folder.mkdir()
    (folder / "gone.md").symlink_to("nowhere")
    (folder / "a.md").write_text(GOOD.format("worker"))
    looks.append(look(str(tmp_path)))
    (folder / "a.md").write_text(GOOD.format("helper!"))
    looks.append(look(str(tmp_path)))
    new = folder / "new"
    new.write_text(GOOD.format("sleeper"))
    os.utime(new, ns=(1, 1))
    new.replace(folder / "a.md")
    looks.append(look(str(tmp_path)))
    (folder / "a.md").unlink()
    looks.append(look(str(tmp_path)))
    assert len(set(looks[:4])) == 4
    assert looks[4] == looks[0]
    assert looks[1].size_bytes == len(GOOD.format("worker"))
