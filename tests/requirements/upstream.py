"""Adopted transcripts: what is taken over, what is followed, and when it ends."""

from __future__ import annotations

from tests.requirements.manifest import Requirement

_SEED = "state awareness, Watchers"
_LIMITS = "state awareness, Storage and limits"
_ISSUE = "issue 6 item 6"

REQUIREMENTS: tuple[Requirement, ...] = (
    Requirement(
        "upstream.formats",
        f"decision 60, {_ISSUE}",
        "A transcript is known by its first message: one JSON object a line with role and text or"
        " content, or a session file of Claude Code.",
    ),
    Requirement(
        "upstream.person",
        _SEED,
        "Only what a person wrote counts as a person's: no tool result, no system row, no answer.",
    ),
    Requirement(
        "upstream.claude-code",
        _ISSUE,
        "Of Claude Code's files a person's are prompts, commands and what was typed while the"
        " model worked; rows that the program wrote in a person's place are nobody's.",
    ),
    Requirement(
        "upstream.scan",
        _LIMITS,
        "Rows are judged one by one up to the last newline; one that is no object is nobody's.",
    ),
    Requirement(
        "upstream.exactly-once",
        _LIMITS,
        "However a transcript grows and is read, each row is judged exactly once.",
    ),
    Requirement("upstream.half-line", _LIMITS, "Half a row counts once its newline is there."),
    Requirement(
        "upstream.oversize",
        _LIMITS,
        "A row of more than 1 MiB holds its transcript up and is never passed over.",
    ),
    Requirement(
        "upstream.self-echo",
        _LIMITS,
        "A row equal to one of the ten newest messages of people to the session, white space"
        " aside, is an echo and counts for nothing.",
    ),
    Requirement(
        "upstream.time",
        "state awareness, reference 2",
        "The time of a foreign message is its own, else that of the file, within the last 24"
        " hours.",
    ),
    Requirement(
        "upstream.signal",
        _SEED,
        "All messages that one look finds are one event of a person via the catalog.",
    ),
    Requirement(
        "upstream.replaced",
        _ISSUE,
        "A file that shrank or was replaced is followed from its new end on, with a warning and"
        " without an event.",
    ),
    Requirement(
        "upstream.missing",
        _SEED,
        "Only three looks in a row that definitely find no file end a link; any other outcome"
        " begins the count anew.",
    ),
    Requirement(
        "upstream.not-missing",
        _ISSUE,
        "A file that may not be read, or that the disk does not give, is not missing.",
    ),
    Requirement(
        "upstream.one-fails",
        "state awareness, reference 5",
        "A source that cannot be followed stops no other, and is complained of once.",
    ),
    Requirement(
        "upstream.compare-and-set",
        _ISSUE,
        "A look that ends after its session, its link or the session's own messages changed"
        " writes nothing.",
    ),
    Requirement(
        "upstream.atomic",
        _SEED,
        "The marker of a transcript moves in the transaction of the event it tells of: a kill -9"
        " loses and doubles nothing.",
    ),
    Requirement(
        "upstream.busy",
        _ISSUE,
        "The transcript of a session at work waits until it rests.",
    ),
    Requirement(
        "upstream.life",
        "state awareness, troubles 17 and 18",
        "A link ends with the life of its session: by a reset or a deletion.",
    ),
    Requirement(
        "upstream.tick",
        "decisions 57 and 63",
        "The first look comes 15 s after the start or after one tick if that is shorter; a new"
        " Signals.MonitorTickSeconds is in force at once.",
    ),
    Requirement(
        "upstream.adopted-signal",
        "state awareness, The signal log",
        "An adoption is one event adopted by a person, once in the life of a session.",
    ),
    Requirement(
        "upstream.history",
        f"decision 60, {_ISSUE}",
        "The newest messages of a transcript, up to 1 MiB of text, become the session's history,"
        " and older ones are counted.",
    ),
    Requirement(
        "upstream.keeps-history",
        _ISSUE,
        "A session with a history of its own keeps it: only the link is made.",
    ),
    Requirement(
        "upstream.progress",
        "state awareness, reference 5",
        "Adopting the same transcript again keeps how far it was followed; another one begins at"
        " its end.",
    ),
    Requirement(
        "upstream.link-fails",
        "state awareness, reference 5",
        "An adoption stands without a link that cannot be made.",
    ),
    Requirement(
        "upstream.left",
        _ISSUE,
        "An adoption that nobody waits for any more ends, and however many there are, nothing else"
        " of the daemon waits for the reading of a transcript.",
    ),
    Requirement(
        "upstream.refused",
        _ISSUE,
        "A file that is none, empty, binary, malformed, too large, unreadable or in a protected"
        " place is refused with a stable code and a way out, and nothing is made.",
    ),
    Requirement(
        "upstream.at-rest",
        _ISSUE,
        "A transcript is adopted into a session at rest alone, and never into a child run's.",
    ),
)
