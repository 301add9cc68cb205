"""Credentials that the operator lists: read by what a person let run, written by nothing."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from netclaw.core.authz.profiles import ConsentModes
from netclaw.core.settings import SandboxBackendChoice, ToolSettings
from netclaw.ports.shell_runner import Confinement, SandboxProfile
from netclaw.sandbox.runner import SandboxRunner
from netclaw.tools.factory import make_tool_runner
from tests.sandbox.rig import PROVED, SECRET, Ran, Rig, visible_folder
from tests.sandbox.test_private_places import bound, plant, plant_home
from tests.tools.judged import approved
from tests.tools.rig import SHELL_AUTO, SOURCES
from tests.tools.rig import Rig as ToolRig

FACTS = PROVED[SandboxBackendChoice.AUTO]

pytestmark = [pytest.mark.timeout(60), pytest.mark.requirement("access.credentials")]


@pytest.fixture
def user(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A user's home with credentials, outside every temporary place."""
    with visible_folder() as folder:
        home = folder.resolve() / "user"
        for name in (".ssh/id", ".aws/credentials", ".netrc", ".git-credentials"):
            plant(home / name)
        monkeypatch.setenv("HOME", str(home))
        yield home


def showing(rig: Rig, *places: Path, writable: tuple[Path, ...] = ()) -> SandboxProfile:
    """The rig's profile with listed credentials."""
    return replace(bound(rig, *writable), credentials=tuple(map(str, places)))


async def cat(rig: Rig, profile: SandboxProfile, *paths: Path) -> Ran:
    """Reads files, as far as it may."""
    return await rig.bash('cat "$@" 2>/dev/null; echo tried', *map(str, paths), profile=profile)


async def test_what_is_listed_is_read_and_nothing_beside_it(rig: Rig, user: Path) -> None:
    profile = showing(rig, user / ".ssh", user / ".netrc")
    for path in (user / ".ssh/id", user / ".netrc"):
        assert (await cat(rig, profile, path)).output == f"{SECRET}tried\n"
    hidden = await cat(rig, profile, user / ".aws/credentials", user / ".git-credentials")
    assert hidden.output == "tried\n"
    unlisted = await cat(rig, rig.profile, user / ".ssh/id", user / ".netrc")
    assert unlisted.output == "tried\n"


async def test_a_file_of_a_hidden_folder_is_shown_alone(rig: Rig, user: Path) -> None:
    plant(user / ".ssh/other")
    profile = showing(rig, user / ".ssh/id")
    assert (await cat(rig, profile, user / ".ssh/id")).output == f"{SECRET}tried\n"
    assert (await cat(rig, profile, user / ".ssh/other")).output == "tried\n"


@pytest.mark.parametrize("inside", [False, True], ids=["beside", "in a writable folder"])
async def test_nothing_listed_is_written_or_moved(rig: Rig, user: Path, inside: bool) -> None:
    config = user / "config"
    key = plant(config / "tool/key")
    profile = showing(rig, user / ".ssh", config / "tool", writable=(config,) if inside else ())
    tries = 'for path; do echo x > "$path"; rm -f "$path"; mv "$(dirname "$path")" /tmp/x; done'
    moved = f'{tries}; mv "{config}/tool" "{config}/other"; echo tried'
    ran = await rig.bash(moved, str(user / ".ssh/id"), str(key), profile=profile)
    if inside and rig.facts.backend is Confinement.LANDLOCK:
        assert "cannot keep" in ran.outcome.detail
    else:
        assert ran.output.endswith("tried\n"), ran
    assert (user / ".ssh/id").read_text() == SECRET
    assert key.read_text() == SECRET


async def test_no_netclaw_home_is_shown_for_being_listed(rig: Rig, user: Path) -> None:
    secrets = [*plant_home(user / ".netclaw"), *plant_home(user / "around/beside")]
    places = (user / ".netclaw/config", user / "around", user / "around/beside/run", rig.home)
    profile = showing(rig, *places, writable=(user / "around",))
    ran = await cat(rig, profile, *secrets, rig.secret_file)
    assert SECRET not in ran.output


@pytest.fixture
def listed(short_tmp: Path, user: Path) -> ToolRig:
    """A session whose operator lists a folder of keys; a command asks."""
    settings = ToolSettings(credentials=(f"{user}/.ssh", f"{user}/.git-credentials"))
    return ToolRig(
        folder=short_tmp.resolve(),
        settings=settings,
        modes=ConsentModes(),
        runner=make_tool_runner(FACTS, SandboxRunner(FACTS), SOURCES),
    )


async def test_a_command_that_was_consented_to_reads_them(listed: ToolRig, user: Path) -> None:
    call = await approved(listed, command=f"sed -n p {user}/.ssh/id")
    assert SECRET in (await call.run()).text
    granted = f"sed -n p {user}/.ssh/id; printf done"
    call = await approved(listed, "approve_session", command=granted)
    assert SECRET in (await call.run()).text
    beside = f"cat {user}/.ssh/id; sed -n p {user}/nothing"
    assert SECRET not in (await listed.call("shell_execute", command=beside)).text


async def test_what_nobody_consented_to_does_not(listed: ToolRig, user: Path) -> None:
    assert SECRET not in (await listed.call("shell_execute", command=f"cat {user}/.ssh/id")).text
    listed.modes = SHELL_AUTO
    read = await listed.call("shell_execute", command=f"sed -n p {user}/.ssh/id")
    assert SECRET not in read.text
    tool = await listed.call("file_read", path=f"{user}/.ssh/id")
    assert SECRET not in tool.text


async def test_git_finds_its_stored_credentials(listed: ToolRig, user: Path) -> None:
    (user / ".git-credentials").write_text(f"https://op:{SECRET}@example.org\n")
    asked = shlex.quote("protocol=https\nhost=example.org\n")
    command = f"printf %s {asked} | git credential fill"
    call = await approved(listed, command=command)
    assert f"password={SECRET}" in (await call.run()).text
