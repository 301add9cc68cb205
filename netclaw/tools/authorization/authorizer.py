"""Judges calls with the facts of the moment, up to their launch.

The order is the reference's (1): what is asked, the policy, the consents, the decision. The
decision itself is pure (`core.authz`); in here is everything that has to be looked up for it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import TypeVar

from netclaw.core.authz import consent, launch
from netclaw.core.authz.decide import decide
from netclaw.core.authz.decisions import Decision
from netclaw.core.authz.facts import Candidate
from netclaw.core.authz.grants import GrantStore, OneTimeKey
from netclaw.core.authz.options import NOTES, ONCE_ONLY, OptionKey, Recorded, parse_key, recorded
from netclaw.core.authz.requests import AuthorizationRequest, Consents, Policy, ShellCall
from netclaw.core.authz.sandbox_access import access_of
from netclaw.core.errors import NetclawError
from netclaw.core.session.rulings import Outcome
from netclaw.core.text import storable
from netclaw.core.tool_call import ToolCall
from netclaw.ports.consents import KnownConsents, NewConsents
from netclaw.ports.shell_runner import SandboxFacts
from netclaw.ports.tool import GivenConsent, ToolContext
from netclaw.tools.authorization import presenting
from netclaw.tools.authorization.clearance import Clearance
from netclaw.tools.authorization.policies import policy_for
from netclaw.tools.authorization.subjects import FactSources, call_of, tool_name
from netclaw.tools.schema import Arguments
from netclaw.tools.tool import Tool

_log = logging.getLogger(__name__)

Keys = frozenset[OneTimeKey]
NO_KEYS: Keys = frozenset()

T = TypeVar("T")

INLINE_CHARS = 4000
"""Arguments up to this length are judged where the session runs, unless they are a command."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One call that is to be judged: the tool is visible and its arguments are checked."""

    tool: Tool
    arguments: Arguments
    call: ToolCall
    context: ToolContext
    native: tuple[str, ...]
    """First-party tools that the model can see."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """One decision with all that it rests on."""

    request: AuthorizationRequest
    policy: Policy
    consents: Consents
    decision: Decision

    @property
    def is_allowed(self) -> bool:
        """Whether the call may run."""
        return self.decision.outcome is Outcome.ALLOWED


class Authorizer:
    """Stateless: equal facts give an equal decision."""

    def __init__(self, sandbox: SandboxFacts, sources: FactSources) -> None:
        self._sandbox = sandbox
        self._sources = sources

    async def evaluate(self, question: Question, keys: Keys = NO_KEYS) -> Evaluation:
        """Judge with what is there now. Raises `ToolFault` for a path that means nothing."""
        request, policy, consents = await self._look_up(question, keys)
        decision = await _worked_out(request, partial(decide, request, policy, consents))
        return Evaluation(request=request, policy=policy, consents=consents, decision=decision)

    async def clear(
        self, judged: AuthorizationRequest, question: Question, keys: Keys
    ) -> Clearance:
        """Judge a call that was allowed once more, right before it starts.

        Raises `ToolFault` if it may not start any more.
        """
        now, policy, consents = await self._look_up(question, keys)
        decision = await _worked_out(now, partial(launch.recheck, judged, now, policy, consents))
        presenting.note(decision, question.tool.name, stage="to start")
        if decision.outcome is not Outcome.ALLOWED:
            raise presenting.refusal_of(decision)
        return Clearance(
            request=now,
            decision=decision,
            policy=policy,
            access=await _worked_out(
                now, partial(access_of, now, decision, policy, question.context.settings)
            ),
            again=partial(self.clear, judged, question, keys),
        )

    async def _look_up(
        self, question: Question, keys: Keys
    ) -> tuple[AuthorizationRequest, Policy, Consents]:
        context, call = question.context, question.call
        known = await read_consents(context)
        policy = await asyncio.to_thread(policy_for, context, self._sandbox, question.native)
        request = AuthorizationRequest(
            attempt_id=call.attempt_id,
            tool=tool_name(question.tool),
            arguments=call.arguments,
            audience=context.authority.requester.audience,
            call=await call_of(
                question.tool, question.arguments, context, self._sources, known.store.grants
            ),
            requester=context.authority.requester,
            is_attended=context.is_attended,
        )
        return request, policy, Consents(one_time=keys, chat=known.chat, store=known.store)


async def _worked_out(request: AuthorizationRequest, work: Callable[[], T]) -> T:
    """The result of pure work on a request.

    A command, and arguments of any length, may take long and belong into a thread: the session's
    loop must not wait (decision 86). All else is done in less time than a thread costs.
    """
    if isinstance(request.call, ShellCall) or len(request.arguments) > INLINE_CHARS:
        return await asyncio.to_thread(work)
    return work()


async def read_consents(context: ToolContext) -> KnownConsents:
    """The consents of this moment; if they cannot be read, nothing that needs one runs."""
    try:
        return await context.consents.read()
    except NetclawError as fault:
        _log.warning("the consents could not be read: %s", fault.sentence)
        return KnownConsents(store=GrantStore(fault=fault.sentence))


def note_of(option: str) -> str:
    """What the result of a call says that a person let run by this option."""
    key = parse_key(option)
    return NOTES.get(key, "") if key is not None else ""


async def grant(found: Evaluation, given: GivenConsent, context: ToolContext) -> tuple[Keys, str]:
    """Keep what an approval adds; returns the one-time keys of this call, and its note.

    An option that is not offered for the call as it is now, and a grant that cannot be saved,
    still let exactly this call run, once: that much was approved.
    """
    if await _is_saved(found, given, found.decision.uncovered, context):
        return NO_KEYS, note_of(given.option)
    return frozenset({found.request.key}), NOTES[OptionKey.ONCE]


async def extend(found: Evaluation, given: GivenConsent, context: ToolContext) -> str:
    """Keep what an approval adds where another answer has let the call run meanwhile.

    Whoever chose "always" means the next calls too. Returns the note of this call.
    """
    bare = decide(found.request, found.policy, Consents())
    asked = tuple(
        candidate
        for candidate in bare.uncovered
        if storable(context.redact(candidate.display)) in given.request.candidates
    )
    is_saved = await _is_saved(found, given, asked, context)
    return note_of(given.option) if is_saved else NOTES[OptionKey.ONCE]


async def _is_saved(
    found: Evaluation,
    given: GivenConsent,
    candidates: Sequence[Candidate],
    context: ToolContext,
) -> bool:
    """Whether the answer added something that lasts."""
    added = _recorded(found, parse_key(given.option), candidates)
    if added is None:
        return False
    try:
        await context.consents.record(NewConsents(chat=added.chat, persistent=added.persistent))
    except NetclawError as fault:
        _log.warning("a consent could not be saved, it counts once: %s", fault.sentence)
        return False
    return True


def _recorded(
    found: Evaluation, key: OptionKey | None, candidates: Sequence[Candidate]
) -> Recorded | None:
    """What an option stores; None for one that stores nothing, or is not offered now."""
    if key is None or key in ONCE_ONLY:
        return None
    try:
        return recorded(
            key,
            consent.offer_of(found.request, candidates, found.policy),
            audience=found.request.audience,
            one_time=found.request.key,
            created_at=datetime.now(UTC).isoformat(timespec="seconds"),
        )
    except ValueError:
        return None
