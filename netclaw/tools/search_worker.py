"""Searches names or text beneath one opened folder, in a process of its own.

A pattern a model wrote may take for ever and a tree may be huge, so this never runs in a session
process: it is started as `python -I -S`, reads its job as JSON from stdin, answers as JSON on
stdout, limits its own time and memory, and dies with its parent. Folders and files are opened
beneath the given descriptor without following links.
"""

from __future__ import annotations

import ctypes
import fnmatch
import json
import os
import re
import resource
import signal
import stat
import sys
from collections.abc import Callable, Iterator
from typing import TypedDict

from netclaw.core.path_rules import is_below_any
from netclaw.tools.beneath import choose_open
from netclaw.tools.private import is_foreign_home, is_internal
from netclaw.tools.text import encoding_of

SKIPPED_FOLDERS = frozenset({".git", ".venv", "node_modules", "__pycache__"})
MAX_FILE_BYTES = 4 * 1024 * 1024
MAX_ENTRIES = 200_000
MAX_LINE_CHARS = 20_000
SHOWN_CHARS = 240
_DIE_WITH_PARENT = 1
MEMORY_BYTES = 1024 * 1024 * 1024

Matcher = Callable[[str], int]
"""Position of the first match in a text, or -1."""


class Job(TypedDict):
    """What to search; plain values only."""

    folder_fd: int
    folder: str
    """Real path of the folder, to tell protected places."""
    home: str
    """The netclaw home in use; other homes are left out."""
    envelopes: list[str]
    """Folder of envelopes, and the own one: their internal parts are left out."""
    closed: list[str]
    """Neither these folders and files are looked at, nor what lies below them."""
    mode: str
    pattern: str
    is_regex: bool
    ignore_case: bool
    glob: str
    max_results: int
    cpu_s: int
    parent: int


class Report(TypedDict):
    """What was found."""

    lines: list[str]
    files: int
    skipped: int
    is_cut: bool
    fault: str


def main() -> None:
    """Reads the job, writes the report."""
    job: Job = json.load(sys.stdin)
    ctypes.CDLL(None).prctl(_DIE_WITH_PARENT, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != job["parent"]:
        return
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CPU, (job["cpu_s"], job["cpu_s"] + 1))
    json.dump(search(job), sys.stdout)


def search(job: Job) -> Report:
    """One search; a pattern that is no regular expression is reported, not raised."""
    report = Report(lines=[], files=0, skipped=0, is_cut=False, fault="")
    try:
        matcher = make_matcher(job)
    except re.error as fault:
        report["fault"] = f"The pattern is no regular expression: {fault.msg}."
        return report
    for line in _found(job, matcher, report):
        if len(report["lines"]) == job["max_results"]:
            report["is_cut"] = True
            break
        report["lines"].append(line)
    return report


def make_matcher(job: Job) -> Matcher:
    """A plain text is searched as it is; a name with wildcards is a glob. Raises `re.error`."""
    pattern, flags = job["pattern"], re.IGNORECASE if job["ignore_case"] else 0
    if not job["is_regex"] and job["mode"] == "names" and any(char in pattern for char in "*?["):
        return _glob_matcher(pattern, flags)
    if job["is_regex"]:
        expression = re.compile(pattern, flags)
    else:
        expression = re.compile(re.escape(pattern), flags)

    def match(text: str) -> int:
        found = expression.search(text)
        return found.start() if found else -1

    return match


def _glob_matcher(pattern: str, flags: int) -> Matcher:
    expression = re.compile(fnmatch.translate(pattern), flags)
    is_path = "/" in pattern

    def match(text: str) -> int:
        return 0 if expression.match(text if is_path else text.rpartition("/")[2]) else -1

    return match


def _found(job: Job, matcher: Matcher, report: Report) -> Iterator[str]:
    glob = _glob_matcher(job["glob"], 0) if job["glob"] else None
    needle, opener = _Needle(job, matcher), choose_open()
    for path, is_folder in _walk(job, report):
        if job["mode"] == "names":
            if matcher(path) >= 0:
                yield _printable(path) + ("/" if is_folder else "")
        elif not is_folder and (glob is None or glob(path) >= 0):
            flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_NOFOLLOW
            try:
                fd = opener(job["folder_fd"], path, flags, 0)
            except OSError:
                report["skipped"] += 1
                continue
            yield from _matching_lines(fd, path, needle, report)


def _walk(job: Job, report: Report) -> Iterator[tuple[str, bool]]:
    """Paths below the folder in a stable order; counts regular files."""
    waiting, closed = [""], frozenset(job["closed"])
    visited = 0
    while waiting:
        prefix = waiting.pop()
        folders = []
        for name, mode in _entries(job, prefix):
            visited += 1
            if visited > MAX_ENTRIES:
                report["is_cut"] = True
                return
            path = f"{prefix}{name}"
            if stat.S_ISDIR(mode):
                yield path, True
                if name not in SKIPPED_FOLDERS:
                    folders.append(f"{path}/")
            elif stat.S_ISREG(mode) and f"{job['folder'].rstrip('/')}/{path}" not in closed:
                report["files"] += 1
                yield path, False
        waiting += reversed(folders)


def _entries(job: Job, prefix: str) -> list[tuple[str, int]]:
    if _is_closed(job, prefix):
        return []
    opener = choose_open()
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
    try:
        fd = opener(job["folder_fd"], prefix.rstrip("/") or ".", flags, 0)
    except OSError:
        return []
    found = []
    try:
        for name in sorted(os.listdir(fd)):
            try:
                found.append((name, os.stat(name, dir_fd=fd, follow_symlinks=False).st_mode))
            except OSError:
                continue
    except OSError:
        return found
    finally:
        os.close(fd)
    return found


def _is_closed(job: Job, prefix: str) -> bool:
    real = f"{job['folder'].rstrip('/')}/{prefix}".rstrip("/") or "/"
    if is_below_any(real, job["closed"]) or is_foreign_home(real, job["home"]):
        return True
    return is_internal(real, *job["envelopes"])


class _Needle:
    """The pattern, with a quick look that spares most files the slow one."""

    def __init__(self, job: Job, matcher: Matcher) -> None:
        self.matcher = matcher
        self._plain = "" if job["is_regex"] or job["ignore_case"] else job["pattern"]

    def may_be_in(self, text: str) -> bool:
        return self._plain in text


def _matching_lines(fd: int, path: str, needle: _Needle, report: Report) -> Iterator[str]:
    with open(fd, "rb") as file:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode) or status.st_size > MAX_FILE_BYTES:
            report["skipped"] += 1
            return
        data = file.read(MAX_FILE_BYTES)
    encoding = encoding_of(data)
    if encoding is None:
        return
    text = data.decode(encoding, "replace")
    if not needle.may_be_in(text):
        return
    for number, line in enumerate(text.split("\n"), start=1):
        at = needle.matcher(line[:MAX_LINE_CHARS])
        if at >= 0:
            yield f"{_printable(path)}:{number}: {_shown(line.rstrip(), at)}"


def _shown(line: str, at: int) -> str:
    if len(line) <= SHOWN_CHARS:
        return line
    start = max(0, min(at - SHOWN_CHARS // 4, len(line) - SHOWN_CHARS))
    return f"{'…' if start else ''}{line[start : start + SHOWN_CHARS]}…"


def _printable(name: str) -> str:
    if name.isprintable():
        return name
    return name.encode("unicode_escape", "backslashreplace").decode("ascii")


if __name__ == "__main__":
    main()
