"""What the Discord channel promises (issue 7 item 4)."""

from __future__ import annotations

from tests.requirements.manifest import Requirement

_FOUR = "issue 7 item 4"
_TABLE = "reference surface 3"

REQUIREMENTS: tuple[Requirement, ...] = (
    Requirement(
        id="channels_discord.threads",
        source=_FOUR,
        text="A message in a channel begins the session `{channelId}/{messageId}`; its thread is"
        " made with the first reply, has that id, and is named by the message, then by the title.",
    ),
    Requirement(
        id="channels_discord.direct",
        source=_FOUR,
        text="Direct messages of one person are one long session.",
    ),
    Requirement(
        id="channels_discord.press",
        source="reference surface 10, symptom 44",
        text="A press of a button is acknowledged at once, whatever the host does meanwhile, and"
        " the message is changed afterwards.",
    ),
    Requirement(
        id="channels_discord.letters",
        source=_TABLE,
        text="Where buttons are not taken, the same post asks for a letter.",
    ),
    Requirement(
        id="channels_discord.once",
        source=_FOUR,
        text="A post whose answer was lost is not made twice: Discord refuses its nonce for"
        " minutes, and later it is known by the gateway's echo, its buttons or what it says.",
    ),
    Requirement(
        id="channels_discord.quiet",
        source=_FOUR,
        text="No reply can notify everybody or a role, and no preview of a link is shown.",
    ),
    Requirement(
        id="channels_discord.content",
        source=_FOUR,
        text="A Message Content intent that is off is fatal, for the check and for the gateway, and"
        " the sentence says what to switch on.",
    ),
    Requirement(
        id="channels_discord.resume",
        source=_FOUR,
        text="A connection that is cut, silent or ended by Discord goes on where it was, and"
        " nothing is lost; what cannot go on is begun anew.",
    ),
    Requirement(
        id="channels_discord.failures",
        source=_FOUR,
        text="What Discord refuses is told apart: wrong for good, wrong for now with the time to"
        " wait, or wrong for this one post; long rate limits are not slept through; no sentence"
        " holds the token.",
    ),
    Requirement(
        id="channels_discord.messages",
        source=_FOUR,
        text="Messages are read as they were written, with mentions, files, forwards and embeds;"
        " bots and our own are marked, and what nobody wrote is left out.",
    ),
    Requirement(
        id="channels_discord.history",
        source=_TABLE,
        text="A thread is read back page by page, with the message it began with and our own part.",
    ),
    Requirement(
        id="channels_discord.files",
        source=_FOUR,
        text="Files come from Discord's own hosts alone, within their limit, and go out in the"
        " thread.",
    ),
    Requirement(
        id="channels_discord.lookups",
        source=_TABLE,
        text="People and channels are found by name, ten at most, and an answer is good for five"
        " minutes.",
    ),
    Requirement(
        id="channels_discord.apart",
        source=_FOUR,
        text="Discord's library is loaded by the process of this channel and by nothing else, and"
        " keeps no picture of servers, people or messages.",
    ),
    Requirement(
        id="channels_discord.memory",
        source="issue 7, Must be shown",
        text="A Discord adapter process holds under 70 MiB.",
    ),
)
