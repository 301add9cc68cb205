"""Promises of the sandbox that is derived from what was judged."""

from tests.requirements.manifest import Requirement

REQUIREMENTS: tuple[Requirement, ...] = (
    Requirement(
        "access.nearest-folder",
        "decision 45",
        "What a judged command writes is made writable by the nearest folder that exists.",
    ),
    Requirement(
        "access.reading-opens-nothing",
        "decision 45, ADR 0039",
        "A command that only reads, and a program that is only run, makes nothing writable.",
    ),
    Requirement(
        "access.never",
        "decision 45",
        "No command makes the root, the user's home, system folders, a netclaw home or a place of"
        " credentials writable, nor anything around one.",
    ),
    Requirement(
        "access.profile-bounds",
        "decision 45",
        "Consent never makes a folder writable beyond a write profile of Roots or None.",
    ),
    Requirement(
        "access.network",
        "decision 44",
        "A sandboxed command has the network as the setting says; where it says granted, if the"
        " call was consented, granted, under mode Auto, or of a safe phrase with the network.",
    ),
    Requirement(
        "access.readable",
        "decision 83, authorization reference row 38",
        "A file that a sandbox hides is shown to a command that was judged to read it.",
    ),
    Requirement(
        "access.named",
        "decision 45, ADR 0039",
        "A folder is writable for a command that names it, and neither what lies beside it, nor"
        " credentials and other netclaw homes however they are named.",
    ),
    Requirement(
        "access.at-the-gate",
        "authorization reference 1, step 12",
        "A command is judged once more when its process tree is known and nothing of it ran: if it"
        " may no longer start, or would be given less, it does not run.",
    ),
    Requirement(
        "access.boundary-is-named",
        "issue 4 item 6",
        "Where a command failed and says that something was denied, the result names what it could"
        " write and whether it had the network; otherwise nothing is guessed.",
    ),
    Requirement(
        "access.temporary-retry",
        "authorization reference 6",
        "A call that was advised to use its own temporary folder, and is repeated exactly after"
        " that was read, is asked for once only; every repetition takes an advice of its own.",
    ),
    Requirement(
        "access.environment",
        "authorization reference 1, step 12",
        "Nothing of the daemon's environment that changes how a shell or a loader starts reaches a"
        " command, and its input is closed.",
    ),
    Requirement(
        "access.bounds",
        "decision 86",
        "However many places one command names, at most 64 folders are opened and 256 are shown.",
    ),
    Requirement(
        "access.modes",
        "issue 4 item 6",
        "Where commands run unconfined, and for other tools, no sandbox access is promised.",
    ),
)
