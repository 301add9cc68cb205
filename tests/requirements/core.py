"""Promises of the session rules."""

from tests.requirements.manifest import Requirement

_RECOVERY = 'protocol, "Recovery, exactly"'

REQUIREMENTS: tuple[Requirement, ...] = (
    Requirement(
        "core.phase-moves",
        "S0 Lifecycle",
        "A session moves only between the listed phases; any other move raises.",
    ),
    Requirement(
        "core.total",
        "architecture, One turn",
        "Every command is answered in every phase; only a fault of the rules raises.",
    ),
    Requirement(
        "core.turn-start",
        "protocol, Appending",
        "An input to a ready session starts a turn at once.",
    ),
    Requirement(
        "core.one-turn",
        "S0 Lifecycle",
        "One turn at a time; inputs meanwhile wait and then run in order.",
    ),
    Requirement(
        "core.turn-end",
        "protocol, Appending",
        "Record, text, usage, turn completed and channel replies of a turn are one append.",
    ),
    Requirement(
        "core.delivery-targets",
        'protocol, "Where a reply goes"',
        "A reply goes once to each delivery target of the turn's inputs.",
    ),
    Requirement(
        "core.turn-failed",
        "reference sessions 2",
        "A failed turn consumes its inputs, tells the person, and buffered input runs next.",
    ),
    Requirement(
        "core.late-results",
        "reference sessions 1",
        "A result of an older model call or tool launch is dropped before any effect.",
    ),
    Requirement(
        "core.stop-turn",
        "decision 26",
        "A person's stop ends the turn at the next safe point without an error.",
    ),
    Requirement(
        "core.snapshots", "decision 8", "A snapshot is due every 20 events and at passivation."
    ),
    Requirement(
        "core.snapshots-linear",
        "ADR 0024",
        "Snapshots of a large state are rarer, so that all of them together stay linear in size.",
    ),
    Requirement(
        "core.system-prompt",
        "decision 21",
        "The system prompt is SOUL, AGENTS, TOOLING and the session's paths, in a stable order.",
    ),
    Requirement(
        "core.output-limit",
        "S0 What ends or stalls a turn",
        "A reply cut at the output limit fails the turn; nothing of it is posted or stored.",
    ),
    Requirement(
        "core.tools-withheld",
        "reference sessions 2",
        "Calls of tools that were not offered fail the turn instead of stalling it.",
    ),
    Requirement(
        "core.empty-reply",
        "reference sessions 2",
        "An empty reply is asked again a bounded number of times, then the turn fails.",
    ),
    Requirement(
        "core.join-same-person",
        "S0 Who joins a turn",
        "A message of the same person joins the turn at the next batch boundary.",
    ),
    Requirement(
        "core.join-others-wait",
        "S0 Who joins a turn",
        "Another person's message and automated input wait for turns of their own.",
    ),
    Requirement(
        "core.join-prefix",
        "decision 27",
        "Only the same person's messages before anyone else's join: order between people stays.",
    ),
    Requirement(
        "core.preempt-automation",
        "S0 Who joins a turn",
        "A trusted person's message ends an automation turn after its batch and runs next.",
    ),
    Requirement(
        "core.batch-start",
        "protocol, Recovery",
        "The round and the start of its batch are one append before any call runs.",
    ),
    Requirement(
        "core.call-ids",
        "protocol, Identifiers",
        "Every call has an id of netclaw's own, unique for ever.",
    ),
    Requirement(
        "core.batch-boundary",
        "reference sessions 3",
        "The next model call starts when every call of the batch has a durable result.",
    ),
    Requirement(
        "core.argument-fault",
        "reference sessions 2",
        "A call with unusable arguments gets a result that says so and is never run.",
    ),
    Requirement(
        "core.storable",
        "issue 2 item 5",
        "Text with half characters is mended before it is recorded, so it cannot stop a session.",
    ),
    Requirement(
        "core.text-out",
        _RECOVERY,
        "A preamble counts as seen only if a subscriber of texts was attached.",
    ),
    Requirement(
        "core.output-started",
        "protocol, Appending",
        "OutputStarted is committed before the first delta leaves, only if somebody would see it.",
    ),
    Requirement(
        "core.redacted-arguments",
        "S0 Storage on disk",
        "Subscribers see tool arguments without secrets; the tool gets them whole.",
    ),
    Requirement(
        "core.recover-idle", "S0 Recovery and restart", "A start with nothing open ends in Ready."
    ),
    Requirement(
        "core.recover-inputs",
        "decision 4",
        "Inputs not consumed run in order after a start without the person writing again.",
    ),
    Requirement(
        "core.recover-rerun",
        _RECOVERY,
        "A turn that launched nothing and showed no text runs again under its id.",
    ),
    Requirement(
        "core.recover-interrupted",
        _RECOVERY,
        "A launched call without a result gets an Interrupted result and is never run again.",
    ),
    Requirement(
        "core.recover-continues",
        _RECOVERY,
        "A turn goes on if no text is out, nothing waits and every launched call has its result.",
    ),
    Requirement(
        "core.recover-ends",
        _RECOVERY,
        "Otherwise the turn ends as Interrupted, consuming its inputs, and the next input runs.",
    ),
    Requirement(
        "core.recover-joined",
        _RECOVERY,
        "An input that joined after the last recorded round returns to the buffer.",
    ),
    Requirement(
        "core.recover-never-launched",
        _RECOVERY,
        "A call that was never launched is launched anew, or closed as never started.",
    ),
    Requirement(
        "core.recover-told-once",
        _RECOVERY,
        "The notice about an interrupted turn is left out if a drain already told the person.",
    ),
    Requirement(
        "core.boundary-second-look",
        "S0 Who joins a turn",
        "An input committed before the append that passes a boundary joins or preempts there.",
    ),
    Requirement(
        "core.preamble-recorded",
        _RECOVERY,
        "A preamble is shown only if its round is recorded as released.",
    ),
    Requirement(
        "core.drain-idle", "S0 Recovery and restart", "A drain passivates an idle session at once."
    ),
    Requirement(
        "core.drain-safe-point",
        "S0 Recovery and restart",
        "A drain stops a turn at a safe point; one that may go on does so after the start.",
    ),
    Requirement(
        "core.drain-notice",
        "S0 Recovery and restart",
        'A turn that cannot go on is stopped with "stopping" or "restarting".',
    ),
    Requirement(
        "core.drain-before-batch",
        _RECOVERY,
        "Calls that arrive during a drain are recorded and launched after the start.",
    ),
    Requirement(
        "core.drain-force",
        "decision 9",
        "At the end of the drain's budget running tools are killed and the person is told.",
    ),
    Requirement(
        "core.drain-nothing-follows",
        "protocol Recovery",
        "Where no start follows a drain, the open turn is ended there and its people are told.",
    ),
    Requirement(
        "core.drain-inputs", _RECOVERY, "Inputs during a drain are kept and run after the start."
    ),
    Requirement(
        "core.passivate-idle",
        "S0 Lifecycle",
        "An idle session has five seconds of grace, then snapshot and exit.",
    ),
    Requirement(
        "core.passivate-abort",
        "S0 Lifecycle",
        "An input during the grace aborts the passivation and runs.",
    ),
    Requirement(
        "core.passivate-race",
        "protocol, Appending",
        "An input admitted while Passivated is being committed makes the session go on.",
    ),
    Requirement(
        "core.passivate-disabled",
        "S0 What ends or stalls a turn",
        "An idle timeout of zero means never.",
    ),
    Requirement(
        "core.passivate-request",
        "cli, sessions stop",
        "A request to passivate needs no grace and never cuts work off.",
    ),
    Requirement(
        "core.idle-timer",
        "reference sessions 12",
        "Only work touches the idle timer; internal ticks do not.",
    ),
    Requirement(
        "core.reset",
        "decision 90",
        "A reset empties the life; identity and remembered message ids stay.",
    ),
    Requirement(
        "core.answers",
        "protocol, Answers",
        "A consent answer waits until it is acted on or dismissed.",
    ),
    Requirement(
        "core.exactly-once",
        "issue 2, Purpose",
        "Whatever dies or races, every input is consumed once and no tool runs twice.",
    ),
    Requirement(
        "core.replay",
        "architecture section 2",
        "A snapshot and the tail give the state of the whole journal.",
    ),
    Requirement(
        "core.request-pairs",
        "reference sessions 3",
        "In every model request each call has exactly one result, in its place.",
    ),
    Requirement(
        "core.request-thinking", "issue 2 item 5", "Thinking is never sent back to a model."
    ),
)
