"""Ends sandbox processes that a killed daemon left behind in the middle of their birth.

bubblewrap starts its inner process before that one has tied itself to anybody. If daemon and
outer process die in that instant, the inner one waits for a word from its starter for ever: it
never comes to run a command, but nobody ends it either. The undertaker does, and where that one
was killed too, the next daemon of the same home.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import signal

from netclaw.sandbox.process_tree import ProcessHandle, read_text


def kill_leftovers(home: str, *, born_before: int | None = None) -> int:
    """Kill every bubblewrap process that hides this home; returns how many there were.

    Call it under the home's lock and before any sandbox of this daemon runs: then none of them
    can belong to anybody who lives. Without the lock, `born_before` (clock ticks since boot)
    spares what a later daemon has started. Processes of other users are left alone.
    """
    killed = 0
    for name in os.listdir("/proc"):
        if name.isdigit() and _is_ours(int(name), home):
            with contextlib.suppress(ProcessLookupError):
                process = ProcessHandle.open(int(name))
                # Looked at again, held by pidfd: the number may have gone to somebody else.
                is_old = born_before is None or process.ticks < born_before
                if is_old and _is_ours(process.pid, home):
                    process.signal(signal.SIGKILL)
                    killed += 1
                process.close()
    return killed


def _is_ours(pid: int, home: str) -> bool:
    words = read_text(f"/proc/{pid}/cmdline").split("\0")
    if os.path.basename(words[0]) != "bwrap" or "--die-with-parent" not in words:
        return False
    hides_home = any(pair == ("--tmpfs", home) for pair in itertools.pairwise(words))
    try:
        return hides_home and os.stat(f"/proc/{pid}").st_uid == os.getuid()
    except FileNotFoundError:
        return False
