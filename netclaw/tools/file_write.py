"""`file_write`: makes or replaces one text file, whole and atomically."""

from __future__ import annotations

import asyncio

from netclaw.core.tool_call import FileActivity, FileOperation, OutcomeCategory
from netclaw.tools.faults import ToolFault
from netclaw.tools.files import Content, locate, read_content, write_content
from netclaw.tools.places import Located, Places, places_for
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
        places = places_for(scope.context)
        located = locate(places, arguments.text("path"), FileOperation.WRITE)
        data = arguments.text("content").encode("utf-8")
        existed = await asyncio.to_thread(_write, places, located, data)
        done = "Replaced" if existed else "Created"
        return Outcome(
            text=f"{done} {located.path} with {len(data)} bytes.",
            activity=(FileActivity(path=located.path, operation=FileOperation.WRITE),),
        )


def _write(places: Places, located: Located, data: bytes) -> bool:
    before = _existing(places, located)
    write_content(places, located, data, before)
    return before is not None


def _existing(places: Places, located: Located) -> Content | None:
    try:
        return read_content(places, located)
    except ToolFault as fault:
        if fault.category is OutcomeCategory.NOT_FOUND:
            return None
        raise
