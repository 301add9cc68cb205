"""The part that runs background jobs: slot, process tree, log, end (ADR 0031, decision 85).

A job is recorded before it is launched. It waits for one of the daemon's slots, runs in the
sandbox its call was cleared for, and ends as exactly one EndJob once its whole tree is gone. When
the process itself ends, its jobs die with it and nothing is reported: the next one reaps them.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field

from netclaw.core.context.turn_block import COMMAND_CHARACTERS
from netclaw.core.errors import NetclawError
from netclaw.core.ids import CallId, DispatchToken, JobId
from netclaw.core.redaction import StreamRedactor
from netclaw.core.session.child_effects import CancelAnswer
from netclaw.core.session.commands import SessionCommand
from netclaw.core.session.job_commands import EndJob, StartJob
from netclaw.core.session.job_effects import (
    AnswerJobCancel,
    JobEffect,
    JobRefusal,
    KillJob,
    LaunchJob,
    RefuseJob,
)
from netclaw.core.session.job_events import JobState
from netclaw.core.session.job_state import JobRun
from netclaw.core.session.outputs import JobOutput, Output
from netclaw.core.settings import SessionStorage
from netclaw.core.text import one_line
from netclaw.ports.jobs import JobBarredError, JobPlan, JobRefusedError
from netclaw.ports.shell_runner import ShellEnd, ShellOutcome
from netclaw.ports.tool import ToolTrees
from netclaw.session_proc import job_files
from netclaw.session_proc.asks import Asks
from netclaw.session_proc.ending import Ending
from netclaw.session_proc.envelope import UnsafeFolderError, prepare_for_tools
from netclaw.session_proc.ids import new_id
from netclaw.session_proc.job_output import JobSink
from netclaw.wire.jobs import ASK_BACK, ASK_SLOT, ASK_TURN, GRANTED, encode_job_id

_log = logging.getLogger(__name__)

REFUSALS = {
    JobRefusal.NOT_RUNNING: "No job was started: its call does not run any more.",
    JobRefusal.STOPPING: "No job was started: the turn or the session is being stopped.",
}
CANCELLED = "The job was cancelled and killed with all its processes."


@dataclass(slots=True, kw_only=True, eq=False)
class _Job:
    """One job of this process."""

    job_id: JobId
    plan: JobPlan
    output: JobSink
    begun: asyncio.Future[JobState]
    """What its call is answered with, once it is recorded."""
    state: JobState = JobState.PENDING
    task: asyncio.Task[None] | None = None
    is_at_work: bool = False
    """Whether its task came to its first line: cancelled before, it would end without a word."""
    is_killed: bool = False
    over: asyncio.Event = field(default_factory=asyncio.Event)

    def kill(self) -> None:
        """End it; it still reports, once its tree is dead."""
        self.is_killed = True
        if self.task is not None and self.is_at_work:
            self.task.cancel()


@dataclass(frozen=True, slots=True, kw_only=True)
class _End:
    """How a job ended, and what its log says of it."""

    state: JobState
    note: str
    exit_code: int | None = None
    is_tree_gone: bool = True


class BackgroundJobs:
    """All jobs of this process, and the wishes to cancel one."""

    def __init__(
        self,
        *,
        storage: SessionStorage,
        asks: Asks,
        trees: ToolTrees,
        make_stream: Callable[[], StreamRedactor],
        post: Callable[[SessionCommand], None],
        emit: Callable[[Output], None],
        ending: Ending,
    ) -> None:
        self.storage = storage
        self.post = post
        self._asks = asks
        self._trees = trees
        self._make_stream = make_stream
        self._emit = emit
        self._ending = ending
        self._jobs: dict[JobId, _Job] = {}
        self._ended: dict[JobId, tuple[JobState, int | None]] = {}
        """How those ended whose end may not be on record yet."""
        self._cancels: dict[tuple[JobId, str], asyncio.Future[CancelAnswer]] = {}

    # What tools ask for -------------------------------------------------------------------

    async def start(
        self, plan: JobPlan, call_id: CallId, token: DispatchToken
    ) -> tuple[JobId, JobState]:
        """See `Jobs.start`; the state is Pending or Running."""
        job_id = JobId(new_id())
        path = job_files.log_path(self.storage, job_id)
        definition = {
            "jobId": job_id,
            "callId": call_id,
            "command": plan.command,
            "timeoutSeconds": plan.limit_s,
            "log": path,
        }
        try:
            log = await asyncio.to_thread(
                job_files.create, self.storage, job_id, definition, self._make_stream()
            )
        except OSError:
            _log.warning("the files of a job cannot be made", exc_info=True)
            raise JobRefusedError("No job was started: its log cannot be made.") from None
        job = _Job(
            job_id=job_id,
            plan=plan,
            output=JobSink(log),
            begun=asyncio.get_running_loop().create_future(),
        )
        self._jobs[job_id] = job
        self.post(
            StartJob(
                token=token,
                call_id=call_id,
                job_id=job_id,
                command=plan.command,
                log_path=path,
                limit_s=plan.limit_s,
            )
        )
        return job_id, await job.begun

    def as_it_is(self, recorded: JobRun) -> tuple[JobState, int | None]:
        """State and exit code of a job: of one that is live on record this part knows more."""
        if recorded.state.is_live:
            job = self._jobs.get(recorded.job_id)
            if job is not None:
                return job.state, None
            if recorded.job_id in self._ended:
                return self._ended[recorded.job_id]
        return recorded.state, recorded.exit_code

    def expect_answer(self, job_id: JobId, actor: str) -> asyncio.Future[CancelAnswer]:
        """Will hold what became of the wish of this actor to cancel a job."""
        answer: asyncio.Future[CancelAnswer] = asyncio.get_running_loop().create_future()
        self._cancels[job_id, actor] = answer
        return answer

    async def until_over(self, job_id: JobId) -> None:
        """Return once a job of this process is over; its end may not be on record yet."""
        job = self._jobs.get(job_id)
        if job is not None:
            await job.over.wait()

    # What the rules decided ---------------------------------------------------------------

    def perform(self, effect: JobEffect) -> None:
        """Perform one effect of a committed decision."""
        match effect:
            case LaunchJob():
                self._launch(effect.job_id)
            case RefuseJob():
                self._refuse(effect)
            case KillJob():
                job = self._jobs.get(effect.job_id)
                if job is not None:
                    job.kill()
            case AnswerJobCancel():
                waiting = self._cancels.pop((effect.job_id, effect.actor), None)
                if waiting is not None and not waiting.done():
                    waiting.set_result(effect.answer)

    def _launch(self, job_id: JobId) -> None:
        job = self._jobs.get(job_id)
        if job is None or job.task is not None:
            return
        job.task = self._ending.watch(
            asyncio.create_task(self._run(job), name=f"background job {job_id}")
        )

    def _refuse(self, effect: RefuseJob) -> None:
        job = self._jobs.pop(effect.job_id, None)
        if job is None:
            return
        if not job.begun.done():
            job.begun.set_exception(JobRefusedError(REFUSALS[effect.refusal]))
        self._watch(self._discard(job))

    async def _discard(self, job: _Job) -> None:
        await job.output.close("")
        await asyncio.to_thread(job_files.remove, self.storage, job.job_id)

    # One job ------------------------------------------------------------------------------

    async def _run(self, job: _Job) -> None:
        job.is_at_work = True
        try:
            end = await self._until_end(job)
        except asyncio.CancelledError:
            if not job.is_killed or self._ending.is_decided:
                # The process ends: what was printed stays readable, the next process reaps it.
                await job.output.close("The session's process ended, and the job with it.")
                raise
            end = _End(state=JobState.CANCELLED, note=CANCELLED)
        self._answer_call(job)
        await job.output.close(end.note)
        if end.is_tree_gone:
            self._watch(self._give_back(job.job_id))
        self._jobs.pop(job.job_id, None)
        self._ended[job.job_id] = (end.state, end.exit_code)
        self.post(EndJob(job_id=job.job_id, state=end.state, exit_code=end.exit_code))
        job.over.set()

    async def _until_end(self, job: _Job) -> _End:
        if job.is_killed:
            raise asyncio.CancelledError
        try:
            await self._wait_for_slot(job)
            prepare_for_tools(self.storage)
            outcome = await self._supervised(job)
        except (JobBarredError, UnsafeFolderError) as fault:
            return _End(state=JobState.FAILED, note=f"{fault.sentence} It was not run.")
        except NetclawError as fault:
            return _End(state=JobState.FAILED, note=f"{fault.sentence} It was not run.")
        except Exception:  # noqa: BLE001 - a fault of one job ends that job, not the session
            _log.exception("background job %s failed", job.job_id)
            return _End(state=JobState.FAILED, note="The job failed unexpectedly.")
        return _end_of(outcome, job.plan)

    async def _wait_for_slot(self, job: _Job) -> None:
        payload = encode_job_id(job.job_id)
        granted = await self._asks.ask(ASK_SLOT, payload)
        if granted != GRANTED:
            self._show(job)
            self._answer_call(job)
            await self._asks.ask(ASK_TURN, payload, limit_s=None)
        job.state = JobState.RUNNING
        self._show(job)
        self._answer_call(job)

    def _show(self, job: _Job) -> None:
        """Tell subscribers that it runs, or waits."""
        self._emit(
            JobOutput(
                job_id=job.job_id,
                state=job.state,
                command=one_line(job.plan.command, COMMAND_CHARACTERS),
                log_path=job_files.log_path(self.storage, job.job_id),
            )
        )

    async def _supervised(self, job: _Job) -> ShellOutcome:
        """Runs it with the supervisor knowing of the tree from before its first step."""
        name = CallId(f"job-{job.job_id}")
        is_announced = False

        async def announce(pid: int, start_ticks: int) -> None:
            nonlocal is_announced
            is_announced = True
            await self._trees.opened(name, pid, start_ticks)

        is_gone = True  # a cancelled or failed run returns only when its tree is dead
        try:
            outcome = await job.plan.run(
                announce=announce, sink=job.output.take, room=job.output.room
            )
            is_gone = outcome.is_tree_gone
        finally:
            if is_announced and is_gone:
                await self._trees.closed(name)
        return outcome

    async def _give_back(self, job_id: JobId) -> None:
        try:
            await self._asks.ask(ASK_BACK, encode_job_id(job_id))
        except NetclawError as fault:
            _log.warning("the slot of job %s was not taken back: %s", job_id, fault.sentence)

    @staticmethod
    def _answer_call(job: _Job) -> None:
        if not job.begun.done():
            job.begun.set_result(job.state)

    def _watch(self, work: Coroutine[None, None, None]) -> None:
        self._ending.watch(asyncio.create_task(work, name="end of a background job"))


def _end_of(outcome: ShellOutcome, plan: JobPlan) -> _End:
    """What the end of a command means for its job."""
    is_gone = outcome.is_tree_gone
    match outcome.end:
        case ShellEnd.EXITED:
            code = outcome.exit_code
            state = JobState.COMPLETED if code == 0 else JobState.FAILED
            note = f"The job ended with exit status {code}."
            return _End(state=state, exit_code=code, note=note, is_tree_gone=is_gone)
        case ShellEnd.SIGNALLED:
            note = f"The job died of signal {-outcome.exit_code}."
        case ShellEnd.TOTAL_TIME:
            note = f"The job was ended after its {plan.limit_s or 0:g} seconds."
            return _End(state=JobState.TIMED_OUT, note=note, is_tree_gone=is_gone)
        case ShellEnd.MEMORY:
            note = "The job was ended: it used more memory than it may."
        case ShellEnd.PROCESSES:
            note = "The job was ended: it had more processes than it may."
        case _:
            note = f"{outcome.detail or 'The job could not be started.'} It was not run."
    return _End(state=JobState.FAILED, note=note, is_tree_gone=is_gone)
