"""Promises of judging calls in a session process."""

from __future__ import annotations

from tests.requirements.manifest import Requirement

REQUIREMENTS: tuple[Requirement, ...] = (
    Requirement(
        "judging.attempt",
        "reference 1, step 11",
        "A proposed call gets an authorization attempt id that stays through consent, recheck and "
        "launch; a call of the model's own gets a new one.",
    ),
    Requirement(
        "judging.bounded",
        "decision 86",
        "Judging never holds the session's loop, and a judgement that does not end denies.",
    ),
    Requirement(
        "judging.judged-first",
        "reference 1",
        "No call runs that this process did not judge as allowed; a judgement that was cancelled "
        "or came to another end leaves nothing that lets one run.",
    ),
    Requirement(
        "judging.once",
        "reference 5",
        "A one-time consent lets exactly the call run that was asked for, once, and stores "
        "nothing; the result says how the call was allowed.",
    ),
    Requirement(
        "judging.grants-recorded",
        "reference 1, step 11",
        "An answer is stored before its call is judged again from the top; where it cannot be "
        "stored, or is not offered any more, it counts for this call alone.",
    ),
    Requirement(
        "judging.revocation",
        "decision 47",
        "A grant that is revoked counts no longer from the next check on: a call that is queued or "
        "waits at its gate starts nothing.",
    ),
    Requirement(
        "judging.paths-changed",
        "reference 1, step 12",
        "A path or folder of a command that leads elsewhere when it is to start stops it.",
    ),
    Requirement(
        "judging.asked-for-anew",
        "reference 1, step 11",
        "An answer covers the commands and the folder that were shown with the request; anything "
        "else is asked for anew.",
    ),
    Requirement(
        "judging.unattended",
        "reference 1, step 10",
        "A call that needs consent is denied where nobody can give it, with what the operator can "
        "do about it.",
    ),
    Requirement(
        "judging.store-unavailable",
        "reference 5",
        "While the stored consents cannot be read, what needs one is denied and all else runs.",
    ),
    Requirement(
        "judging.internal",
        "reference 1",
        "Whatever goes wrong while a call is judged denies it, and nothing of the call is logged.",
    ),
    Requirement(
        "judging.bad-input",
        "issue 4, Bad input",
        "Texts and arguments that mean nothing have a result of their own, at once, and no effect.",
    ),
    Requirement(
        "judging.logged",
        "reference 7",
        "Each decision is logged with its reason and attempt id, never with a command or a path.",
    ),
    Requirement(
        "judging.boundaries",
        "reference 4",
        "Files are judged by the profile of the session's audience.",
    ),
    Requirement(
        "judging.unknown-mode",
        "decision 39",
        "A consent mode that nobody knows opens nothing.",
    ),
    Requirement(
        "judging.processes",
        "issue 4, Must be shown",
        "Whichever process is killed between a request and the end of its call, consent is asked "
        "for once and the call runs at most once.",
    ),
    Requirement(
        "judging.torture",
        "issue 4, Must be shown; ADR 0030, 0037, 0042",
        "Under random kills, answers and edits of the grants each call that asks is asked for once "
        "and runs at most once, none runs without an approval or a grant, every request ends, and "
        "nothing waits once all is answered.",
    ),
)
