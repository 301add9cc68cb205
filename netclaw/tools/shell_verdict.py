"""Words how a command ended, and what held it back where its own output says that something did."""

from __future__ import annotations

from collections.abc import Sequence

from netclaw.core.authz.requests import ShellCall
from netclaw.core.path_rules import is_below_any
from netclaw.core.tool_call import FileOperation, OutcomeCategory
from netclaw.ports.shell_runner import SandboxProfile, ShellEnd, ShellLimits, ShellOutcome
from netclaw.tools.authorization.clearance import Clearance

_DENIED = ("read-only file system", "permission denied", "operation not permitted")
_NO_NETWORK = (
    *("network is unreachable", "name or service not known", "name resolution"),
    *("could not resolve", "cannot resolve", "getaddrinfo", "no address associated"),
)
"""Words of the C library and of usual programs, in small letters."""

_DENIED_CODES = ("EROFS", "EACCES", "EPERM")
_NO_NETWORK_CODES = ("ENETUNREACH", "EAI_AGAIN", "ENOTFOUND")
_FOLDERS_AT_MOST = 8


def verdict(
    outcome: ShellOutcome, limits: ShellLimits, silence_s: float
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
            silence = f"The command was ended: it gave nothing for {silence_s:g} seconds."
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


def boundary(output: str, outcome: ShellOutcome, profile: SandboxProfile | None) -> str:
    """What the sandbox allowed, for a command that failed and whose output shows a denial.

    Facts alone: whether the sandbox or an ordinary permission denied it is not known, and not
    said. Empty for any other command.
    """
    has_failed = outcome.end in (ShellEnd.EXITED, ShellEnd.SIGNALLED) and outcome.exit_code != 0
    if profile is None or not has_failed:
        return ""
    is_offline = not profile.has_network and _says(output, _NO_NETWORK, _NO_NETWORK_CODES)
    if not is_offline and not _says(output, _DENIED, _DENIED_CODES):
        return ""
    network = "on" if profile.has_network else "off"
    return (
        f"In its sandbox it could write only below {_folders(profile)}; the network was {network}."
    )


def _says(output: str, words: Sequence[str], codes: Sequence[str]) -> bool:
    small = output.lower()
    return any(text in small for text in words) or any(code in output for code in codes)


def _folders(profile: SandboxProfile) -> str:
    found = tuple(dict.fromkeys((*profile.writable, *profile.named, "$TMPDIR")))
    shown = [*found[:_FOLDERS_AT_MOST]]
    if len(found) > len(shown):
        shown.append(f"{len(found) - len(shown)} more folders")
    return ", ".join(shown[:-1]) + f" and {shown[-1]}" if len(shown) > 1 else shown[0]


def lost_files(clearance: Clearance, profile: SandboxProfile | None) -> str:
    """Says that what a command was judged to write in a shared temporary folder is not there.

    Empty for a command that names none.
    """
    call = clearance.request.call
    if profile is None or not isinstance(call, ShellCall) or call.facts is None:
        return ""
    bound = (*profile.writable, *profile.named, profile.tmp)
    lost = any(
        use.operation is FileOperation.WRITE
        and is_below_any(use.fact.canonical, clearance.policy.temporary)
        and not is_below_any(use.fact.canonical, bound)
        for candidate in call.facts.candidates
        for use in candidate.paths
    )
    if not lost:
        return ""
    return "A sandbox does not have the shared temporary folders: nothing written there remains."
