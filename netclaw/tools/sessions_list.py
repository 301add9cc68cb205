"""`sessions_list`: the sessions that this conversation may see, a page at a time (S1 Tools)."""

from __future__ import annotations

from netclaw.ports.sessions import ListQuestion
from netclaw.tools.schema import Arguments, Field, Kind
from netclaw.tools.session_answers import asked
from netclaw.tools.tool import NOT_PUBLIC, Outcome, Scope

KINDS = ("main", "group", "cron", "hook", "node", "other")
DEFAULT_LIMIT = 100
MAX_LIMIT = 200
MAX_MESSAGES = 20
MAX_MINUTES = 60 * 24 * 366
MAX_OFFSET = 1_000_000
MAX_TEXT = 400


class SessionsList:
    """A live view: sessions that change between two pages may be seen twice, or not."""

    name = "sessions_list"
    description = (
        "Lists the sessions that you may see, the most recently active first. `hasMore` and"
        " `nextOffset` say where the next page begins."
    )
    audiences = NOT_PUBLIC
    fields: tuple[Field, ...] = (
        Field(name="kinds", kind=Kind.WORDS, description="Only these kinds.", choices=KINDS),
        Field(
            name="label", kind=Kind.STRING, description="Only this exact title.", max_chars=MAX_TEXT
        ),
        Field(
            name="search",
            kind=Kind.STRING,
            description="Only those with this text in key, title or goal.",
            max_chars=MAX_TEXT,
        ),
        Field(
            name="activeMinutes",
            kind=Kind.INTEGER,
            description="Only those that were active so lately.",
            minimum=1,
            maximum=MAX_MINUTES,
        ),
        Field(
            name="messageLimit",
            kind=Kind.INTEGER,
            description="How many of its last messages each row has; without it none.",
            minimum=0,
            maximum=MAX_MESSAGES,
        ),
        Field(
            name="limit",
            kind=Kind.INTEGER,
            description=f"Rows of a page; {DEFAULT_LIMIT} without it.",
            minimum=1,
            maximum=MAX_LIMIT,
        ),
        Field(
            name="offset",
            kind=Kind.INTEGER,
            description="How many rows to pass over.",
            minimum=0,
            maximum=MAX_OFFSET,
        ),
    )

    async def run(self, arguments: Arguments, scope: Scope) -> Outcome:
        """See `Tool`."""
        sessions = scope.context.sessions
        question = ListQuestion(
            asking=sessions.asking,
            kinds=arguments.words("kinds"),
            label=arguments.text("label"),
            search=arguments.text("search"),
            active_minutes=arguments.whole("activeMinutes"),
            message_limit=arguments.whole("messageLimit"),
            limit=arguments.whole("limit", DEFAULT_LIMIT),
            offset=arguments.whole("offset"),
        )
        return Outcome(text=await asked(sessions.listed(question)))
