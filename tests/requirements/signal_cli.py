"""State awareness at the command line."""

from __future__ import annotations

from tests.requirements.manifest import Requirement

_CLI = "issue 6, Command line"

REQUIREMENTS: tuple[Requirement, ...] = (
    Requirement(
        "signals.cli-show",
        "command line, signals show",
        "`netclaw signals show` prints the state version and what changed after a version, and"
        " moves nothing.",
    ),
    Requirement(
        "signals.cli-watch",
        "command line, signals watch",
        "`netclaw signals watch|unwatch|watches` begin, end and list watches; a session does not"
        " watch itself, and unknown sessions are refused.",
    ),
    Requirement(
        "signals.cli-tail",
        _CLI,
        "`netclaw signals tail` prints changes of every session as they come, or of one, until"
        " Ctrl-C, goes on after a restart of the daemon without losing one, and says when the"
        " daemon is gone.",
    ),
    Requirement(
        "signals.cli-goal",
        "command line, goal",
        "`netclaw goal show|set|clear` shows, sets and clears the goal of a session and its"
        " status.",
    ),
    Requirement(
        "signals.cli-adopt",
        "command line, sessions adopt",
        "`netclaw sessions adopt` takes a transcript over and says what it became.",
    ),
    Requirement(
        "signals.cli-sessions",
        _CLI,
        "`sessions list` has the state version of each session that has one, `sessions show` the"
        " goal, who watches and what is watched.",
    ),
    Requirement(
        "signals.cli-status",
        _CLI,
        "`netclaw status` has a line on notices that nobody took up yet, and none otherwise.",
    ),
    Requirement(
        "signals.cli-wake",
        _CLI,
        "Whoever looks at a session sees that a turn began because another session changed.",
    ),
    Requirement(
        "signals.cli-completion",
        _CLI,
        "Shell completion offers the sessions of every signal command and the states of a goal.",
    ),
)
