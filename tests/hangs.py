"""Names what hung when a test ran out of time, and lets no hang outlast its test.

The timer of pytest-timeout rings once, and a failed test's teardown has none. What it raises can be
lost: an event loop hands what a callback raised to its exception handler, a task keeps what was
raised in it. Then a run hangs for ever and says nothing. Here the timer rings again until the test
is over, its teardown included. The first times it tells what every task waits for, what the fakes
saw, and which processes are left; sessions among them write the same of their own tasks.
"""

from __future__ import annotations

import asyncio
import faulthandler
import os
import signal
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import suppress
from pathlib import Path
from types import FrameType

import pytest

from netclaw.linux.prctl import STACK_DUMP_SIGNAL
from netclaw.observe.task_stacks import task_stacks
from netclaw.session_proc.process_setup import PROCESS_NAME
from tests.witnesses import testimony

AGAIN_S = 5.0
"""From one ring to the next."""
TOLD_RINGS = 3
"""More reports of one hang tell nothing new."""
TEARDOWN_S = 30.0
"""What the teardown of a test that failed may take."""
EXIT_S = 60.0
"""From the end of a run to the end of its process, whose threads may hang as well."""
STDERR = 2
DUMP_S = 0.5
"""How long session processes may take to write their stacks."""

Ring = Callable[[int, FrameType | None], object]


@pytest.hookimpl(wrapper=True, optionalhook=True)
def pytest_timeout_set_timer(item: pytest.Item) -> Generator[None, object, object]:
    """Let the timer ring again and again."""
    is_set = yield
    remaining_s, _ = signal.getitimer(signal.ITIMER_REAL)
    ring = signal.getsignal(signal.SIGALRM)
    if remaining_s and callable(ring):
        _set_alarm(item, remaining_s, ring)
    return is_set


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None, None, None]:
    """Bound a teardown whose test failed: its timer is gone."""
    was_timed = getattr(item, "cancel_timeout", None) is not None
    if not was_timed or signal.getitimer(signal.ITIMER_REAL)[0]:
        yield
        return
    _set_alarm(item, TEARDOWN_S, _ring_in_teardown)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_makereport(call: pytest.CallInfo[None]) -> None:
    """Let no ring fall into the report of what the last one raised."""
    if call.excinfo is not None:
        signal.setitimer(signal.ITIMER_REAL, 0)


def pytest_unconfigure(config: pytest.Config) -> None:
    """Bound the end of the process: what still runs then has no test to fail.

    A parallel worker waits there for the others, however long their last tests take.
    """
    if hasattr(config, "workerinput"):
        return
    faulthandler.dump_traceback_later(EXIT_S, exit=True, file=STDERR)


def _set_alarm(item: pytest.Item, after_s: float, ring: Ring) -> None:
    rings = 0

    def on_alarm(number: int, frame: FrameType | None) -> None:
        __tracebackhide__ = True
        nonlocal rings
        rings += 1
        if rings <= TOLD_RINGS:
            item.add_report_section("call", f"hang ({rings})", report())
        ring(number, frame)

    signal.signal(signal.SIGALRM, on_alarm)
    signal.setitimer(signal.ITIMER_REAL, after_s, AGAIN_S)


def _ring_in_teardown(_number: int, _frame: FrameType | None) -> None:
    __tracebackhide__ = True
    pytest.fail(f"The teardown took longer than {TEARDOWN_S:g} s.")


def report() -> str:
    """Everything that can be told of a hang."""
    processes = list(_descendants(os.getpid()))
    _ask_for_stacks(processes)
    parts = [_tasks(), *map(_process_line, processes), testimony()]
    return "\n".join(part for part in parts if part)


def _tasks() -> str:
    try:
        return task_stacks(asyncio.get_running_loop())
    except RuntimeError:
        return "no event loop runs"


def _descendants(pid: int) -> Iterator[int]:
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        with suppress(OSError):
            for child in map(int, task.read_text().split()):
                yield child
                yield from _descendants(child)


def _of_proc(pid: int, name: str) -> str:
    with suppress(OSError):
        return Path(f"/proc/{pid}/{name}").read_text(errors="replace")
    return ""


def _process_line(pid: int) -> str:
    status = dict(line.split(":\t", 1) for line in _of_proc(pid, "status").splitlines())
    command = _of_proc(pid, "cmdline").replace("\0", " ")[:200]
    state, where = status.get("State", "gone"), _of_proc(pid, "wchan")
    return f"process {pid} {status.get('Name', '')} {state} in {where or '?'}: {command}"


def _ask_for_stacks(processes: list[int]) -> None:
    """Sessions write their stacks into their logs, which their world then shows."""
    asked = [pid for pid in processes if _of_proc(pid, "comm").strip() == PROCESS_NAME[:15]]
    for pid in filter(_takes_dump_signal, asked):
        with suppress(ProcessLookupError):
            os.kill(pid, STACK_DUMP_SIGNAL)
    if asked:
        time.sleep(DUMP_S)


def _takes_dump_signal(pid: int) -> bool:
    """One that does not catch it yet would die of it."""
    lines = _of_proc(pid, "status").splitlines()
    caught = next((line.split()[1] for line in lines if line.startswith("SigCgt")), "0")
    return bool(int(caught, 16) >> (STACK_DUMP_SIGNAL - 1) & 1)
