"""Promises of the running daemon, shown with real processes and real kills."""

from __future__ import annotations

from tests.requirements.manifest import Requirement

REQUIREMENTS: tuple[Requirement, ...] = (
    Requirement(
        "process.own-process",
        "decision 1",
        "Every session is a process of its own; killing one in mid-turn leaves another untouched.",
    ),
    Requirement(
        "process.tool-turn",
        "issue 2",
        "A turn runs a real shell command in the sandbox, and the model sees its result.",
    ),
    Requirement(
        "recovery.two-inputs-while-processing",
        "protocol Recovery",
        "Inputs admitted during a turn are answered in order, also after a kill.",
    ),
    Requirement(
        "recovery.launched-without-result",
        "decision 4",
        "A call launched before a crash is never run again; its turn is told as interrupted.",
    ),
    Requirement(
        "recovery.model-answered-before-recorded",
        "protocol Recovery",
        "A turn without launched calls and without text out simply runs again after a crash.",
    ),
    Requirement(
        "recovery.text-reached-person",
        "protocol Recovery",
        "A turn whose text reached a person is not continued after a crash; the person is told.",
    ),
    Requirement(
        "recovery.supervisor-killed",
        "decision 6",
        "After SIGKILL of the supervisor every admitted input is answered once.",
    ),
    Requirement(
        "recovery.no-orphans",
        "decision 6",
        "No session process and no tool outlives a supervisor that was killed.",
    ),
    Requirement(
        "recovery.batch-complete-continues",
        "S0 Recovery and restart",
        "A turn whose batch has every result and whose text reached nobody goes on by itself.",
    ),
    Requirement(
        "recovery.poison-turn",
        "decision 5",
        "Three crashes within one turn fail it as Internal; the session is usable again.",
    ),
    Requirement(
        "recovery.quarantine",
        "decision 5",
        "Too many crashes quarantine a session: messages are admitted and answered with a notice.",
    ),
    Requirement(
        "recovery.passivation-race",
        "S0 Passivation",
        "A message that arrives while a session passivates is answered, whichever came first.",
    ),
    Requirement(
        "recovery.flood-against-ending-turn",
        "protocol Appending",
        "A flood of admissions against a finishing turn loses nothing and answers each once.",
    ),
    Requirement(
        "recovery.outbox-survives",
        "decision 7",
        "A reply claimed by an adapter and not confirmed is offered again after a supervisor kill.",
    ),
    Requirement(
        "recovery.disk-full-mid-turn",
        "decision 11",
        "A full disk in mid-turn fails visibly, keeps the daemon up, and heals when space returns.",
    ),
    Requirement(
        "recovery.disk-full-control",
        "decision 9",
        "While the disk is full a session and the daemon can still be stopped in time.",
    ),
    Requirement(
        "recovery.random-kills",
        "issue 2",
        "Random kills of every kind of process keep every invariant of the journal.",
    ),
    Requirement(
        "recovery.resend-safe",
        "decision 33",
        "A resend with the same message id answers the first admission and runs nothing twice.",
    ),
    Requirement(
        "delivery.two-filters",
        "S0 Multi-subscriber delivery",
        "Two subscribers of one turn each see their own filtered view; lifecycle reaches both.",
    ),
    Requirement(
        "delivery.catch-up",
        "protocol Streams",
        "A late subscriber catches up from a seq and misses no durable output.",
    ),
    Requirement(
        "daemon.restart-in-place",
        "decision 80",
        "A restart keeps the pid, raises the generation and loses no session.",
    ),
    Requirement(
        "daemon.drain-resumes",
        "S0 Recovery and restart",
        "A tool loop stopped by a restart at a batch boundary resumes if nothing was shown.",
    ),
    Requirement(
        "daemon.restart-needs-valid-config",
        "protocol Configuration",
        "A restart onto a configuration that cannot be read is refused; the daemon goes on.",
    ),
    Requirement(
        "daemon.config-edit",
        "S0 Recovery and restart",
        "Editing netclaw.json restarts in place; an equal or invalid edit changes nothing.",
    ),
    Requirement(
        "daemon.no-inspection",
        "architecture 5",
        "A process that holds credentials cannot be read or traced by others of the same user.",
    ),
    Requirement(
        "daemon.second-refused",
        "issue 2",
        "A second daemon on one home is refused by the lock and the first is not disturbed.",
    ),
    Requirement(
        "daemon.persistence-section",
        "S3 Netclaw database",
        "A supplied Persistence section fails startup with one sentence.",
    ),
    Requirement(
        "daemon.degraded",
        "issue 2",
        "Without a usable model the daemon starts degraded and says so in each answer.",
    ),
    Requirement(
        "daemon.zygote-lost",
        "architecture 1",
        "Without its zygote the daemon still starts sessions, and a new zygote follows.",
    ),
    Requirement(
        "daemon.hung-session",
        "architecture 1",
        "A session process that stops answering is dumped, killed and recovered.",
    ),
    Requirement(
        "daemon.bad-requests",
        "issue 2",
        "Malformed requests get a stable code and harm nothing.",
    ),
    Requirement(
        "daemon.auth",
        "decision 40",
        "A call without the capability token is refused as unauthenticated.",
    ),
    Requirement(
        "daemon.reflection",
        "issue 2",
        "Reflection and health answer a stock client.",
    ),
    Requirement(
        "ends.goes-on",
        "protocol Recovery",
        "After a kill, a restart or an eviction of a session its work goes on by itself.",
    ),
    Requirement(
        "ends.stop",
        "protocol Recovery",
        "A stop of a session ends its turn, wherever it stands; who waits behind it is told.",
    ),
    Requirement(
        "ends.reset-delete",
        "protocol Recovery",
        "A reset or delete of a session tells everybody who waits that no answer comes.",
    ),
    Requirement(
        "ends.daemon",
        "S0 Recovery and restart",
        "A stop or restart of the daemon ends the streams; the next start answers what is open.",
    ),
    Requirement(
        "ends.crash",
        "decision 5",
        "Who waits for a turn or session that is given up hears it, by the name of the input.",
    ),
    Requirement(
        "delivery.seven-filters",
        "S0 Multi-subscriber delivery",
        "Each of the seven filters shows what it names, and every subscriber the lifecycle.",
    ),
    Requirement(
        "delivery.typing",
        "S0 Multi-subscriber delivery",
        "Who asks for the processing state hears when a session becomes busy and idle.",
    ),
    Requirement(
        "delivery.sixteen",
        "issue 3 item 6",
        "Of sixteen subscribers at speed each that reads gets everything, though one never reads.",
    ),
    Requirement(
        "delivery.dying-subscriber",
        "S0 Multi-subscriber delivery",
        "A client that dies in mid-turn is dropped; neither the turn nor another client notices.",
    ),
    Requirement(
        "recovery.passivation-burst",
        "issue 3 item 8",
        "Inputs that meet a session in the moment it stops are each answered once.",
    ),
)
