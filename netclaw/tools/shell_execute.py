"""`shell_execute`: runs one command line with bash, exactly as it was judged."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace

from netclaw.core.authz.requests import ShellCall
from netclaw.ports.shell_runner import (
    ShellEnd,
    ShellLimits,
    ShellOutcome,
    ShellRequest,
    ShellRunner,
)
from netclaw.ports.tool import ToolContext
from netclaw.tools.authorization.clearance import Clearance
from netclaw.tools.capture import Capture
from netclaw.tools.faults import ToolFault
from netclaw.tools.schema import Arguments, Field, Kind
from netclaw.tools.shell_background import start_job
from netclaw.tools.shell_confinement import clear_again, profile_of
from netclaw.tools.shell_environment import environment_of
from netclaw.tools.shell_program import shell_program
from netclaw.tools.shell_verdict import boundary, lost_files, verdict
from netclaw.tools.tool import OPERATOR_ONLY, Outcome, Scope


class ShellExecute:
    """Confinement, limits and the tree's end are the runner's; words and outcomes are here."""

    name = "shell_execute"
    description = (
        "Runs a command line with bash in a sandbox and returns its output (stdout and stderr "
        "together) and exit status. It can write the project directory, the session's folders, "
        "$TMPDIR and what it names, as far as it was allowed; the network is off unless it was "
        "allowed. Every process the command starts ends with it."
    )
    audiences = OPERATOR_ONLY
    fields: tuple[Field, ...] = (
        Field(
            name="command",
            kind=Kind.STRING,
            description="The command line, run as bash -c.",
            is_required=True,
        ),
        Field(
            name="working_directory",
            kind=Kind.STRING,
            description="Folder to run in; the project directory, else the session's, if absent.",
        ),
        Field(
            name="background",
            kind=Kind.BOOLEAN,
            description="Run as a background job: the call answers at once with a job id.",
        ),
        Field(
            name="timeout_seconds",
            kind=Kind.NUMBER,
            description="Ends the command after this many seconds; a job runs on without it.",
            minimum=1,
        ),
    )

    def __init__(self, runner: ShellRunner) -> None:
        self._runner = runner

    async def run(self, arguments: Arguments, scope: Scope) -> Outcome:
        """See `Tool`. What runs, and where, is what was judged: nothing is read again."""
        context = scope.context
        is_job = arguments.flag("background")
        call = judged_call(scope.clearance)
        request = ShellRequest(
            argv=(shell_program(), "--norc", "--noprofile", "-c", call.command),
            cwd=call.surroundings.cwd,
            environment=environment_of(
                context.storage, scope.clearance.decision, scope.clearance.access.credentials
            ),
            profile=profile_of(scope.clearance, context.storage),
            limits=_job_limits(arguments, context) if is_job else _limits(arguments, context),
            umask=context.settings.umask,
        )
        if is_job:
            return await start_job(self._runner, request, scope, call.command)
        capture = Capture(context.settings.capture_ceiling_bytes)
        outcome = await self._supervised(request, scope, _sink(capture, context.on_item))
        return _result(capture, outcome, request, scope)

    async def _supervised(
        self, request: ShellRequest, scope: Scope, sink: Callable[[bytes], None]
    ) -> ShellOutcome:
        """Runs it with the supervisor knowing of the tree from before its first step.

        Its view is made by then: between the last judgement and its first step nothing is waited
        for.
        """
        trees, call_id = scope.context.trees, scope.call_id
        is_announced = False

        async def announce(pid: int, start_ticks: int) -> None:
            nonlocal is_announced
            is_announced = True
            await trees.opened(call_id, pid, start_ticks)
            await clear_again(scope.clearance)
            scope.context.on_item()  # its silence counts from its start, not from its judging

        is_gone = True  # a cancelled or failed run returns only when its tree is dead
        try:
            outcome = await self._runner.run(request, on_started=announce, sink=sink)
            is_gone = outcome.is_tree_gone
        finally:
            if is_announced and is_gone:
                await trees.closed(call_id)
        return outcome


def judged_call(clearance: Clearance) -> ShellCall:
    """The command as it was judged. Raises `ToolFault` for one that nothing can be run of."""
    call = clearance.request.call
    if not isinstance(call, ShellCall) or not call.command.strip():
        raise ToolFault.invalid("`command` is empty.")
    folder = call.surroundings.cwd
    if not os.path.isdir(folder):
        raise ToolFault.missing(f"The folder {folder} does not exist.")
    return call


def _limits(arguments: Arguments, context: ToolContext) -> ShellLimits:
    settings = context.settings
    most = settings.max_tool_timeout_s
    # A little earlier than the session's own watchdog, which could only cancel the call: this
    # way the output so far is kept and the reason is known.
    silence = context.silence_s - min(1.0, context.silence_s * 0.05)
    return ShellLimits(
        memory_mib=settings.memory_mib,
        processes=settings.processes,
        file_size_mib=settings.file_size_mib,
        cpu_seconds=settings.cpu_seconds,
        total_s=min(arguments.number("timeout_seconds", most), most),
        silence_s=max(silence, 0.0),
    )


def _job_limits(arguments: Arguments, context: ToolContext) -> ShellLimits:
    """A job has no clock but the one it was given, as it was given; not one of its processor time
    either."""
    return replace(
        _limits(arguments, context),
        cpu_seconds=0,
        total_s=arguments.number("timeout_seconds"),
        silence_s=0.0,
    )


def _sink(capture: Capture, on_item: Callable[[], None]) -> Callable[[bytes], None]:
    def sink(piece: bytes) -> None:
        capture.feed(piece)
        on_item()

    return sink


def _result(
    capture: Capture, outcome: ShellOutcome, request: ShellRequest, scope: Scope
) -> Outcome:
    category, ended = verdict(outcome, request.limits, scope.context.silence_s)
    text = capture.text()
    if not capture.total and outcome.end is ShellEnd.EXITED:
        ended = f"{ended} It printed nothing."
    held = boundary(text, outcome, request.profile)
    lost = lost_files(scope.clearance, request.profile)
    return Outcome(
        text=text,
        category=category,
        note=" ".join(filter(None, (ended, held, lost))),
        is_complete=capture.is_complete,
    )
