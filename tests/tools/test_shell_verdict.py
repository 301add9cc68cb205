"""What a command's result says of its end and of its boundary: facts, and no guesses."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest

from netclaw.core.tool_call import OutcomeCategory
from netclaw.ports.shell_runner import SandboxProfile, ShellEnd, ShellLimits, ShellOutcome
from netclaw.tools.shell_verdict import boundary, verdict

PROFILE = SandboxProfile(home="/h", writable=("/a", "/b"), named=("/c",), tmp="/t")
FAILED = ShellOutcome(end=ShellEnd.EXITED, exit_code=1, duration_ms=1)


@pytest.mark.requirement("access.boundary-is-named")
@pytest.mark.parametrize(
    "output",
    [
        "touch: cannot touch '/x': Read-only file system",
        "bash: /x: Permission denied",
        "rm: cannot remove 'x': Operation not permitted",
        "Error: EROFS: read-only file system, open '/x'",
        "npm error code EACCES",
        "uv_os_setpriority EPERM",
    ],
)
def test_a_denied_write_names_what_could_be_written(output: str) -> None:
    assert boundary(output, FAILED, PROFILE) == (
        "In its sandbox it could write only below /a, /b, /c and $TMPDIR; the network was off."
    )
    online = replace(PROFILE, has_network=True)
    assert boundary(output, FAILED, online).endswith("the network was on.")


@pytest.mark.requirement("access.boundary-is-named")
@pytest.mark.parametrize(
    "output",
    [
        "curl: (6) Could not resolve host: example.com",
        "ping: connect: Network is unreachable",
        "socket.gaierror: [Errno -3] Temporary failure in name resolution",
        "Error: getaddrinfo EAI_AGAIN registry.example",
        "fatal: unable to access: Name or service not known",
    ],
)
def test_a_missing_network_is_named_where_it_was_off(output: str) -> None:
    assert boundary(output, FAILED, PROFILE).endswith("the network was off.")
    assert boundary(output, FAILED, replace(PROFILE, has_network=True)) == ""


@pytest.mark.requirement("access.boundary-is-named")
def test_nothing_is_guessed() -> None:
    denied = "Permission denied"
    assert boundary("it failed", FAILED, PROFILE) == ""
    assert boundary("the fileperms are wrong", FAILED, PROFILE) == ""
    assert boundary(denied, replace(FAILED, exit_code=0), PROFILE) == ""
    assert boundary(denied, FAILED, None) == ""
    for end in (ShellEnd.TOTAL_TIME, ShellEnd.MEMORY, ShellEnd.FAILED_TO_START):
        assert boundary(denied, replace(FAILED, end=end), PROFILE) == ""
    assert boundary(denied, replace(FAILED, end=ShellEnd.SIGNALLED, exit_code=-6), PROFILE)


@pytest.mark.requirement("access.boundary-is-named")
def test_many_folders_are_counted() -> None:
    many = replace(PROFILE, writable=tuple(f"/w{number}" for number in range(20)))
    sentence = boundary("EACCES", FAILED, many)
    assert "/w7 and 14 more folders;" in sentence
    assert "/w8" not in sentence


@pytest.mark.requirement("access.boundary-is-named")
def test_a_large_output_is_searched_quickly() -> None:
    began = time.process_time()
    assert boundary("Permission denie " * 65_000, FAILED, PROFILE) == ""
    assert time.process_time() - began < 0.2


@pytest.mark.parametrize(
    ("end", "code", "category", "words"),
    [
        (ShellEnd.EXITED, 0, OutcomeCategory.SUCCESS, "status 0."),
        (ShellEnd.EXITED, 3, OutcomeCategory.FAILURE, "status 3."),
        (ShellEnd.EXITED, 137, OutcomeCategory.FAILURE, "usually means signal 9."),
        (ShellEnd.SIGNALLED, -9, OutcomeCategory.FAILURE, "died of signal 9."),
        (ShellEnd.SILENCE, 0, OutcomeCategory.TIMEOUT, "nothing for 2.5 seconds."),
        (ShellEnd.TOTAL_TIME, 0, OutcomeCategory.TIMEOUT, "after its 7 seconds."),
        (ShellEnd.MEMORY, 0, OutcomeCategory.FAILURE, "more than 64 MiB of memory."),
        (ShellEnd.PROCESSES, 0, OutcomeCategory.FAILURE, "more than 9 processes."),
        (ShellEnd.FAILED_TO_START, -1, OutcomeCategory.FAILURE, "It was not run."),
    ],
)
def test_the_end_has_a_category_and_a_sentence(
    end: ShellEnd, code: int, category: OutcomeCategory, words: str
) -> None:
    limits = ShellLimits(memory_mib=64, processes=9, total_s=7.0)
    outcome = ShellOutcome(end=end, exit_code=code, duration_ms=123)
    found, sentence = verdict(outcome, limits, 2.5)
    assert found is category
    assert sentence.endswith(words)
    assert "123" not in sentence
