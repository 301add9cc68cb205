"""A tool runner whose tools do what their arguments say; nothing of it is netclaw's own tools."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import replace

from netclaw.core.authority import Authority
from netclaw.core.session.rulings import ALLOWED, CallRuling
from netclaw.core.settings import ToolSettings
from netclaw.core.tool_call import (
    OutcomeCategory,
    ToolCall,
    ToolDefinition,
    ToolReceipt,
    ToolResult,
)
from netclaw.ports.tool import GivenConsent, ToolContext


async def _allow(_call: ToolCall, _given: GivenConsent | None) -> CallRuling:
    return ALLOWED


class ScriptedTools:
    """`say` answers, `wait` waits for its gate, `drip` shows signs of life, `tree` opens a tree."""

    def __init__(self) -> None:
        self.started: Counter[str] = Counter()
        self.ended: Counter[str] = Counter()
        self.judged: list[tuple[ToolCall, ToolContext, GivenConsent | None]] = []
        self.rule: Callable[[ToolCall, GivenConsent | None], Awaitable[CallRuling]] = _allow
        self.gates: dict[str, asyncio.Event] = {}
        self.contexts: list[ToolContext] = []
        self.on_start: Callable[[ToolCall], None] = lambda _call: None
        self._changed = asyncio.Condition()

    def gate(self, name: str) -> asyncio.Event:
        """The gate that a `wait` with this name waits for."""
        return self.gates.setdefault(name, asyncio.Event())

    async def until_started(self, count: int) -> None:
        """Return once so many calls have begun."""
        async with self._changed:
            await self._changed.wait_for(lambda: self.started.total() >= count)

    async def recall(self, loaded: tuple[str, ...]) -> None:
        """Nothing is ever loaded."""

    def definitions(
        self, authority: Authority, settings: ToolSettings, loaded: tuple[str, ...] = ()
    ) -> tuple[ToolDefinition, ...]:
        """Three tools for anybody."""
        del authority, settings, loaded
        return tuple(
            ToolDefinition(name=name, description=name, parameters='{"type":"object"}')
            for name in ("say", "wait", "drip", "tree")
        )

    def native(self, authority: Authority, settings: ToolSettings) -> tuple[str, ...]:
        """All of them are netclaw's own."""
        return tuple(tool.name for tool in self.definitions(authority, settings))

    def restrict(self, names: Iterable[str]) -> None:
        """Runs of these tests have all of them."""

    async def judge(
        self, call: ToolCall, context: ToolContext, *, given: GivenConsent | None = None
    ) -> CallRuling:
        """What the test says; unless it says something, everything may run."""
        self.judged.append((call, context, given))
        return replace(await self.rule(call, given), attempt_id=call.attempt_id)

    async def run(self, call: ToolCall, context: ToolContext) -> ToolResult:
        """Do what the arguments say."""
        key = str(json.loads(call.arguments).get("key", call.name))
        self.started[key] += 1
        self.contexts.append(context)
        self.on_start(call)
        async with self._changed:
            self._changed.notify_all()
        try:
            text = await self._do(call, key, context)
        finally:
            self.ended[key] += 1
        return ToolResult(
            call_id=call.call_id,
            text=text,
            receipt=ToolReceipt(category=OutcomeCategory.SUCCESS, duration_ms=1),
        )

    async def _do(self, call: ToolCall, key: str, context: ToolContext) -> str:
        if call.name == "wait":
            await self.gate(key).wait()
        elif call.name == "drip":
            for _ in range(int(json.loads(call.arguments)["times"])):
                await asyncio.sleep(0.05)
                context.on_item()
        elif call.name == "tree":
            await context.trees.opened(call.call_id, 4242, 77)
            await context.trees.closed(call.call_id)
        return f"done {key}"
