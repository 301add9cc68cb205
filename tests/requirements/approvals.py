"""What is promised of answers to consent requests, of grants, and of who keeps them."""

from __future__ import annotations

from tests.requirements.manifest import Requirement

REQUIREMENTS: tuple[Requirement, ...] = (
    Requirement(
        "approvals.durable",
        "protocol, Answers",
        "An answer is durable before it is acknowledged; the same answer by the same person again "
        "is acknowledged and not written twice.",
    ),
    Requirement(
        "approvals.first",
        "protocol, Answers",
        "Of many answers to one request at the same time exactly one counts.",
    ),
    Requirement(
        "approvals.refused",
        "issue 4 Bad input",
        "An answer to nothing, with an option that was not offered, or by somebody whose it is not "
        "has a stable code each and writes nothing.",
    ),
    Requirement(
        "approvals.who",
        "decision 48",
        "The recorded sender answers; the operator may refuse any request, and approves only what "
        "the operator or a machine asked.",
    ),
    Requirement(
        "approvals.stale",
        "reference/authorization.md 5, Lifecycle",
        "An answer to a request that is answered, withdrawn, asked anew or over is told in one "
        "stable sentence that the prompt is closed, and the call never runs by it.",
    ),
    Requirement(
        "approvals.runs",
        "decision 49",
        "A request of a child run is open until it is answered, withdrawn or its run is over.",
    ),
    Requirement(
        "approvals.pending",
        "cli.md approvals",
        "What waits for a person is listed across all sessions, whether or not they have a "
        "process, oldest first.",
    ),
    Requirement(
        "approvals.asked",
        "decision 47",
        "A session asks the supervisor at every check: what is revoked or edited by hand counts "
        "at the next one, and what an answer adds is durable before the call runs.",
    ),
    Requirement(
        "approvals.audience",
        "decision 47",
        "A session process is told no consent of a broader audience and adds to its own audience "
        "alone.",
    ),
    Requirement(
        "approvals.chat",
        "decision 47",
        "Consent for a chat survives passivation and a crash of its process, and ends with reset, "
        "delete or the stop of the daemon; a child run uses it and shares none of its own.",
    ),
    Requirement(
        "approvals.broken",
        "reference/authorization.md 5, Grants file",
        "A malformed or newer grants file, a link or somebody else's is left as it is and "
        "reported; no stored grant counts, consent given in a chat still does.",
    ),
    Requirement(
        "approvals.file-saving",
        "reference/authorization.md 5, Grants file",
        "A grant is durable when it is acknowledged, in a file of its owner alone that is replaced "
        "whole; an equal entry keeps its date, one that adds nothing is not saved, saving removes "
        "nothing, and a kill at any step leaves the old file or the new one.",
    ),
    Requirement(
        "approvals.file-edits",
        "reference/authorization.md 5, Grants file",
        "Edits by hand count at the next check and none is lost by a change that netclaw makes.",
    ),
    Requirement(
        "approvals.file-versions",
        "reference/authorization.md 5, Grants file",
        "A grants file of version 2 is kept byte for byte and migrated, one of version 1 is moved "
        "aside.",
    ),
    Requirement(
        "approvals.revoke",
        "reference/authorization.md 5, CLI",
        "What is revoked is named by its label or as all of a tool and an audience; what is not "
        "clear is refused, and a revocation counts at once.",
    ),
    Requirement(
        "approvals.list",
        "cli.md approvals",
        "All that is consented to is listed with its audience, tool and place, chats included.",
    ),
    Requirement(
        "approvals.trust",
        "reference/authorization.md 5, CLI",
        "The words of one plain command can be trusted ahead of any call; options, redirects, "
        "assignments, names that are not literal and several commands are refused.",
    ),
    Requirement(
        "approvals.answer",
        "cli.md approvals",
        "A call is decided by the shortest unique beginning of its id and by key, letter or label "
        "of the option.",
    ),
    Requirement(
        "approvals.offline",
        "decision 81",
        "Without a daemon grants are listed, revoked and added in the file, under the home's lock "
        "alone; with one it is asked.",
    ),
)
