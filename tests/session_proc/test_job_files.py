"""The files of a background job: made at once, redacted, rotated, never in anybody's way."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path

import pytest

from netclaw.core.ids import JobId
from netclaw.core.redaction import Redactor, StreamRedactor
from netclaw.core.redaction_shapes import REDACTED
from netclaw.core.settings import SessionStorage
from netclaw.session_proc import job_files
from netclaw.session_proc.job_files import JobLog
from netclaw.session_proc.job_output import ROOM_BYTES, JobSink

pytestmark = pytest.mark.requirement("jobs.log")

JOB = JobId("j1")
SECRET = "correct horse battery"


@pytest.fixture
def storage(tmp_path: Path) -> SessionStorage:
    """An envelope."""
    root = tmp_path / "envelope"
    root.mkdir()
    return SessionStorage(home=str(tmp_path), root=str(root), tmp=str(tmp_path / "t/k/p"))


def made(storage: SessionStorage, *secrets: str) -> JobLog:
    """The files of a new job."""
    stream = StreamRedactor(Redactor([SECRET, *secrets]))
    return job_files.create(storage, JOB, {"jobId": JOB}, stream)


def text_of(storage: SessionStorage, name: str = "output.log") -> str:
    """One of the logs."""
    return (Path(storage.jobs) / JOB / name).read_text()


def test_the_files_are_there_at_once_and_private(storage: SessionStorage) -> None:
    log = made(storage)
    folder = Path(storage.jobs)
    assert json.loads((folder / "j1.json").read_text()) == {"jobId": "j1"}
    assert text_of(storage) == ""
    for path in (folder, folder / "j1", folder / "j1.json", folder / "j1/output.log"):
        assert path.stat().st_mode & 0o077 == 0
    log.close("")
    job_files.remove(storage, JOB)
    job_files.remove(storage, JOB)
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("size", [1, 7, 4096])
def test_what_a_job_prints_is_redacted_across_pieces(storage: SessionStorage, size: int) -> None:
    data = f"ünïcode {SECRET}\nsk-{'a1' * 12} here\n€ end".encode()
    log = made(storage)
    for at in range(0, len(data), size):
        log.feed(data[at : at + size])
        log.settle()
    log.close("over")
    expected = f"ünïcode {REDACTED}\n{REDACTED} here\n€ end[netclaw] over\n"
    assert text_of(storage) == expected


def test_what_is_no_text_is_written_as_such(storage: SessionStorage) -> None:
    log = made(storage)
    log.feed(b"\xff\x80 odd \xe2\x82")
    log.close("")
    assert text_of(storage) == "\ufffd\ufffd odd \ufffd"


def test_a_long_log_becomes_two(storage: SessionStorage) -> None:
    log = made(storage)
    for number in range(1300):
        log.feed(f"{number:05d} {'x' * 9993}\n".encode())
    log.close("end")
    older, newer = text_of(storage, "output.1.log"), text_of(storage)
    assert len(older) <= 5_000_000
    assert len(newer) <= 5_000_000
    assert newer.endswith("[netclaw] end\n")
    assert len(list((Path(storage.jobs) / JOB).iterdir())) == 2
    tail = job_files.tail(storage, JOB, 2_000)
    assert len(tail) == 2_000
    assert newer.endswith(tail)


def test_a_tail_goes_back_over_a_rotation(storage: SessionStorage) -> None:
    made(storage).close("new")
    folder = Path(storage.jobs) / JOB
    (folder / "output.1.log").write_text("old\n")
    assert job_files.tail(storage, JOB, 100) == "old\n[netclaw] new\n"
    assert job_files.tail(storage, JobId("none"), 100) == ""


def test_no_link_is_followed(storage: SessionStorage, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    Path(storage.jobs).symlink_to(elsewhere)
    with pytest.raises(OSError, match=r"symbolic|directory"):
        made(storage)
    job_files.remove(storage, JOB)
    assert list(elsewhere.iterdir()) == []


def test_a_log_that_cannot_be_written_says_how_much_is_missing(
    storage: SessionStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = made(storage)
    really = os.write

    def full(_file: int, _data: bytes) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    log.feed(b"lost\n")
    log.settle()
    monkeypatch.setattr(os, "write", really)
    log.feed(b"kept\n")
    log.close("")
    assert text_of(storage) == "\n[netclaw] 5 bytes could not be written.\nkept\n"


@pytest.mark.requirement("jobs.flood")
async def test_a_flood_waits_for_room_and_nothing_of_it_is_lost(storage: SessionStorage) -> None:
    output = JobSink(made(storage))
    piece = b"y" * 63 + b"\n"
    total = 0
    while output.room.is_set():
        output.take(piece * 1024)
        total += 1024
        assert total * 64 <= ROOM_BYTES + 65_536
    await output.room.wait()
    await output.close("")
    assert text_of(storage).count("\n") == total


async def test_whole_lines_are_written_though_the_job_says_nothing_more(
    storage: SessionStorage,
) -> None:
    output = JobSink(made(storage))
    output.take(b"first\nsec")
    async with asyncio.timeout(10):
        while text_of(storage) != "first\n":  # noqa: ASYNC110 - a file tells nobody
            await asyncio.sleep(0.01)
    output.take(b"ond")
    await output.close("over")
    assert text_of(storage) == "first\nsecond[netclaw] over\n"


@pytest.mark.requirement("jobs.flood")
async def test_a_log_that_breaks_holds_nobody(
    storage: SessionStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = made(storage)
    output = JobSink(log)

    def broken(_log: JobLog, _data: bytes) -> None:
        raise RuntimeError("a fault of ours")

    monkeypatch.setattr(JobLog, "feed", broken)
    output.take(b"x" * (ROOM_BYTES + 1))
    assert not output.room.is_set()
    async with asyncio.timeout(10):
        await output.room.wait()
    output.take(b"more")
    await output.close("over")
    assert text_of(storage) == "[netclaw] over\n"
