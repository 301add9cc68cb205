"""Background jobs: started, ended, cancelled, reaped and told of, by the pure rules."""

from __future__ import annotations

from tests.requirements.manifest import Requirement

REQUIREMENTS: tuple[Requirement, ...] = (
    Requirement(
        id="job.started-first",
        source="sessions.md §3 and §7",
        text="A background job is durable before its process is launched and before the next model"
        " call, so its result cannot come before its start.",
    ),
    Requirement(
        id="job.turn-source",
        source="sessions.md §7",
        text="A call without a running turn, or one that is being stopped, starts no job and is"
        " told so.",
    ),
    Requirement(
        id="job.no-run",
        source="S3 open child run",
        text="A background job is no child run: no turn reports it as open, and nobody who waits"
        " for child runs waits for it.",
    ),
    Requirement(
        id="job.end-turn",
        source="S0 Who joins a turn, sessions.md §7",
        text="The end of a job, also by cancel or timeout, is a turn of its own and wakes its"
        " session.",
    ),
    Requirement(
        id="job.end-once",
        source="sessions.md §7",
        text="A job ends once and is told of once.",
    ),
    Requirement(
        id="job.cancel",
        source="sessions.md §7",
        text="A cancel kills the whole tree of a job; to another session, audience or boundary the"
        " job does not exist.",
    ),
    Requirement(
        id="job.passivate",
        source="S0 Passivation, decisions 17 and 72",
        text="A running or queued job keeps its session up, and the idle time begins anew when it"
        " was told of.",
    ),
    Requirement(
        id="job.killed",
        source="S0 Passivation, decision 85",
        text="Whatever ends the process of a session kills its jobs, and no turn is started for"
        " them.",
    ),
    Requirement(
        id="job.reaped",
        source="S0 Passivation, decision 17",
        text="The next wake reaps the jobs that were live, lists them until a turn completed, and"
        " starts no turn for them.",
    ),
    Requirement(
        id="job.start-due",
        source="protocol, Runnable work; decision 17",
        text="An ended job that no turn told of makes a start of its session due, a live or reaped"
        " one does not.",
    ),
    Requirement(
        id="job.pause",
        source="S3 child consent pause",
        text="A job that ends in the child consent pause is told of when the pause is over.",
    ),
)
