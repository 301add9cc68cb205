"""Judges tool calls, and runs one from its raw arguments to its bounded result and receipt.

Every way a call can go ends here as a category: nothing a tool does is raised to the session,
except its cancellation (decision 43).
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
import traceback
from collections.abc import Iterable
from dataclasses import replace

from netclaw.core.authority import Authority
from netclaw.core.session.consent import covers
from netclaw.core.session.rulings import CallRuling
from netclaw.core.session.rulings import Outcome as RulingOutcome
from netclaw.core.settings import ToolSettings
from netclaw.core.tool_call import (
    OutcomeCategory,
    ToolCall,
    ToolDefinition,
    ToolReceipt,
    ToolResult,
)
from netclaw.ports.shell_runner import SandboxFacts
from netclaw.ports.tool import GivenConsent, ToolContext
from netclaw.tools.authorization import authorizer, presenting
from netclaw.tools.authorization.authorizer import Authorizer, Question
from netclaw.tools.authorization.judgements import Judgement, Judgements
from netclaw.tools.authorization.remediation import instruction, present
from netclaw.tools.authorization.retries import TemporaryRetries
from netclaw.tools.authorization.subjects import FactSources
from netclaw.tools.faults import ToolFault, classify
from netclaw.tools.registry import Registry
from netclaw.tools.result_bounds import Bounded, bound
from netclaw.tools.schema import parse, parse_foreign
from netclaw.tools.tool import OfServer, Outcome, Scope

log = logging.getLogger(__name__)

INLINE_WORK_CHARS = 20_000
"""A longer text is redacted and stored in a thread: the session's loop must not wait (86)."""


JUDGING_RECALL_S = 25.0
"""How long a call that was recorded in an earlier process waits for its tool's server."""


class Dispatcher:
    """The `ToolRunner` of a session process."""

    def __init__(self, registry: Registry, facts: SandboxFacts, sources: FactSources) -> None:
        self._registry = registry
        self._authorizer = Authorizer(facts, sources)
        self._judgements = Judgements()
        self._retries = TemporaryRetries()

    async def recall(self, loaded: tuple[str, ...]) -> None:
        """See `ToolRunner`."""
        await self._registry.recall(loaded)

    def definitions(
        self, authority: Authority, settings: ToolSettings, loaded: tuple[str, ...] = ()
    ) -> tuple[ToolDefinition, ...]:
        """See `ToolRunner`."""
        return self._registry.visible(authority, settings, loaded)

    def native(self, authority: Authority, settings: ToolSettings) -> tuple[str, ...]:
        """See `ToolRunner`."""
        return self._registry.own(authority, settings)

    def restrict(self, names: Iterable[str]) -> None:
        """See `ToolRunner`."""
        self._registry.restrict(names)

    async def judge(
        self, call: ToolCall, context: ToolContext, *, given: GivenConsent | None = None
    ) -> CallRuling:
        """See `ToolRunner`."""
        call = with_attempt(call)
        self._judgements.take(context.turn_id, call.attempt_id)  # what was judged before is void
        try:
            return await self._judge(call, context, given)
        except ToolFault as fault:
            presenting.note_refused(call, fault)
            told = self._failure(fault, context)
            text = "\n".join(filter(None, (told.text, told.note)))
            return replace(presenting.refused(call.attempt_id, fault), text=text)
        except Exception as fault:  # noqa: BLE001 - what cannot be judged does not run
            presenting.note_failed(call, _where(fault))
            return presenting.failed(call.attempt_id)

    async def _judge(
        self, call: ToolCall, context: ToolContext, given: GivenConsent | None
    ) -> CallRuling:
        await self._recall(call, context)
        question = self._question(call, context)
        found = await self._authorizer.evaluate(question)
        at = (context.turn_id, context.round_index)
        found = self._retries.settle(found, at, is_consented=given is not None)
        ruling = await presenting.ruling_for(found.request, found.decision, context.redact)
        keys, note = authorizer.NO_KEYS, ""
        if given is not None and given.is_approval:
            is_asked = found.decision.outcome is RulingOutcome.REQUIRES_CONSENT
            if found.is_allowed:
                note = await authorizer.extend(found, given, context)
            elif is_asked and covers(given.request, ruling):
                keys, note = await authorizer.grant(found, given, context)
                found = await self._authorizer.evaluate(question, keys)
                ruling = await presenting.ruling_for(found.request, found.decision, context.redact)
                if found.decision.outcome is RulingOutcome.REQUIRES_CONSENT:
                    ruling = presenting.withdrawn(call.attempt_id)
        presenting.note(found.decision, call.name, stage="judged")
        if found.is_allowed:
            judgement = Judgement(request=found.request, keys=keys, note=note)
            self._judgements.keep(context.turn_id, context.round_index, judgement)
        if ruling.outcome is RulingOutcome.REQUIRES_CORRECTION:
            text = present(ruling.text, found.decision.corrections, question.native)
            ruling = replace(ruling, text=text)
        return ruling

    async def run(self, call: ToolCall, context: ToolContext) -> ToolResult:
        """See `ToolRunner`."""
        call = with_attempt(call)
        began = time.monotonic()
        remediation: str | None = None
        try:
            outcome = await self._attempt(call, context)
        except Exception as fault:  # noqa: BLE001 - any fault of a tool is a result, see above
            classified = classify(fault)
            if classified is not fault:
                log.warning("tool %s failed: %s", presenting.told(call), _where(fault))
            remediation = classified.remediation
            outcome = self._failure(classified, context)
        bounded = await _bounded(outcome, call, context)
        context.on_item()
        is_success = outcome.category is OutcomeCategory.SUCCESS
        return ToolResult(
            call_id=call.call_id,
            text=bounded.text,
            receipt=ToolReceipt(
                category=outcome.category,
                file_activity=outcome.activity if is_success else (),
                declared_directory=outcome.declared_directory if is_success else None,
                remediation=remediation,
                attachment=outcome.attachment if is_success else None,
                is_still_running=outcome.is_still_running and is_success,
                duration_ms=round((time.monotonic() - began) * 1000),
            ),
            spill=bounded.spill,
            loaded_tool=outcome.loaded_tool if is_success else "",
            answered_input=outcome.answered_input,
        )

    def _failure(self, fault: ToolFault, context: ToolContext) -> Outcome:
        """What is the case, and on its own line what the model can do about it."""
        note = ""
        if fault.remediation is not None:
            visible = self._registry.visible(context.authority, context.settings, context.loaded)
            note = instruction(fault.remediation, {each.name for each in visible})
        return Outcome(text=fault.sentence, category=fault.category, note=note)

    async def _attempt(self, call: ToolCall, context: ToolContext) -> Outcome:
        judgement = self._judgements.take(context.turn_id, call.attempt_id)
        if judgement is None:
            presenting.note_failed(call, "it was to start and nobody had judged it")
            raise ToolFault.denied(presenting.NOT_JUDGED)
        await self._recall(call, context)
        question = self._question(call, context)
        clearance = await self._authorizer.clear(judgement.request, question, judgement.keys)
        scope = Scope(call_id=call.call_id, context=context, clearance=clearance)
        outcome = await question.tool.run(question.arguments, scope)
        if not judgement.note:
            return outcome
        notes = (outcome.note, judgement.note)
        return replace(outcome, note="\n".join(filter(None, notes)))

    async def _recall(self, call: ToolCall, context: ToolContext) -> None:
        """Know the tool of a call that an earlier process was shown, if its server answers."""
        if call.name in context.loaded:
            await self._registry.recall((call.name,), patience_s=JUDGING_RECALL_S)

    def _question(self, call: ToolCall, context: ToolContext) -> Question:
        """What is to be judged. Raises `ToolFault` for a call that names nothing that is shown."""
        visible = self._registry.visible(context.authority, context.settings, context.loaded)
        names = tuple(definition.name for definition in visible)
        tool = self._registry.find(call.name)
        if tool is None or call.name not in names:
            raise ToolFault.invalid(f"There is no such tool. Available are: {', '.join(names)}.")
        if call.argument_fault is not None:
            raise ToolFault.invalid(f"{call.argument_fault} The tool was not run.")
        return Question(
            tool=tool,
            arguments=(
                parse_foreign(call.arguments)
                if isinstance(tool, OfServer)
                else parse(tool.fields, call.arguments)
            ),
            call=call,
            context=context,
            native=self._registry.native(names),
        )


def with_attempt(call: ToolCall) -> ToolCall:
    """The call with the id of its evaluation: one that was recorded before there were any gets one
    that stays the same in every process."""
    return call if call.attempt_id else replace(call, attempt_id=f"auth-{call.call_id}")


def _where(fault: Exception) -> str:
    """Type and place of a fault; its text may quote arguments or contents and is not logged."""
    frames = traceback.extract_tb(fault.__traceback__)[-3:]
    places = [f"{os.path.basename(frame.filename)}:{frame.lineno}" for frame in frames]
    return f"{type(fault).__name__} at {' > '.join(places)}"


async def _bounded(outcome: Outcome, call: ToolCall, context: ToolContext) -> Bounded:
    def work() -> Bounded:
        return bound(
            outcome,
            call_id=call.call_id,
            storage=context.storage,
            redact=context.redact,
            max_chars=context.max_inline_chars,
        )

    if len(outcome.text) <= INLINE_WORK_CHARS:
        return work()
    return await asyncio.to_thread(work)
