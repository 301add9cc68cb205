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
    Requirement(
        id="channels.outbox-order",
        source=_OUTBOX,
        text="Replies of a thread are posted one after another in their order, threads side by"
        " side.",
    ),
    Requirement(
        id="channels.outbox-keys",
        source="protocol, Outbox",
        text="Every part of a reply has the key of its row and its place, and the daemon keeps the"
        " id of the first post.",
    ),
    Requirement(
        id="channels.outbox-once",
        source="protocol, Outbox",
        text="A part that may be posted already, by this start or one before, is looked up by its"
        " key where the platform does not refuse a second one by itself.",
    ),
    Requirement(
        id="channels.outbox-retry",
        source=_OUTBOX,
        text="A reply that a platform did not take is tried again, later each time, and nothing is"
        " given up because the platform or the daemon is away.",
    ),
    Requirement(
        id="channels.outbox-rate",
        source=_OUTBOX,
        text="Nothing is posted to a channel again before the time that its platform asked for.",
    ),
    Requirement(
        id="channels.outbox-given-up",
        source=_OUTBOX,
        text="A reply that its platform refuses, or that keeps failing while others are taken, is"
        " given up, holds up no other, and is seen in the ledger, the status and the log.",
    ),
    Requirement(
        id="channels.outbox-drain",
        source="issue 7 item 1",
        text="An adapter that is told to end delivers what is due in every thread, the last words"
        " of its sessions included, as far as its time goes, and claims nothing more.",
    ),
    Requirement(
        id="channels.live-edit",
        source="decision 68",
        text="Where it is switched on, one message shows a reply while it is made, changed at most"
        " once per second, and becomes the reply; nothing of a reply that does not come stays.",
    ),
    Requirement(
        id="channels.prompt-buttons",
        source=_APPROVALS,
        text="A consent request is one post in its thread with a button for every option, of which"
        " the far-reaching one and the refusal warn.",
    ),
    Requirement(
        id="channels.prompt-requester",
        source="decision 48",
        text="Only the person who asked answers a request in a channel; anybody whom the access"
        " list serves does, if automation asked or nobody is recorded.",
    ),
    Requirement(
        id="channels.prompt-token",
        source=_APPROVALS,
        text="A button's token is random, good at its own post for one answer, and used up only"
        " when the daemon has kept that answer.",
    ),
    Requirement(
        id="channels.prompt-stale",
        source=_APPROVALS,
        text="Who presses a button of a request that is over is told so, and no press changes a"
        " post that is not its own prompt.",
    ),
    Requirement(
        id="channels.prompt-restart",
        source=_APPROVALS,
        text="After a restart of the adapter a prompt is found again by its key and works, instead"
        " of being posted a second time.",
    ),
    Requirement(
        id="channels.progress",
        source="issue 7 item 3",
        text="A thread shows that its session is at work on an answer for it, the sign is renewed"
        " as long as that holds, and it is taken away at the end.",
    ),
)
