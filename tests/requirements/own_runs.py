"""Child runs, seen from their sides of the stream: the run's process and the parent's."""

from __future__ import annotations

from tests.requirements.manifest import Requirement

REQUIREMENTS: tuple[Requirement, ...] = (
    Requirement(
        id="run.reports",
        source="issue 5 items 3 and 4",
        text="A run's process says that it is at work and how it ended, after its result.md is"
        " durable, is told of nothing but its task, and posts to no channel.",
    ),
    Requirement(
        id="run.waits",
        source="ADR 0031",
        text="A run's process works without waiting for its parent, and exits only when its park"
        " or end is on its parent's record.",
    ),
    Requirement(
        id="run.again",
        source="decision 70, issue 5 item 6",
        text="Wherever a run's process is killed, the next one finds what was not heard in the"
        " journal and reports it again; no call runs twice.",
    ),
    Requirement(
        id="run.consent",
        source="S3 parked child run",
        text="A run that waits for consent alone parks with its requests and has no process; its"
        " next start runs the parked calls alone, once each; one that nobody attends never asks.",
    ),
    Requirement(
        id="run.drain",
        source="S3 drain park",
        text="A drained run stops at a safe point, parks with no request, and goes on with a model"
        " call, its finished tools not run again.",
    ),
    Requirement(
        id="run.lost",
        source="decision 70",
        text="A run that lost its owner in the middle of a tool ends as owner_restarted.",
    ),
    Requirement(
        id="run.cancel",
        source="S0 check_agent_run",
        text="A cancelled run closes its gate for models, tools and answers, reports that, and"
        " within five seconds its end.",
    ),
    Requirement(
        id="run.output-limit",
        source="S0 Storage on disk",
        text="A run's reply that was cut at the output limit is kept as truncated-output.md.",
    ),
    Requirement(
        id="run.people",
        source="decision 62",
        text="Who asked for a run, and the operator, join it by writing into its session at its"
        " next batch boundary and are answered there alone; that neither ends the run nor changes"
        " its requester.",
    ),
    Requirement(
        id="run.guard",
        source="S0 Loop guard",
        text="A run has the loop guard of every session; one that it ends is Partial.",
    ),
    Requirement(
        id="run.park-holds",
        source="S3 parked child run, working context",
        text="A parked run keeps its conversation, working directory and file activity over a"
        " restart and goes on where it was; they are its own and end with it.",
    ),
    Requirement(
        id="run.late-words",
        source="decision 62",
        text="Whoever wrote into a run too late for it to be read is told that it is over; no word"
        " is lost without a sign, whatever process or stop comes between.",
    ),
    Requirement(
        id="parent.spawn",
        source="S3 open child run, S0 Sub-agents",
        text="spawn_agent answers once the run is on record, with exactly four texts, and freezes"
        " what the run is told; without an agent, a task, an audience or the switch nothing"
        " starts.",
    ),
    Requirement(
        id="parent.deliver",
        source="S0 Sub-agents, decision 64",
        text="A run's end is on record before it is acknowledged and told of in one later turn that"
        " names run, state and result.md; what the run wrote joins the recent files.",
    ),
    Requirement(
        id="parent.start-fails",
        source="S0 Sub-agents",
        text="A run that was accepted and cannot be started ends failed, and its parent is told.",
    ),
    Requirement(
        id="parent.check",
        source="S0 check_agent_run",
        text="check_agent_run tells admission and closing of a cancel apart, and tells whoever may"
        " not see a run what it tells who names none.",
    ),
    Requirement(
        id="parent.cancel-outside",
        source="issue 5 item 9",
        text="An operator cancels a run from outside and hears what became of it once that is"
        " durable.",
    ),
    Requirement(
        id="parent.pause",
        source="S3 child consent pause",
        text="While a request of a run is open nothing is spawned; its answer starts the run anew"
        " with the answers of its parked calls.",
    ),
    Requirement(
        id="parent.passive",
        source="S3 parked child run",
        text="A parked run is answered and resumed also after its parent was passivated.",
    ),
    Requirement(
        id="parent.drain",
        source="S3 drain park",
        text="A drain has the runs park and resumes them in the next process; one that is too slow"
        " is killed and lost.",
    ),
    Requirement(
        id="parent.again",
        source="issue 5 item 6",
        text="Wherever a parent is killed, its run is accepted, ends and is told of once.",
    ),
    Requirement(
        id="agents.files",
        source="S0 Sub-agents",
        text="Agents are defined by files with front matter and a body that is used as it is; a bad"
        " one is left out alone with a word about it, the alphabetically first of a name counts,"
        " and they are read anew for each turn.",
    ),
    Requirement(
        id="agents.shipped",
        source="S0 Sub-agents",
        text="`netclaw init` writes three agents that can be used as they are and touches none that"
        " is there.",
    ),
    Requirement(
        id="agents.frozen",
        source="S3 child journal",
        text="A run keeps the prompt, model, tools and time limits that it was started with; of its"
        " parent it is told the operating rules and the project's instructions, no persona and no"
        " time.",
    ),
    Requirement(
        id="agents.model-gone",
        source="S3 child journal",
        text="A run whose frozen model is not configured any more fails with model_gone; no other"
        " model takes its place.",
    ),
    Requirement(
        id="agents.deferred",
        source="sessions.md section 11, decision 42",
        text="The two agent tools are deferred: a model loads spawn_agent, and an accepted run"
        " brings check_agent_run with it.",
    ),
    Requirement(
        id="agents.protected",
        source="sessions.md section 6, authorization reference 4",
        text="No tool writes the definitions of agents or the identity files, whatever the profile"
        " and whoever consents; reading them is a matter of roots.",
    ),
    Requirement(
        id="agents.tools",
        source="S0 Sub-agents",
        text="A run has no tool to start, look at or cancel runs, and none to send files.",
    ),
    Requirement(
        id="agents.artifacts",
        source="S3 artifact directory, child run directory",
        text="What a run kept in its artifacts, and its result, can be read and sent by the session"
        " that asked for it; a run itself sends no file.",
    ),
    Requirement(
        id="agents.roots",
        source="S3 raw session log, child run directory; decision 83",
        text="A run has the roots and the restrictions of the session that asked for it, beside"
        " folders of its own: it reads and writes that session's files by the same rules, and"
        " nothing of other runs and sessions that its session could not.",
    ),
    Requirement(
        id="agents.events",
        source="S3 agent event, decision 64",
        text="What a model is told of the runs at work is rendered from the record of the session"
        " that owns them: run, agent, state and that consent is waited for, to whoever may know"
        " of the run; no agent's text, no request and no answer is in it.",
    ),
    Requirement(
        id="agents.configured",
        source="surface §8",
        text="SubAgents.Enabled takes the tools away, DefaultTimeoutSeconds is the limit of agents"
        " that name none.",
    ),
)
