"""Parses shell commands with `shfmt` (to prove) and tree-sitter (to widen denials).

`shfmt` is a small program that is started for each text, reads it from its input and prints a
tree as JSON: about 4 ms. It is given no file name and runs in `/`, so that no configuration file
of a project changes how it reads. tree-sitter finds what looks like a command in a text that
`shfmt` refuses; that is never proof of anything (decision 38).
"""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
from contextlib import suppress

from netclaw.core.authz.facts import ParsedShell
from netclaw.core.authz.shell_nodes import ShellTreeError, read_tree
from netclaw.core.authz.text_gate import MAX_UNPROVED_CHARS
from netclaw.ports.shell_parser import ShellParserError

PARSE_S = 5.0
"""How long a parser may take; one that is slower is killed and proves nothing."""

MAX_TREE_BYTES = 4 * 1024 * 1024
"""A larger tree is not read: a text that needs one is not proved (decision 86)."""


def find_program() -> str:
    """Where `shfmt` is: beside this interpreter, else on PATH; empty if it is not installed."""
    beside = os.path.join(os.path.dirname(sys.executable), "shfmt")
    return beside if os.access(beside, os.X_OK) else shutil.which("shfmt") or ""


class ShfmtParser:
    """The `ShellParser`; remembers nothing between texts."""

    def __init__(self, program: str | None = None) -> None:
        self._program = find_program() if program is None else program

    async def parse(self, source: str) -> ParsedShell:
        """See `ShellParser`."""
        answer = await self._answer(source)
        if answer is not None:
            with suppress(ShellTreeError):
                return ParsedShell(tree=await asyncio.to_thread(read_tree, answer))
        if len(source) > MAX_UNPROVED_CHARS:
            return ParsedShell(tree=None)
        return ParsedShell(tree=None, loose=await asyncio.to_thread(_loose, source))

    async def _answer(self, source: str) -> str | None:
        """The JSON of an accepted text; None for one that is refused, too large or too slow."""
        if not self._program:
            raise ShellParserError("shfmt is not installed, so no command can be judged.")
        try:
            process = await asyncio.create_subprocess_exec(
                self._program,
                "-ln=bash",
                "-tojson",
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.DEVNULL,
                cwd="/",
                env={"LC_ALL": "C.UTF-8"},
                limit=MAX_TREE_BYTES,
            )
        except OSError as fault:
            raise ShellParserError(f"shfmt could not be started: {fault.strerror}.") from fault
        try:
            async with asyncio.timeout(PARSE_S):
                return await _exchange(process, source.encode("utf-8"))
        except TimeoutError:
            return None
        finally:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()


def _loose(source: str) -> tuple[tuple[str, ...], ...]:
    from netclaw.sandbox.shell_scan import loose_commands  # costly to load and rarely needed

    return loose_commands(source)


async def _exchange(process: asyncio.subprocess.Process, source: bytes) -> str | None:
    stdin, stdout = process.stdin, process.stdout
    if stdin is None or stdout is None:
        raise ShellParserError("shfmt was started without pipes.")
    feeding = asyncio.create_task(_feed(stdin, source))
    try:
        answer = b""
        while len(answer) <= MAX_TREE_BYTES:
            piece = await stdout.read(65536)
            if not piece:
                break
            answer += piece
    finally:
        feeding.cancel()
        with suppress(asyncio.CancelledError, ConnectionError):
            await feeding
    if len(answer) > MAX_TREE_BYTES:
        return None
    return answer.decode("utf-8") if await process.wait() == 0 else None


async def _feed(stdin: asyncio.StreamWriter, source: bytes) -> None:
    with suppress(ConnectionError):
        stdin.write(source)
        await stdin.drain()
        stdin.close()
        await stdin.wait_closed()
