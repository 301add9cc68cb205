"""`check_background_job`: how a background job of this session stands, and its cancel."""

from __future__ import annotations

from netclaw.core.ids import JobId
from netclaw.ports.jobs import JobView
from netclaw.tools.faults import ToolFault
from netclaw.tools.schema import Arguments, Field, Kind
from netclaw.tools.tool import OPERATOR_ONLY, Outcome, Scope

TAIL_CHARS = 2_000
UNKNOWN = (
    "There is no such background job. Of a job that you were told of, the log alone remains, for a"
    " day."
)
"""The same for a job that is not the asker's: whoever may not see one learns nothing of it."""


class CheckBackgroundJob:
    """Needs no consent: the command was cleared when the job was begun."""

    name = "check_background_job"
    description = (
        "Shows how a background job of this session stands: its state, how long it has been"
        " going, its exit status, and the end of its output. With `cancel` it kills the job with"
        " all its processes first. You are told when a job ends; there is no need to wait for it."
    )
    audiences = OPERATOR_ONLY
    fields: tuple[Field, ...] = (
        Field(
            name="job_id",
            kind=Kind.STRING,
            description="The id that `shell_execute` named.",
            is_required=True,
        ),
        Field(name="cancel", kind=Kind.BOOLEAN, description="Kill it."),
    )

    async def run(self, arguments: Arguments, scope: Scope) -> Outcome:
        """See `Tool`."""
        jobs, job_id = scope.context.jobs, JobId(arguments.text("job_id"))
        if arguments.flag("cancel") and not await jobs.cancel(job_id):
            raise ToolFault.missing(UNKNOWN)
        job = await jobs.look(job_id, tail_chars=TAIL_CHARS)
        if job is None:
            raise ToolFault.missing(UNKNOWN)
        return Outcome(text=_shown(job), is_still_running=job.state.is_live)


def _shown(job: JobView) -> str:
    facts = [f"Background job {job.job_id}: {job.state.value}", f"for {job.elapsed_s:.0f} s"]
    if not job.state.is_live:
        facts[1] = f"after {job.elapsed_s:.0f} s"
    if job.exit_code is not None:
        facts.append(f"exit status {job.exit_code}")
    head = f"{', '.join(facts)}.\nLog: {job.log_path}"
    if not job.tail:
        return f"{head}\nIt printed nothing so far."
    return f"{head}\nThe end of its output:\n{job.tail}"
