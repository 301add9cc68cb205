"""What a command may write or see because it names it: no more than that, never a secret."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from netclaw.ports.shell_runner import Confinement, SandboxProfile, ShellEnd
from netclaw.sandbox.landlock import plan_rules
from netclaw.sandbox.view import Mount, host_places, plan_view
from tests.sandbox.rig import SECRET, Rig, visible_folder

pytestmark = pytest.mark.escape


@pytest.fixture
def around(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder outside every temporary place, with a made home of the user in it."""
    with visible_folder() as folder:
        place = folder.resolve()
        for name in ("user/.ssh", "data/deep", "other-home/config", "other-home/files"):
            (place / name).mkdir(parents=True)
        (place / "user/.ssh/id").write_text(SECRET)
        (place / "other-home/config/netclaw.json").write_text("{}")
        (place / "other-home/files/note").write_text(SECRET)
        (place / "data/old").write_text("old")
        monkeypatch.setenv("HOME", str(place / "user"))
        yield place


def naming(rig: Rig, *folders: Path, shown: tuple[Path, ...] = ()) -> SandboxProfile:
    """The rig's profile for a command that names these folders for writing."""
    return replace(rig.profile, named=tuple(map(str, folders)), shown=tuple(map(str, shown)))


@pytest.mark.requirement("access.named")
async def test_a_named_folder_is_writable_and_nothing_beside_it(rig: Rig, around: Path) -> None:
    script = (
        'cd "$1"; echo new > fresh; mv fresh old && cat old; rm old; mkdir a && rmdir a;'
        ' echo x > ../beside; echo x > "$2"; echo done'
    )
    profile = naming(rig, around / "data")
    ran = await rig.bash(script, str(around / "data"), str(rig.secret_file), profile=profile)
    assert ran.output.startswith("new\n"), ran
    assert ran.output.endswith("done\n")
    assert [entry.name for entry in (around / "data").iterdir()] == ["deep"]
    assert not (around / "beside").exists()
    assert rig.secret_file.read_text() == SECRET


@pytest.mark.requirement("access.named")
async def test_a_folder_inside_a_writable_one_can_be_moved(rig: Rig, around: Path) -> None:
    profile = replace(
        naming(rig, around / "data/deep"),
        writable=(*rig.profile.writable, str(around / "data")),
    )
    ran = await rig.bash(
        'mv "$1/deep" "$1/moved" && rmdir "$1/moved"', str(around / "data"), profile=profile
    )
    assert (ran.outcome.exit_code, ran.output) == (0, "")
    assert not (around / "data/deep").exists()


@pytest.mark.requirement("access.named")
async def test_a_private_place_is_not_opened_by_its_name(rig: Rig, around: Path) -> None:
    """Neither credentials nor what lies in another netclaw home; the command runs without them."""
    private = (around / "user/.ssh", around / "other-home/files", around / "other-home/config")
    shown = (around / "user/.ssh/id", around / "other-home/files/note")
    profile = naming(rig, *private, shown=shown)
    script = 'for path; do cat "$path"; echo x > "$(dirname "$path")/new"; done; echo ran'
    ran = await rig.bash(script, *map(str, shown), profile=profile)
    assert ran.output.endswith("ran\n"), ran
    assert not (around / "user/.ssh/new").exists()
    assert not (around / "other-home/files/new").exists()
    hidden = around / "user/.ssh/id"
    seen = await rig.bash('cat "$1"', str(hidden), profile=profile)
    assert SECRET not in seen.output


@pytest.mark.requirement("access.named")
async def test_a_link_in_place_of_a_named_folder_ends_the_command(rig: Rig, around: Path) -> None:
    (around / "link").symlink_to(around / "user/.ssh")
    ran = await rig.bash("echo ran", profile=naming(rig, around / "link"))
    assert ran.outcome.end is ShellEnd.FAILED_TO_START
    assert ran.output == ""


@pytest.mark.requirement("access.readable")
async def test_named_configuration_is_shown_and_no_more_of_the_home(rig: Rig) -> None:
    if rig.facts.backend is Confinement.LANDLOCK:
        script = 'cat "$1"; cat "$2"; echo x > "$1"; echo ran'
    else:
        script = 'cat "$1"; cat "$2"; echo x > "$1"; ls -A "$(dirname "$1")"; echo ran'
    configuration = rig.home / "config/netclaw.json"
    configuration.write_text("plain\n")
    profile = naming(rig, shown=(configuration,))
    ran = await rig.bash(script, str(configuration), str(rig.secret_file), profile=profile)
    assert ran.output.startswith("plain\n"), ran
    assert ran.output.endswith("ran\n")
    assert SECRET not in ran.output
    assert configuration.read_text() == "plain\n"
    if rig.facts.backend is not Confinement.LANDLOCK:
        assert "netclaw.json\nran\n" in ran.output
        assert "secrets.json\nran" not in ran.output


@pytest.mark.requirement("access.readable")
async def test_a_named_file_of_the_shared_temporary_folder_is_shown(rig: Rig) -> None:
    given, beside = rig.folder / "given.txt", rig.folder / "beside.txt"
    given.write_text("given\n")
    beside.write_text(SECRET)
    ran = await rig.bash(
        'cat "$1"; cat "$2"; echo x > "$1"; echo ran',
        str(given), str(beside), profile=naming(rig, shown=(given,)),
    )  # fmt: skip
    assert ran.output.startswith("given\n"), ran
    assert ran.output.endswith("ran\n")
    assert SECRET not in ran.output
    assert given.read_text() == "given\n"


@pytest.mark.requirement("access.named")
def test_only_what_is_seen_anyway_is_no_mount_of_its_own(rig: Rig, around: Path) -> None:
    """A root inside a hidden place comes back on top of it, whatever is bound around it."""
    user = around / "user"
    for name in ("work/.git", ".config/gh/project", "work/plain"):
        (user / name).mkdir(parents=True)
    outer = (str(user / "work"), str(user / ".config"))
    inner = (str(user / "work/plain"), str(user / ".config/gh/project"))
    profile = replace(
        rig.profile,
        writable=(*outer, *inner),
        named=(str(user / "work/.git"),),
        shown=(str(user / "work/plain"), str(around / "data/old")),
    )
    steps = {step.path: step.mount for step in plan_view(profile, host_places({}))}
    assert {path for path, mount in steps.items() if mount is Mount.WRITE} == {
        *outer, inner[1], str(rig.tmp),
    }  # fmt: skip
    assert steps[str(user / ".config/gh")] is Mount.HIDE
    assert str(around / "data/old") not in steps


@pytest.mark.requirement("access.named")
def test_what_services_keep_is_not_shown_by_its_name(rig: Rig, around: Path) -> None:
    place = around / "services"
    (place / "inner").mkdir(parents=True)
    (place / "token").write_text(SECRET)
    profile = replace(rig.profile, shown=(str(place / "token"), str(place / "inner")))
    hidden = replace(host_places({}), hidden=(str(place),))
    paths = {step.path for step in plan_view(profile, hidden)}
    assert str(place) in paths
    assert not paths & {str(place / "token"), str(place / "inner")}


@pytest.mark.requirement("access.named")
def test_landlock_shows_no_folder_that_holds_what_it_cannot_hide(rig: Rig, around: Path) -> None:
    user = around / "user"
    (user / "work").mkdir()
    shown = (str(user), str(user / "work"), str(user / ".ssh"), str(rig.home))
    readable, _ = plan_rules(replace(rig.profile, shown=shown), str(user))
    assert {path for path, _ in readable} & set(shown) == {str(user / "work")}
