"""Promises of the supervisor and of the protocol it speaks."""

from tests.requirements.manifest import Requirement

REQUIREMENTS: tuple[Requirement, ...] = (
    Requirement(
        "supervisor.admit-before-ack",
        "decision 2",
        "A message is acknowledged only after it is durable, whether or not its session can start.",
    ),
    Requirement(
        "supervisor.wake-on-commit",
        "decision 2",
        "A durable input starts its session even if the sender went away before the answer.",
    ),
    Requirement(
        "supervisor.resend-is-safe",
        "decision 33",
        "A resend with the same message id answers the first admission, which can be looked up.",
    ),
    Requirement(
        "supervisor.bad-input",
        "issue 2, Bad input",
        "Every malformed message has a stable code and changes nothing.",
    ),
    Requirement(
        "supervisor.session-ids",
        "protocol, Identifiers",
        "Only free names and cli ids are created by naming them; everything else is not_found.",
    ),
    Requirement(
        "supervisor.tokens",
        "decision 40",
        "Every method but health asks for a capability token, which caps what a message may claim.",
    ),
    Requirement(
        "supervisor.audience",
        "decision 39",
        "An unknown audience denies and nothing defaults upward.",
    ),
    Requirement(
        "supervisor.commit-order",
        "decision 3",
        "A session's process receives every commit of it in commit order, whoever wrote it.",
    ),
    Requirement(
        "supervisor.start-point",
        "protocol, Appending",
        "Commits between the start point and the process's Hello follow its Welcome, none twice.",
    ),
    Requirement(
        "supervisor.refused-after-committed",
        "protocol, Appending",
        "A refused append is answered after every commit up to the head that moved.",
    ),
    Requirement(
        "supervisor.one-time-token",
        "decision 40",
        "A session token opens one stream once.",
    ),
    Requirement(
        "supervisor.chunks",
        "protocol, Streams",
        "A frame over 4 MiB crosses in pieces in both directions.",
    ),
    Requirement(
        "supervisor.liveness",
        "architecture, Processes",
        "A process that answers no ping is dumped, killed, replaced, and its watchers are told.",
    ),
    Requirement(
        "supervisor.tool-trees",
        "decision 82",
        "Tools of a dead session are killed before its next process starts.",
    ),
    Requirement(
        "supervisor.restart",
        "decision 4",
        "A crashed session is started again after its backoff and gets what is not consumed.",
    ),
    Requirement(
        "supervisor.poison",
        "decision 5",
        "A turn that crashes too often fails and frees the session.",
    ),
    Requirement(
        "supervisor.quarantine",
        "decision 5",
        "A crash loop quarantines one session; messages are kept and answered with a notice.",
    ),
    Requirement(
        "supervisor.operator-kill",
        "decision 5",
        "Kills and stops by the operator are no crashes.",
    ),
    Requirement(
        "supervisor.held-starts",
        "protocol, Recovery",
        "A start in progress at two deaths of the supervisor in a row is held and reported.",
    ),
    Requirement(
        "supervisor.storage-wait",
        "protocol, Appending",
        "While the database takes no writes admissions fail with its code and starts wait.",
    ),
    Requirement(
        "supervisor.passivated",
        "protocol, Recovery",
        "After Passivated nothing more is sent; a racing admission starts the next process.",
    ),
    Requirement(
        "supervisor.places",
        "decision 89",
        "Beyond MaxLiveSessions the longest idle session leaves and the next one starts.",
    ),
    Requirement(
        "supervisor.people-first",
        "decision 54",
        "A session that a person wrote to starts ahead of any number of wakes that wait to.",
    ),
    Requirement(
        "supervisor.start-concurrency",
        "architecture, Processes",
        "At most so many sessions start at once as are configured.",
    ),
    Requirement(
        "supervisor.filters",
        "S0 Multi-subscriber delivery",
        "Each subscriber sees what its filter admits, lifecycle always, all in one order.",
    ),
    Requirement(
        "supervisor.replay",
        "protocol, Streams",
        "A late subscriber gets durable outputs after its seq, then the present, without a gap.",
    ),
    Requirement(
        "supervisor.resync",
        "protocol, Streams",
        "A subscriber that cannot keep up loses outputs and is told from where to read again.",
    ),
    Requirement(
        "supervisor.subscriber-death",
        "S0 Multi-subscriber delivery",
        "A subscriber that leaves is dropped and the session does not notice.",
    ),
    Requirement(
        "supervisor.ingest",
        "protocol, Streams",
        "The ingest stream answers each batch in order, each message with its own outcome.",
    ),
    Requirement(
        "supervisor.uploads",
        "protocol, Streams",
        "An upload arrives in pieces within limits, or nothing of it stays.",
    ),
    Requirement(
        "supervisor.errors",
        "protocol, Error codes",
        "Every stable code crosses gRPC and back with its sentence, way out and reference.",
    ),
    Requirement(
        "supervisor.outputs",
        "architecture, Interfaces",
        "Every output of the core crosses the wire and back unchanged.",
    ),
    Requirement(
        "supervisor.discovery",
        "issue 2 item 2",
        "Stock health probes and reflection tools understand the daemon.",
    ),
    Requirement(
        "supervisor.answers",
        "protocol, Recovery",
        "An answer to an open request is durable before it is acknowledged and wakes its session.",
    ),
    Requirement(
        "supervisor.fault-containment",
        "decision 1",
        "A fault in handling one session's commit reaches no other session.",
    ),
    Requirement(
        "supervisor.reset-delete",
        "decision 90",
        "Reset and delete end the process first, and tell whoever waits for an answer.",
    ),
    Requirement(
        "supervisor.drain",
        "decision 9",
        "A stop drains sessions within its budget, still admits messages, and says so.",
    ),
    Requirement(
        "supervisor.warm-up",
        "S0 Recovery and restart",
        "Sessions that were at work before a stop are warm again before traffic resumes.",
    ),
    Requirement(
        "supervisor.reload",
        "protocol, Configuration",
        "Reading an equal configuration does nothing, an invalid one changes nothing.",
    ),
    Requirement(
        "supervisor.home",
        "decision 80",
        "The lock decides who owns a home; an unsafe run folder is repaired or refused.",
    ),
    Requirement(
        "supervisor.no-silent-task",
        "feasibility 10",
        "A background task cannot fail unseen.",
    ),
    Requirement(
        "supervisor.envelope",
        "S0 Storage on disk",
        "A moved home is found again with one warning.",
    ),
    Requirement(
        "supervisor.service-manager",
        "issue 2 item 4",
        "A service manager hears of readiness, stopping and the watchdog.",
    ),
    Requirement(
        "supervisor.light",
        "architecture, Speed and size",
        "The supervisor loads no vendor SDK, no mcp, no chat library and no HTTP stack.",
    ),
    Requirement(
        "supervisor.end-anywhere",
        "cli, sessions",
        "Stop, restart, reset and delete are carried out or refused in every state of a session.",
    ),
    Requirement(
        "supervisor.stop-outranks",
        "decision 80",
        "A stop outranks a restart until the next generation is executed.",
    ),
    Requirement(
        "supervisor.unreadable-session",
        "decision 1",
        "Unreadable data of one session quarantines that session and is no fault of the database.",
    ),
    Requirement(
        "supervisor.phase-rides",
        "protocol, Streams",
        "The phase named by an append is in force with its commit, and not before.",
    ),
    Requirement(
        "supervisor.stop-early",
        "decision 26",
        "A stop that comes before the turn has begun ends that turn, and no later one.",
    ),
    Requirement(
        "supervisor.bounded-work",
        "decision 86",
        "Large states and long pasts are read off the supervisor's loop.",
    ),
    Requirement(
        "supervisor.outbox",
        "protocol, Streams",
        "A reply is closed, tried again at a time, or given up, by the adapter that claimed it.",
    ),
    Requirement(
        "supervisor.local-model",
        "decision 75",
        "A local model that cannot be served degrades the daemon with its reason.",
    ),
    Requirement(
        "supervisor.relapses",
        "architecture, Processes",
        "A helper that dies is started again ever later; after a healthy minute it starts anew.",
    ),
    Requirement(
        "supervisor.stop-ends",
        "protocol, Recovery",
        "A stopped session leaves no turn open; who waits in its buffer hears that it is kept.",
    ),
)
