"""A session with child runs and background jobs, under everything at once."""

from __future__ import annotations

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import invariant, precondition, rule

from netclaw.core.ids import CallId, JobId
from netclaw.core.session.child_commands import AcceptChild, CancelChild
from netclaw.core.session.child_events import ChildState
from netclaw.core.session.job_commands import CancelJob, EndJob, StartJob
from netclaw.core.session.job_events import JobState
from netclaw.core.session.phase import Phase
from netclaw.testing.people import ALICE, OPERATOR
from tests.properties.child_world import Report, RunsWorld
from tests.properties.inputs import POSITION
from tests.properties.moves import answer_of
from tests.properties.process import Process
from tests.properties.test_session_machine import SessionMachine

ENDS = st.sampled_from([ChildState.COMPLETED, ChildState.PARTIAL, ChildState.FAILED])


class RunsMachine(SessionMachine):
    """Adds to the usual happenings those of runs and jobs."""

    world: RunsWorld

    def __init__(self) -> None:
        super().__init__()
        self.world = RunsWorld()
        self.jobs = 0
        self.answered: set[str] = set()
        """Requests of runs that were answered in the end."""

    # What a running tool asks for

    @precondition(lambda self: self.world.process and self.world.process.tools)
    @rule(position=POSITION, digest=st.sampled_from(["d1", "d1", "d1", "d2"]))
    def tool_spawns(self, position: int, digest: str) -> None:
        tools = list(self.alive().tools.values())
        tool = tools[position % len(tools)]
        self.alive().mailbox.append(
            AcceptChild(
                token=tool.token,
                call_id=tool.call.call_id,
                agent="a",
                task="t",
                digest=digest,
            )
        )

    @precondition(lambda self: self.world.process and self.world.process.tools)
    @rule(position=POSITION)
    def tool_goes_into_the_background(self, position: int) -> None:
        tools = list(self.alive().tools.values())
        tool = tools[position % len(tools)]
        self.jobs += 1
        self.alive().mailbox.append(
            StartJob(
                token=tool.token,
                call_id=tool.call.call_id,
                job_id=JobId(f"j{self.jobs}"),
                command="make",
                log_path="/log",
            )
        )

    # What runs and jobs do

    @precondition(lambda self: self.world.children.speaking)
    @rule(position=POSITION)
    def run_begins(self, position: int) -> None:
        speaking = self.world.children.speaking
        self.send(self.world.children.begins(speaking[position % len(speaking)]))

    @precondition(lambda self: self.world.children.speaking)
    @rule(position=POSITION, state=ENDS)
    def run_ends(self, position: int, state: ChildState) -> None:
        speaking = self.world.children.speaking
        self.send(self.world.children.ends(speaking[position % len(speaking)], state))

    @precondition(lambda self: self.world.children.speaking)
    @rule(position=POSITION, asks=st.integers(min_value=1, max_value=2))
    def run_parks_for_consent(self, position: int, asks: int) -> None:
        speaking = self.world.children.speaking
        self.send(self.world.children.parks(speaking[position % len(speaking)], asks))

    @precondition(lambda self: any(p.is_told_to_park for p in self.world.children.speaking))
    @rule()
    def run_parks_for_a_drain(self) -> None:
        told = [p for p in self.world.children.speaking if p.is_told_to_park]
        self.send(self.world.children.parks(told[0], 0))

    @precondition(lambda self: self.world.process and self.world.children.unacknowledged)
    @rule(position=POSITION)
    def run_reports_again(self, position: int) -> None:
        reports = self.world.children.unacknowledged
        self.send([reports[position % len(reports)]])

    @precondition(lambda self: self.world.process and self.world.jobs)
    @rule(state=st.sampled_from([JobState.COMPLETED, JobState.FAILED, JobState.TIMED_OUT]))
    def job_ends(self, state: JobState) -> None:
        job_id = self.world.jobs.pop(0)
        self.alive().mailbox.append(EndJob(job_id=job_id, state=state))

    # What people do about them

    @precondition(lambda self: self.world.run_rules.asking)
    @rule(position=POSITION, option=st.sampled_from(["once", "refuse", "nonsense"]))
    def person_answers_a_run(self, position: int, option: str) -> None:
        asking = list(self.world.run_rules.asking)
        self.answer_for_run(asking[position % len(asking)], option)

    @precondition(lambda self: self.world.process and self.world.run_rules.runs)
    @rule(position=POSITION)
    def operator_cancels_a_run(self, position: int) -> None:
        runs = [run.run_id for run in self.world.states[-1].children]
        run_id = runs[position % len(runs)]
        self.alive().mailbox.append(CancelChild(run_id=run_id, actor="operator", authority=None))

    @precondition(lambda self: self.world.process and self.world.jobs)
    @rule()
    def operator_cancels_a_job(self) -> None:
        job_id = self.world.jobs[0]
        self.alive().mailbox.append(CancelJob(job_id=job_id, actor="operator", authority=None))

    def send(self, reports: list[Report]) -> None:
        """Reports are lost while nobody listens; the next process gets them again."""
        process = self.world.process
        if process is not None:
            process.mailbox.extend(reports)

    def answer_for_run(self, call_id: str, option: str) -> None:
        rules = self.world.run_rules
        owner = rules.runs[rules.asking[call_id]].authority
        by = owner if owner.requester.principal.is_person else ALICE
        self.world.admit(answer_of(CallId(call_id), option, by))

    # What must hold

    @invariant()
    def nobody_waits_behind_a_parked_run(self) -> None:
        process = self.world.process
        if process is None or process.in_flight or process.mailbox or process.inbound:
            return
        is_resting = process.runtime.phase is Phase.READY and process.runtime.drain is None
        if is_resting and process.state.turn is None:
            buffered = process.state.buffered
            people = [item for item in buffered if item.admitted.authority.is_of_person]
            assert not people, "a person waits for nothing"

    def go_on(self, process: Process) -> bool:
        """People answer for runs, then runs and jobs end, before anything else does."""
        asking = set(self.world.run_rules.asking) - self.answered
        if asking:
            call_id = min(asking)
            self.answered.add(call_id)
            self.answer_for_run(call_id, "once")
        elif self.world.jobs:
            job_id = self.world.jobs.pop(0)
            process.mailbox.append(EndJob(job_id=job_id, state=JobState.COMPLETED))
        elif self.world.children.speaking:
            ended = self.world.children.speaking[0]
            self.send(self.world.children.ends(ended, ChildState.COMPLETED))
        elif not super().go_on(process):
            requests = self.world.rules.requests.items()
            waiting = [call for call, state in requests if state == "open"]
            if waiting:
                self.world.admit(answer_of(CallId(waiting[0]), "refuse", OPERATOR))
            return bool(waiting)
        return True

    def teardown(self) -> None:
        """In the end every result was told, once, and nothing is left open."""
        world = self.world
        world.settle()
        for call_id in list(world.run_rules.asking):
            self.answered.add(call_id)
            self.answer_for_run(call_id, "once")
        if world.process is None:
            # Jobs that died with their process call for none: the next wake lists them.
            world.start()
        super().teardown()
        assert world.run_rules.untold == []
        assert all(run.is_closed for run in world.states[-1].children)


RunsMachine.TestCase.settings = settings(max_examples=60, stateful_step_count=60, deadline=None)
TestRuns = pytest.mark.timeout(120)(
    pytest.mark.requirement("child.exactly-once")(RunsMachine.TestCase)
)
