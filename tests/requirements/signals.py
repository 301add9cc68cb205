"""Promises about the signal log, its watchers, notices and goals: the rules themselves."""

from tests.requirements.manifest import Requirement

_LOG = "state awareness, the signal log"
_WATCHERS = "state awareness, watchers"
_NOTICES = "state awareness, notices"
_LOOKING_BACK = "state awareness, looking back"
_LIMITS = "state awareness, storage and limits"

REQUIREMENTS: tuple[Requirement, ...] = (
    Requirement(
        "signals.kinds",
        _LOG,
        "The eight kinds are all there are; three of them are told to watchers.",
    ),
    Requirement(
        "signals.summaries",
        _LOG,
        "Each event has one exact line and few facts, and never a word of a message.",
    ),
    Requirement(
        "signals.once",
        _LOG,
        "A spawn, an end, a compaction, an adoption and a change of a transcript are named once.",
    ),
    Requirement(
        "signals.actors",
        _LOG,
        "Who acted is told once, from the input's authority: a person, a session or netclaw.",
    ),
    Requirement(
        "signals.order-of-marks",
        _WATCHERS,
        "Seen is never beyond notified, and notified never beyond material.",
    ),
    Requirement(
        "signals.seed",
        _WATCHERS,
        "A parent watches its child run from the spawn on; another spawn begins anew.",
    ),
    Requirement(
        "signals.watch",
        _WATCHERS,
        "A watch begins at the target's version and tells nothing of before; again, it stays.",
    ),
    Requirement(
        "signals.frozen-mark",
        _NOTICES,
        "While a notice is open its mark and its line stay, whatever else happens.",
    ),
    Requirement(
        "signals.self-suppression",
        _NOTICES,
        "A watcher is never told of what it did itself.",
    ),
    Requirement(
        "signals.follow-up",
        _NOTICES,
        "What came while a notice was open is told by exactly one more.",
    ),
    Requirement(
        "signals.sweep",
        "decision 91",
        "At boot everything there is to tell becomes one notice with the line it had.",
    ),
    Requirement(
        "signals.given-back",
        "ADR 0045",
        "A turn that fails before its first round opens its notices again, each with its line.",
    ),
    Requirement(
        "signals.exact-gap",
        _LOOKING_BACK,
        "A gap is told exactly: if something after the version was removed, or of a former life.",
    ),
    Requirement(
        "signals.pages",
        _LOOKING_BACK,
        "An answer has at most 200 events, says if there are more, and what is kept at all.",
    ),
    Requirement(
        "signals.retention",
        _LIMITS,
        "What is too old goes first, then what is too much; a state version never falls.",
    ),
    Requirement(
        "signals.invariants",
        _NOTICES,
        "Whatever happens in whatever order: nothing is lost, nothing told twice.",
    ),
    Requirement(
        "signals.line",
        "decision 59",
        "A notice is one line that names the session and the exact call to look back with.",
    ),
    Requirement(
        "signals.lines-of-a-turn",
        "decision 53",
        "Each turn that calls a model begins with the open notices, at most 50, oldest first.",
    ),
    Requirement(
        "signals.quiet-wake",
        "decision 54",
        "A wake with nothing left to tell ends without a word and without a model call.",
    ),
    Requirement(
        "signals.wakes-wait",
        "decision 54",
        "A wake, and what another session sends, never joins or interrupts a person's turn.",
    ),
    Requirement(
        "signals.sessions-are-no-people",
        "decision 56",
        "What another session sends counts as no person, whoever that session works for.",
    ),
    Requirement(
        "signals.visibility",
        "decision 62",
        "A turn sees its own tree, its agent's or all sessions, never one of a broader audience.",
    ),
    Requirement(
        "signals.goal-changes",
        "issue 6 item 5",
        "A goal is created, reworded, moved to a status or cleared; anything else changes nothing.",
    ),
    Requirement(
        "signals.goal-bound",
        "issue 6 item 5",
        "A goal has at most 2,000 characters, and a status only where there is a goal.",
    ),
    Requirement(
        "signals.goal-shown",
        "issue 6 item 5",
        "A turn is told the goal and its status, except before the public; a reset forgets it.",
    ),
    Requirement(
        "signals.adopted-history",
        "decision 60",
        "Messages of an adopted transcript are the session's history, each with its own time.",
    ),
    Requirement(
        "signals.recorded-with-its-cause",
        "ADR 0045",
        "The store records a signal in the commit of the change it tells of, once, and names it"
        " to the listener before the rows.",
    ),
    Requirement(
        "signals.kept-until-told",
        "ADR 0045",
        "A notice is consumed in the commit that begins the turn that shows it, or not at all.",
    ),
    Requirement(
        "signals.best-effort",
        "decision 10",
        "What fails in the signal log fails alone: the journal commits, one warning is logged.",
    ),
    Requirement(
        "signals.recreated-gap",
        "decision 55",
        "A key that is used again reports a gap to whoever knows a version of its former life.",
    ),
    Requirement(
        "signals.purged-run",
        "ADR 0045",
        "The signals of a child run outlive its journal, and go with its parent.",
    ),
    Requirement(
        "signals.cost",
        "issue 6",
        "An append with 100 watchers takes under 5 ms, and 50 open cursors add under 5 ms to a"
        " turn's start.",
    ),
    Requirement(
        "signals.upgrade",
        _LOG,
        "A database of an earlier netclaw gets the signal log, and loses nothing.",
    ),
)
