"""State awareness as the supervisor and the session processes keep it up: notices and wakes."""

from __future__ import annotations

from tests.requirements.manifest import Requirement

REQUIREMENTS: tuple[Requirement, ...] = (
    Requirement(
        "notices.pushed",
        "ADR 0045",
        "A process is told of its open notices in its Welcome and of each change by a frame, ahead"
        " of every row of the same transaction; whichever turn comes next tells of them.",
    ),
    Requirement(
        "notices.burst",
        "state awareness, worked example 2",
        "A burst of any size of two or more is exactly two lines, in two turns.",
    ),
    Requirement(
        "notices.child",
        "decision 62; state awareness, acceptance 2 and 5",
        "A person who writes to a child run is one line for its parent, beside the one completion"
        " notice, which the signal log never doubles.",
    ),
    Requirement(
        "notices.only-watched",
        "state awareness, acceptance 9",
        "A session without a parent or a watcher leaves no row in the log.",
    ),
    Requirement(
        "notices.kills",
        "issue 6, must be shown",
        "kill -9 of the watcher, of the target and of the daemon at every step of a notice's life:"
        " never lost, never doubled, the same to the byte in every request to the model.",
    ),
    Requirement(
        "notices.restart",
        "decision 80",
        "A restart in place and a stop neither lose nor double a notice.",
    ),
    Requirement(
        "notices.quiet",
        "ADR 0045",
        "A notice starts nothing by itself and keeps no idle session from passivating.",
    ),
    Requirement(
        "wakes.first-at-once",
        "decision 58",
        "An idle top-level watcher is woken at once.",
    ),
    Requirement(
        "wakes.merged",
        "decision 58",
        "Further wakes of a watcher within the window become one at its end.",
    ),
    Requirement(
        "wakes.passivated",
        "decision 54",
        "A watcher that has no process is started.",
    ),
    Requirement(
        "wakes.once",
        "protocol, recovery",
        "A wake's source id names life, target, mark and how often it was reopened: neither a retry"
        " nor the scan at boot wakes twice.",
    ),
    Requirement(
        "wakes.retried",
        "state awareness, trouble 12",
        "A wake that cannot be admitted is tried again, later each time.",
    ),
    Requirement(
        "wakes.reopened",
        "state awareness, trouble 15",
        "A notice whose turn failed is woken for again after a longer time each, five times, and"
        " then waits for whatever turn comes.",
    ),
    Requirement(
        "wakes.authority",
        "decision 58",
        "A wake runs as automation under the watcher's own audience, unattended, and its answer is"
        " posted nowhere unless that is configured.",
    ),
    Requirement(
        "wakes.replies",
        "decision 58",
        "With Signals.WakeReplies the answer of a wake goes to the session's channel.",
    ),
    Requirement(
        "wakes.waits",
        "decision 58",
        "A wake never joins or preempts a person's turn, and ends at once, without a model call,"
        " when an earlier turn told of everything.",
    ),
    Requirement(
        "wakes.held",
        "decision 5",
        "A session that is quarantined or stopped is not woken; once it is restarted it is.",
    ),
    Requirement(
        "wakes.top-level",
        "state awareness, section 3",
        "A child run is never woken: its line waits for its next turn.",
    ),
    Requirement(
        "wakes.reload",
        "decision 57",
        "Another window counts from the reload on, without a restart.",
    ),
    Requirement(
        "wakes.constant",
        "state awareness, trouble 7",
        "What an event costs the supervisor does not grow with sessions, watchers or open notices.",
    ),
    Requirement(
        "signals.degraded",
        "decision 10",
        "A log that takes no events is shown by the status with a fix, and disturbs no session.",
    ),
    Requirement(
        "signals.admin",
        "cli, signals and goal",
        "The operator reads the log, watches and goals; a negative version is invalid_argument, an"
        " unknown session not_found, and a purged run still answers from the log.",
    ),
    Requirement(
        "signals.tail",
        "issue 6, command line",
        "Who follows the log sees each event once, in order, from a version on if wanted; a reader"
        " that is too slow is told how many events it missed, and holds nobody up.",
    ),
    Requirement(
        "signals.pruned",
        "decision 63",
        "The log is pruned at start and then each interval, also an interval that was changed.",
    ),
)
