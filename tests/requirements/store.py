"""Promises of the database and of the journal's payloads."""

from tests.requirements.manifest import Requirement

REQUIREMENTS: tuple[Requirement, ...] = (
    Requirement(
        "store.codec-golden",
        "architecture section 3",
        "Every version of every event, and a snapshot, has golden bytes that decode for ever.",
    ),
    Requirement(
        "store.codec-upcast",
        "architecture section 3",
        "Older versions of an event or a snapshot are lifted to the present one when read.",
    ),
    Requirement(
        "store.codec-unknown",
        "issue 2 item 3",
        "An unknown event, a newer version and a damaged payload are each told apart clearly.",
    ),
    Requirement(
        "store.seq",
        "protocol, Identifiers",
        "The store alone numbers a session's rows, from 1 without a gap.",
    ),
    Requirement(
        "store.fencing",
        "architecture section 3",
        "A process that was replaced can never write to its session again.",
    ),
    Requirement(
        "store.interleaving",
        "protocol, Appending",
        "Only admitted inputs and answers may come between an append and the head it saw; "
        "Passivated needs the exact head.",
    ),
    Requirement(
        "store.idempotent-append",
        "protocol, Appending",
        "A repeated append answers the rows of the first one, over restarts too, and writes "
        "nothing.",
    ),
    Requirement(
        "store.authors",
        "protocol, Journal events",
        "A session process cannot author the supervisor's events; an append with a malformed "
        "event leaves nothing.",
    ),
    Requirement(
        "store.commit-order",
        "decision 3",
        "Every commit is published in commit order before its author hears of it; a write "
        "that fails alone fails alone.",
    ),
    Requirement(
        "store.snapshots",
        "decision 8",
        "A start reads the newest snapshot and the rows after it; a snapshot that missed an "
        "input is never kept.",
    ),
    Requirement(
        "store.admission",
        "decision 2",
        "An admitted input is durable with its original authority before it is acknowledged.",
    ),
    Requirement(
        "store.dedupe",
        "issue 2 item 3",
        "A source message is admitted once per session for ever, over restarts, turns and resets.",
    ),
    Requirement(
        "store.queue-full",
        "protocol, Streams",
        "A session refuses inputs beyond its limit of unanswered inputs or bytes, and admits "
        "again when one was answered.",
    ),
    Requirement(
        "store.ledger",
        "cli, ledger",
        "The ledger says of each input when it came, which turn took it, how that ended and "
        "where replies went.",
    ),
    Requirement(
        "store.consumption",
        "protocol, Recovery exactly",
        "An input is consumed once; one that joined a turn and was not consumed waits again.",
    ),
    Requirement(
        "store.catalog",
        "architecture section 3",
        "The catalog row of a session follows the appends that change it; its storage binding "
        "never changes.",
    ),
    Requirement(
        "store.reset",
        "decision 90",
        "A reset starts a new life: the process is fenced out, inputs are closed, answers "
        "withdrawn, seq goes on.",
    ),
    Requirement(
        "store.delete",
        "protocol, Identifiers",
        "A deleted session leaves no row but its life and incarnation, which later ones of "
        "the same key continue.",
    ),
    Requirement(
        "store.runnable-work",
        "protocol, Runnable work",
        "A start is due for an unconsumed input, an open turn or an answer without its "
        "launch, and for nothing else.",
    ),
    Requirement(
        "store.crash-count",
        "decision 5",
        "Crashes are counted on disk within their window.",
    ),
    Requirement(
        "store.held-starts",
        "protocol, Recovery exactly",
        "A start that was in progress at consecutive deaths of the supervisor is counted; "
        "other ends count nothing.",
    ),
    Requirement(
        "store.outbox-atomic",
        "decision 7",
        "A reply is stored in the transaction of the turn that made it, once.",
    ),
    Requirement(
        "store.outbox-fifo",
        "protocol, Streams",
        "A binding's replies are given out one by one in order; a failed one is tried again "
        "before later ones.",
    ),
    Requirement(
        "store.outbox-claims",
        "protocol, Streams",
        "A claim lapses with its claimant, and a row id is never used twice.",
    ),
)
