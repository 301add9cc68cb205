"""Promises that a second look at authorization added."""

from tests.requirements.manifest import Requirement

REQUIREMENTS: tuple[Requirement, ...] = (
    Requirement(
        "access.credentials",
        "decision 44, ADR 0043",
        "Credentials that the operator lists are shown, read-only, to commands that somebody"
        " consented to, and never to what mode Auto or a safe phrase lets run, nor with a command"
        " beside them that could print them unasked; no home of netclaw is ever shown.",
    ),
    Requirement(
        "access.credentials-told",
        "decision 44",
        "`netclaw authorize` names the credentials that a call would be shown, and doctor says"
        " what reads them as well.",
    ),
    Requirement(
        "access.quiet-git",
        "issue 4 item 6",
        "A Git command that nobody was asked about starts no file system monitor of the"
        " repository's choosing and takes no plain folder for a repository.",
    ),
    Requirement(
        "authz.startup-places",
        "authorization reference 2, fail-closed rule",
        "A file tool of Personal that changes what programs run or read on their own (shell and"
        " Git start-up files, hooks, autostart, system folders) asks, however it is spelled.",
    ),
    Requirement(
        "tests.no-system-file",
        "issue 4",
        "No test changes a file of the system, as root either.",
    ),
)
