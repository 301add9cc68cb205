"""Finds out, by really running it, which confinement works on this machine.

For each backend, strongest first, one command goes through the very runner that sessions use. It
must succeed and prove from inside that a secret file cannot be read, that no Unix socket can be
reached, neither in the netclaw home nor in its own root, and that nothing can be written outside
that root. Versions and files prove nothing; `true` in the real argv does. Everything happens in a
folder of its own.
"""

from __future__ import annotations

import asyncio
import errno
import os
import shutil
import socket
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from netclaw.core.settings import SandboxBackendChoice, ToolSettings
from netclaw.ports.shell_runner import (
    Confinement,
    SandboxFacts,
    SandboxProfile,
    ShellEnd,
    ShellLimits,
    ShellOutcome,
    ShellRequest,
)
from netclaw.sandbox import bwrap, limits
from netclaw.sandbox.runner import SandboxRunner

PROBE_S = 5.0
"""How long one backend may take before it counts as not working."""

_ESCAPED_STATUS = 42
_SOCKET = "netclawd.sock"
_WORDS_AT_MOST = 160

_CHECK = f"""
true || exit 1
if cat "$1/config/secrets.json" >/dev/null 2>&1; then exit {_ESCAPED_STATUS}; fi
if (: > "$1/planted") 2>/dev/null; then exit {_ESCAPED_STATUS}; fi
"$3" -I -S -c "$4" "$1/run" "$2" || exit
echo proved > "$2/proof"
"""

_CONNECT = f"""
import os, sys, _socket  # all that takes no time to import
for folder in sys.argv[1:]:
    try:
        os.chdir(folder)  # so that its path may have any length
        _socket.socket(_socket.AF_UNIX).connect({_SOCKET!r})
    except OSError:
        continue
    sys.exit({_ESCAPED_STATUS})
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ground:
    """A small netclaw home with something worth stealing in it."""

    home: str
    workspace: str
    tmp: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Candidate:
    backend: Confinement
    program: str


def prove_backends(settings: ToolSettings) -> SandboxFacts:
    """The strongest backend that works here; blocking, usually under 150 ms.

    Call it once, from a thread that has no running event loop. `settings.sandbox_backend` other
    than `auto` tries that one alone, so that a weaker one is never taken by accident.
    """
    limits.remove_stale_cgroups()
    held_by = "cgroup" if limits.can_make_cgroup() else "rlimits"
    try:
        with _ground() as ground:
            return _strongest(settings.sandbox_backend, held_by, ground)
    except OSError as fault:
        reason = os.strerror(fault.errno or errno.EIO)
        return _none(held_by, f"nothing could be tried in {tempfile.gettempdir()}: {reason}")


def _strongest(choice: SandboxBackendChoice, held_by: str, ground: _Ground) -> SandboxFacts:
    said: list[str] = []
    for candidate in _candidates(choice):
        facts = SandboxFacts(
            backend=candidate.backend, program=candidate.program, why="", limits=held_by
        )
        complaint = asyncio.run(_try(facts, ground))
        if not complaint:
            return _chosen(candidate, held_by, said)
        said.append(f"{_name(candidate)}: {complaint}")
    return _none(held_by, "; ".join(said) or "no backend is installed")


def _none(held_by: str, reason: str) -> SandboxFacts:
    why = f"No sandbox works here ({reason})."
    return SandboxFacts(backend=None, program="", limits=held_by, why=why)


def _chosen(candidate: _Candidate, held_by: str, said: list[str]) -> SandboxFacts:
    why = f"{_name(candidate)} ran a command and hid what it must."
    if said:
        why += f" Tried before: {'; '.join(said)}."
    return SandboxFacts(
        backend=candidate.backend, program=candidate.program, why=why, limits=held_by
    )


def _name(candidate: _Candidate) -> str:
    if candidate.program:
        return f"{candidate.backend.value} ({candidate.program})"
    return candidate.backend.value


def _candidates(choice: SandboxBackendChoice) -> Iterator[_Candidate]:
    path = os.environ.get("PATH", os.defpath)
    if choice in {SandboxBackendChoice.AUTO, SandboxBackendChoice.BUBBLEWRAP}:
        for program in bwrap.find_programs(path):
            yield _Candidate(backend=Confinement.BUBBLEWRAP, program=program)
    if choice in {SandboxBackendChoice.AUTO, SandboxBackendChoice.UNSHARE}:
        program = shutil.which("unshare", path=path) or ""
        if program:
            yield _Candidate(backend=Confinement.UNSHARE, program=program)
    if choice in {SandboxBackendChoice.AUTO, SandboxBackendChoice.LANDLOCK}:
        yield _Candidate(backend=Confinement.LANDLOCK, program="")


@contextmanager
def _ground() -> Iterator[_Ground]:
    folder = os.path.realpath(tempfile.mkdtemp(prefix="netclaw-probe-"))
    ground = _Ground(
        home=f"{folder}/home",
        workspace=f"{folder}/home/sessions/probe/workspace",
        tmp=f"{folder}/t",
    )
    try:
        for path in (ground.workspace, ground.tmp, f"{ground.home}/config", f"{ground.home}/run"):
            os.makedirs(path, 0o700)
        with open(f"{ground.home}/config/secrets.json", "w", encoding="utf-8") as file:
            file.write("probe")
        with _listening(f"{ground.home}/run"), _listening(ground.workspace):
            yield ground
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _listening(folder: str) -> Iterator[None]:
    """A socket that somebody listens on, however long the folder's path is."""
    fd = os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(f"/proc/self/fd/{fd}/{_SOCKET}")
            listener.listen(1)
            yield
    finally:
        os.close(fd)


async def _try(facts: SandboxFacts, ground: _Ground) -> str:
    """Empty if the backend did everything it must; else what it said, in a few words."""
    proof = f"{ground.workspace}/proof"
    outcome, text = await _run(facts, ground)
    if outcome.end is not ShellEnd.EXITED or outcome.exit_code != 0:
        return _complaint(outcome, text)
    try:
        os.unlink(proof)
    except FileNotFoundError:
        return "what it wrote did not arrive"
    return ""


async def _run(facts: SandboxFacts, ground: _Ground) -> tuple[ShellOutcome, bytes]:
    places = (ground.home, ground.workspace)
    request = ShellRequest(
        argv=("/bin/sh", "-c", _CHECK, "sh", *places, sys.executable, _CONNECT),
        cwd=ground.workspace,
        profile=SandboxProfile(
            home=ground.home,
            writable=(ground.workspace,),
            readable=_interpreter(),
            tmp=ground.tmp,
        ),
        limits=ShellLimits(total_s=PROBE_S),
    )
    text = bytearray()

    async def on_started(_pid: int, _ticks: int) -> None:
        """Nobody else needs to know of a probe."""

    outcome = await SandboxRunner(facts).run(request, on_started=on_started, sink=text.extend)
    return outcome, bytes(text)


def _interpreter() -> tuple[str, ...]:
    """Where Python itself lies: not among the folders that a command may always read."""
    return tuple({os.path.realpath(path) for path in (sys.prefix, sys.base_prefix)})


def _complaint(outcome: ShellOutcome, text: bytes) -> str:
    if outcome.exit_code == _ESCAPED_STATUS and outcome.end is ShellEnd.EXITED:
        return "it ran, but did not hide what it must"
    words = outcome.detail or " ".join(text.decode("utf-8", "replace").split())
    if not words:
        words = f"it ended with {outcome.end.value} {outcome.exit_code}"
    return words[:_WORDS_AT_MOST]
