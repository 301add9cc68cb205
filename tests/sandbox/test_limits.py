"""What a tree may use is bounded, with cgroups where they can be made and without them."""

from __future__ import annotations

import asyncio
import os
from dataclasses import replace
from pathlib import Path

import pytest

from netclaw.linux.start_time import start_ticks
from netclaw.ports.shell_runner import ShellEnd, ShellLimits
from netclaw.sandbox import limits
from netclaw.sandbox.limits import Cgroup, Usage, exceeded, measure
from netclaw.sandbox.process_tree import ProcessHandle, descendants
from tests.sandbox.rig import LIMIT_KINDS, Rig, until

BOMB = "tail /dev/zero"
"""Looks for the last line of an endless one: takes memory as fast as it can."""


def _dead_pid() -> int:
    pid = os.posix_spawn("/bin/true", ["true"], {})
    os.waitpid(pid, 0)
    return pid


@pytest.fixture(params=LIMIT_KINDS)
def held_rig(request: pytest.FixtureRequest, any_rig: Rig) -> Rig:
    """Every backend with every way of holding memory and processes that this machine has."""
    any_rig.facts = replace(any_rig.facts, limits=request.param)
    return any_rig


@pytest.mark.escape
@pytest.mark.requirement("sandbox.limits")
async def test_a_memory_bomb_is_ended_and_named(held_rig: Rig) -> None:
    bounds = ShellLimits(memory_mib=96, total_s=15)
    ran = await held_rig.bash(f"{BOMB}; echo survived; sleep 60", bounds=bounds)
    assert ran.outcome.end is ShellEnd.MEMORY
    assert held_rig.left() == []


@pytest.mark.requirement("sandbox.limits")
async def test_memory_is_counted_over_the_whole_tree(held_rig: Rig) -> None:
    """Many modest processes are one immodest tree."""
    script = "for i in $(seq 8); do (head -c 40M /dev/zero | tail -n 1; sleep 60) & done; wait"
    ran = await held_rig.bash(script, bounds=ShellLimits(memory_mib=128, total_s=15))
    assert ran.outcome.end is ShellEnd.MEMORY
    assert held_rig.left() == []


@pytest.mark.requirement("sandbox.limits")
async def test_ordinary_use_is_left_alone(held_rig: Rig) -> None:
    script = "for i in $(seq 20); do sleep 0.6 & done; wait; head -c 20M /dev/zero | tail -c 1"
    bounds = ShellLimits(memory_mib=256, processes=64, total_s=15)
    ran = await held_rig.bash(script, bounds=bounds)
    assert (ran.outcome.end, ran.outcome.exit_code) == (ShellEnd.EXITED, 0)


@pytest.mark.requirement("sandbox.limits")
async def test_too_many_processes_are_refused_or_ended(held_rig: Rig) -> None:
    script = "for i in $(seq 100); do sleep 60 & done 2>/dev/null; echo all; wait"
    ran = await held_rig.bash(script, bounds=ShellLimits(processes=40, total_s=3))
    if held_rig.facts.limits == "cgroup":
        assert ran.outcome.end in {ShellEnd.TOTAL_TIME, ShellEnd.PROCESSES, ShellEnd.EXITED}
        assert "all" not in ran.output  # bash waits for room that never comes
    else:
        assert ran.outcome.end is ShellEnd.PROCESSES
    assert held_rig.left() == []


@pytest.mark.requirement("sandbox.limits")
async def test_processor_time_is_bounded(any_rig: Rig) -> None:
    ran = await any_rig.bash("while :; do :; done", bounds=ShellLimits(cpu_seconds=1, total_s=18))
    assert ran.outcome.end in {ShellEnd.EXITED, ShellEnd.SIGNALLED}
    assert ran.outcome.exit_code in {137, 152, -9, -24}


@pytest.mark.requirement("sandbox.limits")
async def test_no_core_dumps_and_first_to_die(any_rig: Rig) -> None:
    ran = await any_rig.bash("ulimit -c; cat /proc/self/oom_score_adj")
    assert ran.output.split() == ["0", limits.OOM_SCORE]


@pytest.mark.requirement("sandbox.limits")
async def test_cgroups_are_removed_with_their_tree(any_rig: Rig) -> None:
    await any_rig.bash("true")
    try:
        places, _ = limits._places()
    except FileNotFoundError:
        assert LIMIT_KINDS == ["rlimits"]
        return
    mine = f"netclaw-{limits._pid_space()}-{os.getpid()}-"
    assert not [name for place in places for name in os.listdir(place) if name.startswith(mine)]


@pytest.mark.requirement("sandbox.limits")
async def test_a_cgroup_that_cannot_be_made_is_replaced_by_sampling(
    any_rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse() -> tuple[list[str], bool]:
        raise FileNotFoundError("none here")

    monkeypatch.setattr(limits, "_places", refuse)
    assert not limits.can_make_cgroup()
    any_rig.facts = replace(any_rig.facts, limits="cgroup")
    ran = await any_rig.bash(BOMB, bounds=ShellLimits(memory_mib=96, total_s=15))
    assert ran.outcome.end is ShellEnd.MEMORY


@pytest.mark.requirement("sandbox.limits")
async def test_cgroups_left_by_a_dead_session_are_swept(any_rig: Rig) -> None:
    del any_rig
    if LIMIT_KINDS == ["rlimits"]:
        with pytest.raises(OSError):  # noqa: PT011 - the kind depends on why the host refuses
            Cgroup(ShellLimits())
        return
    places, _ = limits._places()
    space = limits._pid_space()
    dead = _dead_pid()
    stale = [Path(place, f"netclaw-{space}-{dead}-dead") for place in places]
    mine = Cgroup(ShellLimits())
    for path in stale:
        path.mkdir()
    limits.remove_stale_cgroups()
    assert not [path for path in stale if path.exists()]
    assert Path(mine.memory).exists()  # its maker lives
    assert mine.remove()


FOREIGN = (
    "netclaw-{other}-{dead}-f",
    "netclaw-{dead}-f",
    "netclaw-{space}-1-f",
    "netclaw-{space}-99999999999-f",
    "netclaw-{space}-x-f",
    "netclaw-{space}",
    "other-{space}-{dead}-f",
)


@pytest.mark.requirement("sandbox.limits")
@pytest.mark.parametrize("pattern", FOREIGN)
def test_a_cgroup_of_another_is_never_swept(
    tmp_path: Path, pattern: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An empty one may be a moment old: its maker's pid says nothing in another namespace."""
    dead = _dead_pid()
    space = limits._pid_space()
    fresh = tmp_path / pattern.format(space=space, other=space + 1, dead=dead)
    fresh.mkdir()
    abandoned = tmp_path / f"netclaw-{space}-{dead}-f"
    abandoned.mkdir(exist_ok=True)
    monkeypatch.setattr(limits, "_places", lambda: ([str(tmp_path)], True))
    limits.remove_stale_cgroups()
    assert [path.name for path in tmp_path.iterdir()] == [fresh.name]


@pytest.mark.requirement("sandbox.limits")
async def test_measuring_sees_every_descendant(any_rig: Rig) -> None:
    told: list[int] = []

    async def on_started(pid: int, _ticks: int) -> None:
        told.append(pid)

    script = '(setsid bash -c "sleep 60 & sleep 60" "$0" &) ; sleep 60'
    running = asyncio.ensure_future(any_rig.bash(script, on_started=on_started))
    await until(lambda: bool(told) and len(descendants(told[0], at_most=100)) >= 5)
    usage = measure(told[0], ShellLimits())
    assert usage.processes >= 5
    assert 500 < usage.memory_kib < 500_000
    assert len(descendants(told[0], at_most=2)) <= 5
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running


@pytest.mark.requirement("sandbox.limits")
def test_a_limit_of_nothing_is_no_limit() -> None:
    free = ShellLimits(memory_mib=0, processes=0)
    assert exceeded(Usage(processes=10**6, memory_kib=10**9), free) is None
    bound = ShellLimits(memory_mib=1, processes=1)
    assert exceeded(Usage(processes=1, memory_kib=1024), bound) is None
    assert exceeded(Usage(processes=2, memory_kib=0), bound) is ShellEnd.PROCESSES
    assert exceeded(Usage(processes=1, memory_kib=1025), bound) is ShellEnd.MEMORY


@pytest.mark.requirement("sandbox.tree-kill")
def test_a_handle_survives_the_end_of_its_process() -> None:
    pid = os.posix_spawn("/bin/true", ["true"], {})
    handle = ProcessHandle.open(pid)
    assert handle.ticks == start_ticks(pid) > 0
    os.waitpid(pid, 0)
    handle.signal()
    assert start_ticks(pid) == 0 or start_ticks(pid) != handle.ticks
    handle.close()
    handle.close()
    with pytest.raises(ProcessLookupError):
        ProcessHandle.open(pid)
