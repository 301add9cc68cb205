"""A restart of the daemon: what is noticed, what stops, what goes on (S0 "Recovery...")."""

from __future__ import annotations

from tests.requirements.manifest import Requirement

REQUIREMENTS: tuple[Requirement, ...] = (
    Requirement(
        "restart.deadline",
        "issue 3 item 9",
        "A turn stopped after a batch goes on by itself within ten minutes of its first stop; then"
        " it ends with the notice and one warning, and a second stop gives it no more time.",
    ),
    Requirement(
        "restart.continuity",
        "issue 3 item 9",
        "The first turn after a stop is told of it once, in a line that never becomes history.",
    ),
    Requirement(
        "restart.twice",
        "issue 3 item 9",
        "A turn survives two restarts in a row with one answer and no call run twice.",
    ),
    Requirement(
        "restart.invalid-is-shown",
        "issue 3 item 9",
        "An invalid edit keeps the daemon running; status and doctor say so until it is mended.",
    ),
    Requirement(
        "restart.deleted-file",
        "issue 3 item 9",
        "A configuration file that is deleted stops nothing, and its return is noticed.",
    ),
    Requirement(
        "restart.watch-forms",
        "issue 3 item 9",
        "An edit is seen whether it was written in place, renamed over, or made after a removal.",
    ),
    Requirement(
        "restart.warm-and-cold",
        "S0 Recovery and restart",
        "After a restart, sessions that were at work run before the first call is served; idle ones"
        " stay cold until somebody talks to them.",
    ),
    Requirement(
        "restart.notices",
        "S0 Recovery and restart",
        "A person whose turn a stop ends is told so: stopping, or restarting.",
    ),
    Requirement(
        "restart.bounded",
        "S0 Recovery and restart",
        "A stop of the whole daemon ends within 30 seconds whatever runs, and nothing runs on.",
    ),
    Requirement(
        "restart.edit-at-start",
        "issue 3 item 9",
        "An edit made while the daemon starts is not missed.",
    ),
)
