"""The system prompt: identity files in a fixed order, then the session's paths."""

from __future__ import annotations

import pytest

from netclaw.core.context.layers import (
    CUT,
    FILE_MAX_BYTES,
    identity_dir,
    render_file,
    render_system_prompt,
)
from netclaw.core.settings import SessionStorage

STORAGE = SessionStorage(home="/h", root="/h/sessions/s-1", tmp="/tmp/netclaw-0/k/p")
SESSION = """\
[session]
session_dir: /h/sessions/s-1/workspace
temp_dir: /tmp/netclaw-0/k/p
artifact_dir: /h/sessions/s-1/artifacts
worktree_dir: /h/sessions/s-1/worktrees
log_path: /h/sessions/s-1/logs/session.log"""


@pytest.mark.requirement("core.system-prompt")
def test_files_come_in_their_order_and_the_session_block_last() -> None:
    files = {"TOOLING.md": b"c\n", "SOUL.md": b"\na", "AGENTS.md": b"b"}
    expected = f"a\n\nb\n\nc\n\n{SESSION}"
    assert render_system_prompt(files, STORAGE) == expected
    assert render_system_prompt(dict(reversed(files.items())), STORAGE) == expected


@pytest.mark.requirement("core.system-prompt")
@pytest.mark.parametrize("files", [{}, {"SOUL.md": b""}, {"AGENTS.md": b" \n"}, {"OTHER.md": b"x"}])
def test_missing_blank_and_unknown_files_leave_no_gap(files: dict[str, bytes]) -> None:
    assert render_system_prompt(files, STORAGE) == SESSION


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
