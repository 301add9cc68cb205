"""What the Mattermost channel promises (issue 7 item 5)."""

from __future__ import annotations

from tests.requirements.manifest import Requirement

_FIVE = "issue 7 item 5"
_TABLE = "reference surface 3"

REQUIREMENTS: tuple[Requirement, ...] = (
    Requirement(
        id="channels_mattermost.threads",
        source=_FIVE,
        text="A root post is a session, `{channelId}/{rootPostId}`; every thread gets its own"
        " answer, once.",
    ),
    Requirement(
        id="channels_mattermost.read",
        source=_FIVE,
        text="Posts are read as they are: who wrote them, whether they are a machine's or ours,"
        " what addresses us and which files they hold; edits, deletions and notices of the system"
        " are nothing.",
    ),
    Requirement(
        id="channels_mattermost.quiet",
        source=_TABLE,
        text="No reply can notify a whole channel.",
    ),
    Requirement(
        id="channels_mattermost.resume",
        source=_FIVE,
        text="A connection that is cut, silent, or passes over an event goes on where it was; what"
        " the server does not know any more is asked for, and nothing is lost.",
    ),
    Requirement(
        id="channels_mattermost.buttons",
        source=_FIVE,
        text="Buttons exist only with a callback address; their tokens are bound to the post, live"
        " twelve hours, are at most 10,000 and in memory alone; without the address letters ask.",
    ),
    Requirement(
        id="channels_mattermost.forged",
        source="reference surface 10, symptom 43",
        text="A press that is forged, of another post, too large or rubbish is refused and uses no"
        " token up.",
    ),
    Requirement(
        id="channels_mattermost.failures",
        source=_FIVE,
        text="What the server refuses is told apart: wrong for good, wrong for now with the time to"
        " wait, or wrong for this one post; no sentence repeats what it said.",
    ),
    Requirement(
        id="channels_mattermost.settings",
        source=_FIVE,
        text="A section without a server, or with an address that is none, is said with the key to"
        " set.",
    ),
    Requirement(
        id="channels_mattermost.memory",
        source="issue 7, must be shown",
        text="The adapter's process holds under 70 MiB.",
    ),
)
