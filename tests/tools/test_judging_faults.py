"""What is judged without consents, without a parser or from nonsense is denied; nothing runs."""

from __future__ import annotations

import asyncio
import logging
import time

import pytest

from netclaw.core.authority import Audience
from netclaw.core.authz.facts import ParsedShell
from netclaw.core.authz.profiles import ConsentModes
from netclaw.core.errors import OperationTimeoutError
from netclaw.core.session.rulings import Outcome
from netclaw.core.tool_call import OutcomeCategory
from netclaw.sandbox.path_facts import HostPaths
from netclaw.sandbox.shell_parser import ShfmtParser
from netclaw.tools.authorization.parsed_sources import ParsedSources
from netclaw.tools.authorization.subjects import FactSources
from netclaw.tools.factory import make_tool_runner
from tests.tools.judged import SHELL, Call, Recorder, approved
from tests.tools.rig import PROVED, SECRET, SOURCES, Rig


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
    gaps: list[float] = []

    async def turn() -> None:
        last = time.thread_time()  # a busy machine is no fault of ours
        while True:
            await asyncio.sleep(0)
            gaps.append(time.thread_time() - last)
            last = time.thread_time()

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
    inside = rig.workspace / "inside.txt"
    inside.write_text("fine")
    assert "fine" in (await rig.call("file_read", path=str(inside))).text


@pytest.mark.requirement("judging.unknown-mode")
async def test_a_mode_that_nobody_knows_hides_its_tool(rig: Rig) -> None:
    rig.modes = ConsentModes(tools={"file_list": "Perhaps"})
    result = await rig.call("file_list")
    assert "There is no such tool" in result.text
