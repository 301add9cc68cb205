"""Tools of a real server through the dispatcher: found, loaded, judged, redacted and bounded."""

from __future__ import annotations

import json
import logging
from dataclasses import replace
from pathlib import Path

import pytest

from netclaw.core.authority import Audience
from netclaw.core.authz.profiles import ConsentModes, default_profile
from netclaw.core.session.rulings import CallRuling, Outcome
from netclaw.core.settings import ToolSettings
from netclaw.core.tool_call import OutcomeCategory, ToolResult
from netclaw.mcp.link import ToolServerLink
from netclaw.ports.tool_servers import ServerTool
from netclaw.tools.factory import make_tool_runner
from netclaw.tools.server_tools import named
from tests.mcp.conftest import Fake, Links
from tests.tools.rig import PROVED, SECRET, SOURCES, NoShell, Rig

pytestmark = pytest.mark.timeout(120)


@pytest.fixture
def rig(short_tmp: Path) -> Rig:
    """A Personal session."""
    return Rig(folder=short_tmp.resolve())


def served(rig: Rig, link: ToolServerLink) -> Rig:
    """The session with this way to its servers, as a new process of it begins."""
    rig.runner = make_tool_runner(PROVED, NoShell(), SOURCES, servers=link)
    return rig


async def load(rig: Rig, *names: str) -> None:
    """The model loads these tools, and its next request is made."""
    for name in names:
        result = await rig.call_raw("load_tool", json.dumps({"name": name}))
        assert result.loaded_tool == name, result.text
        rig.loaded = (*rig.loaded, name)


async def judge(rig: Rig, name: str, **arguments: object) -> CallRuling:
    """What is decided about a call."""
    return await rig.runner.judge(rig.proposed(name, json.dumps(arguments)), rig.context())


async def call(rig: Rig, tool: str, **arguments: object) -> ToolResult:
    """The model calls a tool of the server."""
    return await rig.call_raw(f"files__{tool}", json.dumps(arguments))


@pytest.mark.requirement("mcp.deferred")
@pytest.mark.requirement("mcp.lazy")
async def test_a_servers_tool_is_found_loaded_called_and_known_again_later(
    rig: Rig, fake: Fake, links: Links
) -> None:
    link = links.make(fake.stdio())
    served(rig, link)
    shown = rig.names()
    assert shown[-2:] == ["search_tools", "load_tool"]
    assert link.pid == 0
    found = await rig.call("search_tools", query="says text")
    assert found.text.splitlines()[0] == "files__echo: Says a text again."
    unknown = await call(rig, "echo", text="x")
    assert unknown.text.startswith("There is no such tool.")
    await load(rig, "files__pid", "files__echo")
    assert rig.names() == [*shown, "files__pid", "files__echo"]
    assert (await call(rig, "echo", text="hello")).text == "hello"
    served(rig, links.make(fake.stdio()))
    await rig.runner.recall(rig.loaded)
    assert rig.names() == [*shown, "files__pid", "files__echo"]


@pytest.mark.requirement("mcp.bounds")
@pytest.mark.requirement("mcp.is-error")
@pytest.mark.requirement("mcp.secrets")
async def test_results_are_redacted_and_bounded_and_logs_hold_no_words(
    rig: Rig, fake: Fake, links: Links, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    served(rig, links.make(fake.stdio()))
    await load(rig, "files__echo", "files__fail", "files__refuse", "files__flood", "files__die")
    assert (await call(rig, "echo", text=f"key {SECRET}")).text == "key ***"
    failed = await call(rig, "fail", text=f"no {SECRET}")
    assert failed.text == (
        "Error: MCP tool 'files/fail' reported a failure: Error executing tool fail: no ***"
    )
    assert failed.receipt.category is OutcomeCategory.FAILURE
    refused = await call(rig, "refuse", text=SECRET)
    assert refused.text == "Error: MCP tool 'files/refuse' failed: ***"
    large = await call(rig, "flood", mib=3)
    assert len(large.text) < 13_000
    assert large.spill is not None
    assert not large.spill.is_complete
    assert large.spill.size_bytes <= 2 * ToolSettings().capture_ceiling_bytes
    died = await call(rig, "die")
    assert died.receipt.category is OutcomeCategory.TRANSIENT_FAILURE
    assert died.text.endswith("It was not repeated.")
    assert SECRET not in caplog.text
    warnings = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert "MCP tool 'files/fail' reported a failure" in warnings
    assert fake.notes == [f"echo key {SECRET}", "fail", "refuse", "flood", "die"]


@pytest.mark.requirement("mcp.consent")
async def test_consent_shows_arguments_redacted_and_offers_no_folder(
    rig: Rig, fake: Fake, links: Links
) -> None:
    served(rig, links.make(fake.stdio()))
    await load(rig, "files__echo")
    rig.modes = ConsentModes(servers={"files": "Approval"})
    ruling = await judge(rig, "files__echo", text=f"push {SECRET}")
    assert ruling.outcome is Outcome.REQUIRES_CONSENT
    assert "push ***" in ruling.display
    assert SECRET not in ruling.display
    assert {option.key for option in ruling.options} == {
        *("approve_once", "approve_session", "approve_everywhere", "deny")
    }
    assert fake.notes == []


@pytest.mark.requirement("mcp.new-tool")
@pytest.mark.requirement("exposure.search")
async def test_policy_hides_servers_and_tools_as_it_hides_any(
    rig: Rig, fake: Fake, links: Links
) -> None:
    served(rig, links.make(fake.stdio()))
    rig.modes = ConsentModes(servers={"files": "Deny"})
    assert "files__" not in (await rig.call("search_tools", query="files")).text
    rig.modes = ConsentModes(servers={"files": "Deny"}, tools={"mcp:files:echo": "Auto"})
    found = await rig.call("search_tools", query="files")
    assert [line.partition(":")[0] for line in found.text.splitlines()] == ["files__echo"]
    rig.audience = Audience.TEAM
    assert "files__" not in (await rig.call("search_tools", query="files")).text
    rig.settings = replace(
        rig.settings,
        profiles=tuple(
            replace(
                default_profile(audience),
                allowed_servers=frozenset({"files"}),
                server_tools={"files": frozenset({"pid"})},
            )
            for audience in Audience
        ),
    )
    rig.modes = ConsentModes()
    found = await rig.call("search_tools", query="files")
    assert [line.partition(":")[0] for line in found.text.splitlines()] == ["files__pid"]
    rig.loaded = ("files__echo", "files__pid")
    assert rig.names()[-1] == "files__pid"
    assert "files__echo" not in rig.names()


@pytest.mark.requirement("mcp.slow")
async def test_a_search_names_servers_that_did_not_answer(
    rig: Rig, fake: Fake, links: Links
) -> None:
    mute = replace(fake.stdio("mute"), command="/bin/true", arguments=())
    served(rig, links.make(mute))
    found = await rig.call("search_tools", query="anything")
    assert found.text.endswith("These tool servers did not answer: mute.")


@pytest.mark.requirement("mcp.names")
def test_names_fit_models_and_are_never_shared() -> None:
    def tool(server: str, name: str) -> ServerTool:
        return ServerTool(server=server, name=name, description="", parameters="{}")

    tools = [
        tool("web", "get.page"),
        tool("web", "get_page"),
        tool("a", "b__c"),
        tool("a__b", "c"),
        tool("long", "x" * 100),
        tool("long", "x" * 101),
        tool("bad", "two words"),
        tool("bad", "colon:colon"),
    ]
    names = dict(named(tools))
    assert next(iter(names)) == "web__get_page"
    assert list(names)[2] == "a__b__c"
    assert len(names) == 6
    assert all(len(name) <= 64 and name.replace("-", "_").isidentifier() for name in names)
    assert names == dict(named(tools)), "the same tools have the same names"
