"""The block of a turn: what is true now and was not, or not so, a turn ago (S0 context).

It is no part of the history. It is rendered once for each turn and stands in front of the turn's
first message, so that everything before it is the same from turn to turn and within a turn every
request begins with the one before.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, timezone

from netclaw.core.authority import Audience
from netclaw.core.context.git_facts import GitFacts, render_git
from netclaw.core.context.working_context import WorkingContext
from netclaw.core.text import one_line

COMMAND_CHARACTERS = 200
"""How much of a job's command is shown."""
AGENT_CHARACTERS = 300
"""How much of an agent's description is shown."""
JOBS = 20
"""How many jobs are listed; more are counted."""

RUNS = 20
"""How many runs are listed; more are counted."""

RUNS_HEADING = "[child-runs]"
AGENTS_HEADING = "[available-subagents]"
LOAD_HINT = "Load spawn_agent with load_tool to hand a task to one of these:"
TIME_HEADING = "[current-time]"
"""The block begins with it, in every session."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalTime:
    """A moment, and how this host's clocks told it."""

    at_ms: int
    offset_s: int = 0
    """Seconds east of UTC."""
    zone: str = "UTC"
    """The zone's short name, as the host has it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobLine:
    """A background job as the model is told of it; `command` is redacted."""

    job_id: str
    state: str
    command: str
    log_path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunLine:
    """A child run that is not over, by what is on record of it; no agent has a word in it."""

    run_id: str
    agent: str
    state: str
    is_waiting_for_consent: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentLine:
    """An agent that work may be handed to."""

    name: str
    description: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GoalLine:
    """What the session is for, and how far it is."""

    status: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnFacts:
    """Everything the block is made of."""

    audience: Audience
    time: LocalTime
    working: WorkingContext = field(default_factory=WorkingContext)
    git: GitFacts | None = None
    jobs: tuple[JobLine, ...] = ()
    runs: tuple[RunLine, ...] = ()
    agents: tuple[AgentLine, ...] = ()
    goal: GoalLine | None = None


def render_turn_block(facts: TurnFacts) -> str:
    """The whole block; a section without content is left out, and Public sees the time alone."""
    sections = [_section(TIME_HEADING, (_time(facts.time),))]
    if facts.audience is not Audience.PUBLIC:
        sections.append(render_goal(facts.audience, facts.goal))
        sections.append(_section("[working-context]", _working(facts)))
        sections.append(_section("[active-background-jobs]", _jobs(facts.jobs)))
        sections.append(_section(RUNS_HEADING, _runs(facts.runs)))
        sections.append(_section(AGENTS_HEADING, _agents(facts.agents)))
    return "\n\n".join(section for section in sections if section)


def render_goal(audience: Audience, goal: GoalLine | None) -> str:
    """The section of the goal alone, which is all that a child run sees; nothing without one."""
    if goal is None or audience is Audience.PUBLIC:
        return ""
    return _section("[goal]", (f"{goal.status}: {' '.join(goal.text.split())}",))


def _section(heading: str, lines: Iterable[str]) -> str:
    body = "\n".join(lines)
    return f"{heading}\n{body}" if body else ""


def _time(time: LocalTime) -> str:
    zone = timezone(timedelta(seconds=time.offset_s))
    local = datetime.fromtimestamp(time.at_ms // 1000, UTC).astimezone(zone)
    return f"{local.isoformat(sep=' ')} ({local:%A}, {time.zone})"


def _working(facts: TurnFacts) -> Iterable[str]:
    if facts.working.directory:
        yield f"project_dir: {facts.working.directory}"
        if facts.git is not None:
            yield render_git(facts.git)
    if facts.working.recent_files:
        yield "recent_files (newest first):"
        yield from (f"- {path}" for path in facts.working.recent_files)


def _runs(runs: Sequence[RunLine]) -> Iterable[str]:
    for run in runs[:RUNS]:
        waits = ", waits for a person's consent" if run.is_waiting_for_consent else ""
        yield f"- {run.run_id} {run.agent}: {run.state}{waits}"
    if len(runs) > RUNS:
        yield f"- and {len(runs) - RUNS} more"


def _agents(agents: Sequence[AgentLine]) -> Iterable[str]:
    if agents:
        yield LOAD_HINT
    for item in agents:
        yield f"- {item.name}: {one_line(item.description, AGENT_CHARACTERS)}"


def _jobs(jobs: Sequence[JobLine]) -> Iterable[str]:
    for job in jobs[:JOBS]:
        command = one_line(job.command, COMMAND_CHARACTERS)
        log = f" (log: {job.log_path})" if job.log_path else ""
        yield f"- {job.job_id} {job.state}: {command}{log}"
    if len(jobs) > JOBS:
        yield f"- and {len(jobs) - JOBS} more"
