"""Mistakes that a daemon of this kind has made before: the right behaviour, one sentence each.

The numbers are those of the project's list of such mistakes (bug class N). What belongs to
authorization, child runs, jobs and channels is in their own lists.
"""

from __future__ import annotations

from tests.requirements.manifest import Promise, Requirement, promised

REQUIREMENTS: tuple[Requirement, ...] = (
    Requirement(
        "upstream.idle-timer",
        "bug class 1",
        "Only work keeps a session from passivating: watchers, questions and internal ticks do"
        " not.",
    ),
    Requirement(
        "upstream.rows-after-kill",
        "bug class 3",
        "Every stop drains and records, and after a kill the rows say what is true.",
    ),
    Requirement(
        "upstream.edit-in-mid-turn",
        "bug class 4",
        "An edit of the configuration in mid-turn loses nothing of the history.",
    ),
    Requirement(
        "upstream.budgets-nest",
        "bug class 5",
        "Sessions drain in less time than the daemon has, the daemon ends before the command"
        " line kills it, and the service manager waits longest.",
    ),
    Requirement(
        "upstream.lost-pid-file",
        "bug class 7",
        "A lost PID file makes no second daemon: the lock decides.",
    ),
    Requirement(
        "upstream.one-owner",
        "bug class 8",
        "A daemon that a service runs is not joined by a detached one.",
    ),
    Requirement(
        "upstream.rename-over-edit",
        "bug class 9",
        "An edit made by writing a new file and renaming it over the old one is noticed.",
    ),
    Requirement(
        "upstream.secret-is-no-restart",
        "bug class 10",
        "A renewed key, a client's file and a write that changes nothing restart no daemon.",
    ),
    Requirement(
        "upstream.overflow-compacts",
        "bug class 11",
        "A request that the provider refuses as too long is shortened and sent again; the"
        " session goes on.",
    ),
    Requirement(
        "upstream.compacts-in-loops",
        "bug class 12",
        "A tool loop is compacted between its rounds, by the tokens of its own replies.",
    ),
    Requirement(
        "upstream.notes-fail-visibly",
        "bug class 13",
        "Notes that cannot be made leave the shortened history and a visible notice.",
    ),
    Requirement(
        "upstream.compaction-frees-enough",
        "bug class 14",
        "Tools that fill the window count as what is left, so compaction keeps less until it fits.",
    ),
    Requirement(
        "upstream.compaction-off-the-loop",
        "bug class 16",
        "What arrives while a session compacts is taken at once and runs right after.",
    ),
    Requirement(
        "upstream.unoffered-calls-fail",
        "bug class 18",
        "Calls of tools that were not offered fail the turn instead of stalling it.",
    ),
    Requirement(
        "upstream.failed-turn-keeps-inputs",
        "bug class 19",
        "A failed turn keeps what was sent meanwhile, and it runs next.",
    ),
    Requirement(
        "upstream.empty-replies-bounded",
        "bug class 20",
        "An empty reply, or one of thinking alone, is asked again a bounded number of times.",
    ),
    Requirement(
        "upstream.long-prefill",
        "bug class 21",
        "A call that waits long before its first token and says so is not cut.",
    ),
    Requirement(
        "upstream.sidecars-guarded",
        "bug class 23",
        "A background call that never ends is cut off and holds nobody up.",
    ),
    Requirement(
        "upstream.half-open",
        "bug class 23",
        "A connection that is open and silent is cut off by its limit, and the session goes on.",
    ),
    Requirement(
        "upstream.deadline-ends-tree",
        "bug class 34",
        "A deadline ends the whole tree of a command, and open pipes delay no end.",
    ),
    Requirement(
        "upstream.automation-own-turn",
        "bug class 36",
        "An automated input never joins a turn; it has one of its own.",
    ),
    Requirement(
        "upstream.own-loop",
        "bug class 37",
        "A session takes messages while its model, its tools and its journal keep it waiting.",
    ),
    Requirement(
        "upstream.failed-posts",
        "bug class 38",
        "A reply that could not be delivered is told, tried again, and blocks nothing but its"
        " thread.",
    ),
    Requirement(
        "upstream.output-after-passivation",
        "bug class 40",
        "Who stays attached hears a session that passivated and woke again.",
    ),
    Requirement(
        "upstream.one-reconnect",
        "bug class 41",
        "A client has one connection that comes back by itself, and says when attaching fails"
        " for good.",
    ),
    Requirement(
        "upstream.guard-per-turn",
        "bug class 43",
        "The loop guard counts refusals by round, escalates, and starts anew with fresh input.",
    ),
    Requirement(
        "upstream.audience-never-defaults-up",
        "bug class 44",
        "A missing or unknown audience never becomes a broader one.",
    ),
    Requirement(
        "upstream.folder-gone",
        "bug class 44",
        "A daemon whose working folder was removed starts, restarts and runs tools as ever.",
    ),
)

BUG_CLASSES: dict[int, Promise] = {
    1: promised("bug class 1", "Internal ticks are no work.", "upstream.idle-timer"),
    3: promised("bug class 3", "One way to stop; rows are true.", "upstream.rows-after-kill"),
    4: promised("bug class 4", "An edit loses no history.", "upstream.edit-in-mid-turn"),
    5: promised("bug class 5", "Stop budgets nest.", "upstream.budgets-nest"),
    7: promised("bug class 7", "The lock decides.", "upstream.lost-pid-file"),
    8: promised("bug class 8", "One daemon, whoever runs it.", "upstream.one-owner"),
    9: promised("bug class 9", "Renamed files are seen.", "upstream.rename-over-edit"),
    10: promised("bug class 10", "Only edits restart.", "upstream.secret-is-no-restart"),
    11: promised("bug class 11", "Overflow compacts.", "upstream.overflow-compacts"),
    12: promised("bug class 12", "Tool loops compact.", "upstream.compacts-in-loops"),
    13: promised("bug class 13", "Failed notes are seen.", "upstream.notes-fail-visibly"),
    14: promised("bug class 14", "Compaction frees enough.", "upstream.compaction-frees-enough"),
    16: promised("bug class 16", "Nothing wedges.", "upstream.compaction-off-the-loop"),
    18: promised("bug class 18", "Unoffered calls fail.", "upstream.unoffered-calls-fail"),
    19: promised("bug class 19", "Waiting inputs run.", "upstream.failed-turn-keeps-inputs"),
    20: promised("bug class 20", "Nudges are bounded.", "upstream.empty-replies-bounded"),
    21: promised("bug class 21", "Long prefill lives.", "upstream.long-prefill"),
    23: promised(
        "bug class 23",
        "Half-open connections end, sidecars too.",
        "upstream.half-open",
        "upstream.sidecars-guarded",
        "failover.prefill",
        "sidecars.half-open",
    ),
    25: promised(
        "bug class 25",
        "A child that dies at its launch leaves a trace in its parent.",
        "child.heal",
        "parent.start-fails",
        "children.speaks-for",
    ),
    26: promised("bug class 26", "A result says its state.", "delivery.notice"),
    27: promised("bug class 27", "Unattended consent is refused.", "child.consent-unattended"),
    29: promised(
        "bug class 29",
        "Approvals are on record, so no button is dead.",
        "consent.request",
        "consent.passivates",
        "channels.prompt-restart",
    ),
    31: promised(
        "bug class 31",
        "No timeout runs while a person is asked, and once is once.",
        "consent.no-timeout",
        "consent.approved",
    ),
    32: promised(
        "bug class 32",
        "Control of a job asks for no approval and breaks no history.",
        "job.cancel",
        "jobs.check",
        "jobs.cancel",
    ),
    33: promised(
        "bug class 33",
        "A job's log is written while it runs, and nothing kills it unasked.",
        "jobs.log",
        "jobs.timeout",
        "jobs.cleanup",
    ),
    34: promised("bug class 34", "Deadlines end trees.", "upstream.deadline-ends-tree"),
    36: promised("bug class 36", "Automation stays apart.", "upstream.automation-own-turn"),
    37: promised("bug class 37", "No loop waits for itself.", "upstream.own-loop"),
    38: promised(
        "bug class 38",
        "A failed post is reported and bounded.",
        "upstream.failed-posts",
        "channels.outbox-given-up",
    ),
    40: promised("bug class 40", "Woken sessions are heard.", "upstream.output-after-passivation"),
    41: promised("bug class 41", "One reconnect loop.", "upstream.one-reconnect"),
    43: promised("bug class 43", "The guard is per turn.", "upstream.guard-per-turn"),
    44: promised(
        "bug class 44",
        "Restored media, missing audiences and lost folders stop nobody.",
        "context.modality-restored",
        "upstream.audience-never-defaults-up",
        "upstream.folder-gone",
    ),
}
"""Every class of the list, and what shows that it is not made here."""
