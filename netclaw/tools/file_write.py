"""`file_write`: makes or replaces one text file, whole and atomically."""

from __future__ import annotations

import asyncio

from netclaw.core.tool_call import FileActivity, FileOperation, OutcomeCategory
from netclaw.tools.faults import ToolFault
from netclaw.tools.files import Content, locate, read_content, write_content
from netclaw.tools.reach import Located, Reach, reach_for
from netclaw.tools.schema import Arguments, Field, Kind
from netclaw.tools.tool import NOT_PUBLIC, Outcome, Scope

MAX_CONTENT_CHARS = 1_000_000


class FileWrite:
    """An existing file keeps its mode and owner."""

    name = "file_write"
    description = (
        "Writes a text file, replacing it if it exists and making missing folders. Use file_edit "
        "to change a part of a file."
    )
    audiences = NOT_PUBLIC
    fields: tuple[Field, ...] = (
        Field(
            name="path",
            kind=Kind.STRING,
            description="The file; relative to the project directory, else the session's.",
            is_required=True,
        ),
        Field(
            name="content",
            kind=Kind.STRING,
            description="The whole new content.",
            is_required=True,
            max_chars=MAX_CONTENT_CHARS,
        ),
    )

    async def run(self, arguments: Arguments, scope: Scope) -> Outcome:
        """See `Tool`."""
        reach = await asyncio.to_thread(reach_for, scope)
        located = await asyncio.to_thread(
            locate, reach, arguments.text("path"), FileOperation.WRITE
        )
        data = arguments.text("content").encode("utf-8")
        existed = await asyncio.to_thread(_write, reach, located, data)
        done = "Replaced" if existed else "Created"
        return Outcome(
            text=f"{done} {located.path} with {len(data)} bytes.",
            activity=(FileActivity(path=located.path, operation=FileOperation.WRITE),),
        )


def _write(reach: Reach, located: Located, data: bytes) -> bool:
    before = _existing(reach, located)
    write_content(reach, located, data, before)
    return before is not None


def _existing(reach: Reach, located: Located) -> Content | None:
    try:
        return read_content(reach, located)
    except ToolFault as fault:
        if fault.category is OutcomeCategory.NOT_FOUND:
            return None
        raise
