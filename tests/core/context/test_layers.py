"""The system prompt: identity files in a fixed order, then the session's paths."""

from __future__ import annotations

import pytest

from netclaw.core.authority import Audience
from netclaw.core.context.layers import (
    ATTACHMENT,
    CUT,
    FILE_MAX_BYTES,
    IDENTITY_FILES,
    PUBLIC_CORE,
    ProjectInstructions,
    identity_dir,
    identity_files,
    render_file,
    render_system_prompt,
)
from netclaw.core.ids import SessionId
from netclaw.core.settings import SessionStorage

STORAGE = SessionStorage(home="/h", root="/h/sessions/s-1", tmp="/tmp/netclaw-0/k/p")
SESSION = """\
[session]
session_dir: /h/sessions/s-1/workspace
temp_dir: /tmp/netclaw-0/k/p
artifact_dir: /h/sessions/s-1/artifacts
worktree_dir: /h/sessions/s-1/worktrees
log_path: /h/sessions/s-1/logs/session.log"""
FIXED = f"{SESSION}\n\n{ATTACHMENT}"


@pytest.mark.requirement("core.system-prompt")
def test_files_come_in_their_order_and_the_session_block_last() -> None:
    files = {"TOOLING.md": b"c\n", "SOUL.md": b"\na", "AGENTS.md": b"b"}
    expected = f"a\n\nb\n\nc\n\n{FIXED}"
    assert render_system_prompt(files, STORAGE) == expected
    assert render_system_prompt(dict(reversed(files.items())), STORAGE) == expected


@pytest.mark.requirement("core.system-prompt")
@pytest.mark.parametrize("files", [{}, {"SOUL.md": b""}, {"AGENTS.md": b" \n"}, {"OTHER.md": b"x"}])
def test_missing_blank_and_unknown_files_leave_no_gap(files: dict[str, bytes]) -> None:
    assert render_system_prompt(files, STORAGE) == FIXED


@pytest.mark.requirement("core.system-prompt")
def test_a_file_that_is_too_large_is_cut_between_characters_and_says_so() -> None:
    assert render_file(b"x" * FILE_MAX_BYTES) == "x" * FILE_MAX_BYTES
    text = render_file(b"x" + "\u00e9".encode() * FILE_MAX_BYTES)
    assert text == "x" + "\u00e9" * (FILE_MAX_BYTES // 2 - 1) + f"\n{CUT}"


def test_what_is_no_utf_8_is_shown_as_such() -> None:
    assert render_file(b"a\xffb") == "a\ufffdb"


@pytest.mark.parametrize("home", ["/h", "/h/"])
def test_the_folder_of_identity_files(home: str) -> None:
    assert identity_dir(home) == "/h/identity"


@pytest.mark.requirement("context.project-instructions")
def test_project_instructions_stand_between_identity_and_paths_and_name_their_file() -> None:
    project = ProjectInstructions(path="CLAUDE.md", data=b"Use tabs.\n")
    prompt = render_system_prompt({"SOUL.md": b"a"}, STORAGE, project=project)
    assert prompt == f"a\n\n[project-instructions: CLAUDE.md]\nUse tabs.\n\n{FIXED}"
    blank = ProjectInstructions(path="CLAUDE.md", data=b" \n")
    assert render_system_prompt({}, STORAGE, project=blank) == FIXED


@pytest.mark.requirement("context.project-instructions")
def test_long_project_instructions_are_cut() -> None:
    project = ProjectInstructions(path="AGENTS.md", data=b"x" * (FILE_MAX_BYTES + 1))
    assert CUT in render_system_prompt({}, STORAGE, project=project)


@pytest.mark.requirement("context.public")
def test_public_sees_no_private_words_no_path_and_no_project() -> None:
    private = dict.fromkeys(IDENTITY_FILES, b"private")
    project = ProjectInstructions(path="AGENTS.md", data=b"project")

    def prompt(public: bytes) -> str:
        return render_system_prompt(
            {**private, "PUBLIC.md": public},
            STORAGE,
            audience=Audience.PUBLIC,
            session_id=SessionId("C1/1"),
            project=project,
        )

    assert prompt(b"") == f"{PUBLIC_CORE}\n\n[session]\nsession_id: C1/1"
    assert prompt(b"We sell tea.") == "We sell tea.\n\n[session]\nsession_id: C1/1"


@pytest.mark.requirement("context.public")
def test_the_public_file_is_for_public_alone() -> None:
    for audience in (Audience.PERSONAL, Audience.TEAM):
        assert identity_files(audience) == IDENTITY_FILES
        prompt = render_system_prompt({"PUBLIC.md": b"tea"}, STORAGE, audience=audience)
        assert prompt == FIXED
