"""Deferred tools: found and loaded by what policy allows, unknown before and without it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import replace

import pytest

from netclaw.core.authority import Audience
from netclaw.core.authz.profiles import ConsentModes
from netclaw.core.tool_call import OutcomeCategory, ToolDefinition, ToolResult
from netclaw.ports.tool import ToolTrees
from netclaw.ports.tool_servers import Catalogue, ServerCallRequest, ServerReply
from netclaw.tools.dispatcher import Dispatcher
from netclaw.tools.exposure import LoadTool, SearchTools, matching
from netclaw.tools.registry import Registry
from netclaw.tools.schema import Arguments, Field
from netclaw.tools.server_tools import ServerTools
from netclaw.tools.tool import EVERYONE, OPERATOR_ONLY, Outcome, Scope
from tests.tools.rig import PROVED, SOURCES, Rig


class Reminders:
    """A deferred tool of ours."""

    description = "Lists what the person wants to be reminded of."
    fields: tuple[Field, ...] = ()

    def __init__(self, name: str, audiences: frozenset[Audience] = EVERYONE) -> None:
        self.name = name
        self.audiences = audiences

    async def run(self, arguments: Arguments, scope: Scope) -> Outcome:
        """Says that it ran."""
        del arguments, scope
        return Outcome(text=f"{self.name} ran")


LIST, SECRET, CORE = "list_reminders", "list_secret_reminders", "echo_reminders"


@pytest.fixture
def deferring(rig: Rig) -> Rig:
    """A session with one core tool and two deferred ones, of which one is the operator's."""
    registry = Registry(
        [Reminders(CORE)],
        PROVED,
        deferred=[Reminders(LIST), Reminders(SECRET, OPERATOR_ONLY)],
    )
    registry.add(SearchTools(registry), LoadTool(registry))
    rig.runner = Dispatcher(registry, PROVED, SOURCES)
    return rig


async def load(rig: Rig, name: str) -> ToolResult:
    """The model loads this tool."""
    return await rig.call_raw("load_tool", json.dumps({"name": name}))


@pytest.mark.requirement("exposure.order")
def test_core_tools_are_shown_and_loaded_ones_follow_in_the_order_of_their_loading(
    deferring: Rig,
) -> None:
    core = [CORE, "search_tools", "load_tool"]
    assert deferring.names() == core
    deferring.loaded = (SECRET, LIST)
    assert deferring.names() == [*core, SECRET, LIST]


@pytest.mark.requirement("exposure.next-request")
async def test_a_load_names_the_tool_for_later_requests_and_changes_nothing_now(
    deferring: Rig,
) -> None:
    result = await load(deferring, LIST)
    assert result.loaded_tool == LIST
    assert result.receipt.category is OutcomeCategory.SUCCESS
    beside = await deferring.call(LIST)
    assert beside.text.startswith("There is no such tool.")
    deferring.loaded = (LIST,)
    assert (await deferring.call(LIST)).text == f"{LIST} ran"


@pytest.mark.requirement("exposure.unknown")
async def test_hidden_unloaded_and_missing_tools_are_answered_alike(deferring: Rig) -> None:
    deferring.audience = Audience.TEAM
    answers = [await deferring.call(name) for name in (LIST, SECRET, "no_such_tool")]
    assert len({(answer.text, answer.receipt.category) for answer in answers}) == 1
    loads = [await load(deferring, name) for name in (SECRET, "no_such_tool")]
    assert len({(load.text, load.receipt.category, load.loaded_tool) for load in loads}) == 1
    assert loads[0].loaded_tool == ""
    found = await deferring.call("search_tools", query="reminders secret")
    assert LIST in found.text
    assert SECRET not in found.text


@pytest.mark.requirement("exposure.search")
@pytest.mark.parametrize("mode", ["Deny", "Nonsense"])
def test_nothing_to_find_means_no_way_to_search(deferring: Rig, mode: str) -> None:
    deferring.audience = Audience.TEAM
    assert "search_tools" in deferring.names()
    deferring.modes = ConsentModes(tools={LIST: mode})
    assert deferring.names() == [CORE]


@pytest.mark.requirement("exposure.search")
async def test_a_search_without_a_match_says_so(deferring: Rig) -> None:
    found = await deferring.call("search_tools", query="weather")
    assert found.text == "No tool matches. Try other words."


@pytest.mark.requirement("agents.frozen")
async def test_a_frozen_tool_set_is_never_exceeded(deferring: Rig) -> None:
    runner = deferring.runner
    native = runner.native(deferring.authority, deferring.judged_settings)
    assert native == (CORE, "search_tools", "load_tool", LIST, SECRET)
    runner.restrict((LIST, "search_tools", "load_tool", "a tool that is gone"))
    deferring.loaded = (LIST, SECRET)
    assert deferring.names() == ["search_tools", "load_tool", LIST]
    assert (await load(deferring, SECRET)).receipt.category is OutcomeCategory.NOT_FOUND
    assert (await deferring.call(CORE)).text.startswith("There is no such tool.")


@pytest.mark.requirement("exposure.grants-nothing")
async def test_a_loaded_tool_is_judged_and_hidden_when_policy_changes(deferring: Rig) -> None:
    deferring.loaded = (LIST, SECRET)
    deferring.modes = ConsentModes(tools={LIST: "Approval"})
    call = deferring.proposed(LIST, "{}")
    ruling = await deferring.runner.judge(call, deferring.context())
    assert ruling.outcome.value == "consent"
    deferring.audience = Audience.TEAM
    assert SECRET not in deferring.names()
    assert (await deferring.call(SECRET)).text.startswith("There is no such tool.")


def definition(name: str, description: str) -> ToolDefinition:
    """A tool to be found."""
    return ToolDefinition(name=name, description=description, parameters="{}")


@pytest.mark.requirement("exposure.search")
def test_names_outweigh_descriptions_and_order_is_kept() -> None:
    tools = (
        definition("mail__send", "Sends a letter."),
        definition("news__read", "Reads mail and news, or a letter."),
        definition("mail__read", "Opens a message."),
        definition("clock__now", "Tells the time."),
    )
    found = [tool.name for tool in matching("mail letter", tools)]
    assert found == ["mail__send", "mail__read", "news__read"]
    assert replace(tools[0], name="x") not in matching("", tools)


class Unhelpful:
    """Servers that are configured and of which nothing comes: they hang, or break."""

    names = ("mail",)
    known = Catalogue()

    def __init__(self, fault: Exception | None = None) -> None:
        self._fault = fault

    def announce_to(self, trees: ToolTrees) -> None:
        """Nothing is started."""

    async def catalogue(self) -> Catalogue:
        """Breaks, or never comes back."""
        if self._fault is not None:
            raise self._fault
        await asyncio.Event().wait()
        return self.known

    async def call(self, request: ServerCallRequest, *, on_item: Callable[[], None]) -> ServerReply:
        """Nothing is known that could be called."""
        raise AssertionError(request, on_item)

    async def close(self) -> None:
        """Nothing was started."""


@pytest.mark.requirement("mcp.slow")
@pytest.mark.parametrize("fault", [None, RuntimeError("broken")])
async def test_a_request_goes_on_without_servers_that_do_not_answer(
    rig: Rig, monkeypatch: pytest.MonkeyPatch, fault: Exception | None
) -> None:
    monkeypatch.setattr("netclaw.tools.dispatcher.JUDGING_RECALL_S", 0.05)
    servers = ServerTools(Unhelpful(fault))
    registry = Registry([Reminders(CORE)], PROVED, servers=servers)
    registry.add(SearchTools(registry), LoadTool(registry))
    rig.runner = Dispatcher(registry, PROVED, SOURCES)
    rig.loaded = ("mail__send",)
    await registry.recall(rig.loaded, patience_s=0.05)
    assert rig.names() == [CORE, "search_tools", "load_tool"]
    assert (await rig.call("mail__send")).text.startswith("There is no such tool.")
    assert (await rig.call(CORE)).text == f"{CORE} ran"
