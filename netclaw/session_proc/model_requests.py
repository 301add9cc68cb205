"""Puts together what a model is asked: prompt, the turn's block, history, tools, pictures.

Prompt and block are made at the first model call of a turn in this process and kept to its end, so
that each request of the turn begins with the one before and shares a provider's cache. After a
compaction nothing is left to share, and the prompt is made anew.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from operator import attrgetter

from netclaw.core.authority import Audience
from netclaw.core.context.git_facts import GitFacts
from netclaw.core.context.layers import render_session
from netclaw.core.context.turn_block import (
    AgentLine,
    GoalLine,
    JobLine,
    LocalTime,
    RunLine,
    TurnFacts,
    render_goal,
    render_turn_block,
)
from netclaw.core.context.working_context import WorkingContext
from netclaw.core.ids import CallId, SessionId, TurnId
from netclaw.core.session import child_control, exposure
from netclaw.core.session.job_events import JobState
from netclaw.core.session.job_state import JobRun
from netclaw.core.session.request import build_conversation
from netclaw.core.session.state import OpenTurn, Runtime, SessionState
from netclaw.core.settings import SessionSettings, SessionStorage
from netclaw.ports.model import ModelRequest
from netclaw.ports.tool import ToolRunner, ToolTrees
from netclaw.session_proc.ending import Ending
from netclaw.session_proc.pictures import Pictures
from netclaw.session_proc.run_freezing import RunFreezing
from netclaw.session_proc.system_prompt import PromptSources, SystemPrompt
from netclaw.tools.git_inspection import BUDGET_S, GitInspection
from netclaw.tools.places import Root, usable_project

_log = logging.getLogger(__name__)

SPAWN = "spawn_agent"
PROJECT_S = 10.0
"""How long a project directory may take to be read; it may lie on a file system that hangs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Layers:
    """What stays the same in all model calls of a turn."""

    turn_id: TurnId
    prompt: str
    block: str


class ModelRequests:
    """Makes the requests of one session."""

    def __init__(
        self,
        *,
        session_id: SessionId,
        storage: SessionStorage,
        settings: SessionSettings,
        tools: ToolRunner,
        git: GitInspection | None,
        trees: ToolTrees,
        ending: Ending,
        freezing: RunFreezing,
        job_state: Callable[[JobRun], JobState] = attrgetter("state"),
    ) -> None:
        self._storage = storage
        self._settings = settings
        self._tools = tools
        self._git = git
        self._trees = trees
        self._ending = ending
        self._freezing = freezing
        self._job_state = job_state
        self._prompt = SystemPrompt(storage, session_id)
        self._pictures = Pictures(storage, settings)
        self._layers: _Layers | None = None

    async def make(self, turn: OpenTurn, state: SessionState, runtime: Runtime) -> ModelRequest:
        """The request of the next model call of this turn.

        Waits for nothing but the files of a project and its Git facts, at most a budget for each,
        and for pictures that were not read yet.
        """
        layers = self._layers
        if layers is None or layers.turn_id != turn.turn_id:
            layers = await self._render(turn, state)
        elif not state.last_input_tokens and state.run is None:
            # A compaction came between: the static layers are rendered again (S0 Compaction).
            _, prompt = await self._static(turn)
            layers = replace(layers, prompt=prompt)
        self._layers = layers
        loaded = exposure.loaded(state.leases)
        await self._tools.recall(loaded)
        conversation = build_conversation(state, runtime, turn_block=layers.block)
        return ModelRequest(
            messages=conversation.messages,
            system_prompt=layers.prompt,
            tools=self._tools.definitions(turn.authority, self._settings.tools, loaded),
            stable_ends=conversation.stable_ends,
            pictures=await self._pictures.of(conversation.messages),
        )

    async def _render(self, turn: OpenTurn, state: SessionState) -> _Layers:
        audience = turn.authority.requester.audience
        if state.run is not None:
            # What it was started with, and nothing of its parent's but that (S0 Sub-agents);
            # a goal is its own.
            prompt = f"{state.run.frozen.system_prompt}\n\n{render_session(self._storage)}"
            return _Layers(
                turn_id=turn.turn_id, prompt=prompt, block=render_goal(audience, _goal(state))
            )
        project, prompt = await self._static(turn)
        git = await self._look_at(project, turn.turn_id, audience)
        working = WorkingContext(
            directory=project.announced if project is not None else "",
            recent_files=turn.working.recent_files,
        )
        facts = TurnFacts(
            audience=audience,
            time=local_time(turn.started_at),
            working=working,
            git=git,
            jobs=_jobs(state, self._job_state),
            runs=_runs(state, turn),
            agents=await self._agents(turn),
            goal=_goal(state),
        )
        return _Layers(turn_id=turn.turn_id, prompt=prompt, block=render_turn_block(facts))

    async def _agents(self, turn: OpenTurn) -> tuple[AgentLine, ...]:
        """The agents that this turn may hand work to; looked up anew for each turn."""
        if SPAWN not in self._tools.native(turn.authority, self._settings.tools):
            return ()
        book = await self._freezing.book()
        return tuple(AgentLine(name=a.name, description=a.description) for a in book.offered)

    async def _static(self, turn: OpenTurn) -> tuple[Root | None, str]:
        """The usable project of the turn, and the prompt."""
        declared, audience = turn.working.directory, turn.authority.requester.audience
        if declared:
            try:
                async with asyncio.timeout(PROJECT_S):
                    project, sources = await asyncio.to_thread(self._read, declared, audience)
                    return project, self._prompt.render(sources)
            except TimeoutError:
                _log.warning("the project directory did not answer, so the turn goes without it")
        # Only a few small files of the home: a thread would take longer.
        project, sources = self._read("", audience)
        return project, self._prompt.render(sources)

    def _read(self, declared: str, audience: Audience) -> tuple[Root | None, PromptSources]:
        project = usable_project(
            declared, audience=audience, storage=self._storage, settings=self._settings.tools
        )
        return project, self._prompt.read(audience, project)

    async def _look_at(
        self, project: Root | None, turn_id: TurnId, audience: Audience
    ) -> GitFacts | None:
        """Git facts if they come in time; a late answer is dropped with the list it is put in."""
        git = self._git
        if project is None or git is None or audience is Audience.PUBLIC:
            return None
        found: list[GitFacts | None] = []

        async def look() -> None:
            facts = await git.inspect(
                project,
                name=CallId(f"git-{turn_id}"),
                storage=self._storage,
                settings=self._settings.tools,
                trees=self._trees,
            )
            found.append(facts)

        task = self._ending.watch(asyncio.create_task(look(), name=f"git facts of {turn_id}"))
        try:
            await asyncio.wait((task,), timeout=BUDGET_S)
        finally:
            # Its tree is killed meanwhile; the model call does not wait for that.
            task.cancel()
        return found[0] if found else None


def local_time(at_ms: int) -> LocalTime:
    """A moment as this host's clocks tell it."""
    local = time.localtime(at_ms / 1000)
    return LocalTime(at_ms=at_ms, offset_s=local.tm_gmtoff, zone=local.tm_zone)


def _goal(state: SessionState) -> GoalLine | None:
    goal = state.goal
    return GoalLine(status=goal.status.value, text=goal.text) if goal.text else None


def _jobs(state: SessionState, state_of: Callable[[JobRun], JobState]) -> tuple[JobLine, ...]:
    """The jobs that run, and those that a stop of the process ended (decision 17)."""
    return tuple(
        JobLine(
            job_id=job.job_id,
            state=state_of(job).value,
            command=job.started.command,
            log_path=job.started.log_path,
        )
        for job in state.jobs
        if job.state.is_live or job.state is JobState.REAPED
    )


def _runs(state: SessionState, turn: OpenTurn) -> tuple[RunLine, ...]:
    """The runs that are not over, as far as whoever asks in this turn may know of them."""
    return tuple(
        RunLine(
            run_id=run.run_id,
            agent=run.accepted.agent,
            state=run.state.value,
            is_waiting_for_consent=run.is_waiting_for_consent,
        )
        for run in state.children
        if run.ended is None and child_control.may_control(run, turn.authority)
    )
