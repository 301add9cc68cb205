"""Promises of a session's own process."""

from __future__ import annotations

from tests.requirements.manifest import Requirement

REQUIREMENTS: tuple[Requirement, ...] = (
    Requirement(
        "session_proc.turn",
        "issue 2 item 5",
        "An admitted message becomes one model call and one recorded answer that names its input.",
    ),
    Requirement(
        "session_proc.one-frame-end",
        "protocol Appending",
        "The end of a turn is one append that carries its outputs.",
    ),
    Requirement(
        "session_proc.early-call",
        "protocol Appending",
        "The model call of a turn starts while its TurnStarted is still being committed.",
    ),
    Requirement(
        "session_proc.tools",
        "issue 2 item 5",
        "The calls of one batch run side by side under the turn's authority, each with one result.",
    ),
    Requirement(
        "session_proc.tool-trees",
        "protocol Recovery",
        "A tool waits until the supervisor acknowledged its process tree.",
    ),
    Requirement(
        "session_proc.streaming",
        "protocol Appending",
        "Text streams joined, after its OutputStarted is committed, and only if somebody watches.",
    ),
    Requirement(
        "session_proc.cut-reply",
        "decision 25",
        "A reply cut at the output limit is neither stored nor shown.",
    ),
    Requirement(
        "session_proc.no-model",
        "issue 2 Bad input",
        "Without a usable model each message is answered with one sentence that says so.",
    ),
    Requirement(
        "session_proc.fallback",
        "issue 2 item 5",
        "The fallback model is asked only while nothing of an answer has been streamed.",
    ),
    Requirement(
        "session_proc.refused",
        "protocol Appending",
        "A refused append is decided again; no effect whose result is held is repeated.",
    ),
    Requirement(
        "session_proc.admission-race",
        "protocol Appending",
        "Admissions that race an append are neither lost nor answered twice.",
    ),
    Requirement(
        "session_proc.joined",
        "S0 Who joins a turn",
        "A message of the same person joins the turn at the next batch boundary.",
    ),
    Requirement(
        "session_proc.storage",
        "decision 11",
        "A failed save ends the process with its own code; the person is told what may have run.",
    ),
    Requirement(
        "session_proc.fenced",
        "architecture section 3",
        "A process that was replaced, or whose token is refused, ends without writing.",
    ),
    Requirement(
        "session_proc.internal",
        "feasibility section 10",
        "A fault anywhere in the process is reported with its stack and ends it; it never hangs.",
    ),
    Requirement(
        "session_proc.snapshots",
        "decision 8",
        "Snapshots are taken every 20 events, and put off when an admission came in between.",
    ),
    Requirement(
        "session_proc.crash-boundaries",
        "decision 4",
        "A crash before or after any commit of a turn loses nothing and runs no tool twice.",
    ),
    Requirement(
        "session_proc.replay",
        "S0 Recovery and restart",
        "State is the newest snapshot and the events after it; a long tail does not hold the loop.",
    ),
    Requirement(
        "session_proc.stop-turn",
        "decision 26",
        "A person can stop a turn in a model call or a tool; no error is shown.",
    ),
    Requirement(
        "session_proc.drain",
        "S0 Recovery and restart",
        "A drain stops a tool loop at the batch boundary; the turn goes on after the start.",
    ),
    Requirement(
        "session_proc.passivation",
        "S0 Lifecycle",
        "An idle session passivates after its grace; a message that comes in time aborts it.",
    ),
    Requirement(
        "session_proc.ping",
        "architecture section 1",
        "Pings are answered at once, in a turn and while an append is in flight.",
    ),
    Requirement(
        "session_proc.stream-lost",
        "protocol Recovery",
        "A process whose stream ends exits, and its tools are ended with it.",
    ),
    Requirement(
        "session_proc.chunks",
        "protocol Streams",
        "Frames over 4 MiB travel in pieces, both ways.",
    ),
    Requirement(
        "session_proc.watchdogs",
        "S0 What ends or stalls a turn",
        "Stalled model calls fail the turn with Timeout; silent tools are ended with a receipt.",
    ),
    Requirement(
        "session_proc.log",
        "decision 51",
        "The session log tells each committed fact, redacted, long texts as length and hash.",
    ),
    Requirement(
        "session_proc.envelope",
        "decision 20",
        "Session folders are made private on demand; the temporary one is checked at every use.",
    ),
    Requirement(
        "session_proc.exec",
        "architecture section 1",
        "A session runs forked from the zygote and started by exec, with the same behaviour.",
    ),
    Requirement(
        "session_proc.no-secret-shown",
        "decision 40",
        "Neither token nor credential is in the arguments, environment or title of a process.",
    ),
    Requirement(
        "session_proc.memory",
        "architecture section 5",
        "A session over its memory ceiling ends alone, with an exit code that says so.",
    ),
    Requirement(
        "session_proc.hung-loop",
        "architecture section 1",
        "A hung session answers no ping; asked for its stacks it writes them into its log.",
    ),
    Requirement(
        "session_proc.orphan",
        "architecture section 1",
        "A session process that is not the supervisor's child does not start.",
    ),
    Requirement(
        "session_proc.size",
        "decision 94",
        "A session forked from the zygote stays small before and after a turn with a judged call.",
    ),
    Requirement(
        "session_proc.boundary",
        "S0 Who joins a turn",
        "A message committed right before a batch boundary is in the next model call.",
    ),
    Requirement(
        "session_proc.preamble",
        'protocol, "Recovery, exactly"',
        "A preamble leaves only if its round is recorded as released.",
    ),
    Requirement(
        "session_proc.few-frames",
        "protocol, Appending",
        "A plain turn is two frames of its process: its start and its end.",
    ),
    Requirement(
        "session_proc.system-prompt",
        "decision 21",
        "Identity files are read before each turn; an edit is seen by the next one.",
    ),
    Requirement(
        "session_proc.shown-once",
        "ADR 0025",
        "Live, replayed and listed, a text and a call's arguments are shown the same.",
    ),
    Requirement(
        "session_proc.log-lost",
        "S0 Storage on disk",
        "A session log that lost entries says how many once it can be written again.",
    ),
)
