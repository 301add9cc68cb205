"""Other netclaw homes and credentials stay out of sight, whatever is bound beside them.

The user's home is a made one: `HOME` is all that decides where credentials are looked for.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from netclaw.core.credential_places import PLACES
from netclaw.linux import user_homes
from netclaw.ports.shell_runner import Confinement, SandboxProfile, ShellEnd
from netclaw.sandbox import credentials, homes
from netclaw.sandbox.view import Mount, host_places, plan_view
from tests.sandbox.rig import SECRET, Ran, Rig, listening, visible_folder

READ_ALL = 'for path; do cat "$path"; cat "$(dirname "$path")"/*; done; echo tried'
NAMES = [
    *(".ssh/id_ed25519", ".aws/credentials", ".azure/token", ".gnupg/key", ".kube/config"),
    *(".docker/config.json", ".npmrc", ".netrc", ".pypirc", ".git-credentials"),
    *(".config/gh/hosts.yml", ".config/gcloud/db", ".claude/login", ".codex/auth.json"),
    *(".cargo/credentials", ".cargo/credentials.toml", ".m2/settings.xml"),
]


@pytest.fixture
def user(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A user's home outside every temporary place, full of credentials."""
    with visible_folder() as folder:
        home = folder.resolve() / "user"
        for name in NAMES:
            plant(home / name)
        plant(home / "ordinary", "not a secret")
        monkeypatch.setenv("HOME", str(home))
        yield home


def plant(path: Path, text: str = SECRET) -> Path:
    """A file with its folders."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def plant_home(folder: Path) -> list[Path]:
    """Another netclaw home; returns its secrets."""
    plant(folder / "config/netclaw.json", "{}")
    names = ("config/secrets.json", "netclaw.db", "run/operator.token", "sessions/a/workspace/note")
    return [plant(folder / name) for name in names]


def bound(rig: Rig, *folders: Path) -> SandboxProfile:
    """The rig's profile with more writable folders."""
    for folder in folders:
        folder.mkdir(parents=True, exist_ok=True)
    return replace(rig.profile, writable=(*rig.profile.writable, *map(str, folders)))


async def read(rig: Rig, profile: SandboxProfile, *paths: Path) -> Ran:
    """Tries to read files and what lies beside them."""
    ran = await rig.bash(READ_ALL, *map(str, paths), profile=profile)
    assert ran.output.endswith("tried\n"), ran
    return ran


@pytest.mark.requirement("sandbox.private-places")
async def test_the_usual_credentials_are_hidden(rig: Rig, user: Path) -> None:
    """Beside a project in the user's home, of which the rest is seen as before."""
    profile = bound(rig, user / "project")
    ran = await read(rig, profile, *(user / name for name in NAMES))
    assert SECRET not in ran.output
    shown = await rig.bash('cat "$1"', str(user / "ordinary"), profile=profile)
    assert (shown.output == "not a secret") is (rig.facts.backend is not Confinement.LANDLOCK)
    made = await rig.bash('echo x > "$1/made"', str(user / "project"), profile=profile)
    assert (made.output, (user / "project/made").read_text()) == ("", "x\n")


@pytest.mark.requirement("sandbox.private-places")
@pytest.mark.parametrize("root", [".config", ".cargo", "."])
async def test_credentials_below_a_root_are_hidden(rig: Rig, user: Path, root: str) -> None:
    """Landlock cannot take them out, so it does not start; the home itself it never shows."""
    inside = [user / name for name in NAMES if root == "." or name.startswith(root)]
    assert inside
    ran = await rig.bash(READ_ALL, *map(str, inside), profile=bound(rig, (user / root).resolve()))
    assert SECRET not in ran.output
    if rig.facts.backend is Confinement.LANDLOCK and root != ".":
        assert ran.outcome.end is ShellEnd.FAILED_TO_START
        assert "cannot hide" in ran.outcome.detail
    else:
        assert ran.output.endswith("tried\n")


@pytest.mark.requirement("sandbox.private-places")
async def test_no_writer_gets_at_credentials_below_its_root(rig: Rig, user: Path) -> None:
    """Neither by moving the cover nor by moving what holds it."""
    script = """
        cd "$1"; mv gh moved; mv -T . ../other; rm -r gh; mkdir x; mv x gh; ln gh/hosts.yml l
        cat */hosts.yml ../*/*/hosts.yml ../*/hosts.yml
    """
    ran = await rig.bash(script, str(user / ".config"), profile=bound(rig, user / ".config"))
    assert SECRET not in ran.output
    assert (user / ".config/gh/hosts.yml").read_text() == SECRET


@pytest.mark.requirement("sandbox.private-places")
@pytest.mark.parametrize("name", [".cache/tool/token", ".cache/tool/deep/token"])
async def test_no_writer_moves_a_credential_for_the_next_command(
    rig: Rig, user: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither the folder around it nor the one around that."""
    monkeypatch.setattr(credentials, "PLACES", (*PLACES, name))
    secret = plant(user / name)
    plant(user / ".cache/tool/ordinary", "not a secret")
    profile = bound(rig, user / ".cache")
    script = (
        'cd "$1"; mv tool moved; mv tool/deep moved-too; mkdir x; mv -T x tool; echo y > tool/new'
    )
    await rig.bash(script, str(user / ".cache"), profile=profile)
    ran = await rig.bash(
        'cat $(find "$1" -type f); echo tried', str(user / ".cache"), profile=profile
    )
    assert SECRET not in ran.output
    assert secret.read_text() == SECRET
    if rig.facts.backend is not Confinement.LANDLOCK:
        assert ran.output.endswith("tried\n")
        assert "not a secret" in ran.output
        assert (user / ".cache/tool/new").read_text() == "y\n"


@pytest.mark.requirement("sandbox.private-places")
async def test_a_link_leads_to_no_credential(rig: Rig, user: Path) -> None:
    real = plant(user / "dotfiles/secret-ssh/id")
    (user / ".ssh/id_ed25519").unlink()
    (user / ".ssh").rmdir()
    (user / ".ssh").symlink_to("dotfiles/secret-ssh")
    file = plant(user / "dotfiles-too/npm")
    (user / ".npmrc").unlink()
    (user / ".npmrc").symlink_to(file)
    profile = bound(rig, user / "project")
    ran = await rig.bash(
        'cat "$@"; echo tried',
        *map(str, (real, file, user / ".ssh/id", user / ".npmrc")),
        profile=profile,
    )
    assert SECRET not in ran.output
    assert ran.output.endswith("tried\n")


@pytest.mark.requirement("sandbox.private-places")
async def test_a_project_inside_a_credential_folder_was_meant(rig: Rig, user: Path) -> None:
    project = user / ".claude/skills/mine"
    plant(project / "file", "of the project")
    profile = bound(rig, project)
    ran = await rig.bash(
        'cat "$1/file" "$2"; echo tried', str(project), str(user / NAMES[12]), profile=profile
    )
    assert ran.output.startswith("of the project")
    assert SECRET not in ran.output
    whole = await rig.bash(
        'cat "$1/login"', str(user / ".claude"), profile=bound(rig, user / ".claude")
    )
    assert whole.output == SECRET


@pytest.mark.requirement("sandbox.private-places")
async def test_the_default_home_is_hidden_though_another_is_in_use(rig: Rig, user: Path) -> None:
    secrets = plant_home(user / ".netclaw")
    ran = await read(rig, bound(rig, user / "project"), *secrets)
    assert SECRET not in ran.output


@pytest.mark.requirement("sandbox.private-places")
@pytest.mark.parametrize("inside", ["", "sessions/a/workspace", "config"])
async def test_no_root_lies_in_the_default_home(rig: Rig, user: Path, inside: str) -> None:
    plant_home(user / ".netclaw")
    ran = await rig.bash("echo ran", profile=bound(rig, (user / ".netclaw" / inside).resolve()))
    assert (ran.outcome.end, ran.output) == (ShellEnd.FAILED_TO_START, "")
    assert "lies in a netclaw home" in ran.outcome.detail


@pytest.mark.requirement("sandbox.private-places")
async def test_the_default_home_in_use_is_as_any_home_in_use(rig: Rig, user: Path) -> None:
    """Also by a link: its sessions' own folders come back, nothing else."""
    (user / ".netclaw").symlink_to(rig.home)
    ran = await rig.bash('echo kept > file; cat file "$1"', str(rig.secret_file))
    assert ran.output.startswith("kept\n")
    assert SECRET not in ran.output


@pytest.mark.requirement("sandbox.private-places")
@pytest.mark.parametrize("sign", ["config/netclaw.json", "netclaw.db"])
async def test_another_home_beside_a_project_or_in_it_is_hidden(
    rig: Rig, user: Path, sign: str
) -> None:
    beside, within = user / "beside", user / "project/within"
    secrets = [*plant_home(beside), *plant_home(within)]
    for folder in (beside, within):
        for name in {"config/netclaw.json", "netclaw.db"} - {sign}:
            (folder / name).unlink()
    secrets = [path for path in secrets if path.exists()]
    profile = bound(rig, user / "project")
    ran = await rig.bash(READ_ALL, *map(str, secrets), profile=profile)
    assert SECRET not in ran.output
    if rig.facts.backend is Confinement.LANDLOCK:
        assert "cannot hide" in ran.outcome.detail
    else:
        assert ran.output.endswith("tried\n")


@pytest.mark.requirement("sandbox.private-places")
async def test_the_home_of_a_running_daemon_is_hidden_wherever_it_lies(
    rig: Rig, user: Path
) -> None:
    home = user / "far/away/from/it"
    token = plant(home / "run/operator.token")
    before = await rig.bash('cat "$1"', str(token), profile=bound(rig, user / "project"))
    assert (before.output == SECRET) is (rig.facts.backend is not Confinement.LANDLOCK)
    with listening(str(home / "run/netclawd.sock")):
        ran = await read(rig, bound(rig, user / "project"), token)
    assert SECRET not in ran.output


@pytest.mark.requirement("sandbox.private-places")
async def test_a_project_inside_another_home_comes_back_alone(rig: Rig, user: Path) -> None:
    secrets = plant_home(user / "beside")
    project = user / "beside/project"
    plant(project / "file", "of the project")
    profile = bound(rig, project, user / "project")
    ran = await rig.bash(
        'cat "$@"; echo tried', str(project / "file"), *map(str, secrets), profile=profile
    )
    assert ran.output.startswith("of the project")
    assert SECRET not in ran.output


@pytest.mark.requirement("sandbox.private-places")
def test_what_an_empty_place_hides_already_is_not_mounted(short_tmp: Path) -> None:
    user = short_tmp.resolve() / "user"
    plant(user / ".ssh/id")
    plant_home(user / ".netclaw")
    profile = SandboxProfile(home=str(short_tmp.resolve() / "home"), writable=(str(user / "p"),))
    (user / "p").mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(user))
        steps = plan_view(profile, host_places({}))
        assert not [step for step in steps if step.path.startswith(f"{user}/.")]
        above = replace(profile, writable=(str(user.parent),))
        by_path = {step.path: step.mount for step in plan_view(above, host_places({}))}
    assert by_path[f"{user}/.ssh"] is Mount.HIDE
    assert by_path[f"{user}/.netclaw"] is Mount.HIDE
    assert by_path[str(user.parent)] is Mount.READ  # it holds a netclaw home


@pytest.mark.requirement("sandbox.private-places")
def test_the_account_says_where_its_home_is_when_home_says_another(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(user_homes, "_account_home", lambda: "/elsewhere")
    assert user_homes.user_homes() == (str(tmp_path.resolve()), "/elsewhere")
    monkeypatch.setattr(user_homes, "_account_home", lambda: "/")
    assert user_homes.user_homes() == (str(tmp_path.resolve()),)


@pytest.mark.requirement("sandbox.private-places")
def test_a_folder_that_cannot_be_listed_holds_no_home(tmp_path: Path) -> None:
    assert list(homes.homes_in(str(tmp_path / "missing"))) == []
