"""`spawn_agent`: hands a task to a child run and goes on (S0 Sub-agents)."""

from __future__ import annotations

import hashlib
import json

from netclaw.core.session.child_effects import SpawnRefusal
from netclaw.ports.agents import CONTROL_TOOL, SpawnRefusedError
from netclaw.tools.faults import ToolFault
from netclaw.tools.schema import Arguments, Field, Kind
from netclaw.tools.tool import NOT_PUBLIC, Outcome, Scope

MAX_TEXT = 100_000

_REASONS = {
    SpawnRefusal.NOT_RUNNING: "this call is over.",
    SpawnRefusal.START_CONFLICT: "this call has started another run already.",
    SpawnRefusal.CONSENT_PAUSE: (
        "a run of this session waits for a person's consent. Go on without a new run; it is"
        " possible again once every request is answered."
    ),
    SpawnRefusal.CHILD_SESSION: "a run starts no runs. Do the work yourself.",
    SpawnRefusal.AUDIENCE: "this conversation may not hand work to agents.",
    SpawnRefusal.STOPPING: "the session is being stopped.",
    SpawnRefusal.NAME_TOO_LONG: "this session's name is too long for a run below it.",
}


class SpawnAgent:
    """Needs no consent: every call of the run is judged by itself."""

    name = "spawn_agent"
    description = (
        "Hands a task to an agent that works on it beside this conversation, and returns at once"
        " with the id of the run. You are told in a later turn when it is over, and where its"
        " result lies; do not wait or ask for it. The agent sees nothing of this conversation:"
        " say everything it needs to know."
    )
    audiences = NOT_PUBLIC
    fields: tuple[Field, ...] = (
        Field(
            name="agent",
            kind=Kind.STRING,
            description="Name of the agent, from [available-subagents].",
            is_required=True,
            max_chars=64,
        ),
        Field(
            name="task",
            kind=Kind.STRING,
            description="What to do, completely.",
            is_required=True,
            max_chars=MAX_TEXT,
        ),
        Field(
            name="context",
            kind=Kind.STRING,
            description="What to know for it: facts, paths, what was tried.",
            max_chars=MAX_TEXT,
        ),
    )

    async def run(self, arguments: Arguments, scope: Scope) -> Outcome:
        """See `Tool`. The answer is one JSON object of exactly four texts.

        Whoever has a run is shown how to look at it.
        """
        agents = scope.context.agents
        task, context = arguments.text("task"), arguments.text("context")
        if not task.strip():
            raise ToolFault.invalid("The task is empty.")
        book = await agents.book()
        agent = book.find(arguments.text("agent"))
        if agent is None or agent not in book.offered:
            names = ", ".join(item.name for item in book.offered)
            known = f"Available are: {names}." if names else "There is none."
            raise ToolFault.missing(f"There is no such agent. {known}")
        brief = task if not context.strip() else f"# Context\n\n{context}\n\n# Task\n\n{task}"
        digest = hashlib.sha256(f"{agent.name.casefold()}\0{brief}".encode()).hexdigest()
        try:
            run = await agents.spawn(agent=agent.name, task=brief, digest=digest)
        except SpawnRefusedError as fault:
            code = fault.refusal
            raise ToolFault.denied(f"{code.value}: No run was started: {_REASONS[code]}") from None
        answer = {
            "run_id": run.run_id,
            "scope_id": run.session_id,
            "state": run.state.value,
            "control_tool": CONTROL_TOOL,
        }
        return Outcome(text=json.dumps(answer), loaded_tool=CONTROL_TOOL)
