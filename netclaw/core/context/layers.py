"""The system prompt: who the agent is, and where this session's files are (decision 21).

What changes least comes first, so that a provider's cache of the prefix lasts. Identity files are
the operator's own words and are passed on as they are; the `[session]` block is netclaw's.
"""

from __future__ import annotations

from collections.abc import Mapping

from netclaw.core.settings import SessionStorage

IDENTITY_FILES = ("SOUL.md", "AGENTS.md", "TOOLING.md")
"""Names below `identity_dir`, in the order they stand in the prompt."""

IDENTITY_MAX_BYTES = 65_536
"""What of one identity file is read; the rest is left out, and the prompt says so."""

CUT = f"[netclaw] The rest of this file is left out: it is larger than {IDENTITY_MAX_BYTES} bytes."


def identity_dir(home: str) -> str:
    """The folder of the identity files of a netclaw home."""
    return f"{home.rstrip('/')}/identity"


def render_identity(data: bytes) -> str:
    """One identity file as it stands in the prompt; cut between characters if it is too large."""
    if len(data) <= IDENTITY_MAX_BYTES:
        return data.decode("utf-8", "replace").strip()
    # The cut may go through a character; what is left of it is no fault of the file.
    kept = data[:IDENTITY_MAX_BYTES].decode("utf-8", "replace").rstrip("\ufffd")
    return f"{kept.strip()}\n{CUT}"


def render_session(storage: SessionStorage) -> str:
    """The `[session]` block: the paths a tool call may use, one a line."""
    return "\n".join(
        (
            "[session]",
            f"session_dir: {storage.workspace}",
            f"temp_dir: {storage.tmp}",
            f"artifact_dir: {storage.artifacts}",
            f"worktree_dir: {storage.worktrees}",
            f"log_path: {storage.log_file}",
        )
    )


def render_system_prompt(identity: Mapping[str, bytes], storage: SessionStorage) -> str:
    """The whole prompt; a file that is missing or blank leaves no gap.

    Equal bytes give an equal prompt, whatever order the mapping has.
    """
    files = (render_identity(identity.get(name, b"")) for name in IDENTITY_FILES)
    return "\n\n".join((*(text for text in files if text), render_session(storage)))
