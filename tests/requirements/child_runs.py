"""Child runs: accepted, reported, cancelled, parked, drained and told of, by the pure rules."""

from __future__ import annotations

from tests.requirements.manifest import Requirement

REQUIREMENTS: tuple[Requirement, ...] = (
    Requirement(
        id="child.accepted-first",
        source="S3 open child run, sessions.md §3",
        text="A child run is durable before its process starts and before its call is answered.",
    ),
    Requirement(
        id="child.start-key",
        source="sessions.md §6",
        text="The same start of the same call is the same run, and another one is a conflict.",
    ),
    Requirement(
        id="child.spawn-refused",
        source="issue 3, sessions.md §6",
        text="A call that does not run, a turn or session that is being stopped and an id that"
        " would be too long start no child run, and the call is told why.",
    ),
    Requirement(
        id="child.depth",
        source="S0 Passivation, idle behavior and background work",
        text="A child run starts no child runs.",
    ),
    Requirement(
        id="child.audience",
        source="decision 39, sessions.md §6",
        text="A child run has the audience of its turn; a missing, unknown or public one starts"
        " none.",
    ),
    Requirement(
        id="child.reports",
        source="issue 3",
        text="A report of a run that is sent twice counts once and is acknowledged twice.",
    ),
    Requirement(
        id="child.end-before-ack",
        source="sessions.md §3",
        text="The end of a child run is durable before its process is told so.",
    ),
    Requirement(
        id="child.stale-reports",
        source="issue 3",
        text="Reports of unknown or closed runs, and of earlier processes of a run, are"
        " acknowledged and change nothing.",
    ),
    Requirement(
        id="child.cancel",
        source="sessions.md §6",
        text="A cancel is admitted, closes the run's gate, and ends the run as CancelledByParent,"
        " each on record by itself.",
    ),
    Requirement(
        id="child.first-wins",
        source="sessions.md §6",
        text="Of the end of a run and its cancel the one that is on record first counts.",
    ),
    Requirement(
        id="child.cancel-withdraws",
        source="decision 49",
        text="The cancel or the end of a run withdraws its open consent requests.",
    ),
    Requirement(
        id="child.requester",
        source="S3 requester",
        text="Only the requester of a run may see or cancel it; to anybody else it does not exist.",
    ),
    Requirement(
        id="child.requester-reminder",
        source="S3 requester, decision 41",
        text="Reminder turns and the other turns of a session manage each other's runs, and a"
        " webhook that calls itself a reminder does not.",
    ),
    Requirement(
        id="child.reset",
        source="decision 90",
        text="A reset leaves no child run, and late reports of it change nothing.",
    ),
    Requirement(
        id="child.closed-kept",
        source="issue 3",
        text="The newest closed runs stay known, so that they can still be asked about.",
    ),
    Requirement(
        id="child.not-ended-by-turns",
        source="sessions.md §6",
        text="Neither the stop nor the end of a turn ends the child runs that it started.",
    ),
    Requirement(
        id="child.consent-journaled",
        source="S3 parked child run",
        text="The consent request of a child run is durable before it is shown.",
    ),
    Requirement(
        id="child.consent-unattended",
        source="sessions.md §6",
        text="A consent request of a child run that nobody attends is refused at once.",
    ),
    Requirement(
        id="child.consent-resume",
        source="S3 parked child run, decision 49",
        text="A run parked on consent starts again when every request is answered, refused or"
        " withdrawn, and its answers are kept until its new process was seen with them.",
    ),
    Requirement(
        id="child.parked-survives",
        source="decision 18",
        text="A run parked on consent survives crashes and passivation, and an answer given"
        " meanwhile is acted on at the next start.",
    ),
    Requirement(
        id="child.pause-spawn",
        source="S3 child consent pause",
        text="While a consent request of any run is open nothing is spawned.",
    ),
    Requirement(
        id="child.pause-turn-finishes",
        source="S3 child consent pause",
        text="The turn that runs when the pause begins may finish.",
    ),
    Requirement(
        id="child.pause-automation",
        source="S3 child consent pause",
        text="In the pause automated input, results among it, waits, while a person's message"
        " starts a turn and does not end the pause.",
    ),
    Requirement(
        id="child.pause-end",
        source="S3 child consent pause",
        text="Only the end of every open child request ends the pause.",
    ),
    Requirement(
        id="child.passivate-open",
        source="S0 Passivation, idle behavior and background work",
        text="A live or unreported child run keeps its session up, and the idle time begins anew"
        " when it closes.",
    ),
    Requirement(
        id="child.passivate-parked",
        source="S0 Passivation, idle behavior and background work",
        text="A child run that waits for consent does not hold its session, and an answer keeps it"
        " from leaving.",
    ),
    Requirement(
        id="child.drain-park",
        source="S0 Recovery and restart, S3 parked child run",
        text="A drain parks the child runs at work, waits for them within its budget, and the next"
        " start takes them up under their own authority.",
    ),
    Requirement(
        id="child.drain-lost",
        source="S0 Recovery and restart",
        text="A child run that does not park in time ends as owner_restarted, and its tools do not"
        " run again.",
    ),
    Requirement(
        id="child.stop-parks",
        source="S0 Recovery and restart",
        text="Stopping a session parks its child runs and ends none of them.",
    ),
    Requirement(
        id="child.drain-budget",
        source="decision 12",
        text="With a child run at work every budget of a stop is 18 seconds longer.",
    ),
    Requirement(
        id="child.heal",
        source="decision 70",
        text="After a crash of the parent the runs at work are watched again, and those that were"
        " not seen yet are started.",
    ),
    Requirement(
        id="child.start-due",
        source="protocol, Runnable work",
        text="A child run that is at work, parked by a drain, answered or not told of makes a start"
        " of its session due; one that waits for consent, and what the pause holds back, does not.",
    ),
    Requirement(
        id="child.log",
        source="S0 Storage on disk",
        text="The session log tells the life of every child run and background job in plain lines.",
    ),
    Requirement(
        id="child.exactly-once",
        source="S3 open child run",
        text="Whatever happens, a child run is told of in one turn, and nothing is spawned in the"
        " pause.",
    ),
    Requirement(
        id="delivery.own-turn",
        source="S0 Who joins a turn, sessions.md §6",
        text="The result of a child run or job comes in a turn of its own, without inputs, under"
        " the authority of the turn that began it.",
    ),
    Requirement(
        id="delivery.notice",
        source="decision 64",
        text="The notice of a result names what ended, how, and where to look, and never holds a"
        " report or output.",
    ),
    Requirement(
        id="delivery.reply",
        source="protocol, Where a reply goes",
        text="The answer to a result is posted where the work was asked for.",
    ),
    Requirement(
        id="delivery.guard-fresh",
        source="sessions.md §2, decision 31",
        text="The loop guard starts fresh in the turn that tells of a result.",
    ),
    Requirement(
        id="delivery.queue",
        source="sessions.md §6",
        text="Results and inputs come in the order of the journal, behind the active turn and a"
        " compaction.",
    ),
    Requirement(
        id="delivery.coalesce",
        source="sessions.md §6",
        text="Results of one authority that follow on each other share a turn, others never do.",
    ),
    Requirement(
        id="delivery.no-progress-turn",
        source="sessions.md §6",
        text="Progress of a child run starts no turn.",
    ),
    Requirement(
        id="delivery.automated",
        source="S0 Who joins a turn",
        text="A turn that tells of a result is automated: nobody joins it, the operator or a"
        " trusted person ends it after its batch with the note, and it closes no prompt.",
    ),
    Requirement(
        id="delivery.attended",
        source="issue 3",
        text="A turn that tells of a result is as attended as the turn that began the work.",
    ),
    Requirement(
        id="delivery.closes",
        source="S3 open child run",
        text="The end of the turn that tells of a run closes it, a failed, stopped or given up one"
        " too.",
    ),
    Requirement(
        id="delivery.open-runs",
        source="S3 open child run, decision 71",
        text="Every end of a turn, a failed one too, lists the open child runs without those it"
        " told of.",
    ),
    Requirement(
        id="delivery.exactly-once",
        source="S3 open child run, protocol, Recovery",
        text="A crash neither loses the notice of a result nor tells it twice.",
    ),
    Requirement(
        id="delivery.drain",
        source="S0 Recovery and restart",
        text="A drain stops a turn that tells of a result like any other and starts none.",
    ),
)
