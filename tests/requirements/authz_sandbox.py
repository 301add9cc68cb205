"""Promises of the sandbox that is derived from what was judged."""

from tests.requirements.manifest import Requirement

REQUIREMENTS: tuple[Requirement, ...] = (
    Requirement(
        "sandbox-access.nearest-folder",
        "decision 45",
        "What a judged command writes is made writable by the nearest folder that exists.",
    ),
    Requirement(
        "sandbox-access.reading-opens-nothing",
        "decision 45, ADR 0039",
        "A command that only reads, and a program that is only run, makes nothing writable.",
    ),
    Requirement(
        "sandbox-access.never",
        "decision 45",
        "No command makes the root, the user's home, system folders, a netclaw home or a place of"
        " credentials writable, nor anything around one.",
    ),
    Requirement(
        "sandbox-access.profile-bounds",
        "decision 45",
        "Consent never makes a folder writable beyond a write profile of Roots or None.",
    ),
    Requirement(
        "sandbox-access.network",
        "decision 44",
        "A sandboxed command has the network as the setting says; where it says granted, if the"
        " call was consented, granted, under mode Auto, or of a safe phrase with the network.",
    ),
    Requirement(
        "sandbox-access.readable",
        "decision 83, authorization reference row 38",
        "A file that a sandbox hides is shown to a command that was judged to read it.",
    ),
    Requirement(
        "sandbox-access.named",
        "decision 45, ADR 0039",
        "A folder is writable for a command that names it, and neither what lies beside it, nor"
        " credentials and other netclaw homes however they are named.",
    ),
    Requirement(
        "sandbox-access.modes",
        "issue 4 item 6",
        "Where commands run unconfined, and for other tools, no sandbox access is promised.",
    ),
)
