"""Calls as a session has them judged and launched, and a shell that runs nothing."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from netclaw.core.session.rulings import CallRuling, Outcome
from netclaw.core.tool_call import ToolResult
from netclaw.ports.shell_runner import OutputSink, ShellEnd, ShellOutcome, ShellRequest
from netclaw.ports.tool import GivenConsent
from tests.tools.rig import Rig

SHELL = "shell_execute"


@dataclass(kw_only=True)
class Recorder:
    """A `ShellRunner` that runs nothing: it remembers what was to run when its gate opened."""

    ran: list[ShellRequest] = field(default_factory=list)
    before_gate: Callable[[], None] = lambda: None

    async def run(
        self,
        request: ShellRequest,
        *,
        on_started: Callable[[int, int], Awaitable[None]],
        sink: OutputSink,
    ) -> ShellOutcome:
        """Come to the gate, and through it unless `on_started` says no."""
        del sink
        self.before_gate()
        await on_started(4242, 77)
        self.ran.append(request)
        return ShellOutcome(end=ShellEnd.EXITED, exit_code=0, duration_ms=1)

    @property
    def commands(self) -> list[str]:
        """The command lines that ran."""
        return [request.argv[-1] for request in self.ran]


class Call:
    """One call from its proposal on."""

    def __init__(self, rig: Rig, name: str = SHELL, **arguments: object) -> None:
        self.rig = rig
        self.call = rig.proposed(name, json.dumps(arguments))
        self.first: CallRuling | None = None

    async def propose(self) -> CallRuling:
        """Judged as the model wrote it."""
        self.first = await self.rig.runner.judge(self.call, self.rig.context())
        return self.first

    async def answer(self, option: str) -> CallRuling:
        """Judged again with an answer to what was asked first."""
        assert self.first is not None
        given = GivenConsent(option=option, request=self.rig.request(self.call, self.first))
        return await self.rig.runner.judge(self.call, self.rig.context(), given=given)

    async def run(self) -> ToolResult:
        """Launched."""
        return await self.rig.runner.run(self.call, self.rig.context())


async def approved(rig: Rig, option: str = "approve_once", **arguments: object) -> Call:
    """A shell call that a person let run by this option."""
    call = Call(rig, SHELL, **arguments)
    assert (await call.propose()).outcome is Outcome.REQUIRES_CONSENT
    assert (await call.answer(option)).outcome is Outcome.ALLOWED
    return call
