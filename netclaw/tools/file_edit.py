"""`file_edit`: replaces exact text in a file, once or everywhere, never by guessing."""

from __future__ import annotations

import asyncio

from netclaw.core.tool_call import FileActivity, FileOperation
from netclaw.tools.faults import Remediation, ToolFault
from netclaw.tools.file_write import MAX_CONTENT_CHARS
from netclaw.tools.files import locate, read_content, write_content
from netclaw.tools.reach import Located, Reach, reach_for
from netclaw.tools.schema import Arguments, Field, Kind
from netclaw.tools.text import encoding_of, kind_of
from netclaw.tools.tool import NOT_PUBLIC, Outcome, Scope


class FileEdit:
    """The text to replace must be there exactly once, unless all of them are meant."""

    name = "file_edit"
    description = (
        "Replaces old_string by new_string in a text file. old_string must match exactly, spaces "
        "and line breaks included, and occur once; set replace_all to change every occurrence."
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
            name="old_string",
            kind=Kind.STRING,
            description="The exact text to replace, without line numbers.",
            is_required=True,
            max_chars=MAX_CONTENT_CHARS,
        ),
        Field(
            name="new_string",
            kind=Kind.STRING,
            description="The text to put in its place; may be empty.",
            is_required=True,
            max_chars=MAX_CONTENT_CHARS,
        ),
        Field(
            name="replace_all",
            kind=Kind.BOOLEAN,
            description="Replace every occurrence instead of exactly one.",
        ),
    )

    async def run(self, arguments: Arguments, scope: Scope) -> Outcome:
        """See `Tool`."""
        old, new = arguments.text("old_string"), arguments.text("new_string")
        if not old:
            raise ToolFault.invalid("`old_string` is empty; file_write writes whole files.")
        if old == new:
            raise ToolFault.invalid("`old_string` and `new_string` are the same.")
        reach = await asyncio.to_thread(reach_for, scope)
        located = await asyncio.to_thread(
            locate, reach, arguments.text("path"), FileOperation.WRITE
        )
        is_all = arguments.flag("replace_all")
        count = await asyncio.to_thread(_edit, reach, located, old, new, is_all)
        times = "one place" if count == 1 else f"{count} places"
        return Outcome(
            text=f"Changed {located.path} in {times}.",
            activity=(FileActivity(path=located.path, operation=FileOperation.WRITE),),
        )


def _edit(reach: Reach, located: Located, old: str, new: str, is_all: bool) -> int:
    before = read_content(reach, located)
    encoding = encoding_of(before.data)
    if encoding is None:
        raise ToolFault.invalid(f"{located.path} is {kind_of(before.data)}, not text.")
    try:
        text = before.data.decode(encoding)
    except UnicodeDecodeError:
        raise ToolFault.invalid(f"{located.path} is not valid {encoding} text.") from None
    old, new = _in_line_endings_of(text, old, new)
    count = text.count(old)
    if count == 0:
        raise ToolFault.correction(
            f"`old_string` does not occur in {located.path}. Read the file and copy the text "
            "exactly.",
            remediation=Remediation.PROVIDE_UNIQUE_OLD_STRING,
        )
    if count > 1 and not is_all:
        raise ToolFault.correction(
            f"`old_string` occurs {count} times in {located.path}. Add surrounding lines until it "
            "is unique, or set replace_all.",
            remediation=Remediation.PROVIDE_UNIQUE_OLD_STRING,
        )
    write_content(reach, located, text.replace(old, new).encode(encoding), before)
    return count


def _in_line_endings_of(text: str, old: str, new: str) -> tuple[str, str]:
    """In a file with CRLF lines, text that came from file_read (plain LF) is meant with CRLF."""
    if "\r\n" in text and "\r\n" not in old and old not in text:
        return old.replace("\n", "\r\n"), new.replace("\r\n", "\n").replace("\n", "\r\n")
    return old, new
