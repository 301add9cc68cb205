"""The dispatcher: who may call what, and every call ends as one result."""

from __future__ import annotations

import asyncio
import errno
import json
import logging
import subprocess
import sys
from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest

from netclaw.core.authority import Audience
from netclaw.core.settings import ShellMode, ToolSettings
from netclaw.core.tool_call import FileActivity, FileOperation, OutcomeCategory
from netclaw.tools.authorization.remediation import instruction
from netclaw.tools.dispatcher import Dispatcher
from netclaw.tools.factory import make_tool_runner
from netclaw.tools.faults import Remediation, ToolFault
from netclaw.tools.registry import Registry
from netclaw.tools.schema import Arguments, Field
from netclaw.tools.set_working_directory import SetWorkingDirectory
from netclaw.tools.tool import EVERYONE, Outcome, Scope
from tests.tools.rig import PROVED, SECRET, SOURCES, NoShell, Rig

READING = ["file_search", "file_read", "file_list"]
ALL = [
    "set_working_directory",
    *READING,
    *("file_write", "file_edit", "attach_file", "tool_output_read"),
    *("shell_execute", "check_background_job", "session_status"),
    *("search_tools", "load_tool"),
]
OPERATORS = {"shell_execute", "check_background_job"}


class Probe:
    """A tool that does what a test says."""

    name = "probe"
    description = "Does what a test says."
    audiences = EVERYONE
    fields: tuple[Field, ...] = ()

    def __init__(self, act: Callable[[], Awaitable[Outcome]]) -> None:
        self._act = act

    async def run(self, arguments: Arguments, scope: Scope) -> Outcome:
        """Does it."""
        del arguments, scope
        return await self._act()


def use(rig: Rig, act: Callable[[], Awaitable[Outcome]]) -> None:
    """Gives the rig this one tool."""
    rig.runner = Dispatcher(Registry([Probe(act)], PROVED), PROVED, SOURCES)


@pytest.mark.requirement("tools.audiences")
def test_the_tools_of_each_audience_are_shown_in_one_order(rig: Rig) -> None:
    assert rig.names() == ALL
    rig.audience = Audience.TEAM
    assert rig.names() == [name for name in ALL if name not in OPERATORS]
    rig.audience = Audience.PUBLIC
    assert rig.names() == [*READING, "attach_file", "tool_output_read"]


@pytest.mark.requirement("tools.audiences")
def test_the_shell_is_shown_only_where_it_can_run(rig: Rig) -> None:
    rig.settings = ToolSettings(shell_mode=ShellMode.OFF)
    assert "shell_execute" not in rig.names()
    rig.settings = ToolSettings()
    rig.runner = make_tool_runner(replace(PROVED, backend=None), NoShell(), SOURCES)
    assert "shell_execute" not in rig.names()
    rig.settings = ToolSettings(shell_mode=ShellMode.HOST_ALLOWED)
    assert "shell_execute" in rig.names()
    rig.audience = Audience.TEAM
    assert "shell_execute" not in rig.names()


@pytest.mark.requirement("tools.audiences")
async def test_what_is_not_shown_looks_like_what_does_not_exist(rig: Rig) -> None:
    rig.audience = Audience.PUBLIC
    unknown = await rig.call("rm_rf", path="x")
    for name in ("shell_execute", "file_write", "file_edit", "session_status"):
        result = await rig.call(name, path="x", content="y", command="true")
        assert result.text == unknown.text
        assert result.receipt == unknown.receipt
    assert not (rig.workspace / "x").exists()


@pytest.mark.requirement("tools.audiences")
async def test_a_shell_that_cannot_run_does_not_exist_for_the_model(rig: Rig) -> None:
    rig.runner = make_tool_runner(replace(PROVED, backend=None), NoShell(), SOURCES)
    result = await rig.call("shell_execute", command="true")
    assert "There is no such tool" in result.text
    rig.runner = make_tool_runner(PROVED, NoShell(), SOURCES)
    rig.settings = ToolSettings(shell_mode=ShellMode.OFF)
    result = await rig.call("shell_execute", command="true")
    assert "There is no such tool" in result.text


@pytest.mark.requirement("tools.audiences")
def test_every_definition_is_a_usable_schema(rig: Rig) -> None:
    for definition in rig.runner.definitions(rig.authority, rig.settings):
        schema = json.loads(definition.parameters)
        assert schema["type"] == "object"
        assert definition.description.endswith(".")
        assert all(value["description"] for value in schema["properties"].values())


@pytest.mark.requirement("tools.never-raises")
async def test_an_unknown_tool_is_told_what_there_is(rig: Rig) -> None:
    rig.audience = Audience.TEAM
    result = await rig.call("rm_rf")
    assert result.receipt.category is OutcomeCategory.INVALID_INPUT
    assert "file_read" in result.text
    assert "shell_execute" not in result.text


@pytest.mark.requirement("tools.arguments")
async def test_a_call_that_could_not_be_prepared_is_not_run(rig: Rig) -> None:
    result = await rig.call_raw("file_write", '{"path":', fault="The JSON ends too early.")
    assert result.text == "The JSON ends too early. The tool was not run."
    assert result.receipt.category is OutcomeCategory.INVALID_INPUT


@pytest.mark.requirement("tools.never-raises")
@pytest.mark.parametrize("fault", [ValueError(SECRET), OSError(5, SECRET), RecursionError(SECRET)])
async def test_a_fault_of_a_tool_is_a_result_without_its_text(
    rig: Rig, fault: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    async def act() -> Outcome:
        raise fault

    use(rig, act)
    with caplog.at_level(logging.WARNING):
        result = await rig.call("probe")
    assert result.receipt.category is OutcomeCategory.FAILURE
    assert result.text.startswith("The tool failed")
    assert SECRET not in result.text + caplog.text
    assert type(fault).__name__ in caplog.text
    assert "test_dispatcher.py:" in caplog.text


@pytest.mark.requirement("tools.never-raises")
@pytest.mark.parametrize("category", list(OutcomeCategory))
async def test_a_tools_own_fault_keeps_category_and_remediation(
    rig: Rig, category: OutcomeCategory
) -> None:
    async def act() -> Outcome:
        raise ToolFault(category, "A reason.", remediation=Remediation.USE_NATIVE_TOOL)

    use(rig, act)
    result = await rig.call("probe")
    fact, advice = result.text.splitlines()
    assert (fact, result.receipt.category) == ("A reason.", category)
    assert advice == instruction(Remediation.USE_NATIVE_TOOL, ())
    assert result.receipt.remediation == "UseNativeTool"


@pytest.mark.requirement("remediation.hidden-tool")
@pytest.mark.parametrize("audience", [Audience.PERSONAL, Audience.PUBLIC])
async def test_advice_names_a_tool_only_to_who_has_it(rig: Rig, audience: Audience) -> None:
    async def act() -> Outcome:
        raise ToolFault.correction("No folder.", remediation=Remediation.SET_WORKING_DIRECTORY)

    rig.audience = audience
    rig.runner = Dispatcher(Registry([SetWorkingDirectory(), Probe(act)], PROVED), PROVED, SOURCES)
    result = await rig.call("probe")
    is_advised = "set_working_directory" in result.text
    assert is_advised is (audience is Audience.PERSONAL)
    assert result.text.startswith("No folder.")
    assert result.receipt.remediation == "SetWorkingDirectory"


@pytest.mark.requirement("receipts.exceptions")
@pytest.mark.parametrize(
    ("fault", "category"),
    [
        (TimeoutError("x"), OutcomeCategory.TIMEOUT),
        (ConnectionResetError("x"), OutcomeCategory.TRANSIENT_FAILURE),
        (BlockingIOError(errno.EAGAIN, "x"), OutcomeCategory.TRANSIENT_FAILURE),
        (OSError(errno.EIO, "x"), OutcomeCategory.FAILURE),
        (KeyError("x"), OutcomeCategory.FAILURE),
        (RecursionError("x"), OutcomeCategory.FAILURE),
        (UnicodeDecodeError("utf-8", b"x", 0, 1, "x"), OutcomeCategory.FAILURE),
    ],
)
async def test_an_exception_is_classified_and_nothing_of_it_is_told(
    rig: Rig, fault: Exception, category: OutcomeCategory
) -> None:
    async def act() -> Outcome:
        raise fault

    use(rig, act)
    result = await rig.call("probe")
    receipt = result.receipt
    assert receipt.category is category
    assert (receipt.file_activity, receipt.declared_directory) == ((), None)
    assert "\n" not in result.text
    assert result.text.startswith("The tool ")


@pytest.mark.requirement("receipts.closed")
async def test_only_a_success_carries_what_was_done(rig: Rig) -> None:
    done = FileActivity(path="/srv/a", operation=FileOperation.WRITE)

    async def act() -> Outcome:
        return Outcome(
            text="half", category=OutcomeCategory.FAILURE, activity=(done,), declared_directory="/x"
        )

    use(rig, act)
    receipt = (await rig.call("probe")).receipt
    assert (receipt.file_activity, receipt.declared_directory) == ((), None)


@pytest.mark.requirement("tools.never-raises")
async def test_cancellation_passes_through(rig: Rig) -> None:
    began = asyncio.Event()

    async def act() -> Outcome:
        began.set()
        await asyncio.Event().wait()
        raise AssertionError

    use(rig, act)
    task = asyncio.ensure_future(rig.call("probe"))
    await began.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


@pytest.mark.requirement("tools.never-raises")
async def test_a_receipt_carries_activity_only_on_success(rig: Rig) -> None:
    touched = (FileActivity(path="/x", operation=FileOperation.READ),)
    for category in (OutcomeCategory.SUCCESS, OutcomeCategory.FAILURE):

        async def act(category: OutcomeCategory = category) -> Outcome:
            return Outcome(text="x", category=category, activity=touched)

        use(rig, act)
        receipt = (await rig.call("probe")).receipt
        assert receipt.file_activity == (touched if category is OutcomeCategory.SUCCESS else ())
        assert receipt.duration_ms >= 0
    assert rig.items == 2


@pytest.mark.requirement("tools.redact-then-bound")
@pytest.mark.parametrize("padding", [100, 30_000])
async def test_results_are_redacted_whether_short_or_long(rig: Rig, padding: int) -> None:
    async def act() -> Outcome:
        return Outcome(text=f"{'x' * padding} {SECRET}", note=f"Note {SECRET}.")

    use(rig, act)
    result = await rig.call("probe")
    assert SECRET not in result.text
    assert result.text.endswith("Note ***.")
    assert len(result.text) <= rig.max_inline_chars


@pytest.mark.requirement("tools.session-status")
async def test_session_status_tells_the_facts(rig: Rig) -> None:
    result = await rig.call("session_status")
    assert "session: cli/aaaaaaaaaa" in result.text
    assert "1200 of 32768 tokens" in result.text


@pytest.mark.requirement("tools.light")
def test_importing_tools_and_sandbox_loads_nothing_heavy() -> None:
    heavy = {"pydantic", "psutil", "aiohttp", "grpc", "apsw", "msgspec", "yaml", "numpy"}
    program = (
        "import sys, netclaw.tools.factory, netclaw.sandbox.runner, netclaw.sandbox.probe;"
        f"print(sorted({heavy!r} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=30
    )
    assert done.stdout == "[]\n"
