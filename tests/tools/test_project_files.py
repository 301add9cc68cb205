"""Project instructions: the first file that is there, and never one outside of the project."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from netclaw.core.context.layers import FILE_MAX_BYTES, PROJECT_FILES, ProjectInstructions
from netclaw.tools.places import Root
from netclaw.tools.project_files import read_instructions

pytestmark = pytest.mark.requirement("context.project-instructions")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """An empty project."""
    folder = tmp_path.resolve() / "project"
    folder.mkdir()
    return folder


def read(project: Path, home: str = "/nowhere") -> tuple[ProjectInstructions | None, list[str]]:
    """What is found, and the files that were passed over."""
    faults: list[str] = []
    root = Root(announced=str(project), real=str(project))
    found = read_instructions(root, home=home, on_fault=lambda name, _why: faults.append(name))
    return found, faults


def test_the_first_of_the_names_counts(project: Path) -> None:
    (project / ".netclaw").mkdir()
    for name in reversed(PROJECT_FILES):
        (project / name).write_text(name)
        assert read(project) == (ProjectInstructions(path=name, data=name.encode()), [])


def test_nothing_there_is_no_fault(project: Path) -> None:
    assert read(project) == (None, [])
    assert read(project / "gone") == (None, [])


def test_a_large_file_is_read_up_to_its_bound(project: Path) -> None:
    (project / "AGENTS.md").write_bytes(b"x" * 3 * FILE_MAX_BYTES)
    found, _ = read(project)
    assert found is not None
    assert len(found.data) == FILE_MAX_BYTES + 1


def test_links_lead_only_within_the_project(project: Path) -> None:
    (project.parent / "secret").write_text("secret")
    (project / "CLAUDE.md").symlink_to("../secret")
    (project / "AGENTS.md").symlink_to("docs.md")
    (project / "docs.md").write_text("docs")
    found, faults = read(project)
    assert found == ProjectInstructions(path="AGENTS.md", data=b"docs")
    assert faults == ["CLAUDE.md"]


def test_what_is_no_regular_file_is_passed_over(project: Path) -> None:
    os.mkfifo(project / "CLAUDE.md")
    (project / "AGENTS.md").mkdir()
    (project / "CONTEXT.md").write_text("context")
    found, faults = read(project)
    assert found == ProjectInstructions(path="CONTEXT.md", data=b"context")
    assert faults == ["CLAUDE.md", "AGENTS.md"]


def test_nothing_of_the_netclaw_home_is_a_projects_word(project: Path) -> None:
    (project / ".netclaw").mkdir()
    (project / ".netclaw/AGENTS.md").write_text("home")
    assert read(project, home=f"{project}/.netclaw") == (None, [".netclaw/AGENTS.md"])


def test_a_project_in_a_folder_of_the_session_has_its_own_words(project: Path) -> None:
    (project / "AGENTS.md").write_text("of the worktree")
    found, faults = read(project, home=str(project.parent))
    assert found == ProjectInstructions(path="AGENTS.md", data=b"of the worktree")
    assert faults == []
