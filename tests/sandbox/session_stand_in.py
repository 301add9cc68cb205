"""A process that runs commands like a session does, made to be killed by the tests.

Started as `python -I -S session_stand_in.py JOB`, with JOB a JSON object; prints one JSON line
per finished command. Needs the standard library alone, so that any interpreter can run it.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import TypedDict

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from netclaw.core.settings import SandboxBackendChoice, ToolSettings
from netclaw.ports.shell_runner import SandboxProfile, ShellLimits, ShellRequest
from netclaw.sandbox.probe import prove_backends
from netclaw.sandbox.runner import SandboxRunner


class StandInJob(TypedDict):
    """What to run; `holds` never acknowledges the tree."""

    choice: str
    is_confined: bool
    home: str
    workspace: str
    tmp: str
    marker: str
    scripts: list[str]
    holds: bool
    packages: str
    """Where the bundled bubblewrap is found."""


def say(**facts: str | int | None) -> None:
    """One line for the test."""
    sys.stdout.write(json.dumps(facts) + "\n")
    sys.stdout.flush()


async def run(job: StandInJob) -> None:
    """Proves the backend, then runs the scripts one after the other."""
    sys.path.append(job["packages"])
    facts = await asyncio.to_thread(
        prove_backends, ToolSettings(sandbox_backend=SandboxBackendChoice(job["choice"]))
    )
    say(backend=facts.backend, why=facts.why)
    profile = SandboxProfile(home=job["home"], writable=(job["workspace"],), tmp=job["tmp"])

    async def on_started(pid: int, _ticks: int) -> None:
        say(started=pid)
        if job["holds"]:
            await asyncio.Event().wait()

    for script in job["scripts"]:
        pieces: list[bytes] = []
        request = ShellRequest(
            argv=("/bin/bash", "--norc", "--noprofile", "-c", script, job["marker"]),
            cwd=job["workspace"],
            environment={"TMPDIR": job["tmp"]},
            profile=profile if job["is_confined"] else None,
            limits=ShellLimits(total_s=15),
        )
        outcome = await SandboxRunner(facts).run(request, on_started=on_started, sink=pieces.append)
        output = b"".join(pieces).decode()
        say(end=outcome.end, status=outcome.exit_code, output=output)


if __name__ == "__main__":
    asyncio.run(run(json.loads(sys.argv[1])))
