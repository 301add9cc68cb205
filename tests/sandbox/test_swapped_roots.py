"""A root that becomes a link between the plan and the mounts shows nothing that was not judged.

The swap is made at the worst moment, and by another process as fast as it can.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from netclaw.ports.shell_runner import (
    Confinement,
    SandboxFacts,
    SandboxProfile,
    ShellEnd,
    ShellRequest,
)
from netclaw.sandbox import backends
from netclaw.sandbox.identity import identity_of
from netclaw.sandbox.launch import LaunchPlan
from tests.sandbox.rig import SECRET, Rig, visible_folder
from tests.sandbox.swapping import swapping

pytestmark = pytest.mark.escape

TRIES = 10_000
COMMANDS = 25
STEAL = 'cat secrets.json "$1/secrets.json"; echo x > planted; echo x > "$1/planted"; echo ran'


@dataclass(frozen=True, kw_only=True)
class Swapped:
    """A project directory, a link in its place, and what the link leads to."""

    rig: Rig
    root: Path
    link: Path
    target: Path

    @property
    def profile(self) -> SandboxProfile:
        """The project directory may be written; nobody said that of the protected folder."""
        return replace(self.rig.profile, writable=(*self.rig.profile.writable, str(self.root)))

    @property
    def request(self) -> ShellRequest:
        """Reads and writes in the project directory."""
        request = self.rig.request(STEAL, str(self.root), profile=self.profile)
        return replace(request, cwd=str(self.root))

    def swap(self) -> None:
        """Puts the link in the root's place."""
        aside = self.root.with_name("aside")
        self.root.rename(aside)
        self.link.rename(self.root)

    def is_untouched(self) -> bool:
        """Whether nothing was planted in the protected folder."""
        return sorted(os.listdir(self.target)) == ["secrets.json"]


PLACES = ["beside-a-root", "in-a-root", "in-a-project"]


@pytest.fixture(params=PLACES)
def swapped(escape_rig: Rig, request: pytest.FixtureRequest) -> Iterator[Swapped]:
    """A root whose parent other commands may write: hidden itself, bound itself, or in sight."""
    rig = escape_rig
    with visible_folder() as folder:
        parents = {
            "beside-a-root": rig.home / "sessions/one/worktrees",
            "in-a-root": rig.workspace,
            "in-a-project": folder,
        }
        parent = parents[request.param]
        root = parent / "sub"
        root.mkdir(parents=True)
        link = parent / "link"
        target = rig.home / "config"
        link.symlink_to(os.path.relpath(target, parent))
        yield Swapped(rig=rig, root=root, link=link, target=target)


@pytest.fixture
def between(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], None]], None]:
    """Makes something happen after every plan."""

    def arrange(act: Callable[[], None]) -> None:
        really = backends.plan

        def plan(backend: Confinement, facts: SandboxFacts, request: ShellRequest) -> LaunchPlan:
            made = really(backend, facts, request)
            act()
            return made

        monkeypatch.setattr(backends, "plan", plan)

    return arrange


@pytest.mark.requirement("escape.races")
async def test_a_root_swapped_after_the_plan_is_not_bound(
    swapped: Swapped, between: Callable[[Callable[[], None]], None]
) -> None:
    between(swapped.swap)
    ran = await swapped.rig.run(swapped.request)
    assert (ran.outcome.end, ran.output) == (ShellEnd.FAILED_TO_START, "")
    assert str(swapped.root) in ran.outcome.detail
    assert swapped.is_untouched()


@pytest.mark.requirement("escape.races")
async def test_another_folder_in_the_place_of_a_root_is_not_bound(
    swapped: Swapped, between: Callable[[Callable[[], None]], None]
) -> None:
    """No link is needed: what was judged is the folder, not its name."""
    done: list[bool] = []

    def exchange() -> None:
        if not done:
            swapped.root.rename(swapped.root.with_name("aside"))
            swapped.root.mkdir()
        done.append(True)

    between(exchange)
    ran = await swapped.rig.run(swapped.request)
    if ran.outcome.end is ShellEnd.EXITED:  # planned anew with what is there, or never by itself
        assert os.listdir(swapped.root) == ["planted"]
    else:
        assert str(swapped.root) in ran.outcome.detail
    assert SECRET not in ran.output
    assert swapped.is_untouched()


@pytest.mark.timeout(60)
@pytest.mark.requirement("escape.races")
async def test_a_root_that_is_swapped_all_the_time_is_never_bound_as_another(
    swapped: Swapped,
) -> None:
    ends = []
    with swapping(swapped.root, swapped.link):
        for _ in range(COMMANDS):
            ran = await swapped.rig.run(swapped.request)
            assert SECRET not in ran.output
            ends.append(ran.outcome.end)
    assert swapped.is_untouched()
    assert set(ends) <= {ShellEnd.EXITED, ShellEnd.FAILED_TO_START}


@pytest.mark.timeout(60)
@pytest.mark.requirement("escape.races")
def test_ten_thousand_looks_take_no_link_for_the_root(swapped: Swapped) -> None:
    """Each says that there is a link, or what the folder is that was judged."""
    judged = identity_of(str(swapped.root))
    found = 0
    with swapping(swapped.root, swapped.link):
        for _ in range(TRIES):
            with suppress(NotADirectoryError):
                assert identity_of(str(swapped.root)) == judged
                found += 1
    assert 0 < found < TRIES
