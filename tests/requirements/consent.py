"""What is promised of consent in a session: requests, answers, and turns that wait for people."""

from __future__ import annotations

from tests.requirements.manifest import Requirement

REQUIREMENTS: tuple[Requirement, ...] = (
    Requirement(
        "consent.not-run",
        "glossary, decision",
        "A call that is denied or needs a correction has its result at once and never runs.",
    ),
    Requirement(
        "consent.request",
        "protocol, Recovery, exactly",
        "A request is durable before its prompt is shown, in the append of its round; loop guard "
        "and unusable arguments come first; without a request round and launch are one append.",
    ),
    Requirement(
        "consent.unattended",
        "decisions 23, 35",
        "Consent that nobody can give is a denial: no request is made in an unattended turn.",
    ),
    Requirement(
        "consent.own-call",
        "reference/sessions.md 2.9",
        "A request pauses its own call only: siblings run, and an answer settles its call alone.",
    ),
    Requirement(
        "consent.no-timeout",
        "S0 What ends or stalls a turn",
        "Prompts never time out, and no tool timeout runs while a call waits for a person.",
    ),
    Requirement(
        "consent.parked",
        "protocol, Runnable work",
        "A turn that waits on consent alone is Ready with the idle timer ticking.",
    ),
    Requirement(
        "consent.passivates",
        "S0 Passivation",
        "Such a session passivates with its turn and requests in the snapshot; an answer "
        "rehydrates it and resumes the batch.",
    ),
    Requirement(
        "consent.rest",
        "protocol, Runnable work",
        "A turn that waits on consent alone, and what waits behind it, calls for no process.",
    ),
    Requirement(
        "consent.passive",
        "protocol, Runnable work",
        "The store starts a parked session for an answer, an input that may run or a lost call, "
        "and never for the parked turn itself.",
    ),
    Requirement(
        "consent.drain",
        "reference/sessions.md 3",
        "A drain with nothing but requests open stops at once without a notice; it asks nobody, "
        "launches nothing, and leaves answers for the next start.",
    ),
    Requirement(
        "consent.stays-parked",
        "protocol, Runnable work",
        "Stopping a session keeps a turn that waits on consent alone.",
    ),
    Requirement(
        "consent.approved",
        "protocol, Recovery, exactly",
        "An approved call is judged once more and launched as a batch of its own, after its "
        "answer is durable.",
    ),
    Requirement(
        "consent.refused",
        "glossary, consent answer",
        "A refused call has a denied result that says that a person refused.",
    ),
    Requirement(
        "consent.compacting",
        "reference/sessions.md 1",
        "A parked session can be compacted: its open batch stays whole, and an answer that came "
        "meanwhile is taken up afterwards.",
    ),
    Requirement(
        "consent.passivating",
        "reference/sessions.md 1",
        "An answer aborts an idle passivation.",
    ),
    Requirement(
        "consent.prompt-closed",
        "reference/sessions.md 1",
        "An answer to no open request, or with an option that was not offered, is dropped with a "
        "notice and changes nothing.",
    ),
    Requirement(
        "consent.first-answer", "protocol, Answers", "Of two answers to one call the first counts."
    ),
    Requirement(
        "consent.who",
        "decision 48",
        "Only the recorded sender approves; anybody answers for automation; the operator may "
        "refuse anything; a machine answers nothing.",
    ),
    Requirement(
        "consent.anybody",
        "decision 48",
        "The prompt of an automated turn names nobody who alone may answer it.",
    ),
    Requirement(
        "consent.crash",
        "protocol, Recovery, exactly",
        "An approved call that was not launched is judged again and launched once; one that was "
        "launched and has no result is Interrupted; a durable answer is taken up.",
    ),
    Requirement(
        "consent.heal",
        "protocol, Recovery, exactly",
        "Open requests stay parked over any number of starts: siblings that ran are Interrupted, "
        "finished ones kept, and the turn is neither resumed nor ended whatever text was out.",
    ),
    Requirement(
        "consent.joins",
        "S0 Who joins a turn",
        "A message of the person whose request this process asked joins at the batch boundary.",
    ),
    Requirement(
        "consent.abandoned",
        "decision 28",
        "A message of the person whose request is a recovered one abandons the batch and runs.",
    ),
    Requirement(
        "consent.waits",
        "S0 Who joins a turn",
        "Automation and other people close no prompt and wait for turns of their own.",
    ),
    Requirement(
        "consent.preempted",
        "S0 Who joins a turn",
        "The operator or a trusted person ends an automated turn that waits on consent.",
    ),
    Requirement(
        "consent.stop-turn",
        "decision 26",
        "Ending a turn withdraws its open requests and closes what was never launched.",
    ),
    Requirement(
        "consent.turn-failed",
        "protocol, Recovery, exactly",
        "A turn that fails closes its requests, whoever wrote the failure.",
    ),
    Requirement("consent.reset", "decision 90", "A reset leaves no request and no answer open."),
    Requirement(
        "consent.runs",
        "decisions 48, 69",
        "Answers to requests of child runs follow the same rule and are kept in the parent's "
        "record of the run.",
    ),
    Requirement(
        "consent.invariants",
        "protocol, Recovery, exactly",
        "Whatever dies or races, a call runs at most once and only if it was allowed or approved; "
        "a refused or withdrawn one never runs.",
    ),
    Requirement(
        "consent.replayed",
        "protocol, Streams",
        "A subscriber that comes late is shown the prompts again, and which of them are over.",
    ),
)
