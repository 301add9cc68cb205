"""The profile of a cleared command: the session's folders, the operator's, and the call's own."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from netclaw.core.session.rulings import Outcome
from netclaw.core.settings import SandboxBackendChoice, ShellMode, ToolSettings
from netclaw.core.tool_call import OutcomeCategory
from netclaw.ports.shell_runner import (
    OutputSink,
    SandboxProfile,
    ShellEnd,
    ShellOutcome,
    ShellRequest,
)
from netclaw.sandbox.runner import OnStarted, SandboxRunner
from netclaw.tools.factory import make_tool_runner
from tests.sandbox.rig import PROVED, visible_folder
from tests.tools.rig import SOURCES, Rig

FACTS = PROVED[SandboxBackendChoice.AUTO]
pytestmark = pytest.mark.timeout(60)


class Recorder(SandboxRunner):
    """Keeps what was to run, and runs it."""

    def __init__(self) -> None:
        super().__init__(FACTS)
        self.requests: list[ShellRequest] = []

    async def run(
        self, request: ShellRequest, *, on_started: OnStarted, sink: OutputSink
    ) -> ShellOutcome:
        """See `ShellRunner`."""
        self.requests.append(request)
        return await super().run(request, on_started=on_started, sink=sink)


@pytest.fixture
def away() -> Iterator[Path]:
    """A folder of the operator's."""
    with visible_folder() as folder:
        yield folder.resolve()


async def profile_of(rig: Rig, command: str, **arguments: object) -> SandboxProfile | None:
    """What a command is given; it runs."""
    recorder = Recorder()
    rig.runner = make_tool_runner(FACTS, recorder, SOURCES)
    await rig.call("shell_execute", command=command, **arguments)
    (request,) = recorder.requests
    assert request.argv[-1] == command
    return request.profile


@pytest.mark.requirement("access.profile-bounds")
async def test_the_operators_folders_are_resolved_and_left_out_while_absent(
    short_tmp: Path, away: Path
) -> None:
    (away / "real").mkdir()
    (away / "link").symlink_to("real")
    roots = (f"{away}/link", f"{away}/absent", "/", os.path.expanduser("~"), "/usr")
    rig = Rig(folder=short_tmp.resolve(), settings=ToolSettings(writable_roots=roots))
    made = await profile_of(rig, f"echo {away}/link/x | xargs touch")
    assert made is not None
    assert (away / "real/x").exists()
    own = {rig.storage.workspace, rig.storage.artifacts, rig.storage.worktrees}
    assert set(made.writable) == {*own, f"{away}/real"}
    assert made.named == ()
    assert made.tmp == rig.storage.tmp
    assert f"{rig.storage.staging}" in made.masked


@pytest.mark.requirement("access.never")
async def test_a_project_that_may_not_be_written_is_shown(short_tmp: Path, away: Path) -> None:
    (away / "user/work").mkdir(parents=True)
    rig = Rig(folder=short_tmp.resolve(), project="/usr/share")
    made = await profile_of(rig, "pwd")
    assert made is not None
    assert made.readable == ("/usr/share",)
    assert "/usr/share" not in made.writable


@pytest.mark.requirement("access.modes")
async def test_unconfined_commands_have_no_profile(short_tmp: Path) -> None:
    settings = ToolSettings(shell_mode=ShellMode.HOST_ALLOWED)
    rig = Rig(folder=short_tmp.resolve(), settings=settings)
    assert await profile_of(rig, "pwd") is None


@pytest.mark.requirement("access.nearest-folder")
async def test_a_command_runs_where_it_was_judged(short_tmp: Path, away: Path) -> None:
    rig = Rig(folder=short_tmp.resolve())
    (away / "sub").mkdir()
    made = await profile_of(rig, "touch here", working_directory=str(away / "sub"))
    assert made is not None
    assert made.named == (f"{away}/sub",)
    assert (away / "sub/here").exists()


@pytest.mark.requirement("access.never")
async def test_other_sessions_stay_out_of_reach(short_tmp: Path) -> None:
    """By name for reading alone; their uploads, spills and job definitions not even for that."""
    rig = Rig(folder=short_tmp.resolve())
    other = rig.home / "sessions/two"
    names = ("workspace/note", "attachment-staging/upload", "tool-calls/spill", "jobs/j.json")
    for name in names:
        (other / name).parent.mkdir(parents=True)
        (other / name).write_text(f"of the other: {name}\n")
    command = f"cd {other}; cat workspace/note attachment-staging/upload tool-calls/spill"
    result = await fresh(rig).call("shell_execute", command=command)
    assert "of the other: workspace/note" in result.text or "not exist" in result.text
    direct = " ".join(f"{other}/{name}" for name in names)
    seen = await fresh(rig).call("shell_execute", command=f"cat {direct}")
    assert "of the other: workspace/note" in seen.text
    assert "of the other: attachment" not in seen.text
    assert "of the other: tool" not in seen.text
    assert "of the other: jobs" not in seen.text
    await fresh(rig).call("shell_execute", command=f"touch {other}/workspace/new")
    assert not (other / "workspace/new").exists()


def fresh(rig: Rig) -> Rig:
    """With the real runner."""
    rig.runner = make_tool_runner(FACTS, SandboxRunner(FACTS), SOURCES)
    return rig


@pytest.mark.requirement("access.at-the-gate")
async def test_a_call_that_was_allowed_in_another_folder_is_another_call(
    short_tmp: Path, away: Path
) -> None:
    """The folder is resolved when it is judged; if it leads elsewhere at launch it does not run."""
    rig = fresh(Rig(folder=short_tmp.resolve()))
    for name in ("one", "two"):
        (away / name).mkdir()
    (away / "link").symlink_to("one")
    written = json.dumps({"command": "touch x", "working_directory": f"{away}/link"})
    call, context = rig.proposed("shell_execute", written), rig.context()
    ruling = await rig.runner.judge(call, context)
    assert ruling.outcome is Outcome.ALLOWED
    (away / "link").unlink()
    (away / "link").symlink_to("two")
    result = await rig.runner.run(call, replace(context))
    assert "led elsewhere" in result.text
    assert not list(away.glob("*/x"))


@pytest.mark.requirement("access.at-the-gate")
async def test_a_backend_that_cannot_make_the_view_runs_nothing(
    short_tmp: Path, away: Path
) -> None:
    rig = Rig(folder=short_tmp.resolve())

    class Late(Recorder):
        async def run(
            self, request: ShellRequest, *, on_started: OnStarted, sink: OutputSink
        ) -> ShellOutcome:
            (away / "sub").rmdir()
            outcome = await super().run(request, on_started=on_started, sink=sink)
            assert outcome.end is ShellEnd.FAILED_TO_START
            return outcome

    (away / "sub").mkdir()
    rig.runner = make_tool_runner(FACTS, Late(), SOURCES)
    result = await rig.call("shell_execute", command=f"touch {away}/sub/x")
    assert result.text.endswith("It was not run.")


@pytest.mark.requirement("access.readable")
async def test_a_command_that_only_looks_runs_in_a_shared_temporary_folder(
    short_tmp: Path,
) -> None:
    rig = fresh(Rig(folder=short_tmp.resolve()))
    place = short_tmp.resolve() / "given/inner"
    place.mkdir(parents=True)
    (place / "note").write_text("seen\n")
    looked = await rig.call("shell_execute", command="cat note", working_directory=str(place))
    assert looked.text.startswith("seen\n")
    moved = await rig.call("shell_execute", command=f"cd {place} && ls -A")
    assert moved.text.startswith("note\n")
    beside = await rig.call("shell_execute", command=f"ls {place.parent}")
    assert beside.receipt.category is OutcomeCategory.FAILURE
