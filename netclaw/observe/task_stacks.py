"""Says where every task of an event loop waits, down to the innermost await.

A thread's stack shows only that an idle loop waits for its selector. This shows for what. It names
code alone, never a value, so a secret cannot get into it.
"""

from __future__ import annotations

import asyncio
import gc
import inspect
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

_FRAMES = ("cr_frame", "gi_frame", "ag_frame")
_LINKS = ("cr_await", "gi_yieldfrom", "ag_await")
_STEPPERS = ("FutureIter", "async_generator_asend", "async_generator_athrow")
MAX_DEPTH = 100


def task_stacks(loop: asyncio.AbstractEventLoop) -> str:
    """Every unfinished task, outermost await first; callable from a signal handler."""
    tasks = sorted(asyncio.all_tasks(loop), key=asyncio.Task.get_name)
    lines = [f"{len(tasks)} unfinished tasks"]
    for task in tasks:
        lines.append(f"Task {task.get_name()}:")
        lines += (f"  {line}" for line in _awaits(task))
    return "\n".join(lines) + "\n"


def _awaits(task: asyncio.Task[object]) -> Iterator[str]:
    link: object = task.get_coro()
    for _ in range(MAX_DEPTH):
        frame = _first(link, _FRAMES)
        if isinstance(frame, FrameType):
            code = frame.f_code
            place = Path(*Path(code.co_filename).parts[-3:])
            yield f"{place}:{frame.f_lineno} in {code.co_qualname}"
        following = _first(link, _LINKS) or _behind(link)
        if following is None:
            if not isinstance(frame, FrameType):
                yield f"waits for {_named(link)}"
            return
        link = following


def _first(link: object, names: tuple[str, ...]) -> object:
    """The first of these attributes that is set."""
    found = (getattr(link, name, None) for name in names)
    return next((value for value in found if value is not None), None)


def _behind(link: object) -> object:
    """What steps a future or an asynchronous generator does not tell which; the collector knows."""
    if type(link).__name__ not in _STEPPERS:
        return None
    referents = gc.get_referents(link)
    return next((it for it in referents if inspect.isasyncgen(it) or asyncio.isfuture(it)), None)


def _named(awaited: object) -> str:
    if isinstance(awaited, asyncio.Task):
        return f"task {awaited.get_name()}"
    return type(awaited).__name__
