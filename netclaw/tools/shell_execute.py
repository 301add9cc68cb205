"""`shell_execute`: runs one command line with bash, exactly as it was judged."""

from __future__ import annotations

import os
from collections.abc import Callable

from netclaw.core.path_rules import protected_paths
from netclaw.core.settings import SandboxNetwork, ShellMode
from netclaw.core.tool_call import FileOperation, OutcomeCategory
from netclaw.ports.shell_runner import (
    SandboxProfile,
    ShellEnd,
    ShellLimits,
    ShellOutcome,
    ShellRequest,
    ShellRunner,
)
from netclaw.ports.tool import ToolContext
from netclaw.tools.capture import Capture
from netclaw.tools.faults import Remediation, ToolFault
from netclaw.tools.git_worktree import common_directory
from netclaw.tools.places import Places, ensure_own, places_for, project_directory
from netclaw.tools.schema import Arguments, Field, Kind
from netclaw.tools.shell_program import shell_program
from netclaw.tools.tool import OPERATOR_ONLY, Outcome, Scope

MAX_COMMAND_BYTES = 100_000
"""The kernel takes at most 128 KiB in one argument."""


class ShellExecute:
    """Confinement, limits and the tree's end are the runner's; words and outcomes are here."""

    name = "shell_execute"
    description = (
        "Runs a command line with bash in a sandbox and returns its output (stdout and stderr "
        "together) and exit status. Only the working directory, the session's folders and $TMPDIR "
        "can be written; the network is off unless it was allowed. Every process the command "
        "starts ends with it."
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
            description="Run as a background job. Not available yet.",
        ),
        Field(
            name="timeout_seconds",
            kind=Kind.NUMBER,
            description="Ends the command after this many seconds.",
            minimum=1,
        ),
    )

    def __init__(self, runner: ShellRunner) -> None:
        self._runner = runner

    async def run(self, arguments: Arguments, scope: Scope) -> Outcome:
        """See `Tool`."""
        context = scope.context
        if arguments.flag("background"):
            raise ToolFault.correction(
                "Background jobs are not available yet. Run the command in the foreground, with "
                "`timeout_seconds` if it takes long."
            )
        command = judged_command(arguments.text("command"))
        places = places_for(context)
        cwd = working_directory(arguments.text("working_directory"), places)
        request = ShellRequest(
            argv=(shell_program(), "--norc", "--noprofile", "-c", command),
            cwd=cwd,
            environment=_environment(context),
            profile=_profile(context, places),
            limits=_limits(arguments, context),
            umask=context.settings.umask,
        )
        capture = Capture(context.settings.capture_ceiling_bytes)
        outcome = await self._supervised(request, scope, _sink(capture, context.on_item))
        return _result(capture, outcome, request.limits, context)

    async def _supervised(
        self, request: ShellRequest, scope: Scope, sink: Callable[[bytes], None]
    ) -> ShellOutcome:
        """Runs it with the supervisor knowing of the tree from before its first step."""
        trees, call_id = scope.context.trees, scope.call_id
        is_announced = False

        async def announce(pid: int, start_ticks: int) -> None:
            nonlocal is_announced
            is_announced = True
            await trees.opened(call_id, pid, start_ticks)

        is_gone = True  # a cancelled or failed run returns only when its tree is dead
        try:
            outcome = await self._runner.run(request, on_started=announce, sink=sink)
            is_gone = outcome.is_tree_gone
        finally:
            if is_announced and is_gone:
                await trees.closed(call_id)
        return outcome


def judged_command(command: str) -> str:
    """The command unchanged, or a `ToolFault`: what is run is byte for byte what was judged.

    Control characters other than newline and tab are refused before anything looks at the text,
    because a reader and a parser would not see the same command (decision 38).
    """
    if not command.strip():
        raise ToolFault.invalid("`command` is empty.")
    for at, char in enumerate(command):
        if (ord(char) < 0x20 and char not in "\n\t") or 0x7F <= ord(char) < 0xA0:
            raise ToolFault.invalid(
                f"`command` holds the control character U+{ord(char):04X} at position {at}; "
                "only newline and tab are allowed."
            )
    if len(command.encode("utf-8")) > MAX_COMMAND_BYTES:
        raise ToolFault.correction(
            f"`command` is longer than {MAX_COMMAND_BYTES} bytes. Write the script into a file "
            "with file_write and run that.",
            remediation=Remediation.SHORTEN_SHELL_COMMAND,
        )
    return command


def working_directory(text: str, places: Places) -> str:
    """The resolved folder to run in. Raises `ToolFault`."""
    located = places.locate(text, FileOperation.READ)
    real = os.path.realpath(located.path)
    places.judge_real(located.root, real)
    if not os.path.isdir(real):
        raise ToolFault.missing(f"The folder {located.path} does not exist.")
    return real


def _environment(context: ToolContext) -> dict[str, str]:
    tmp = context.storage.tmp
    return {"HOME": tmp, "TMPDIR": tmp, "TMP": tmp, "TEMP": tmp}


def _profile(context: ToolContext, places: Places) -> SandboxProfile | None:
    """The view of the command, derived from what its session may reach."""
    if context.settings.shell_mode is ShellMode.HOST_ALLOWED:
        return None
    storage = context.storage
    for root in places.roots:
        ensure_own(root)
    writable = [root.real for root in places.roots if root.is_writable]
    configured = map(os.path.realpath, context.settings.writable_roots)
    writable += [path for path in configured if os.path.isdir(path)]
    project = project_directory(context)
    common = common_directory(project.real) if project is not None else None
    if common is not None:
        writable.append(common)
    tmp = os.path.realpath(storage.tmp)
    return SandboxProfile(
        home=places.home,
        writable=tuple(dict.fromkeys(path for path in writable if path != os.path.dirname(tmp))),
        masked=(*protected_paths(places.home), os.path.realpath(storage.staging)),
        tmp=tmp,
        has_network=context.settings.sandbox_network is SandboxNetwork.ALWAYS,
    )


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


def _sink(capture: Capture, on_item: Callable[[], None]) -> Callable[[bytes], None]:
    def sink(piece: bytes) -> None:
        capture.feed(piece)
        on_item()

    return sink


def _result(
    capture: Capture, outcome: ShellOutcome, limits: ShellLimits, context: ToolContext
) -> Outcome:
    category, note = _verdict(outcome, limits, context)
    if not capture.total and outcome.end is ShellEnd.EXITED:
        note = f"{note} It printed nothing."
    return Outcome(
        text=capture.text(), category=category, note=note, is_complete=capture.is_complete
    )


def _verdict(
    outcome: ShellOutcome, limits: ShellLimits, context: ToolContext
) -> tuple[OutcomeCategory, str]:
    """Category and sentence; no times in it, so that equal outcomes read equal (loop guard)."""
    match outcome.end:
        case ShellEnd.EXITED if outcome.exit_code == 0:
            return OutcomeCategory.SUCCESS, "The command ended with exit status 0."
        case ShellEnd.EXITED:
            return OutcomeCategory.FAILURE, _status_sentence(outcome.exit_code)
        case ShellEnd.SIGNALLED:
            return OutcomeCategory.FAILURE, f"The command died of signal {-outcome.exit_code}."
        case ShellEnd.SILENCE:
            silence = f"The command was ended: it gave nothing for {context.silence_s:g} seconds."
            return OutcomeCategory.TIMEOUT, silence
        case ShellEnd.TOTAL_TIME:
            total = f"The command was ended after its {limits.total_s:g} seconds."
            return OutcomeCategory.TIMEOUT, total
        case ShellEnd.MEMORY:
            memory = f"The command was ended: it used more than {limits.memory_mib} MiB of memory."
            return OutcomeCategory.FAILURE, memory
        case ShellEnd.PROCESSES:
            count = f"The command was ended: it had more than {limits.processes} processes."
            return OutcomeCategory.FAILURE, count
        case _:
            detail = outcome.detail or "The command could not be started."
            return OutcomeCategory.FAILURE, f"{detail} It was not run."


def _status_sentence(status: int) -> str:
    sentence = f"The command ended with exit status {status}."
    if 128 < status <= 128 + 64:
        sentence += f" A status of 128 + {status - 128} usually means signal {status - 128}."
    return sentence
