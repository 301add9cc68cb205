"""What a command names is swapped between its judgement and its start: nothing else is written.

`test_swapped_roots` is about the moments after the last judgement.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from netclaw.core.authz.analysis import analyse
from netclaw.core.authz.facts import Knowledge, ParsedShell, Surroundings
from netclaw.core.authz.launch import recheck
from netclaw.core.authz.requests import AuthorizationRequest, Consents, Policy, ShellCall
from netclaw.core.ids import CallId
from netclaw.core.path_rules import is_below
from netclaw.core.session.rulings import Outcome
from netclaw.core.tool_call import OutcomeCategory, ToolResult
from netclaw.sandbox.path_facts import HostPaths
from netclaw.sandbox.runner import SandboxRunner
from netclaw.sandbox.shell_parser import ShfmtParser
from netclaw.tools.authorization.policies import policy_for
from netclaw.tools.factory import make_tool_runner
from tests.sandbox.rig import ESCAPE_RIGS, PROVED, visible_folder
from tests.sandbox.swapping import swapping
from tests.tools import rig as tools_rig
from tests.tools.rig import Rig, Trees

pytestmark = pytest.mark.timeout(90)

TRIES = int(os.environ.get("NETCLAW_RACE_TRIES", "10000"))
"""Judgements while a path is swapped; torture asks for more."""


@dataclass(kw_only=True)
class Acting(Trees):
    """Does something when a tree is announced: the last moment before its command may run."""

    act: Callable[[], None] = field(default=lambda: None)

    async def opened(self, call_id: CallId, pid: int, start_ticks: int) -> None:
        """See `Trees`."""
        self.act()
        await super().opened(call_id, pid, start_ticks)


@dataclass(kw_only=True)
class Stage:
    """A session whose project lies in a folder that others may write, and a trap beside it."""

    rig: Rig
    project: Path
    out: Path
    """A folder that commands name; the project's, and outside of it."""
    target: Path

    def swap(self, path: Path) -> None:
        """Puts a link to the target in the place of a folder."""
        path.rename(path.with_name(f"{path.name}-aside"))
        path.symlink_to(self.target)

    async def run(self, command: str, between: Callable[[], None]) -> ToolResult:
        """Judges a command, lets something happen, starts it."""
        arguments = json.dumps({"command": command})
        call, context = self.rig.proposed("shell_execute", arguments), self.rig.context()
        ruling = await self.rig.runner.judge(call, context)
        assert ruling.outcome is Outcome.ALLOWED, ruling
        between()
        return await self.rig.runner.run(call, context)

    def planted(self) -> list[str]:
        """What lies in the target that was not there."""
        return sorted(set(os.listdir(self.target)) - {"secrets.json"})


@pytest.fixture(params=["protected", "elsewhere"])
def stage(request: pytest.FixtureRequest, short_tmp: Path) -> Iterator[Stage]:
    """The swapped link leads into the home's configuration, or to a folder nobody spoke of."""
    facts = PROVED[ESCAPE_RIGS[0]]
    rig = Rig(folder=short_tmp.resolve())
    rig.runner = make_tool_runner(facts, SandboxRunner(facts), tools_rig.SOURCES)
    with visible_folder() as folder:
        places = {"project": folder / "project", "out": folder / "out", "else": folder / "else"}
        for path in places.values():
            path.mkdir()
        rig.project = str(places["project"])
        target = rig.home / "config" if request.param == "protected" else places["else"]
        yield Stage(rig=rig, project=places["project"], out=places["out"], target=target)


WAYS = {
    "named folder": ("echo x > {out}/planted", "out"),
    "operand": ("touch {out}/planted", "out"),
    "missing parent": ("mkdir -p {out}/new && touch {out}/new/planted", "out"),
    "project": ("touch planted", "project"),
    "directory": ("cd {project} && touch planted", "project"),
    "linked operand": ("cp {project}/../project/f {out}/planted", "out"),
}


@pytest.mark.escape
@pytest.mark.requirement("escape.races")
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("moment", ["judged", "announced"])
async def test_a_path_swapped_after_the_judgement_is_not_written(
    stage: Stage, way: str, moment: str
) -> None:
    template, swapped = WAYS[way]
    (stage.project / "f").write_text("f")
    command = template.format(out=stage.out, project=stage.project)
    path = {"out": stage.out, "project": stage.project}[swapped]

    def swap() -> None:
        stage.swap(path)

    stage.rig.trees = Acting(act=swap if moment == "announced" else lambda: None)
    result = await stage.run(command, swap if moment == "judged" else lambda: None)
    assert stage.planted() == [], result.text
    assert result.receipt.category is not OutcomeCategory.SUCCESS
    assert path.is_symlink()


@pytest.mark.escape
@pytest.mark.requirement("escape.races")
async def test_what_is_not_swapped_is_written(stage: Stage) -> None:
    """The control: each of these commands does its work when nobody interferes."""
    (stage.project / "f").write_text("f")
    for template, _ in WAYS.values():
        command = template.format(out=stage.out, project=stage.project)
        result = await stage.run(command, lambda: None)
        assert result.receipt.category is OutcomeCategory.SUCCESS, result.text


def judge_once(
    command: str, parsed: ParsedShell, where: Surroundings, model: AuthorizationRequest
) -> AuthorizationRequest:
    """A request with the facts of this moment; the text was parsed before, it does not change."""
    paths = HostPaths()
    knowledge = Knowledge(sources={command: parsed})
    while True:
        facts, needs = analyse(command, where, knowledge)
        if needs.is_empty:
            break
        looked = {path: paths.path(path) for path in needs.paths}
        knowledge = replace(knowledge, paths={**knowledge.paths, **looked})
    call = ShellCall(command=command, surroundings=where, facts=facts, paths=knowledge.paths)
    return replace(model, call=call)


@pytest.mark.timeout(240)
@pytest.mark.requirement("escape.races")
@pytest.mark.parametrize("stage", ["protected"], indirect=True)
async def test_no_judgement_in_a_race_lets_a_link_through(stage: Stage) -> None:
    """Whatever is allowed at the launch leads where it led when it was judged, and nowhere else."""
    command = f"touch {stage.out}/planted"
    stage.out.with_name("link").symlink_to(stage.target)
    where = Surroundings(
        cwd=str(stage.project),
        user_home="/home/nobody-here",
        shell_home=stage.rig.storage.tmp,
        netclaw_home=str(stage.rig.home),
    )
    parsed = await ShfmtParser().parse(command)
    policy = policy_for(stage.rig.context(), tools_rig.PROVED, ())
    model = AuthorizationRequest(
        attempt_id="auth-1",
        tool="shell_execute",
        arguments="{}",
        audience=stage.rig.audience,
        call=ShellCall(command=command, surroundings=where),
        requester=stage.rig.authority.requester,
        is_attended=True,
    )
    first = judge_once(command, parsed, where, model)
    allowed = race(stage, command, parsed, where, first, policy)
    assert 0 < allowed < TRIES


def race(
    stage: Stage,
    command: str,
    parsed: ParsedShell,
    where: Surroundings,
    first: AuthorizationRequest,
    policy: Policy,
) -> int:
    """How many of the tries were allowed."""
    allowed = 0
    with swapping(stage.out, stage.out.with_name("link")):
        for _ in range(TRIES):
            now = judge_once(command, parsed, where, first)
            decision = recheck(first, now, policy, Consents())
            if decision.outcome is Outcome.ALLOWED:
                allowed += 1
                assert [path for path in written(now) if is_below(path, str(stage.target))] == []
    return allowed


def written(request: AuthorizationRequest) -> list[str]:
    """Where the paths of a command lead."""
    call = request.call
    assert isinstance(call, ShellCall)
    assert call.facts is not None
    uses = [use for candidate in call.facts.candidates for use in candidate.paths]
    return [use.fact.resolved or "" for use in uses]
