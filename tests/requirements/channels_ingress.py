"""What becomes of a message that somebody writes in a channel (issue 7, ingress)."""

from __future__ import annotations

from tests.requirements.manifest import Requirement

_TWO = "issue 7 item 2"
_SIX = "issue 7 item 6"

REQUIREMENTS: tuple[Requirement, ...] = (
    Requirement(
        id="channels.create",
        source="protocol, Identifiers",
        text="An adapter makes the sessions of its own channel's threads, with the audience that"
        " their first sender has, and no session of any other kind.",
    ),
    Requirement(
        id="channels.cursor",
        source="issue 7 item 3",
        text="How far a thread was read is stored in the transaction that admits the message that"
        " was read last.",
    ),
    Requirement(
        id="channels.inbox",
        source=_SIX,
        text="A file that was checked lies in the session's workspace/inbox, whole, under a"
        " harmless name, once however often its message is taken; no link leads it elsewhere.",
    ),
    Requirement(
        id="channels.acl",
        source=_TWO,
        text="Nobody is served who was not allowed: by canonical ids of channel and person, and in"
        " direct messages only where they are allowed; each refusal has a stable reason.",
    ),
    Requirement(
        id="channels.audience",
        source=_TWO,
        text="Each message has the audience of its place, else Team for what is listed and Public"
        " for everybody else; a value that is none denies.",
    ),
    Requirement(
        id="channels.principal",
        source="S0 Channels",
        text="Listed people are trusted, all others are not.",
    ),
    Requirement(
        id="channels.routing",
        source=_TWO,
        text="A conversation begins where netclaw is addressed; in a thread with a session nobody"
        " need address it again, unless the configuration says so.",
    ),
    Requirement(
        id="channels.bots",
        source=_TWO,
        text="Neither its own messages nor those of other bots are answered.",
    ),
    Requirement(
        id="channels.normalise",
        source=_TWO,
        text="What reaches the model has neither our mention nor control characters, at most 4,000"
        " characters, and no line that looks like one of ours.",
    ),
    Requirement(
        id="channels.dedupe",
        source=_TWO,
        text="A message that comes again is answered once, also after a restart and after a crash"
        " between its admission and its acknowledgement.",
    ),
    Requirement(
        id="channels.acknowledge",
        source=_TWO,
        text="The platform hears that a message was taken only after it is durable.",
    ),
    Requirement(
        id="channels.order",
        source=_TWO,
        text="Messages of one thread are admitted in the order in which they came, and two quick"
        " ones in a new thread both are.",
    ),
    Requirement(
        id="channels.retry",
        source=_TWO,
        text="While the daemon cannot store a message, it is tried again, ever more slowly, and not"
        " acknowledged.",
    ),
    Requirement(
        id="channels.half-open",
        source="issue 7, must be shown",
        text="Whatever a platform leaves without an answer ends in time: no message and no thread"
        " waits for it for ever.",
    ),
    Requirement(
        id="channels.driver-fault",
        source=_TWO,
        text="A fault of a channel's driver costs what it was asked for, and no message: one that"
        " could not be dealt with comes again, or is quoted with the next one of its thread.",
    ),
    Requirement(
        id="channels.drain-gate",
        source="protocol, Recovery",
        text="While the daemon stops or restarts, the person is told once in each thread what"
        " becomes of the message.",
    ),
    Requirement(
        id="channels.backfill",
        source="issue 7 item 3",
        text="What was written in a thread meanwhile comes with the next message, marked as context"
        " of others that asks for nothing, and does not come again as a message of its own.",
    ),
    Requirement(
        id="channels.files",
        source=_SIX,
        text="Files are taken by count, size and kind of the message's audience, judged before"
        " they are fetched and again by their content; too many means none.",
    ),
    Requirement(
        id="channels.scan",
        source=_SIX,
        text="No file leaves the staging folder unscanned: false types, archives that unpack to too"
        " much, lie or lead out of their folder, and what cannot be looked into are refused.",
    ),
    Requirement(
        id="channels.file-texts",
        source=_SIX,
        text="A person learns why a file was not taken in fixed words without its name; the agent"
        " sees nothing of it.",
    ),
)
