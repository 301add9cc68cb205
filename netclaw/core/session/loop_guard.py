"""Notices a model that repeats itself, or only fails, and ends its turn quietly (S0 Loop guard).

Two questions are asked: `judge`, before the calls of a response are launched, and `observe`, once
every call of a batch has its result. Between them lies `GuardState`, which the journal determines.

*Repeats.* The identity of a call is its tool and its arguments, its outcome the receipt's category
and the exact result text. Two rounds that ran an identity with equal outcomes make it a suspect,
whatever ran between them; a different outcome in between makes it a stranger again. A suspect is
refused: four times with a nudge, the fifth time with a stronger one, and instead of a sixth the
turn ends. The same holds for whole batches in a cycle of up to three, which also catches a call
whose outcomes change in a cycle.

*Failures.* Failed calls of any tools add to a score until a batch holds a success. At 4 and 6 the
model is told, at 8 its next response that asks for tools ends the turn.

A refusal is no outcome, no success and no failure. ADR 0026 holds what the seeds leave open.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from netclaw.core.ids import CallId
from netclaw.core.session import sentences
from netclaw.core.session.loop_guard_state import (
    BatchEvidence,
    Cycle,
    FailureTally,
    GuardState,
    Sighting,
)
from netclaw.core.session.state import CallState
from netclaw.core.tool_call import (
    UNREAL,
    OutcomeCategory,
    ToolCall,
    ToolReceipt,
    ToolResult,
)

STRONG_REFUSAL = 5
LAST_REFUSAL = 6
"""The refusal that is not given: the turn ends instead."""

NUDGE_SCORE = 4
STRONG_SCORE = 6
END_SCORE = 8

WEIGHTS: Mapping[OutcomeCategory, int] = {
    **dict.fromkeys(OutcomeCategory, 1),
    OutcomeCategory.ACCESS_DENIED: 2,
    OutcomeCategory.SUCCESS: 0,
}
"""What a call adds to the failure score (decision 13)."""

ONCE_SEEN_MAX = 256
"""How many identities that are no suspects are remembered; the oldest are forgotten first."""

PERIODS = (1, 2, 3)
"""Lengths of the whole-batch cycles that are looked for."""

POLL_TOOL = "check_background_job"

CANONICAL_MAX_CHARS = 100_000
"""Longer arguments are compared as they are spelled: reading them would hold up the session."""

REMEDIATION = "BreakToolCycle"
"""The remediation code of a refusal's receipt; no tool has it to give."""


class GuardEnding(StrEnum):
    """Why the guard ends a turn."""

    REPEATS = "repeats"
    FAILURES = "failures"


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What becomes of a response's calls: all are dropped with the turn, or some are refused."""

    ending: GuardEnding | None = None
    refusals: tuple[ToolResult, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Round:
    """What the calls of one response are, without their ids."""

    identities: Mapping[CallId, str]
    polls: frozenset[CallId]
    """Calls that may turn out to ask after a running job."""

    @property
    def members(self) -> frozenset[str]:
        """The identities that make the whole batch what it is: all but polls."""
        return frozenset(
            identity for call_id, identity in self.identities.items() if call_id not in self.polls
        )

    @property
    def key(self) -> str:
        """The whole batch as one identity, whatever the order and number of its calls."""
        return _digest(sorted(self.members))


def judge(guard: GuardState, calls: tuple[ToolCall, ...]) -> Verdict:
    """Look at the calls of a response before any of them is launched.

    Every call of a refused identity is refused, its duplicates in the same response included.
    """
    if failure_score(guard.failures) >= END_SCORE:
        return Verdict(ending=GuardEnding.FAILURES)
    numbers = _refusal_numbers(guard, _round_of(calls))
    if max(numbers.values(), default=0) >= LAST_REFUSAL:
        return Verdict(ending=GuardEnding.REPEATS)
    return Verdict(refusals=tuple(_refusal(*item) for item in numbers.items()))


def observe(guard: GuardState, batch: tuple[CallState, ...]) -> GuardState:
    """The evidence after a batch whose every call has its result.

    One round is one observation of an identity, however many duplicates it holds; duplicates with
    different outcomes are one combined outcome.
    """
    found = _round_of(item.call for item in batch)
    outcomes = _outcomes(batch, found)
    refused = frozenset(found.identities[item.call.call_id] for item in batch if is_refusal(item))
    cycles = _count_refusals(guard.cycles, found.key) if refused else guard.cycles
    recent = _with_batch(guard.recent, found, outcomes)
    keys = _cycle_in(recent)
    return GuardState(
        sightings=_bounded(_sightings(guard.sightings, outcomes, refused)),
        recent=() if keys else recent,
        cycles=(*cycles, Cycle(keys=keys)) if keys else cycles,
        failures=_failures_after(guard.failures, batch),
    )


def failure_note(guard: GuardState, batch: tuple[CallState, ...]) -> str:
    """What the model is told after a batch that took the failure score over a threshold.

    `guard` is the evidence before the batch. Empty if there is nothing to tell.
    """
    before = failure_score(guard.failures)
    tallies = _failures_after(guard.failures, batch)
    after = failure_score(tallies)
    passed = [score for score in (NUDGE_SCORE, STRONG_SCORE, END_SCORE) if before < score <= after]
    if not passed:
        return ""
    cause = max(reversed(tallies), key=lambda item: item.score).category
    if passed[-1] == END_SCORE:
        return sentences.failing_last(cause)
    if passed[-1] == STRONG_SCORE:
        return sentences.failing_strong(cause)
    return sentences.failing(cause)


def failure_score(tallies: Iterable[FailureTally]) -> int:
    """The weighted number of failed calls since the last batch that held a success."""
    return sum(item.score for item in tallies)


def is_refusal(item: CallState) -> bool:
    """Whether the guard kept this call from running."""
    return (
        not item.is_launched
        and item.result is not None
        and item.result.receipt.remediation == REMEDIATION
    )


def identity_of(call: ToolCall) -> str:
    """A digest of tool name and prepared arguments; call ids have no part in it.

    Tools take no arguments beside their own, so there is no metadata to leave out (decision 22).

    Two spellings of one JSON object are the same. Text that is no usable object counts as it
    stands, a doubled name included, so that mending a call makes it a new one.
    """
    return _digest((call.name, _canonical(call.arguments)))


def _canonical(arguments: str) -> str:
    if len(arguments) > CANONICAL_MAX_CHARS:
        return arguments
    try:
        value = json.loads(arguments or "{}", object_pairs_hook=_object)
        return json.dumps(value, sort_keys=True, separators=(",", ":"))
    except (ValueError, RecursionError):
        return arguments


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) != len(pairs):
        message = "a name is doubled"
        raise ValueError(message)
    return found


def _round_of(calls: Iterable[ToolCall]) -> _Round:
    known = tuple(calls)
    return _Round(
        identities={call.call_id: identity_of(call) for call in known},
        polls=frozenset(call.call_id for call in known if _is_poll(call)),
    )


def _is_poll(call: ToolCall) -> bool:
    """Whether the call only asks after a background job."""
    return call.name == POLL_TOOL and '"cancel":true' not in _canonical(call.arguments)


def _refusal_numbers(guard: GuardState, found: _Round) -> dict[CallId, int]:
    """The calls to refuse, and which refusal in a row of theirs it is."""
    numbers = {item.identity: item.refusals + 1 for item in guard.sightings if item.is_suspect}
    cycle = max((item.refusals + 1 for item in guard.cycles if found.key in item.keys), default=0)
    refused: dict[CallId, int] = {}
    for call_id, identity in found.identities.items():
        number = max(numbers.get(identity, 0), 0 if call_id in found.polls else cycle)
        if number:
            refused[call_id] = number
    return refused


def _refusal(call_id: CallId, number: int) -> ToolResult:
    is_strong = number >= STRONG_REFUSAL
    return ToolResult(
        call_id=call_id,
        text=sentences.REPEATED_STRONG if is_strong else sentences.REPEATED,
        receipt=ToolReceipt(
            category=OutcomeCategory.RECOVERABLE_CORRECTION, remediation=REMEDIATION
        ),
    )


def _outcomes(batch: tuple[CallState, ...], found: _Round) -> dict[str, str | None]:
    """The outcome of each identity that really completed; None for a poll of a running job."""
    pieces: dict[str, set[str]] = {}
    running: set[str] = set()
    for item in batch:
        result, call_id = item.result, item.call.call_id
        if result is None or is_refusal(item) or result.receipt.category in UNREAL:
            continue
        if call_id in found.polls and result.receipt.is_still_running:
            running.add(found.identities[call_id])
        pieces.setdefault(found.identities[call_id], set()).add(_outcome_of(result))
    return {
        identity: None if identity in running else _digest(sorted(outcomes))
        for identity, outcomes in pieces.items()
    }


def _outcome_of(result: ToolResult) -> str:
    """Category and exact text; a shortened result names its own call id, which is left out."""
    return _digest((result.receipt.category.value, result.text.replace(result.call_id, "")))


def _sightings(
    known: tuple[Sighting, ...], outcomes: Mapping[str, str | None], refused: frozenset[str]
) -> list[Sighting]:
    """Everything seen so far; what ran in this round stands last."""
    earlier = {item.identity: item for item in known}
    result = [
        replace(item, refusals=item.refusals + 1)
        if item.is_suspect and item.identity in refused
        else item
        for item in known
        if item.identity not in outcomes
    ]
    for identity, outcome in outcomes.items():
        before = earlier.get(identity)
        if outcome is None:
            continue
        if before is not None and before.outcome == outcome:
            result.append(replace(before, is_suspect=True))
        else:
            result.append(Sighting(identity=identity, outcome=outcome))
    return result


def _bounded(sightings: list[Sighting]) -> tuple[Sighting, ...]:
    excess = sum(not item.is_suspect for item in sightings) - ONCE_SEEN_MAX
    kept: list[Sighting] = []
    for item in sightings:
        if excess > 0 and not item.is_suspect:
            excess -= 1
        else:
            kept.append(item)
    return tuple(kept)


def _with_batch(
    recent: tuple[BatchEvidence, ...], found: _Round, outcomes: Mapping[str, str | None]
) -> tuple[BatchEvidence, ...]:
    """The latest whole batches; one of which a call did not really complete is none."""
    members = sorted(found.members)
    if not members or any(identity not in outcomes for identity in members):
        return recent
    outcome = _digest(outcomes[identity] or "" for identity in members)
    evidence = BatchEvidence(key=found.key, outcome=outcome)
    return (*recent, evidence)[-2 * max(PERIODS) :]


def _cycle_in(recent: tuple[BatchEvidence, ...]) -> tuple[str, ...]:
    """The batches of the shortest cycle that has just run twice; empty if there is none."""
    for period in PERIODS:
        first, second = recent[-2 * period : -period], recent[-period:]
        if len(first) == period and first == second:
            return tuple(sorted({item.key for item in second}))
    return ()


def _count_refusals(cycles: tuple[Cycle, ...], key: str) -> tuple[Cycle, ...]:
    return tuple(
        replace(item, refusals=item.refusals + 1) if key in item.keys else item for item in cycles
    )


def _failures_after(
    tallies: tuple[FailureTally, ...], batch: tuple[CallState, ...]
) -> tuple[FailureTally, ...]:
    """The failures after a batch: none if it held a success, else its own are added."""
    failed: dict[str, OutcomeCategory] = {}
    for item in batch:
        if item.result is None or is_refusal(item):
            continue
        category = item.result.receipt.category
        if category is OutcomeCategory.SUCCESS:
            return ()
        identity = identity_of(item.call)
        failed[identity] = max(category, failed.get(identity, category), key=WEIGHTS.__getitem__)
    scores = {item.category: item.score for item in tallies}
    for category in failed.values():
        scores[category] = scores.pop(category, 0) + WEIGHTS[category]
    return tuple(FailureTally(category=category, score=score) for category, score in scores.items())


def _digest(parts: Iterable[str]) -> str:
    """Names parts of any length in 16 characters; two are never mixed up by accident."""
    digest = hashlib.sha256()
    for part in parts:
        encoded = part.encode("utf-8", "surrogatepass")
        digest.update(f"{len(encoded)}:".encode())
        digest.update(encoded)
    return digest.hexdigest()[:16]
