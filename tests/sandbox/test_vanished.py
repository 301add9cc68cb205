"""What was planned to be hidden may be gone a moment later: the command runs, the rest is hidden.

Every test takes something away after the view was planned and before the backend makes it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from netclaw.ports.shell_runner import (
    Confinement,
    SandboxFacts,
    SandboxProfile,
    ShellEnd,
    ShellRequest,
)
from netclaw.sandbox import backends, runner
from netclaw.sandbox import launch as launching
from netclaw.sandbox.launch import Launched, LaunchPlan
from tests.sandbox.rig import SECRET, Rig, listening, visible_folder
from tests.sandbox.test_private_places import plant

Between = Callable[[], None]


@pytest.fixture
def user(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A user's home outside every temporary place."""
    with visible_folder() as folder:
        home = folder.resolve() / "user"
        plant(home / ".ssh/id")
        plant(home / ".aws/credentials")
        plant(home / ".npmrc")
        plant(home / ".netclaw/netclaw.db")
        monkeypatch.setenv("HOME", str(home))
        yield home


@pytest.fixture
def between(monkeypatch: pytest.MonkeyPatch) -> Callable[[Between], list[int]]:
    """Makes something happen after the first plan; returns a list with an entry for each plan."""

    def arrange(act: Between) -> list[int]:
        plans: list[int] = []
        really = backends.plan

        def plan(backend: Confinement, facts: SandboxFacts, request: ShellRequest) -> LaunchPlan:
            made = really(backend, facts, request)
            plans.append(len(plans))
            if len(plans) == 1:
                act()
            return made

        monkeypatch.setattr(backends, "plan", plan)
        return plans

    return arrange


def plans_of(rig: Rig) -> int:
    """bubblewrap cannot leave a mount out: a second plan does."""
    return 2 if rig.facts.backend is Confinement.BUBBLEWRAP else 1


def sees_nothing(rig: Rig, user: Path) -> tuple[str, ...]:
    """A script that tries what is hidden, and its arguments."""
    hidden = (rig.secret_file, user / ".aws/credentials", user / ".netclaw/netclaw.db")
    return ('cat "$@"; echo x > /planted; echo ran', *map(str, hidden))


def bound(rig: Rig, *folders: Path) -> SandboxProfile:
    """The rig's profile with more writable folders."""
    for folder in folders:
        folder.mkdir(exist_ok=True)
    return replace(rig.profile, writable=(*rig.profile.writable, *map(str, folders)))


@pytest.mark.requirement("sandbox.vanished")
@pytest.mark.parametrize("name", [".npmrc", ".ssh", "both"])
async def test_a_hidden_place_that_vanishes_needs_no_hiding(
    rig: Rig, user: Path, name: str, between: Callable[[Between], list[int]]
) -> None:
    def vanish() -> None:
        if name != ".ssh":
            (user / ".npmrc").unlink()
        if name != ".npmrc":
            (user / ".ssh/id").unlink()
            (user / ".ssh").rmdir()

    plans = between(vanish)
    ran = await rig.bash(*sees_nothing(rig, user), profile=bound(rig, user / "project"))
    assert (ran.outcome.end, ran.outcome.exit_code) == (ShellEnd.EXITED, 0), ran
    assert ran.output.endswith("ran\n")
    assert SECRET not in ran.output
    assert not Path("/planted").exists()
    assert len(plans) == plans_of(rig)


@pytest.mark.requirement("sandbox.vanished")
async def test_a_socket_that_vanishes_needs_no_mask(
    rig: Rig, user: Path, between: Callable[[Between], list[int]]
) -> None:
    path = user / "s"
    with listening(str(path)):
        plans = between(path.unlink)
        ran = await rig.bash(*sees_nothing(rig, user))
    assert ran.output.endswith("ran\n")
    assert SECRET not in ran.output
    assert len(plans) == plans_of(rig)


@pytest.mark.requirement("sandbox.vanished")
async def test_a_home_of_another_daemon_that_vanishes_needs_no_hiding(
    rig: Rig, user: Path, between: Callable[[Between], list[int]]
) -> None:
    """It lies in a root, next to one that stays."""
    other, gone = user / "project/stays", user / "project/gone"
    plant(other / "netclaw.db")
    plant(gone / "netclaw.db")

    def vanish() -> None:
        (gone / "netclaw.db").unlink()
        gone.rmdir()

    between(vanish)
    ran = await rig.bash(
        'cat "$1"; echo ran', str(other / "netclaw.db"), profile=bound(rig, user / "project")
    )
    assert SECRET not in ran.output
    if rig.facts.backend is Confinement.LANDLOCK:
        assert "cannot hide" in ran.outcome.detail
    else:
        assert ran.output.endswith("ran\n")


@pytest.mark.requirement("sandbox.vanished")
async def test_a_readable_place_that_vanishes_is_left_out(
    rig: Rig, between: Callable[[Between], list[int]]
) -> None:
    note = plant(rig.home / "identity/note", "to read")
    profile = replace(rig.profile, readable=(*rig.profile.readable, str(note)))
    seen = await rig.bash('cat "$1"', str(note), profile=profile)
    assert seen.output == "to read"
    plans = between(note.unlink)
    ran = await rig.bash("echo ran", profile=profile)
    assert (ran.output, len(plans)) == ("ran\n", 1)


@pytest.mark.requirement("sandbox.vanished")
async def test_a_root_that_vanishes_is_said(
    rig: Rig, user: Path, between: Callable[[Between], list[int]]
) -> None:
    project = user / "project"
    profile = bound(rig, project)
    between(project.rmdir)
    ran = await rig.bash("echo ran", profile=profile)
    assert (ran.outcome.end, ran.output) == (ShellEnd.FAILED_TO_START, "")
    assert str(project) in ran.outcome.detail


@pytest.mark.requirement("sandbox.vanished")
async def test_a_hidden_place_that_became_something_else_is_no_excuse(
    rig: Rig, user: Path, between: Callable[[Between], list[int]]
) -> None:
    """A folder that is a file now is there, so that it must be covered or nothing runs."""

    def exchange() -> None:
        (user / ".ssh/id").unlink()
        (user / ".ssh").rmdir()
        plant(user / ".ssh")

    between(exchange)
    ran = await rig.bash('cat "$1"; echo ran', str(user / ".ssh"))
    assert SECRET not in ran.output


@pytest.mark.requirement("sandbox.vanished")
async def test_a_view_that_fails_for_another_reason_is_not_tried_again(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[int] = []
    really = launching.launch

    def launch(plan: LaunchPlan, environment: Mapping[str, str]) -> Launched:
        started.append(len(started))
        return really(plan, environment)

    monkeypatch.setattr(runner, "launch", launch)
    ran = await rig.run(replace(rig.request("echo ran"), cwd="/nowhere"))
    assert "ran" not in ran.output.splitlines()
    assert ran.outcome.exit_code != 0
    assert len(started) == 1
