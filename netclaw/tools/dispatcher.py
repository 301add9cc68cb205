"""Runs one tool call from its raw arguments to its bounded result and receipt.

Every way a call can go ends here as a category: nothing a tool does is raised to the session,
except its cancellation (decision 43).
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
import traceback

from netclaw.core.authority import Authority
from netclaw.core.settings import ToolSettings
from netclaw.core.tool_call import (
    OutcomeCategory,
    ToolCall,
    ToolDefinition,
    ToolReceipt,
    ToolResult,
)
from netclaw.ports.shell_runner import SandboxFacts
from netclaw.ports.tool import ToolContext
from netclaw.tools import authorize
from netclaw.tools.faults import ToolFault
from netclaw.tools.registry import Registry
from netclaw.tools.result_bounds import Bounded, bound
from netclaw.tools.schema import parse
from netclaw.tools.tool import Outcome, Scope, Tool

log = logging.getLogger(__name__)

INLINE_WORK_CHARS = 20_000
"""A longer text is redacted and stored in a thread: the session's loop must not wait (86)."""


class Dispatcher:
    """The `ToolRunner` of a session process."""

    def __init__(self, registry: Registry, facts: SandboxFacts) -> None:
        self._registry = registry
        self._facts = facts

    def definitions(
        self, authority: Authority, settings: ToolSettings
    ) -> tuple[ToolDefinition, ...]:
        """See `ToolRunner`."""
        return self._registry.visible(authority, settings)

    async def run(self, call: ToolCall, context: ToolContext) -> ToolResult:
        """See `ToolRunner`."""
        began = time.monotonic()
        remediation: str | None = None
        try:
            outcome = await self._attempt(call, context)
        except ToolFault as fault:
            outcome = Outcome(text=fault.sentence, category=fault.category)
            remediation = fault.remediation
        except Exception as fault:  # noqa: BLE001 - any fault of a tool is a result, see above
            log.warning("tool %s failed: %s", call.name, _where(fault))
            outcome = _unexpected(fault)
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
                duration_ms=round((time.monotonic() - began) * 1000),
            ),
            spill=bounded.spill,
        )

    async def _attempt(self, call: ToolCall, context: ToolContext) -> Outcome:
        tool = self._known(call, context)
        authorize.require(tool, context.authority, context.settings, self._facts)
        if call.argument_fault is not None:
            raise ToolFault.invalid(f"{call.argument_fault} The tool was not run.")
        arguments = parse(tool.fields, call.arguments)
        return await tool.run(arguments, Scope(call_id=call.call_id, context=context))

    def _known(self, call: ToolCall, context: ToolContext) -> Tool:
        tool = self._registry.find(call.name)
        if tool is None:
            visible = self.definitions(context.authority, context.settings)
            names = ", ".join(definition.name for definition in visible)
            raise ToolFault.invalid(f"There is no such tool. Available are: {names}.")
        return tool


def _where(fault: Exception) -> str:
    """Type and place of a fault; its text may quote arguments or contents and is not logged."""
    frames = traceback.extract_tb(fault.__traceback__)[-3:]
    places = [f"{os.path.basename(frame.filename)}:{frame.lineno}" for frame in frames]
    return f"{type(fault).__name__} at {' > '.join(places)}"


def _unexpected(fault: Exception) -> Outcome:
    """A fault without a sentence of its own; its text may hold anything and is not shown."""
    if isinstance(fault, OSError):
        return Outcome(
            text="The tool failed: the operating system refused an operation.",
            category=OutcomeCategory.FAILURE,
        )
    return Outcome(text="The tool failed unexpectedly.", category=OutcomeCategory.FAILURE)


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
