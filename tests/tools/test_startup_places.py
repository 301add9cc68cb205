"""File tools and what runs by itself: they ask, by every spelling, and no link helps."""

from __future__ import annotations

from pathlib import Path

import pytest

from netclaw.core.authority import Audience
from netclaw.core.authz.profiles import ConsentModes
from netclaw.core.session.rulings import Outcome
from netclaw.core.tool_call import FileOperation, OutcomeCategory
from netclaw.tools.faults import ToolFault
from tests.tools.judged import Call, Recorder
from tests.tools.rig import Rig

pytestmark = pytest.mark.requirement("authz.startup-places")

MONITOR = "[core]\n\tfsmonitor = \"sh -c 'echo x > planted'\"\n"


@pytest.fixture
def project(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository in a made user's home."""
    user = rig.folder / "user"
    made = user / "project"
    (made / ".git/hooks").mkdir(parents=True)
    (made / ".git/config").write_text("[core]\n")
    (made / "link").symlink_to(".git")
    (user / ".bashrc").write_text("# mine\n")
    monkeypatch.setenv("HOME", str(user))
    rig.modes = ConsentModes()
    rig.project = str(made)
    return made


@pytest.mark.parametrize(
    "spelling",
    [
        *(".git/config", "./x/../.git/config", "{project}/.git/config", "link/config"),
        *(".git/hooks/pre-push", "sub/.git/config", "../.bashrc", "../.config/autostart/x"),
        *("/etc/netclaw-test-file", "/usr/local/bin/netclaw-test-file"),
    ],
)
async def test_a_change_asks_for_once_and_nothing_happens(
    rig: Rig, project: Path, spelling: str
) -> None:
    path = spelling.format(project=project)
    call = Call(rig, "file_write", path=path, content=MONITOR)
    ruling = await call.propose()
    assert ruling.outcome is Outcome.REQUIRES_CONSENT
    assert [option.key for option in ruling.options] == ["approve_once", "deny"]
    assert (await call.run()).receipt.category is OutcomeCategory.ACCESS_DENIED
    assert (project / ".git/config").read_text() == "[core]\n"
    assert not Path("/etc/netclaw-test-file").exists()


async def test_a_person_can_let_it_be_written(rig: Rig, project: Path) -> None:
    call = Call(rig, "file_write", path=".git/hooks/pre-push", content="x")
    await call.propose()
    assert (await call.answer("approve_once")).outcome is Outcome.ALLOWED
    assert (await call.run()).receipt.category is OutcomeCategory.SUCCESS
    assert (project / ".git/hooks/pre-push").read_text() == "x"
    through = Call(rig, "file_edit", path="link/config", old_string="core", new_string="user")
    await through.propose()
    assert (await through.answer("approve_once")).outcome is Outcome.ALLOWED
    await through.run()
    again = Call(rig, "file_write", path=".git/hooks/pre-push", content="x")
    assert (await again.propose()).outcome is Outcome.REQUIRES_CONSENT


@pytest.mark.parametrize("audience", [Audience.PERSONAL, Audience.TEAM], ids=str)
async def test_a_link_that_is_swapped_in_after_the_judgement_leads_nowhere(
    rig: Rig, project: Path, audience: Audience
) -> None:
    rig.audience = audience
    rig.trust(project.parent, write=True)
    (project / "inner").mkdir()
    call = Call(rig, "file_write", path=str(project / "inner/config"), content=MONITOR)
    assert (await call.propose()).outcome is Outcome.ALLOWED
    (project / "inner").rmdir()
    (project / "inner").symlink_to(".git")
    assert (await call.run()).receipt.category is not OutcomeCategory.SUCCESS
    assert (project / ".git/config").read_text() == "[core]\n"


async def test_the_last_look_is_at_what_was_opened(rig: Rig, project: Path) -> None:
    """Also where the link came while the tool was running."""
    (project / "inner").mkdir()
    reach = rig.reach()
    located = reach.locate(str(project / "inner/config"), FileOperation.WRITE)
    with pytest.raises(ToolFault):
        reach.judge_real(located, str(project / ".git/config"))


async def test_a_team_asks_too(rig: Rig, project: Path) -> None:
    rig.audience = Audience.TEAM
    rig.trust(project, write=True)
    ruling = await Call(rig, "file_write", path=".git/config", content=MONITOR).propose()
    assert ruling.outcome is Outcome.REQUIRES_CONSENT


@pytest.mark.usefixtures("project")
@pytest.mark.requirement("access.quiet-git")
@pytest.mark.parametrize(
    ("command", "is_quiet"),
    [("git status", True), ("echo x; git log -1", True), ("git push", False)],
)
async def test_git_that_nobody_was_asked_about_starts_no_monitor(
    asking: Rig, shell: Recorder, command: str, is_quiet: bool
) -> None:
    call = Call(asking, command=command)
    if (await call.propose()).outcome is Outcome.REQUIRES_CONSENT:
        await call.answer("approve_once")
    await call.run()
    (request,) = shell.ran
    settings = dict(
        zip(
            (value for name, value in request.environment.items() if "_KEY_" in name),
            (value for name, value in request.environment.items() if "_VALUE_" in name),
            strict=True,
        )
    )
    wanted = {
        "core.fsmonitor": "false",
        "core.hooksPath": "/dev/null",
        "gpg.program": "false",
        "safe.bareRepository": "explicit",
    }
    assert wanted.items() <= settings.items() if is_quiet else not settings
