"""Reads what a run is started with and keeps to its end: agent, rules, project, model, tools."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable

from netclaw.core import agents
from netclaw.core.agents import AgentBook
from netclaw.core.authority import Audience, Authority
from netclaw.core.context.layers import render_file, render_project
from netclaw.core.ids import SessionId
from netclaw.core.run_settings import model_for
from netclaw.core.session.child_events import ChildAccepted, ChildFrozen
from netclaw.core.settings import SessionSettings, SessionStorage
from netclaw.session_proc.system_prompt import SystemPrompt
from netclaw.tools import agent_files
from netclaw.tools.agent_files import FolderLook
from netclaw.tools.places import usable_project

_log = logging.getLogger(__name__)

OPERATING_RULES = "AGENTS.md"
"""The one identity file that a run is told; who the agent is stays with its parent."""
INLINE_BYTES = 64 * 1024
"""More definitions than this are read in a thread (decision 86)."""
READ_S = 10.0
"""How long the files may take; a project may lie on a file system that does not answer."""

NO_AGENT = "agent_missing"
NO_MODEL = "no_model"

NOT_FOR_RUNS = frozenset({"spawn_agent", "check_agent_run", "attach_file"})
"""Tools of conversations alone (S0 Sub-agents)."""


class FreezeError(Exception):
    """The run cannot be started; `reason` is its end's."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class RunFreezing:
    """Makes the first word of a run's journal."""

    def __init__(
        self,
        *,
        session_id: SessionId,
        storage: SessionStorage,
        settings: SessionSettings,
        tools: Callable[[Authority], Iterable[str]],
    ) -> None:
        self._session_id = session_id
        self._storage = storage
        self._settings = settings
        self._tools = tools
        self._prompt = SystemPrompt(storage, session_id)
        self._told: set[tuple[str, str]] = set()
        self._seen: FolderLook | None = None
        self._book = AgentBook()

    async def book(self) -> AgentBook:
        """The agents there are now; files that are none are warned of once."""
        home = self._storage.home
        seen = agent_files.look(home)
        if seen == self._seen:
            return self._book
        if seen.size_bytes <= INLINE_BYTES:
            book = agent_files.read_agents(home)  # a thread would take longer
        else:
            book = await asyncio.to_thread(agent_files.read_agents, home)
        self._seen, self._book = seen, book
        for problem in book.problems:
            told = (problem.source, problem.sentence)
            if told not in self._told:
                self._told.add(told)
                _log.warning("the agent file %s is left out: %s", *told)
        return book

    async def freeze(self, accepted: ChildAccepted, working_directory: str) -> ChildFrozen:
        """What this run is started with. Raises `FreezeError`."""
        agent = (await self.book()).find(accepted.agent)
        if agent is None:
            raise FreezeError(NO_AGENT)
        model = model_for(agent, self._settings)
        if model is None:
            raise FreezeError(NO_MODEL)
        audience = accepted.authority.requester.audience
        rules, project, folder = await self._static(working_directory, audience)
        names = self._tools(accepted.authority)
        return ChildFrozen(
            run_id=accepted.run_id,
            parent=self._session_id,
            agent=agent.name,
            system_prompt=agents.system_prompt(agent, operating_rules=rules, project=project),
            provider=model.provider,
            model=model.model_id,
            tools=tuple(name for name in names if name not in NOT_FOR_RUNS),
            project_instructions=project,
            operating_rules=rules,
            wants_findings=agent.wants_findings,
            timeout_s=float(agent.timeout_s or self._settings.agent_timeout_s),
            prefill_s=float(agent.prefill_s),
            working_directory=folder,
        )

    async def _static(self, declared: str, audience: Audience) -> tuple[str, str, str]:
        """Operating rules, the project's instructions, and the project if it can be used."""
        try:
            async with asyncio.timeout(READ_S):
                return await asyncio.to_thread(self._read, declared, audience)
        except TimeoutError:
            _log.warning("the project directory did not answer, so the run goes without it")
            return await asyncio.to_thread(self._read, "", audience)

    def _read(self, declared: str, audience: Audience) -> tuple[str, str, str]:
        project = usable_project(
            declared, audience=audience, storage=self._storage, settings=self._settings.tools
        )
        _, identity, instructions = self._prompt.read(audience, project)
        rules = render_file(identity.get(OPERATING_RULES, b""))
        return rules, render_project(instructions), project.announced if project else ""
