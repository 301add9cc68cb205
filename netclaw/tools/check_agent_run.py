"""`check_agent_run`: how a child run of this session stands, and its cancel (S0 Sub-agents)."""

from __future__ import annotations

import json

from netclaw.core.ids import RunId
from netclaw.ports.agents import CONTROL_TOOL
from netclaw.tools.faults import ToolFault
from netclaw.tools.schema import Arguments, Field, Kind
from netclaw.tools.tool import NOT_PUBLIC, Outcome, Scope

UNKNOWN = "There is no such run."
"""The same for a run that is not the asker's: whoever may not see one learns nothing of it."""


class CheckAgentRun:
    """Admission and closing of a cancel are facts of their own: both are told."""

    name = CONTROL_TOOL
    description = (
        "Shows how a run that spawn_agent started stands. With `cancel` it has the run ended:"
        " cancel_admitted says that this is on record, dispatch_closed that the run starts nothing"
        " any more. You are told when a run is over; there is no need to wait for it."
    )
    audiences = NOT_PUBLIC
    fields: tuple[Field, ...] = (
        Field(
            name="run_id",
            kind=Kind.STRING,
            description="The id that spawn_agent returned.",
            is_required=True,
            max_chars=64,
        ),
        Field(name="cancel", kind=Kind.BOOLEAN, description="End it."),
    )

    async def run(self, arguments: Arguments, scope: Scope) -> Outcome:
        """See `Tool`."""
        agents, run_id = scope.context.agents, RunId(arguments.text("run_id"))
        if arguments.flag("cancel") and not await agents.cancel(run_id):
            raise ToolFault.denied(UNKNOWN)
        run = await agents.look(run_id)
        if run is None:
            raise ToolFault.denied(UNKNOWN)
        shown = {
            "run_id": run.run_id,
            "agent": run.agent,
            "state": run.state.value,
            "reason": run.reason,
            "cancel_admitted": run.is_cancel_admitted,
            "dispatch_closed": run.is_dispatch_closed,
            "log_path": run.log_path,
            "artifact_dir": run.artifact_dir,
            "result_path": run.result_path,
        }
        return Outcome(
            text=json.dumps(shown, ensure_ascii=False),
            is_still_running=not run.state.is_terminal,
        )
