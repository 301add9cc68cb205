"""Promises of the loop guard."""

from tests.requirements.manifest import Requirement

_REPEATS = "S0 Loop guard, Repeated calls"
_FAILURES = "S0 Loop guard, Failed calls"

REQUIREMENTS: tuple[Requirement, ...] = (
    Requirement(
        "guard.two-equal-rounds",
        _REPEATS,
        "After two rounds with equal outcomes the next identical call is refused and not run.",
    ),
    Requirement(
        "guard.ladder",
        _REPEATS,
        "Refusals one to four carry a nudge, the fifth a stronger one, instead of a sixth the turn"
        " ends.",
    ),
    Requirement(
        "guard.quiet-end",
        _REPEATS,
        "The guard ends a turn with the model's text and no error; no call of that response runs"
        " and no model call follows.",
    ),
    Requirement(
        "guard.identity",
        "reference sessions 2",
        "A call is identified by its tool and its arguments as JSON, not by its ids or spelling.",
    ),
    Requirement(
        "guard.outcome",
        "decision 31",
        "An outcome is the receipt's category and the exact result text, without the call's own id;"
        " a round with a different outcome is not an equal round and clears that identity alone.",
    ),
    Requirement(
        "guard.duplicates",
        "reference sessions 2",
        "Duplicates in one round are one observation, and each of them is answered when refused.",
    ),
    Requirement(
        "guard.unrelated-calls",
        "reference sessions 2",
        "Other calls in between do not clear what was seen of a call.",
    ),
    Requirement(
        "guard.cycles",
        "issue 3 item 3",
        "Whole batches that repeat in a cycle of one to three are refused, also if the outcomes of"
        " one call change within the cycle.",
    ),
    Requirement(
        "guard.poll",
        "decision 31",
        "Asking after a background job that still runs is no repetition; cancelling it is.",
    ),
    Requirement(
        "guard.bounded",
        "reference sessions 2",
        "At most 256 identities seen once are remembered; suspects are never forgotten.",
    ),
    Requirement(
        "guard.failures",
        _FAILURES,
        "Failed calls of any tools add up: at 4 the model is told the repeated cause, at 6 more"
        " strongly, at 8 its next response that asks for tools ends the turn.",
    ),
    Requirement(
        "guard.weights",
        "decision 13",
        "A denied call counts 2, any other failure 1.",
    ),
    Requirement(
        "guard.success-resets",
        _FAILURES,
        "One success in a batch sets the failure score to zero.",
    ),
    Requirement(
        "guard.refusal-is-nothing",
        "reference sessions 2",
        "A refused call is no completion: neither an outcome, nor a success, nor a failure.",
    ),
    Requirement(
        "guard.reset",
        "S0 Loop guard",
        "Only a new turn or an input of a person that joins the turn clears the evidence.",
    ),
    Requirement(
        "guard.survives",
        "decision 31",
        "The evidence survives crash, drain, restart, snapshot and compaction.",
    ),
    Requirement(
        "guard.no-round-limit",
        "decision 19",
        "A turn that keeps doing new work is never ended for the number of its rounds.",
    ),
)
