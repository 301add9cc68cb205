"""In the process of a child run: tells its parent what becomes of it, and ends with it.

A report is made from committed state, in order, and waits until the parent has it on record (ADR
0031). A process that is killed says nothing; the next one finds the same in the journal and says
it again. After a park or an end that was acknowledged the process exits.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace

from netclaw.core.errors import NetclawError
from netclaw.core.exit_codes import ExitCode
from netclaw.core.ids import RunId
from netclaw.core.session import consent, own_run
from netclaw.core.session.child_commands import ChildAsk, CloseGate
from netclaw.core.session.child_control import CANCELLED_BY_PARENT
from netclaw.core.session.child_effects import ReportKind
from netclaw.core.session.child_events import ChildState
from netclaw.core.session.commands import FinishReason, FinishRound, Recover, SessionCommand
from netclaw.core.session.own_run import OwnRun, RunEnd
from netclaw.core.session.state import SessionState
from netclaw.ports.children import ChildReport
from netclaw.session_proc.asks import Asks
from netclaw.session_proc.ending import Ending
from netclaw.session_proc.frames import HostFault
from netclaw.session_proc.run_files import RunFiles
from netclaw.wire.children import ASK_REPORT, encode
from netclaw.wire.v1.session_host_pb2 import ChildRole

_log = logging.getLogger(__name__)

FINALISE_S = 5.0
"""How long what a cancelled run still has running may take to die (S0 "check_agent_run")."""

TELL_S = 2.0
"""How long a run that is over may take to say so to whoever wrote to it."""

CANCELLED = "The run was cancelled before it had a result."


class ChildReporter:
    """The voice of one process of a run."""

    def __init__(
        self,
        role: ChildRole,
        *,
        asks: Asks,
        files: RunFiles,
        look: Callable[[], SessionState],
        post: Callable[[SessionCommand], None],
        until_idle: Callable[[], Awaitable[None]],
        ending: Ending,
    ) -> None:
        self._role = role
        self._asks = asks
        self._files = files
        self._look = look
        self._post = post
        self._until_idle = until_idle
        self._ending = ending
        self._loop = asyncio.get_running_loop()
        self._queue: asyncio.Queue[ChildReport] = asyncio.Queue()
        self._is_last_said = False
        self._is_gate_closed = False
        self._is_look_due = False
        self._changed = asyncio.Event()

    def begin(self) -> None:
        """Say that the process is there; let the session work if there is anything to work on."""
        self._queue.put_nowait(self._report(ReportKind.BEGUN))
        self._ending.watch(asyncio.create_task(self._speak(), name="child reports"))
        self._note_task()
        if self._role.is_gate_closed:
            self.close_gate()
            return
        self.consider()
        # A run that is over may have been written to: whoever did that is told.
        if not self._is_last_said or own_run.is_over(self._look().run):
            self._post(Recover())

    def saw_event(self) -> None:
        """Something was committed: look once all that belongs to it is in the state."""
        self._changed.set()
        if not self._is_look_due:
            self._is_look_due = True
            self._loop.call_soon(self.consider)

    def consider(self) -> None:
        """Report the end of the task, or that nothing but consent is waited for."""
        self._is_look_due = False
        state = self._look()
        if self._is_last_said or self._is_gate_closed or self._ending.is_decided:
            return
        if _run(state).end is not None:
            self._say_last(self._report(ReportKind.ENDED))
        elif consent.is_at_rest(state):
            self._say_last(replace(self._report(ReportKind.PARKED), asks=_asks(state)))

    def saw_round(self, command: SessionCommand) -> None:
        """Keep the text of a reply that the output limit cut: the turn fails without it."""
        is_cut = isinstance(command, FinishRound) and command.finish is FinishReason.LENGTH
        if isinstance(command, FinishRound) and is_cut and command.text.strip():
            try:
                self._files.write_truncated(command.text)
            except OSError as fault:
                _log.warning("the cut reply could not be kept: %s", fault.strerror)

    def close_gate(self) -> None:
        """The parent has cancelled the run."""
        self._post(CloseGate())

    def gate_closed(self) -> None:
        """Nothing starts any more: report that, and the end when what ran is gone."""
        if self._is_gate_closed:
            return
        self._is_gate_closed = True
        if not self._is_last_said:
            self._queue.put_nowait(self._report(ReportKind.DISPATCH_CLOSED))
            self._ending.watch(asyncio.create_task(self._finalise(), name="end of the run"))

    def leave(self) -> None:
        """The session has wound down in a drain: it parks with whatever it waits for."""
        state = self._look()
        if self._is_gate_closed or self._is_last_said:
            return
        if _run(state).end is not None:
            self._say_last(self._report(ReportKind.ENDED))
        else:
            asks = _asks(state) if consent.is_at_rest(state) else ()
            self._say_last(replace(self._report(ReportKind.PARKED), asks=asks))

    async def _finalise(self) -> None:
        try:
            async with asyncio.timeout(FINALISE_S):
                await self._until_idle()
        except TimeoutError:
            _log.warning("what the cancelled run had running did not end in time")
        self._say_last(
            replace(
                self._report(ReportKind.ENDED),
                state=ChildState.CANCELLED,
                reason=CANCELLED_BY_PARENT,
            )
        )

    def _say_last(self, report: ChildReport) -> None:
        if not self._is_last_said:
            self._is_last_said = True
            self._queue.put_nowait(report)

    async def _speak(self) -> None:
        """Make one report after the other; nobody limits how long a parent takes."""
        while True:
            report = await self._queue.get()
            if report.kind is ReportKind.ENDED:
                report = await asyncio.to_thread(self._with_result, report)
            try:
                await self._asks.ask(ASK_REPORT, encode(report), limit_s=None)
            except NetclawError as fault:
                _log.warning("the report %s was not taken: %s", report.kind.value, fault.sentence)
            if report.kind in (ReportKind.PARKED, ReportKind.ENDED):
                await self._until_all_told()
                self._ending.finish(ExitCode.PASSIVATED)
                return

    async def _until_all_told(self) -> None:
        """Return when whoever wrote before the end was heard knows that nobody reads it."""
        with suppress(TimeoutError):
            async with asyncio.timeout(TELL_S):
                while own_run.is_over(self._look().run) and self._look().buffered:
                    self._changed.clear()
                    await self._changed.wait()

    def _with_result(self, report: ChildReport) -> ChildReport:
        """The end as it is reported, with `result.md` durable."""
        run = _run(self._look())
        end = run.end
        if end is None:
            end = RunEnd(state=report.state, reason=report.reason, text=CANCELLED)
        try:
            path = self._files.write_result(run, end.state, end.reason, end.text)
        except OSError as fault:
            _log.warning("the result could not be written: %s", fault.strerror)
            path = ""
        return replace(
            report, state=end.state, reason=end.reason, result_path=path, files=run.files
        )

    def _report(self, kind: ReportKind) -> ChildReport:
        return ChildReport(run_id=RunId(self._role.run_id), start=self._role.start, kind=kind)

    def _note_task(self) -> None:
        state = self._look()
        run = _run(state)
        waiting = (*state.in_turn, *state.buffered)
        task = next((i for i in waiting if i.admitted.input_id == run.task_input), None)
        if task is None:
            return
        admitted = task.admitted
        try:
            self._files.write_task(run, admitted.authority.requester, admitted.text)
        except OSError as fault:
            _log.warning("the task could not be written down: %s", fault.strerror)


def _run(state: SessionState) -> OwnRun:
    if state.run is None:
        raise HostFault("the process of a run has the journal of no run")
    return state.run


def _asks(state: SessionState) -> tuple[ChildAsk, ...]:
    turn = state.turn
    return tuple(
        ChildAsk(turn_id=turn.turn_id, request=item.consent.request)
        for item in (turn.batch if turn is not None else ())
        if turn is not None and item.consent is not None and consent.is_waiting(item)
    )
