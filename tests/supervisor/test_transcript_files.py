"""Which files may be adopted, and how much of them is read."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from netclaw.core.errors import (
    DeniedByPolicyError,
    ErrorCode,
    InvalidArgumentError,
    NetclawError,
    NotFoundError,
    TooLargeError,
)
from netclaw.core.session.adoption_events import AdoptedRole
from netclaw.core.signals.transcripts import Catalog
from netclaw.supervisor import transcript_files
from netclaw.supervisor.transcript_files import LeftError, read_transcript


def row(text: str, role: str = "user") -> bytes:
    return json.dumps({"role": role, "text": text}).encode() + b"\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder beside the home of a user who keeps credentials."""
    home = tmp_path.resolve() / "user"
    for name in (".ssh", ".aws", ".claude/projects/app"):
        (home / name).mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    return tmp_path.resolve()


def write(path: Path, *rows: bytes) -> Path:
    path.write_bytes(b"".join(rows))
    return path


@pytest.mark.requirement("upstream.history")
def test_a_transcript_is_read_whole_and_ends_behind_its_last_row(folder: Path) -> None:
    rows = (row("a"), b"\n", row("b", "assistant"))
    path = write(folder / "t.jsonl", *rows, row("half")[:-3])
    found = read_transcript(str(path))
    assert (found.source.catalog, found.source.path) == (Catalog.JSONL, str(path))
    assert found.end == sum(map(len, rows))
    assert found.facts.size == path.stat().st_size
    assert [(item.role, item.text) for item in found.history.messages] == [
        (AdoptedRole.USER, "a"),
        (AdoptedRole.ASSISTANT, "b"),
    ]


@pytest.mark.requirement("upstream.half-line")
def test_a_last_row_without_a_newline_counts_if_it_is_whole(folder: Path) -> None:
    path = write(folder / "t.jsonl", row("a"), row("b")[:-1])
    found = read_transcript(str(path))
    assert found.end == path.stat().st_size
    assert [item.text for item in found.history.messages] == ["a", "b"]


def test_rows_longer_than_one_read_are_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transcript_files, "CHUNK_BYTES", 7)
    path = write(folder / "t.jsonl", *(row("x" * size) for size in (1, 30, 5)))
    assert [len(item.text) for item in read_transcript(str(path)).history.messages] == [1, 30, 5]


@pytest.mark.requirement("upstream.refused")
def test_what_is_too_large_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(folder / "t.jsonl", row("a"), row("x" * 100), row("b"))
    monkeypatch.setattr(transcript_files, "CHUNK_BYTES", 10)
    monkeypatch.setattr(transcript_files, "ROW_BYTES", 60)
    with pytest.raises(TooLargeError, match="Row 2 of the transcript has more than 60 bytes"):
        read_transcript(str(path))
    monkeypatch.setattr(transcript_files, "FILE_BYTES", 99)
    with pytest.raises(TooLargeError, match="at most 99 are read"):
        read_transcript(str(path))


@pytest.mark.requirement("upstream.refused")
def test_a_link_is_followed_but_not_to_where_credentials_are(folder: Path) -> None:
    talk = write(folder / "talk.jsonl", row("a"))
    link = folder / "link.jsonl"
    link.symlink_to(talk)
    assert read_transcript(str(link)).source.path == str(talk)
    for name in (".ssh/id", ".aws/credentials"):
        secret = write(folder / "user" / name, row("a"))
        link.unlink()
        link.symlink_to(secret)
        with pytest.raises(DeniedByPolicyError, match="where credentials are kept"):
            read_transcript(str(link))
    (folder / "through").symlink_to(folder / "user" / ".ssh")
    with pytest.raises(DeniedByPolicyError, match="where credentials are kept"):
        read_transcript(str(folder / "through" / "id"))


@pytest.mark.requirement("upstream.claude-code")
def test_the_files_of_claude_code_are_adopted_where_they_lie(folder: Path) -> None:
    path = write(folder / "user/.claude/projects/app/5f.jsonl", row("a"))
    (folder / "link.jsonl").symlink_to(path)
    for name in (path, folder / "link.jsonl"):
        assert read_transcript(str(name)).source.path == str(path)


@pytest.mark.requirement("upstream.refused")
def test_a_file_in_any_netclaw_home_is_refused(folder: Path) -> None:
    (folder / "home/config").mkdir(parents=True)
    (folder / "home/config/netclaw.json").touch()
    path = write(folder / "home/t.jsonl", row("a"))
    (folder / "link.jsonl").symlink_to(path)
    for name in (path, folder / "link.jsonl"):
        with pytest.raises(DeniedByPolicyError, match="lies in a netclaw home"):
            read_transcript(str(name))


@pytest.mark.requirement("upstream.refused")
def test_a_link_that_is_put_in_the_way_meanwhile_is_not_followed(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "a").mkdir()
    (folder / "b").mkdir()
    path = write(folder / "a/t.jsonl", row("a"))
    write(folder / "b/t.jsonl", row("b"))
    real_open = os.open

    def swap_and_open(name: str, flags: int) -> int:
        (folder / "a").rename(folder / "c")
        (folder / "a").symlink_to(folder / "b")
        monkeypatch.setattr(os, "open", real_open)
        return real_open(name, flags)

    monkeypatch.setattr(os, "open", swap_and_open)
    with pytest.raises(InvalidArgumentError, match="a link leads elsewhere now"):
        read_transcript(str(path))


@pytest.mark.requirement("upstream.refused")
def test_every_refusal_has_a_stable_code_and_a_way_out(folder: Path) -> None:
    cases: dict[str, tuple[bytes | None, ErrorCode]] = {
        "none": (None, ErrorCode.NOT_FOUND),
        "empty": (b"", ErrorCode.INVALID_ARGUMENT),
        "binary": (b"\x00\n", ErrorCode.INVALID_ARGUMENT),
        "text": (b"hello\n", ErrorCode.INVALID_ARGUMENT),
        "torn": (row("a") + b"{\n", ErrorCode.INVALID_ARGUMENT),
        "nul": (row("a") + b"\x00\x00\n", ErrorCode.INVALID_ARGUMENT),
        "silent": (row(" "), ErrorCode.INVALID_ARGUMENT),
        "latin": (b'{"role": "user", "text": "\xe9"}\n', ErrorCode.INVALID_ARGUMENT),
    }
    for name, (content, code) in cases.items():
        if content is not None:
            write(folder / name, content)
        with pytest.raises(NetclawError) as refused:
            read_transcript(str(folder / name))
        assert refused.value.code is code, name
        assert refused.value.fix != type(refused.value).default_fix, name


def test_a_name_that_is_no_text_is_refused(folder: Path) -> None:
    name = os.fsencode(folder) + b"/\xff.jsonl"
    Path(os.fsdecode(name)).write_bytes(row("a"))
    (folder / "link.jsonl").symlink_to(os.fsdecode(name))
    with pytest.raises(InvalidArgumentError, match="valid UTF-8"):
        read_transcript(str(folder / "link.jsonl"))
    with pytest.raises(NotFoundError):
        read_transcript(str(folder / "other.jsonl"))


@pytest.mark.requirement("upstream.refused")
def test_a_link_of_proc_that_leads_nowhere_is_no_fault_of_the_daemon() -> None:
    dead = subprocess.Popen(["/bin/true"])
    try:
        os.waitid(os.P_PID, dead.pid, os.WEXITED | os.WNOWAIT)
        with pytest.raises(NetclawError) as refused:
            read_transcript(f"/proc/{dead.pid}/cwd/talk.jsonl")
    finally:
        dead.wait()
    assert refused.value.code is ErrorCode.NOT_FOUND


@pytest.mark.requirement("upstream.left")
def test_a_reading_ends_at_its_next_piece_once_nobody_waits_for_it(folder: Path) -> None:
    path = write(folder / "t.jsonl", row("x" * 1000) * 5000)
    pieces = iter((False, False, False, True))
    with pytest.raises(LeftError):
        read_transcript(str(path), lambda: next(pieces))
    assert next(pieces, None) is None
