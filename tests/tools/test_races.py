"""Thousands of tries of each file tool while a second thread swaps what it works on for a link.

The whole way of a tool runs in this process: judge the path, open it, judge the descriptor, act.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

import pytest

from netclaw.core.authority import Audience
from netclaw.core.authz.decisions import Decision
from netclaw.core.authz.requests import AuthorizationRequest, PlainCall
from netclaw.core.authz.sandbox_access import SandboxAccess
from netclaw.core.ids import CallId
from netclaw.core.session.rulings import Outcome
from netclaw.core.tool_call import FileOperation
from netclaw.tools import attach_file, file_edit, file_write, set_working_directory
from netclaw.tools.authorization.clearance import Clearance
from netclaw.tools.authorization.policies import policy_for
from netclaw.tools.faults import ToolFault
from netclaw.tools.files import read_content
from netclaw.tools.reach import reach_for
from netclaw.tools.tool import Scope
from tests.tools.rig import PROVED, SECRET, Rig
from tests.tools.test_beneath import exchange, swapping

OPERATIONS = 5
TRIES = int(os.environ.get("NETCLAW_RACE_TRIES", "3000")) // OPERATIONS
"""Of each operation: three thousand in all, fifty thousand in `scripts/torture escape`."""
PAUSE_S = 0.0001
"""Of the thief between two turns: without it the kernel looks up paths again and again."""
AUDIENCES = (Audience.PERSONAL, Audience.TEAM)

pytestmark = [pytest.mark.timeout(240), pytest.mark.requirement("files.races")]


def scope_of(rig: Rig) -> Scope:
    """A call that was judged, as the dispatcher hands it to a tool."""
    context = rig.context()

    async def again() -> Clearance:
        raise AssertionError

    request = AuthorizationRequest(
        attempt_id="auth-1",
        tool="file_read",
        arguments="{}",
        audience=rig.audience,
        call=PlainCall(),
        requester=context.authority.requester,
        is_attended=True,
    )
    return Scope(
        call_id=CallId("call"),
        context=context,
        clearance=Clearance(
            request=request,
            decision=Decision(attempt_id="auth-1", outcome=Outcome.ALLOWED),
            policy=policy_for(context, PROVED, ()),
            access=SandboxAccess(writable=()),
            again=again,
        ),
    )


@dataclass(kw_only=True)
class Stage:
    """A folder and a file of the session, each with a link beside it that trades places with it.

    The thief moves nothing but names of the session: what the links lead to is beyond it.
    """

    rig: Rig
    folder: Path
    target: Path
    """Protected for Personal, outside the roots for Team."""
    turns: int = 0

    def swap(self) -> None:
        """Folder for link, then file for link."""
        one, other = (("inner", "link"), ("file.txt", "file-link"))[self.turns % 2]
        exchange(self.folder / one, self.folder / other)
        self.turns += 1
        time.sleep(PAUSE_S)

    def paths(self) -> Iterator[str]:
        """What the tool is given, again and again."""
        while True:
            yield str(self.folder / "inner/file.txt")
            yield str(self.folder / "file.txt")


@pytest.fixture(params=AUDIENCES, ids=str)
def stage(
    request: pytest.FixtureRequest, rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Stage]:
    """A thief at work in a session of each audience; what it is after is as it was at the end."""
    rig.audience = request.param
    monkeypatch.setattr(os, "fdatasync", lambda _fd: None)  # what lasts is no matter here
    target = rig.home / ("keys" if rig.audience is Audience.PERSONAL else "beside")
    target.mkdir()
    (target / "file.txt").write_text(SECRET)
    folder = rig.workspace / "work"
    (folder / "inner").mkdir(parents=True)
    (folder / "inner/file.txt").write_text("inside")
    (folder / "file.txt").write_text("inside")
    (folder / "link").symlink_to(target)
    (folder / "file-link").symlink_to(target / "file.txt")
    made = Stage(rig=rig, folder=folder, target=target)
    yield made
    assert (target / "file.txt").read_text() == SECRET
    assert [path.name for path in target.iterdir()] == ["file.txt"]
    assert made.turns > 100, "the thief hardly came to it"


def race(stage: Stage, attempt: Callable[[Scope, str], str]) -> dict[str, int]:
    """What the tries of one audience gave; a refusal counts under its category."""
    scope, seen = scope_of(stage.rig), dict[str, int]()
    with swapping(stage.swap):
        for path in islice(stage.paths(), TRIES // len(AUDIENCES)):
            try:
                got = attempt(scope, path)
            except ToolFault as fault:
                got = fault.category.value
            seen[got] = seen.get(got, 0) + 1
    assert sum(seen.values()) == TRIES // len(AUDIENCES)
    assert SECRET not in "".join(seen)
    return seen


def test_reading(stage: Stage) -> None:
    def attempt(scope: Scope, path: str) -> str:
        reach = reach_for(scope)
        located = reach.locate(path, FileOperation.READ)
        return read_content(reach, located).data.decode()

    assert race(stage, attempt).get("inside", 0) > 0


def test_writing(stage: Stage) -> None:
    def attempt(scope: Scope, path: str) -> str:
        reach = reach_for(scope)
        located = reach.locate(path, FileOperation.WRITE)
        return str(file_write._write(reach, located, b"inside"))

    seen = race(stage, attempt)
    assert seen.get("True", 0) + seen.get("False", 0) > 0


def test_editing(stage: Stage) -> None:
    def attempt(scope: Scope, path: str) -> str:
        reach = reach_for(scope)
        located = reach.locate(path, FileOperation.WRITE)
        return str(file_edit._edit(reach, located, "inside", "inside", False))

    assert race(stage, attempt).get("1", 0) > 0


def test_attaching(stage: Stage) -> None:
    rig = stage.rig
    profiles = tuple(
        replace(profile, attachments=replace(profile.attachments, max_files_per_message=TRIES))
        for profile in rig.settings.profiles
    )
    rig.settings = replace(rig.settings, profiles=profiles)

    def attempt(scope: Scope, path: str) -> str:
        made = Path(attach_file._attach(path, scope)[1].path)
        text = made.read_text()
        made.unlink()
        return text

    assert race(stage, attempt).get("inside", 0) > 0


def test_declaring_a_project(stage: Stage) -> None:
    stage.rig.trust(stage.folder)
    inside = {str(stage.folder / name) for name in ("", "inner", "link")}

    def attempt(scope: Scope, path: str) -> str:
        real, _ = set_working_directory._judge(str(Path(path).parent), scope)
        assert real in inside
        return "declared"

    assert race(stage, attempt).get("declared", 0) > 0
