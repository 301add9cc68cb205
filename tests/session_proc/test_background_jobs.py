"""The part that runs background jobs, alone: every way a job can go ends as one report."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from netclaw.core.errors import ErrorCode
from netclaw.core.exit_codes import ExitCode
from netclaw.core.ids import CallId, DispatchToken, JobId
from netclaw.core.redaction import Redactor, StreamRedactor
from netclaw.core.session.commands import SessionCommand
from netclaw.core.session.job_commands import EndJob, StartJob
from netclaw.core.session.job_effects import JobRefusal, KillJob, LaunchJob, RefuseJob
from netclaw.core.session.job_events import JobState
from netclaw.core.session.outputs import JobOutput, Output
from netclaw.core.settings import SessionStorage
from netclaw.ports.jobs import JobBarredError, JobPlan, JobRefusedError, OnStarted
from netclaw.ports.shell_runner import OutputSink, ShellEnd, ShellOutcome
from netclaw.session_proc.asks import Asks
from netclaw.session_proc.background_jobs import BackgroundJobs
from netclaw.session_proc.ending import Ending
from netclaw.wire.jobs import ASK_BACK, ASK_SLOT, ASK_TURN, GRANTED, QUEUED
from netclaw.wire.v1.session_host_pb2 import Answer, ToHost

CALL, TOKEN = CallId("c1"), DispatchToken("t1")
Act = Callable[[OutputSink], Awaitable[ShellOutcome]]


def outcome(end: ShellEnd = ShellEnd.EXITED, code: int = 0, **more: object) -> ShellOutcome:
    """How a command ended."""
    values: dict[str, object] = {"end": end, "exit_code": code, "duration_ms": 1}
    return ShellOutcome(**{**values, **more})  # type: ignore[arg-type]


async def until(is_met: Callable[[], object]) -> None:
    """Return once something that tells nobody is so; bounded."""
    async with asyncio.timeout(10):
        while not is_met():  # noqa: ASYNC110 - it tells nobody
            await asyncio.sleep(0.005)


class Host:
    """The supervisor's side: grants slots as a test says."""

    def __init__(self) -> None:
        self.asks = Asks(self)
        self.asked: list[str] = []
        self.is_full = False
        self.is_refusing = False
        self.turn = asyncio.Event()

    def send(self, frame: ToHost) -> None:
        """A frame of the process."""
        self.asked.append(frame.ask.kind)
        answer = Answer(number=frame.ask.number)
        if self.is_refusing:
            answer.error_code, answer.sentence = ErrorCode.INVALID_ARGUMENT.value, "No slot."
        elif frame.ask.kind == ASK_SLOT:
            answer.payload = QUEUED if self.is_full else GRANTED
        if frame.ask.kind == ASK_TURN:
            self.waiter = asyncio.create_task(self._in_turn(answer))
        else:
            asyncio.get_running_loop().call_soon(self.asks.answered, answer)

    async def _in_turn(self, answer: Answer) -> None:
        await self.turn.wait()
        answer.payload = GRANTED
        self.asks.answered(answer)


class Trees:
    """The trees that were announced."""

    def __init__(self) -> None:
        self.open: set[str] = set()
        self.seen: list[str] = []

    async def opened(self, call_id: CallId, pid: int, start_ticks: int) -> None:
        """See `ToolTrees`."""
        del pid, start_ticks
        self.open.add(call_id)
        self.seen.append(call_id)

    async def closed(self, call_id: CallId) -> None:
        """See `ToolTrees`."""
        self.open.discard(call_id)


class Bench:
    """One part with everything around it."""

    def __init__(self, folder: Path) -> None:
        root = folder / "home/sessions/one"
        root.mkdir(parents=True)
        tmp = folder / "t/k/p"
        tmp.mkdir(parents=True, mode=0o700)
        self.storage = SessionStorage(home=str(folder / "home"), root=str(root), tmp=str(tmp))
        self.host, self.trees, self.ending = Host(), Trees(), Ending()
        self.posted: list[SessionCommand] = []
        self.shown: list[Output] = []
        self.part = BackgroundJobs(
            storage=self.storage,
            asks=self.host.asks,
            trees=self.trees,
            make_stream=lambda: StreamRedactor(Redactor()),
            post=self.posted.append,
            emit=self.shown.append,
            ending=self.ending,
        )

    def plan(self, act: Act, *, barred: str = "") -> JobPlan:
        """A job that does this."""

        async def run(
            *, announce: OnStarted, sink: OutputSink, room: asyncio.Event
        ) -> ShellOutcome:
            del room
            await announce(1, 1)
            if barred:
                raise JobBarredError(barred)
            return await act(sink)

        return JobPlan(command="make", limit_s=2.0, run=run)

    async def begin(self, plan: JobPlan) -> tuple[JobId, asyncio.Task[tuple[JobId, JobState]]]:
        """Ask for a job and let the rules have recorded it."""
        task = asyncio.create_task(self.part.start(plan, CALL, TOKEN))
        await until(lambda: self.started)
        return self.started[-1].job_id, task

    @property
    def started(self) -> list[StartJob]:
        """What was posted of starts."""
        return [command for command in self.posted if isinstance(command, StartJob)]

    async def done(self, plan: JobPlan) -> EndJob:
        """Begin a job, launch it, wait for its end."""
        job_id, task = await self.begin(plan)
        self.part.perform(LaunchJob(token=TOKEN, job_id=job_id))
        self.part.perform(LaunchJob(token=TOKEN, job_id=job_id))
        await task
        return await self.ended(job_id)

    async def ended(self, job_id: JobId) -> EndJob:
        """The one report of a job."""
        async with asyncio.timeout(10):
            await self.part.until_over(job_id)
        (end,) = [command for command in self.posted if isinstance(command, EndJob)]
        assert end.job_id == job_id
        return end

    def block(self) -> None:
        """Put a file where the folder of jobs goes."""
        Path(self.storage.jobs).write_text("in the way")

    def log(self) -> str:
        """What the one job printed."""
        (path,) = Path(self.storage.jobs).glob("*/output.log")
        return path.read_text()


@pytest.fixture
async def bench(tmp_path: Path) -> Bench:
    """A part."""
    return Bench(tmp_path)


def ends(result: ShellOutcome) -> Act:
    """A job that prints a line and ends so."""

    async def act(sink: OutputSink) -> ShellOutcome:
        sink(b"a line\n")
        return result

    return act


async def hangs(sink: OutputSink) -> ShellOutcome:
    """A job that ends only if it is killed."""
    sink(b"begun\n")
    await asyncio.Event().wait()
    raise AssertionError


@pytest.mark.requirement("jobs.whole")
@pytest.mark.parametrize(
    ("result", "state", "code", "note"),
    [
        (outcome(), JobState.COMPLETED, 0, "exit status 0"),
        (outcome(code=7), JobState.FAILED, 7, "exit status 7"),
        (outcome(ShellEnd.SIGNALLED, -9), JobState.FAILED, None, "signal 9"),
        (outcome(ShellEnd.TOTAL_TIME), JobState.TIMED_OUT, None, "after its 2 seconds"),
        (outcome(ShellEnd.MEMORY), JobState.FAILED, None, "more memory"),
        (outcome(ShellEnd.PROCESSES), JobState.FAILED, None, "more processes"),
        (outcome(ShellEnd.FAILED_TO_START), JobState.FAILED, None, "It was not run."),
    ],
)
async def test_every_end_is_reported_and_said_in_the_log(
    bench: Bench, result: ShellOutcome, state: JobState, code: int | None, note: str
) -> None:
    end = await bench.done(bench.plan(ends(result)))
    assert (end.state, end.exit_code) == (state, code)
    assert bench.log().startswith("a line\n[netclaw] ")
    assert note in bench.log()
    assert not bench.trees.open
    assert bench.trees.seen == [f"job-{end.job_id}"]
    await asyncio.sleep(0)
    assert bench.host.asked == [ASK_SLOT, ASK_BACK]
    assert [out.state for out in bench.shown if isinstance(out, JobOutput)] == [JobState.RUNNING]


@pytest.mark.requirement("jobs.deaths")
async def test_a_tree_that_does_not_die_keeps_its_slot(bench: Bench) -> None:
    end = await bench.done(bench.plan(ends(outcome(is_tree_gone=False))))
    assert end.state is JobState.COMPLETED
    assert bench.trees.open
    await asyncio.sleep(0.01)
    assert bench.host.asked == [ASK_SLOT]


@pytest.mark.requirement("jobs.cleared")
async def test_a_job_that_is_barred_at_its_gate_fails_and_says_why(bench: Bench) -> None:
    end = await bench.done(bench.plan(ends(outcome()), barred="The grant is gone."))
    assert end.state is JobState.FAILED
    assert bench.log() == "[netclaw] The grant is gone. It was not run.\n"


@pytest.mark.requirement("jobs.slots")
async def test_a_slot_that_is_refused_fails_the_job(bench: Bench) -> None:
    bench.host.is_refusing = True
    end = await bench.done(bench.plan(ends(outcome())))
    assert end.state is JobState.FAILED
    assert "No slot." in bench.log()


@pytest.mark.requirement("jobs.flood")
async def test_a_fault_of_a_job_ends_that_job_alone(bench: Bench) -> None:
    async def act(sink: OutputSink) -> ShellOutcome:
        del sink
        raise RuntimeError("a fault")

    assert (await bench.done(bench.plan(act))).state is JobState.FAILED
    assert not bench.ending.is_decided


@pytest.mark.requirement("jobs.slots")
async def test_a_call_is_answered_while_its_job_waits(bench: Bench) -> None:
    bench.host.is_full = True
    job_id, task = await bench.begin(bench.plan(ends(outcome())))
    bench.part.perform(LaunchJob(token=TOKEN, job_id=job_id))
    assert await task == (job_id, JobState.PENDING)
    bench.host.turn.set()
    assert (await bench.ended(job_id)).state is JobState.COMPLETED
    shown = [out.state for out in bench.shown if isinstance(out, JobOutput)]
    assert shown == [JobState.PENDING, JobState.RUNNING]


@pytest.mark.requirement("jobs.cancel")
@pytest.mark.parametrize("moment", ["at-once", "waiting", "running"])
async def test_a_kill_at_any_moment_is_one_end(bench: Bench, moment: str) -> None:
    bench.host.is_full = moment == "waiting"
    job_id, task = await bench.begin(bench.plan(hangs))
    bench.part.perform(LaunchJob(token=TOKEN, job_id=job_id))
    if moment != "at-once":
        await task
    if moment == "running":
        await until(lambda: bench.trees.open)
    bench.part.perform(KillJob(job_id=job_id))
    bench.part.perform(KillJob(job_id=JobId("nobody")))
    end = await bench.ended(job_id)
    assert end.state is JobState.CANCELLED
    assert "was cancelled" in bench.log()
    assert not bench.trees.open
    await task


@pytest.mark.requirement("jobs.deaths")
async def test_a_process_that_ends_reports_nothing_and_keeps_the_log(bench: Bench) -> None:
    job_id, task = await bench.begin(bench.plan(hangs))
    bench.part.perform(LaunchJob(token=TOKEN, job_id=job_id))
    await task
    await until(lambda: bench.trees.open)
    bench.part.perform(KillJob(job_id=job_id))
    bench.ending.finish(ExitCode.PASSIVATED)
    await bench.ending.cancel_tasks(5)
    assert not [command for command in bench.posted if isinstance(command, EndJob)]
    assert bench.log() == "begun\n[netclaw] The session's process ended, and the job with it.\n"


@pytest.mark.requirement("job.turn-source")
async def test_a_refused_job_leaves_no_files(bench: Bench) -> None:
    job_id, task = await bench.begin(bench.plan(hangs))
    refusal = RefuseJob(token=TOKEN, job_id=job_id, refusal=JobRefusal.STOPPING)
    bench.part.perform(refusal)
    bench.part.perform(refusal)
    with pytest.raises(JobRefusedError, match="being stopped"):
        await task
    await until(lambda: not list(Path(bench.storage.jobs).iterdir()))


@pytest.mark.requirement("jobs.flood")
async def test_no_job_is_begun_whose_log_cannot_be_made(bench: Bench) -> None:
    bench.block()
    with pytest.raises(JobRefusedError, match="its log cannot be made"):
        await bench.part.start(bench.plan(hangs), CALL, TOKEN)
    assert bench.posted == []
