"""`python -I -m netclaw.mcp PID`: reaches tool servers for one session, and dies with it."""

from __future__ import annotations

import asyncio
import logging
import os
import sys

from netclaw.linux.prctl import die_with_parent, forbid_inspection, set_process_name

PROCESS_NAME = "netclaw-mcp"
PARENT_GONE = 1


async def _serve(commands: int, answers: int) -> None:
    from netclaw.mcp.host import Host

    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=2**16)
    protocol = asyncio.StreamReaderProtocol(reader)
    await loop.connect_read_pipe(lambda: protocol, os.fdopen(commands, "rb", 0))
    transport, flow = await loop.connect_write_pipe(
        asyncio.streams.FlowControlMixin, os.fdopen(answers, "wb", 0)
    )
    writer = asyncio.StreamWriter(transport, flow, None, loop)
    await Host(writer).serve(reader)


def main() -> int:
    """Serve until the pipe of commands ends."""
    set_process_name(PROCESS_NAME)
    if not die_with_parent(int(sys.argv[1])):
        return PARENT_GONE
    forbid_inspection()
    # What a library prints or logs may hold anything, and would break the frames.
    logging.disable(logging.CRITICAL)
    commands, answers = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(nothing, standard)
    asyncio.run(_serve(commands, answers))
    return 0


if __name__ == "__main__":
    status = main()
    sys.stdout.flush()
    os._exit(status)
