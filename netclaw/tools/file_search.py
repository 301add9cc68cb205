"""`file_search`: finds files by name or by what is in them, in a worker process."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys

from netclaw.core.tool_call import FileActivity, FileOperation, OutcomeCategory
from netclaw.tools.beneath import real_path
from netclaw.tools.faults import ToolFault
from netclaw.tools.files import opened_folder
from netclaw.tools.reach import Located, Reach, reach_for
from netclaw.tools.schema import Arguments, Field, Kind
from netclaw.tools.search_worker import Job, Report
from netclaw.tools.tool import EVERYONE, Outcome, Scope

DEFAULT_RESULTS, MAX_RESULTS = 100, 500
MAX_PATTERN_CHARS = 1000
SEARCH_S = 20.0
_ANSWER_BYTES = 4 * 1024 * 1024

_ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
_BOOT = (
    f"import sys; sys.path.insert(0, {_ROOT!r});"
    "from netclaw.tools.search_worker import main; main()"
)


class FileSearch:
    """The worker is killed when it is too slow or the call is cancelled."""

    name = "file_search"
    description = (
        "Searches below a folder: mode names finds paths (part of a name, or a glob such as "
        "*.py), mode text finds lines in text files. Links are not followed; .git, .venv, "
        "node_modules and __pycache__ are left out."
    )
    audiences = EVERYONE
    fields: tuple[Field, ...] = (
        Field(
            name="pattern",
            kind=Kind.STRING,
            description="What to find; plain text unless is_regex is set.",
            is_required=True,
            max_chars=MAX_PATTERN_CHARS,
        ),
        Field(
            name="mode",
            kind=Kind.STRING,
            description="names or text; text if absent.",
            choices=("names", "text"),
        ),
        Field(
            name="path",
            kind=Kind.STRING,
            description="Folder to search; the project directory, else the session's, if absent.",
        ),
        Field(
            name="glob",
            kind=Kind.STRING,
            description="In mode text: only files whose name matches, such as *.py.",
            max_chars=MAX_PATTERN_CHARS,
        ),
        Field(name="is_regex", kind=Kind.BOOLEAN, description="The pattern is a Python regex."),
        Field(name="ignore_case", kind=Kind.BOOLEAN, description="Upper and lower case are equal."),
        Field(
            name="max_results",
            kind=Kind.INTEGER,
            description=f"At most this many results, {DEFAULT_RESULTS} if absent.",
            minimum=1,
            maximum=MAX_RESULTS,
        ),
    )

    async def run(self, arguments: Arguments, scope: Scope) -> Outcome:
        """See `Tool`."""
        if not arguments.text("pattern"):
            raise ToolFault.invalid("`pattern` is empty.")
        reach = await asyncio.to_thread(reach_for, scope)
        located = await asyncio.to_thread(reach.locate, arguments.text("path"), FileOperation.READ)
        report = await _search(arguments, reach, located)
        if report["fault"]:
            raise ToolFault.invalid(report["fault"])
        activity = FileActivity(path=located.path, operation=FileOperation.READ, is_folder=True)
        return Outcome(text=_worded(report, located), activity=(activity,))


async def _search(arguments: Arguments, reach: Reach, located: Located) -> Report:
    with opened_folder(reach, located) as folder_fd:
        job = _job(arguments, reach, folder_fd)
        worker = _start(folder_fd)
    return await _answer(worker, json.dumps(job).encode())


def _job(arguments: Arguments, reach: Reach, folder_fd: int) -> Job:
    return Job(
        folder_fd=folder_fd,
        folder=real_path(folder_fd),
        home=reach.closed.home,
        envelopes=[reach.closed.sessions, reach.closed.envelope],
        closed=reach.closed_for_search(real_path(folder_fd)),
        mode=arguments.text("mode", "text"),
        pattern=arguments.text("pattern"),
        is_regex=arguments.flag("is_regex"),
        ignore_case=arguments.flag("ignore_case"),
        glob=arguments.text("glob"),
        max_results=arguments.whole("max_results", DEFAULT_RESULTS),
        cpu_s=int(SEARCH_S),
        parent=os.getpid(),
    )


def _start(folder_fd: int) -> subprocess.Popen[bytes]:
    """About a millisecond, on the session's own thread: the worker dies with its maker's thread."""
    return subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", _BOOT],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        pass_fds=(folder_fd,),
        env={},
        cwd="/",
    )


async def _answer(worker: subprocess.Popen[bytes], job: bytes) -> Report:
    """Waits in a thread; whatever happens here, the worker is dead and reaped afterwards."""

    def converse() -> bytes:
        with worker:
            try:
                return worker.communicate(job, timeout=SEARCH_S)[0]
            except subprocess.TimeoutExpired:
                worker.kill()
                return b""

    task = asyncio.ensure_future(asyncio.to_thread(converse))
    try:
        text = await asyncio.shield(task)
    except asyncio.CancelledError:
        worker.kill()
        await task
        raise
    if worker.returncode != 0 or len(text) > _ANSWER_BYTES:
        raise ToolFault(
            OutcomeCategory.TIMEOUT,
            "The search took too long or too much memory. Search a smaller folder, or use a "
            "simpler pattern.",
        )
    report: Report = json.loads(text)
    return report


def _worded(report: Report, located: Located) -> str:
    looked = f"{report['files']} files below {located.path} were looked at"
    if report["skipped"]:
        looked += f", {report['skipped']} were too large or could not be opened"
    if not report["lines"]:
        return f"Nothing was found; {looked}."
    more = "There are more results than shown; " if report["is_cut"] else ""
    return "\n".join([*report["lines"], f"[{more}{looked}.]"])
