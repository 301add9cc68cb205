"""The files of a background job in its session's envelope: its definition and its log.

`jobs/<id>.json` says what it is, `jobs/<id>/output.log` holds what it printed, redacted, and
`output.1.log` what came before. Everything here blocks and belongs into a thread; no link is
followed, whoever put it there.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from collections.abc import Mapping

from netclaw.core.ids import JobId
from netclaw.core.redaction import StreamRedactor
from netclaw.core.settings import SessionStorage
from netclaw.ports.jobs import LOG_ROTATE_BYTES

LOG, OLDER_LOG = "output.log", "output.1.log"
PIECE_BYTES = 32_768
"""Decoded and redacted at once: longer, the interpreter would be held too long (decision 86)."""

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK


def log_path(storage: SessionStorage, job_id: JobId) -> str:
    """Where the newest output of a job is."""
    return f"{storage.jobs}/{job_id}/{LOG}"


class JobLog:
    """Writes the output of one job: whole lines as they come, rotated.

    What cannot be written is counted and said once writing works again; nothing is raised.
    """

    def __init__(self, folder: int, stream: StreamRedactor) -> None:
        self._folder = folder
        self._stream = stream
        self._file = os.open(LOG, _NEW, 0o600, dir_fd=folder)
        self._size = 0
        self._lost = 0
        self._undecoded = b""

    @property
    def is_holding(self) -> bool:
        """Whether something is kept back that `settle` may write."""
        return self._stream.held > 0

    def feed(self, data: bytes) -> None:
        """Write what can no longer turn out to be part of a secret."""
        for at in range(0, len(data), PIECE_BYTES):
            self._write(self._stream.feed(self._decode(data[at : at + PIECE_BYTES])))

    def settle(self) -> None:
        """Write the whole lines that are kept back, because the job pauses."""
        self._write(self._stream.settle())

    def close(self, note: str) -> None:
        """Write the rest and a last line of netclaw's own."""
        if self._undecoded:
            self._write(self._stream.feed("\ufffd"))
            self._undecoded = b""
        self._write(self._stream.finish())
        if note:
            self._write(f"[netclaw] {note}\n")
        os.close(self._file)
        os.close(self._folder)

    def _decode(self, data: bytes) -> str:
        """As UTF-8; a character that is cut by the border waits for its end."""
        data = self._undecoded + data
        kept = _cut_character(data)
        self._undecoded = data[len(data) - kept :]
        return data[: len(data) - kept].decode("utf-8", "replace")

    def _write(self, text: str) -> None:
        if not text:
            return
        data = text.encode("utf-8", "replace")
        try:
            if self._lost:
                self._append(f"\n[netclaw] {self._lost} bytes could not be written.\n".encode())
                self._lost = 0
            self._append(data)
        except OSError:
            self._lost += len(data)

    def _append(self, data: bytes) -> None:
        if self._size and self._size + len(data) > LOG_ROTATE_BYTES:
            self._rotate()
        view = memoryview(data)
        while view:
            written = os.write(self._file, view)
            self._size += written
            view = view[written:]

    def _rotate(self) -> None:
        os.replace(LOG, OLDER_LOG, src_dir_fd=self._folder, dst_dir_fd=self._folder)
        fresh = os.open(LOG, _NEW, 0o600, dir_fd=self._folder)
        os.close(self._file)
        self._file, self._size = fresh, 0


def _cut_character(data: bytes) -> int:
    """How many bytes at the end begin a character that is not complete."""
    for back in range(1, min(4, len(data) + 1)):
        byte = data[-back]
        if byte >= 0xC0:
            length = 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
            return back if back < length else 0
        if byte < 0x80:
            return 0
    return 0


def create(
    storage: SessionStorage, job_id: JobId, definition: Mapping[str, object], stream: StreamRedactor
) -> JobLog:
    """Make the files of a new job; its log is there, and empty. Raises `OSError`."""
    folder = _jobs_folder(storage)
    try:
        os.mkdir(job_id, 0o700, dir_fd=folder)
        text = json.dumps(definition, ensure_ascii=False, indent=1)
        file = os.open(f"{job_id}.json", _NEW, 0o600, dir_fd=folder)
        with os.fdopen(file, "w", encoding="utf-8", errors="replace") as written:
            written.write(text + "\n")
        own = os.open(job_id, _FOLDER, dir_fd=folder)
        try:
            return JobLog(own, stream)
        except OSError:
            os.close(own)
            raise
    finally:
        os.close(folder)


def _jobs_folder(storage: SessionStorage) -> int:
    root = os.open(storage.root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        name = storage.jobs.rpartition("/")[2]
        with contextlib.suppress(FileExistsError):
            os.mkdir(name, 0o700, dir_fd=root)
        return os.open(name, _FOLDER, dir_fd=root)
    finally:
        os.close(root)


def remove(storage: SessionStorage, job_id: JobId) -> None:
    """Remove the files of a job; what is not there, or cannot be removed, is no error."""
    try:
        folder = os.open(storage.jobs, _FOLDER)
    except OSError:
        return
    try:
        with contextlib.suppress(OSError):
            os.unlink(f"{job_id}.json", dir_fd=folder)
        with contextlib.suppress(OSError):
            shutil.rmtree(job_id, dir_fd=folder)
    finally:
        os.close(folder)


def tail(storage: SessionStorage, job_id: JobId, chars: int) -> str:
    """The end of a job's output, empty if there is none to read."""
    text = ""
    for name in (LOG, OLDER_LOG):
        if len(text) < chars:
            text = _end_of(f"{storage.jobs}/{job_id}/{name}", 4 * chars) + text
    return text[-chars:]


def _end_of(path: str, size: int) -> str:
    try:
        fd = os.open(path, _READ)
    except OSError:
        return ""
    with os.fdopen(fd, "rb") as file:
        length = file.seek(0, os.SEEK_END)
        file.seek(max(0, length - size))
        return file.read(size).decode("utf-8", "ignore")
