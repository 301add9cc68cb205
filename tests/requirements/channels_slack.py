"""What the Slack channel promises (issue 7 item 3)."""

from __future__ import annotations

from tests.requirements.manifest import Requirement

_THREE = "issue 7 item 3"

REQUIREMENTS: tuple[Requirement, ...] = (
    Requirement(
        id="channels_slack.threads",
        source=_THREE,
        text="A Slack thread is the session `{channelId}/{threadTs}`, for messages, mentions and"
        " button presses alike.",
    ),
    Requirement(
        id="channels_slack.mention-once",
        source=_THREE,
        text="Slack tells of a mention twice, as a message and as a mention; both have one id.",
    ),
    Requirement(
        id="channels_slack.not-messages",
        source=_THREE,
        text="Edits, deletions, joins and the like are acknowledged and otherwise ignored.",
    ),
    Requirement(
        id="channels_slack.acknowledge",
        source=_THREE,
        text="An envelope is acknowledged when its message was admitted, and not before; one that"
        " was not comes again under the same message id.",
    ),
    Requirement(
        id="channels_slack.renew",
        source=_THREE,
        text="When Slack asks to renew the event connection, the new one is there before the old"
        " one goes, and nothing is lost or delivered twice.",
    ),
    Requirement(
        id="channels_slack.half-open",
        source=_THREE,
        text="A connection that answers nothing any more is noticed and made anew.",
    ),
    Requirement(
        id="channels_slack.failures",
        source=_THREE,
        text="What Slack refuses is told apart by its codes: wrong for good, wrong for now with the"
        " time to wait, or wrong for this one post; no sentence holds a token.",
    ),
    Requirement(
        id="channels_slack.once",
        source=_THREE,
        text="A post whose answer was lost is found again by its key, and the library repeats no"
        " call by itself.",
    ),
    Requirement(
        id="channels_slack.format",
        source=_THREE,
        text="A reply is a markdown block of up to 12,000 characters with plain text beside it, and"
        " plain text alone where Slack takes no such block.",
    ),
    Requirement(
        id="channels_slack.quiet",
        source=_THREE,
        text="No reply can notify a whole channel, and no link in one is fetched by Slack.",
    ),
    Requirement(
        id="channels_slack.text",
        source=_THREE,
        text="Mentions, links and escapes are converted both ways; what merely looks like a mention"
        " is none.",
    ),
    Requirement(
        id="channels_slack.proactive",
        source=_THREE,
        text="A post of our own accord begins a thread in a channel, or with a person.",
    ),
    Requirement(
        id="channels_slack.history",
        source=_THREE,
        text="A thread is read back page by page behind a message, our own part included.",
    ),
    Requirement(
        id="channels_slack.files",
        source=_THREE,
        text="The bot token goes to Slack's own hosts alone; a redirect or a page to sign in is no"
        " file, and nothing is left of a file that is too large.",
    ),
    Requirement(
        id="channels_slack.lookups",
        source=_THREE,
        text="People and channels are found by name, ten at most, and an answer is good for five"
        " minutes.",
    ),
    Requirement(
        id="channels_slack.optional",
        source=_THREE,
        text="An app without the permission for a thread status, files or the directory serves"
        " without them.",
    ),
    Requirement(
        id="channels_slack.apart",
        source=_THREE,
        text="Slack's libraries are loaded by the process of this channel and by nothing else.",
    ),
    Requirement(
        id="channels_slack.memory",
        source="issue 7, Must be shown",
        text="A Slack adapter process holds under 70 MiB.",
    ),
)
