"""Mistakes that a daemon of this kind has made before: the right behaviour, one sentence each.

The numbers are those of the project's list of such mistakes (bug class N). What belongs to
authorization, child runs, jobs and channels is in their own lists.
"""

from __future__ import annotations

from tests.requirements.manifest import Requirement

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
