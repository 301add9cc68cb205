"""Confining costs little over what the backend's bare program costs, measured side by side."""

from __future__ import annotations

import asyncio
import statistics
import subprocess
import time
from pathlib import Path

import pytest

from netclaw.core.settings import SandboxBackendChoice
from netclaw.ports.shell_runner import Confinement
from netclaw.sandbox.view import host_places
from tests.sandbox.rig import PROVED, Rig

ROUNDS = 25


def _bare(facts_program: str) -> float:
    """The whole backend without any of our parts, in seconds."""
    options = ["--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL"]
    options += ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp"]
    began = time.perf_counter()
    subprocess.run([facts_program, *options, "--", "/bin/true"], check=True, capture_output=True)
    return time.perf_counter() - began


@pytest.mark.timeout(60)
@pytest.mark.requirement("sandbox.fast")
async def test_a_confined_true_costs_little_more_than_bubblewrap_alone(short_tmp: Path) -> None:
    facts = PROVED[SandboxBackendChoice.AUTO]
    rig = Rig(facts=facts, folder=short_tmp.resolve())
    bare, ours = [], []
    for _ in range(ROUNDS):
        if facts.backend is Confinement.BUBBLEWRAP:
            bare.append(await asyncio.to_thread(_bare, facts.program))
        began = time.perf_counter()
        ran = await rig.bash("true")
        ours.append(time.perf_counter() - began)
        assert ran.outcome.exit_code == 0
    allowed = 3 * statistics.median(bare) + 0.010 if bare else 0.5
    assert statistics.median(ours) < allowed


@pytest.mark.requirement("sandbox.fast")
def test_looking_around_the_host_takes_no_time_worth_mentioning() -> None:
    spent = []
    for _ in range(20):
        began = time.perf_counter()
        host_places({})
        spent.append(time.perf_counter() - began)
    assert min(spent) < 0.005
