"""`tool_output_read`: another window of a result that was too long to show whole."""

from __future__ import annotations

import asyncio

from netclaw.tools.faults import ToolFault
from netclaw.tools.schema import Arguments, Field, Kind
from netclaw.tools.spill import read_spill
from netclaw.tools.tool import EVERYONE, Outcome, Scope

DEFAULT_LIMIT = 8000
MIN_LIMIT, MAX_LIMIT = 128, 10_000


class ToolOutputRead:
    """Reads stored results of this session only; an id is never a path."""

    name = "tool_output_read"
    description = "Reads on in a stored tool result that was shown shortened."
    audiences = EVERYONE
    fields: tuple[Field, ...] = (
        Field(
            name="call_id",
            kind=Kind.STRING,
            description="The call id that the shortened result named.",
            is_required=True,
            max_chars=200,
        ),
        Field(
            name="start",
            kind=Kind.INTEGER,
            description="Character to start at, 0 if absent.",
            minimum=0,
        ),
        Field(
            name="limit",
            kind=Kind.INTEGER,
            description=f"How many characters to return, {DEFAULT_LIMIT} if absent.",
            minimum=MIN_LIMIT,
            maximum=MAX_LIMIT,
        ),
    )

    async def run(self, arguments: Arguments, scope: Scope) -> Outcome:
        """See `Tool`."""
        call_id = arguments.text("call_id")
        start = arguments.whole("start")
        text = await asyncio.to_thread(read_spill, scope.context.storage, call_id)
        if start >= len(text):
            raise ToolFault.invalid(f"The stored result has {len(text)} characters.")
        window = text[start : start + arguments.whole("limit", DEFAULT_LIMIT)]
        end = start + len(window)
        note = f"[Characters {start} to {end} of {len(text)}."
        note += f" Read on with start {end}.]" if end < len(text) else " This is the end.]"
        return Outcome(text=window, note=note)
