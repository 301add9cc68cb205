"""Calls are judged with the facts of the moment, from the proposal up to the launch."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from netclaw.core.authority import Audience
from netclaw.core.authz.facts import ParsedShell
from netclaw.core.authz.profiles import ConsentModes
from netclaw.core.errors import OperationTimeoutError, StorageError
from netclaw.core.session.rulings import CallRuling, Outcome
from netclaw.core.settings import ToolSettings
from netclaw.core.tool_call import OutcomeCategory, ToolCall, ToolResult
from netclaw.ports.shell_runner import OutputSink, ShellEnd, ShellOutcome, ShellRequest
from netclaw.ports.tool import GivenConsent
from netclaw.sandbox.path_facts import HostPaths
from netclaw.sandbox.shell_parser import ShfmtParser
from netclaw.tools.authorization.parsed_sources import ParsedSources
from netclaw.tools.authorization.subjects import FactSources
from netclaw.tools.factory import make_tool_runner
from tests.tools.rig import PROVED, SECRET, SOURCES, Rig

SHELL = "shell_execute"


@dataclass(kw_only=True)
class Recorder:
    """A `ShellRunner` that runs nothing: it remembers what was to run when its gate opened."""

    ran: list[ShellRequest] = field(default_factory=list)
    before_gate: Callable[[], None] = lambda: None

    async def run(
        self,
        request: ShellRequest,
        *,
        on_started: Callable[[int, int], Awaitable[None]],
        sink: OutputSink,
    ) -> ShellOutcome:
        """Come to the gate, and through it unless `on_started` says no."""
        del sink
        self.before_gate()
        await on_started(4242, 77)
        self.ran.append(request)
        return ShellOutcome(end=ShellEnd.EXITED, exit_code=0, duration_ms=1)

    @property
    def commands(self) -> list[str]:
        """The command lines that ran."""
        return [request.argv[-1] for request in self.ran]


@pytest.fixture
def shell() -> Recorder:
    """What stands in the sandbox's place."""
    return Recorder()


@pytest.fixture
def asking(rig: Rig, shell: Recorder) -> Rig:
    """A Personal session as nobody configured it: a command asks."""
    rig.modes = ConsentModes()
    rig.runner = make_tool_runner(PROVED, shell, SOURCES)
    return rig


class Call:
    """One call from its proposal on."""

    def __init__(self, rig: Rig, name: str = SHELL, **arguments: object) -> None:
        self.rig = rig
        self.call = rig.proposed(name, json.dumps(arguments))
        self.first: CallRuling | None = None

    async def propose(self) -> CallRuling:
        """Judged as the model wrote it."""
        self.first = await self.rig.runner.judge(self.call, self.rig.context())
        return self.first

    async def answer(self, option: str) -> CallRuling:
        """Judged again with an answer to what was asked first."""
        assert self.first is not None
        given = GivenConsent(option=option, request=self.rig.request(self.call, self.first))
        return await self.rig.runner.judge(self.call, self.rig.context(), given=given)

    async def run(self) -> ToolResult:
        """Launched."""
        return await self.rig.runner.run(self.call, self.rig.context())


async def approved(rig: Rig, option: str = "approve_once", **arguments: object) -> Call:
    """A shell call that a person let run by this option."""
    call = Call(rig, **arguments)
    assert (await call.propose()).outcome is Outcome.REQUIRES_CONSENT
    assert (await call.answer(option)).outcome is Outcome.ALLOWED
    return call


@pytest.mark.requirement("judging.judged-first")
async def test_a_command_asks_and_says_where_it_would_run(asking: Rig, shell: Recorder) -> None:
    call = Call(asking, command=f"make {SECRET}")
    ruling = await call.propose()
    assert ruling.outcome is Outcome.REQUIRES_CONSENT
    assert ruling.attempt_id == call.call.attempt_id
    assert ruling.display == "make ***"
    assert SECRET not in repr(ruling)
    assert ruling.cwd == str(asking.workspace.resolve())
    assert [option.key for option in ruling.options][::5] == ["approve_once"]
    assert ruling.options[-1].key == "deny"
    result = await call.run()
    assert result.receipt.category is OutcomeCategory.ACCESS_DENIED
    assert not shell.ran


@pytest.mark.requirement("judging.judged-first")
async def test_a_prompt_shows_the_beginning_and_the_end_of_long_arguments(rig: Rig) -> None:
    rig.modes = ConsentModes(tools={"file_write": "Approval"})
    ruling = await Call(rig, "file_write", path="a", content=f"{'x' * 900_000}{SECRET}").propose()
    assert ruling.outcome is Outcome.REQUIRES_CONSENT
    assert ruling.display.startswith('file_write {"path": "a", "content": "xxx')
    assert ruling.display.endswith('***"}')
    assert "characters left out" in ruling.display
    assert len(ruling.display) < 3100
    assert ruling.candidates == ("file_write",)


@pytest.mark.requirement("judging.once")
async def test_a_call_that_was_approved_once_runs_once(asking: Rig, shell: Recorder) -> None:
    call = await approved(asking, command="make all")
    result = await call.run()
    assert result.receipt.category is OutcomeCategory.SUCCESS
    assert result.text.endswith("\n[approval: once]")
    assert (await call.run()).receipt.category is OutcomeCategory.ACCESS_DENIED
    assert shell.commands == ["make all"]
    assert (await Call(asking, command="make all").propose()).outcome is Outcome.REQUIRES_CONSENT
    assert not asking.consents.grants
    assert not asking.consents.chat


@pytest.mark.requirement("judging.grants-recorded")
@pytest.mark.parametrize(
    ("option", "note"),
    [
        ("approve_session", "[approval: this chat only]"),
        ("approve_everywhere", "[approval: always anywhere]"),
    ],
)
async def test_an_answer_is_stored_and_covers_the_next_call_like_it(
    asking: Rig, shell: Recorder, option: str, note: str
) -> None:
    call = await approved(asking, option, command="make all")
    assert (await call.run()).text.endswith(note)
    again = Call(asking, command="make all")
    assert (await again.propose()).outcome is Outcome.ALLOWED
    result = await again.run()
    assert "approval" not in result.text
    assert shell.commands == ["make all"] * 2
    other = await Call(asking, command="git push").propose()
    assert other.outcome is Outcome.REQUIRES_CONSENT


@pytest.mark.requirement("judging.grants-recorded")
@pytest.mark.parametrize("option", ["approve_always", "approve_repository", "nonsense"])
async def test_an_option_that_is_not_offered_lets_exactly_this_call_run(
    asking: Rig, shell: Recorder, option: str
) -> None:
    call = await approved(asking, option, command="make all")
    assert (await call.run()).text.endswith("[approval: once]")
    assert shell.commands == ["make all"]
    assert not asking.consents.grants


@pytest.mark.requirement("judging.grants-recorded")
async def test_a_consent_that_cannot_be_saved_counts_once(
    asking: Rig, caplog: pytest.LogCaptureFixture
) -> None:
    asking.consents.record_error = StorageError("The disk is full.")
    call = await approved(asking, "approve_everywhere", command="make all")
    assert (await call.run()).text.endswith("[approval: once]")
    assert "The disk is full." in caplog.text
    assert not asking.consents.grants


@pytest.mark.requirement("judging.revocation")
@pytest.mark.parametrize("option", ["approve_session", "approve_everywhere"])
async def test_a_grant_that_was_revoked_before_the_start_starts_nothing(
    asking: Rig, shell: Recorder, option: str
) -> None:
    call = await approved(asking, option, command="make all")
    asking.consents.revoke_all()
    result = await call.run()
    assert result.receipt.category is OutcomeCategory.ACCESS_DENIED
    assert "withdrawn" in result.text
    assert not shell.ran


@pytest.mark.requirement("judging.revocation")
async def test_a_grant_that_was_revoked_at_the_gate_starts_nothing(
    asking: Rig, shell: Recorder
) -> None:
    call = await approved(asking, "approve_session", command="make all")
    shell.before_gate = asking.consents.revoke_all
    result = await call.run()
    assert result.receipt.category is OutcomeCategory.ACCESS_DENIED
    assert "withdrawn" in result.text
    assert not shell.ran


@pytest.mark.requirement("judging.paths-changed")
@pytest.mark.parametrize("is_late", [False, True], ids=["before the launch", "at the gate"])
@pytest.mark.parametrize("what", ["operand", "folder"])
async def test_a_link_that_was_swapped_starts_nothing(
    asking: Rig, shell: Recorder, what: str, is_late: bool
) -> None:
    folders = [asking.workspace / name for name in ("first", "second")]
    for folder in folders:
        folder.mkdir()
        (folder / "file").write_text("x")
    link = asking.workspace / "link"
    link.symlink_to(folders[0])

    def swap() -> None:
        link.unlink()
        link.symlink_to(folders[1])

    arguments = {"command": "make link/file"}
    if what == "folder":
        arguments = {"command": "make file", "working_directory": str(link)}
    call = await approved(asking, **arguments)
    if is_late:
        shell.before_gate = swap
    else:
        swap()
    result = await call.run()
    assert result.receipt.category is OutcomeCategory.ACCESS_DENIED
    assert "led elsewhere" in result.text
    assert not shell.ran


@pytest.mark.requirement("judging.asked-for-anew")
async def test_an_answer_covers_only_what_was_shown(asking: Rig, rig: Rig) -> None:
    call = Call(asking, command="make all")
    await call.propose()
    (rig.folder / "elsewhere").mkdir()
    rig.project = str(rig.folder / "elsewhere")
    ruling = await call.answer("approve_everywhere")
    assert ruling.outcome is Outcome.REQUIRES_CONSENT
    assert ruling.cwd == rig.project
    assert not asking.consents.grants
    assert call.first is not None
    call.first = replace(ruling, candidates=("git push",))
    assert (await call.answer("approve_once")).outcome is Outcome.REQUIRES_CONSENT


@pytest.mark.requirement("judging.unattended")
async def test_nobody_to_ask_is_a_denial_with_a_way_out(asking: Rig, shell: Recorder) -> None:
    asking.is_attended = False
    call = Call(asking, command="make all")
    ruling = await call.propose()
    assert ruling.outcome is Outcome.DENIED
    assert '"Always" grant' in ruling.text
    await call.run()
    assert not shell.ran


@pytest.mark.requirement("judging.judged-first")
async def test_a_call_that_nobody_judged_is_refused(rig: Rig, shell: Recorder) -> None:
    rig.runner = make_tool_runner(PROVED, shell, SOURCES)
    for name in (SHELL, "file_list"):
        result = await Call(rig, name, **({"command": "true"} if name == SHELL else {})).run()
        assert result.receipt.category is OutcomeCategory.ACCESS_DENIED
        assert "could not be judged" in result.text
    assert not shell.ran


@pytest.mark.requirement("judging.judged-first")
async def test_a_call_that_is_denied_later_is_forgotten(rig: Rig, shell: Recorder) -> None:
    rig.runner = make_tool_runner(PROVED, shell, SOURCES)
    call = Call(rig, command="make all")
    assert (await call.propose()).outcome is Outcome.ALLOWED
    rig.modes = ConsentModes(tools={SHELL: "Deny"})
    assert (await call.propose()).outcome is Outcome.DENIED
    rig.modes = ConsentModes(tools={SHELL: "Auto"})
    assert (await call.run()).receipt.category is OutcomeCategory.ACCESS_DENIED
    assert not shell.ran


@pytest.mark.requirement("judging.store-unavailable")
@pytest.mark.parametrize("is_read", [True, False], ids=["fault", "no answer"])
async def test_without_the_stored_consents_only_what_needs_none_runs(
    asking: Rig, is_read: bool
) -> None:
    if is_read:
        asking.consents.store_fault = "the file has a version that is not known"
    else:
        asking.consents.read_error = OperationTimeoutError("No answer.")
    ruling = await Call(asking, command="make all").propose()
    assert ruling.outcome is Outcome.DENIED
    assert "stored consents cannot be read" in ruling.text
    assert (await Call(asking, command="git status").propose()).outcome is Outcome.ALLOWED
    assert (await Call(asking, "file_list").propose()).outcome is Outcome.ALLOWED


@pytest.mark.requirement("judging.internal")
async def test_a_parser_that_is_missing_denies_with_a_way_out(rig: Rig, shell: Recorder) -> None:
    sources = FactSources(parser=ShfmtParser(""), paths=HostPaths())
    rig.runner = make_tool_runner(PROVED, shell, sources)
    ruling = await Call(rig, command="make all").propose()
    assert ruling.outcome is Outcome.DENIED
    assert "netclaw doctor" in ruling.text


class Broken:
    """A parser with a mistake."""

    async def parse(self, source: str) -> ParsedShell:
        """Always fails."""
        raise ValueError(source)


@pytest.mark.requirement("judging.internal")
async def test_a_mistake_while_judging_denies(rig: Rig, caplog: pytest.LogCaptureFixture) -> None:
    sources = FactSources(parser=Broken(), paths=HostPaths())
    rig.runner = make_tool_runner(PROVED, Recorder(), sources)
    ruling = await Call(rig, command=f"make {SECRET}").propose()
    assert ruling.outcome is Outcome.DENIED
    assert "could not be judged" in ruling.text
    assert "ValueError at" in caplog.text
    assert SECRET not in caplog.text


class Slow:
    """A parser that is waited for."""

    def __init__(self) -> None:
        self.began = asyncio.Event()

    async def parse(self, source: str) -> ParsedShell:
        """Never ends."""
        del source
        self.began.set()
        await asyncio.Event().wait()
        raise AssertionError


@pytest.mark.requirement("judging.judged-first")
async def test_a_judgement_that_is_cancelled_leaves_nothing(rig: Rig, shell: Recorder) -> None:
    slow = Slow()
    rig.runner = make_tool_runner(PROVED, shell, FactSources(parser=slow, paths=HostPaths()))
    call = Call(rig, command="make all")
    task = asyncio.ensure_future(call.propose())
    await slow.began.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (await call.run()).receipt.category is OutcomeCategory.ACCESS_DENIED
    assert not shell.ran


HOSTILE = {
    "empty": ("", "empty"),
    "too long": ("echo " + "x" * 1_000_000, "too long"),
    "wide": ("echo " + "\u00e9" * 60_000, "too long"),
    "surrogate": ("echo \ud800", "Unicode"),
    "control": ("echo \x1b[2J", "control character"),
    "nul": ("echo \0", "control character"),
    "bidi": ("echo \u202e", "control character"),
}


@pytest.mark.requirement("judging.bad-input")
@pytest.mark.parametrize("which", list(HOSTILE))
async def test_a_text_that_cannot_be_judged_has_a_result_of_its_own(
    rig: Rig, shell: Recorder, which: str
) -> None:
    rig.runner = make_tool_runner(PROVED, shell, SOURCES)
    command, said = HOSTILE[which]
    began = asyncio.get_running_loop().time()
    result = await rig.call(SHELL, command=command)
    assert said in result.text
    assert len(result.text) < 1000
    assert result.receipt.category is not OutcomeCategory.SUCCESS
    assert asyncio.get_running_loop().time() - began < 5
    assert not shell.ran


@pytest.mark.requirement("judging.bad-input")
@pytest.mark.parametrize(
    "arguments",
    ["", "[]", "null", "{", '{"command":1}', '{"command":"a","command":"b"}', '{"x":"y"}'],
)
async def test_arguments_of_the_wrong_kind_stay_invalid_input(rig: Rig, arguments: str) -> None:
    result = await rig.call_raw(SHELL, arguments)
    assert result.receipt.category is OutcomeCategory.INVALID_INPUT
    assert "was not run" in result.text


@pytest.mark.requirement("judging.judged-first")
async def test_the_loop_turns_while_a_large_command_is_judged(asking: Rig) -> None:
    loop = asyncio.get_running_loop()
    gaps: list[float] = []

    async def turn() -> None:
        last = loop.time()
        while True:
            await asyncio.sleep(0)
            gaps.append(loop.time() - last)
            last = loop.time()

    turning = asyncio.create_task(turn())
    command = "; ".join(f"make target{number} 'some words'" for number in range(380))
    await Call(asking, command=command).propose()
    turning.cancel()
    assert max(gaps) < 0.2


@pytest.mark.requirement("judging.logged")
async def test_each_decision_is_logged_without_its_command(
    asking: Rig, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, logger="netclaw.tools.authorization")
    await Call(asking, command="sudo ls /secret-place").propose()
    await Call(asking, command="make secret-place").propose()
    await Call(asking, "file_list", path=".").propose()
    levels = {
        record.levelno: record.getMessage()
        for record in caplog.records
        if "reason=" in record.getMessage()
    }
    assert "reason=hard_deny_privilege_escalation" in levels[logging.WARNING]
    assert "reason=requires_consent" in levels[logging.INFO]
    assert "reason=PolicyAuto" in levels[logging.DEBUG]
    assert all("attempt=auth-" in text for text in levels.values())
    assert "secret-place" not in caplog.text


@pytest.mark.requirement("judging.judged-first")
async def test_what_parses_the_same_is_parsed_once(asking: Rig) -> None:
    class Counting(ShfmtParser):
        count = 0

        async def parse(self, source: str) -> ParsedShell:
            """Counted."""
            Counting.count += 1
            return await super().parse(source)

    sources = FactSources(parser=ParsedSources(Counting()), paths=HostPaths())
    asking.runner = make_tool_runner(PROVED, Recorder(), sources)
    call = await approved(asking, command="make all")
    await call.run()
    assert Counting.count == 1


@pytest.mark.requirement("judging.boundaries")
async def test_files_of_other_audiences_are_judged_by_their_profile(rig: Rig) -> None:
    (rig.folder / "outside.txt").write_text("x")
    rig.audience = Audience.TEAM
    result = await rig.call("file_read", path=str(rig.folder / "outside.txt"))
    assert result.receipt.category is OutcomeCategory.ACCESS_DENIED
    rig.settings = ToolSettings()
    inside = rig.workspace / "inside.txt"
    inside.write_text("fine")
    assert "fine" in (await rig.call("file_read", path=str(inside))).text


@pytest.mark.requirement("judging.unknown-mode")
async def test_a_mode_that_nobody_knows_hides_its_tool(rig: Rig) -> None:
    rig.modes = ConsentModes(tools={"file_list": "Perhaps"})
    result = await rig.call("file_list")
    assert "There is no such tool" in result.text


def test_calls_of_the_rig_have_attempts(rig: Rig) -> None:
    call: ToolCall = rig.proposed("x", "{}")
    assert call.attempt_id.startswith("auth-")
    assert Path(rig.storage.root).is_absolute()
