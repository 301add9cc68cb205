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
        "A start is due for an input that may run, an open turn that does not wait for people "
        "alone, or an answer without its launch, and for nothing else.",
    ),
    Requirement(
        "store.crash-count",
        "decision 5",
        "Crashes are counted on disk within their window.",
    ),
    Requirement(
        "store.crash-one-job",
        "decision 5",
        "A death is recorded, counted and acted upon in one transaction, or not at all.",
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
    Requirement(
        "store.group-commit",
        "architecture section 3",
        "Everything that waits is committed in one transaction, each write in a savepoint of "
        "its own.",
    ),
    Requirement(
        "store.write-timeout",
        "decision 11",
        "A write that has not begun at its deadline is dropped and told so; one that has "
        "begun reports its true outcome.",
    ),
    Requirement(
        "store.checkpoint",
        "feasibility section 3",
        "The write-ahead log is copied back and cut when the store is quiet.",
    ),
    Requirement(
        "store.readers",
        "feasibility section 3",
        "Readers never hold the writer up, cannot write, see one moment each, and keep no "
        "transaction open.",
    ),
    Requirement(
        "store.one-owner",
        "issue 2 item 3",
        "The lock alone decides who owns a home: a second owner is refused, a stale file "
        "means nothing.",
    ),
    Requirement(
        "store.lock-over-exec",
        "decision 80",
        "The lock is held through an exec of the same process, and inherited by nothing else.",
    ),
    Requirement(
        "store.offline-lock",
        "decision 81",
        "A command that opens the database without a daemon takes the home's lock first.",
    ),
    Requirement(
        "store.fork-guard",
        "architecture section 3",
        "A forked child that touches the store is refused, and the parent's database stays sound.",
    ),
    Requirement(
        "store.schema-newer",
        "issue 2 item 3",
        "A database of a newer schema is refused and left byte for byte as it was.",
    ),
    Requirement(
        "store.foreign-file",
        "issue 2 item 3",
        "A file that is not netclaw's database is refused and left as it was; a new one is "
        "its owner's only.",
    ),
    Requirement(
        "store.corrupt-file",
        "issue 2 item 3",
        "Damage met by a write ends writing with a clear error; what is sound can still be read.",
    ),
    Requirement(
        "store.integrity",
        "decision 81",
        "After an unclean stop a quick check runs in the background and says whether the file "
        "is damaged.",
    ),
    Requirement(
        "store.read-only",
        "issue 2 item 3",
        "A home or file that cannot be written gives a clear error and stays as it was.",
    ),
    Requirement(
        "store.migrations",
        "issue 2 item 3",
        "Missing schema steps are taken in order, together or not at all, and once.",
    ),
    Requirement(
        "store.disk-full",
        "issue 2 item 3",
        "On a full disk writes are refused clearly, nothing acknowledged is lost, and writing "
        "resumes with room.",
    ),
    Requirement(
        "store.free-space-floor",
        "issue 2 item 3",
        "Below the free-space floor new inputs and sessions are refused while running turns "
        "may still end.",
    ),
    Requirement(
        "store.kill-safe",
        "issue 2, Must be shown",
        "After kill -9 of the writer at any point everything acknowledged is there and the "
        "file is sound.",
    ),
    Requirement(
        "store.twins-agree",
        "architecture section 6",
        "The in-memory journal answers every call as the real store does.",
    ),
    Requirement(
        "store.writer-watched",
        "decision 2",
        "A writer that ends by itself is told to the daemon, which cannot go on without it.",
    ),
    Requirement(
        "store.growth",
        "decision 34",
        "Delivered texts are not kept twice; a session is removed in pieces, also over a restart.",
    ),
)
