"""What channels promise about replies, consent prompts and signs of work (issue 7)."""

from __future__ import annotations

from tests.requirements.manifest import Requirement

_OUTPUT = "issue 7 item 6"
_OUTBOX = "issue 7 item 7"
_APPROVALS = "issue 7 item 8"
_CONSENT = "reference authorization 5"

REQUIREMENTS: tuple[Requirement, ...] = (
    Requirement(
        id="channels.split-limit",
        source=_OUTPUT,
        text="A long reply comes in parts of at most the platform's length, cut between paragraphs,"
        " lines or words, the same parts for the same text, with nothing lost.",
    ),
    Requirement(
        id="channels.split-fence",
        source=_OUTPUT,
        text="No part of a reply ends within a block of code: it is closed there and opened again"
        " with its language in the next part.",
    ),
    Requirement(
        id="channels.split-characters",
        source=_OUTPUT,
        text="Characters that are shown as one are never divided between two parts.",
    ),
    Requirement(
        id="channels.letters",
        source=_CONSENT,
        text="Where there are no buttons a letter or an option's own words answer a request, what"
        " may be meant as an answer and is none is asked again, and the rest is a message.",
    ),
    Requirement(
        id="channels.prompt-whole",
        source=_CONSENT,
        text="A prompt shows all of what would run, in several posts if need be, and no text of a"
        " command can pass for the prompt's own words.",
    ),
    Requirement(
        id="channels.prompt-child",
        source=_APPROVALS,
        text="What a child run asks is asked in its parent's thread, and says so.",
    ),
    Requirement(
        id="channels.prompt-result",
        source=_APPROVALS,
        text="A prompt becomes its result, without buttons, after the session took the answer up"
        " and not before.",
    ),
    Requirement(
        id="channels.prompt-unpostable",
        source=_CONSENT,
        text="A request that a channel cannot show is refused; nothing else refuses by itself.",
    ),
)
