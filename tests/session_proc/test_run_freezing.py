"""What a run is told and given, and the agents that a turn is told of."""

from __future__ import annotations

from pathlib import Path

import pytest

from netclaw.core.settings import SessionSettings
from netclaw.session_proc.tool_setup import make_tools
from netclaw.wire import children as wire
from netclaw.wire.journal_codec import encode_settings
from netclaw.wire.v1.session_host_pb2 import ChildRole, Welcome
from tests.fakes.model import FakeModel
from tests.session_proc.conftest import Start
from tests.session_proc.host import ScriptedHost
from tests.session_proc.journal import local_authority
from tests.session_proc.parents import LOADING, Supervisor, results, spawning

ONLY_CONVERSATIONS = {
    "spawn_agent",
    "check_agent_run",
    "attach_file",
    "send_channel_message",
    "lookup_channel_user",
    "lookup_channel_destination",
}


def names(welcome: Welcome) -> set[str]:
    """The tools that the model of a process with this Welcome may come to see."""
    settings = SessionSettings()
    welcome.settings = encode_settings(settings)
    return set(make_tools(welcome).native(local_authority(), settings.tools))


@pytest.mark.requirement("agents.tools")
async def test_a_run_has_the_tools_of_a_conversation_but_those_that_talk_to_others() -> None:
    of_conversation = names(Welcome())
    of_run = names(Welcome(child=ChildRole(run_id="r", start=1)))
    assert of_conversation - of_run == ONLY_CONVERSATIONS
    assert of_run < of_conversation


@pytest.mark.requirement("agents.frozen")
async def test_a_run_is_told_the_rules_and_the_project_and_no_persona(
    host: ScriptedHost, native: Start, supervisor: Supervisor
) -> None:
    identity = host.folder / "identity"
    identity.mkdir()
    (identity / "AGENTS.md").write_text("Do it properly.")
    (identity / "SOUL.md").write_text("You are somebody.")
    native()
    host.admit(f"{spawning()} [[reply:handed over]]")
    await supervisor.until(wire.ASK_START)
    frozen = supervisor.orders[0].frozen
    assert frozen is not None
    assert frozen.operating_rules == "Do it properly."
    assert frozen.system_prompt.startswith("Do it properly.\n\nYou are the worker.\n\n[headless]")
    assert "somebody" not in frozen.system_prompt
    assert "[current-time]" not in frozen.system_prompt
    await host.turn_completed()


def agent(folder: Path, name: str, **matter: str) -> None:
    """Write a definition."""
    lines = "\n".join(f"{key}: {value}" for key, value in matter.items())
    text = f"---\nname: {name}\ndescription: It is {name}.\n{lines}\n---\nWork.\n"
    (folder / f"{name}.md").write_text(text)


@pytest.mark.requirement("agents.files")
async def test_agents_are_looked_at_anew_for_each_turn_and_bad_ones_said_in_the_log(
    host: ScriptedHost, native: Start, supervisor: Supervisor, model: FakeModel
) -> None:
    del supervisor
    folder = host.folder / "agents"
    agent(folder, "hidden", visibility="internal")
    process = native()
    host.admit("[[reply:one]]")
    await host.turn_completed()
    agent(folder, "helper")
    (folder / "worker.md").write_text("nothing")
    host.admit("[[reply:two]]")
    await host.turn_completed(2)
    first, second = (str(request.body["messages"]) for request in model.requests)
    assert "- worker: Does what it is told." in first
    assert "helper" not in first
    assert "- helper: It is helper." in second
    # Before the newest message stands this turn's block alone.
    assert second.count("[available-subagents]") == 1
    assert "worker:" not in second
    assert "hidden" not in first + second
    host.command("passivate", reason="room")
    await process
    log = (host.folder / "root" / "logs" / "session.log").read_text()
    assert log.count("the agent file worker.md is left out") == 1


@pytest.mark.requirement("agents.files")
async def test_an_agent_that_is_not_for_conversations_is_not_there_for_them(
    host: ScriptedHost, native: Start, supervisor: Supervisor
) -> None:
    agent(host.folder / "agents", "hidden", visibility="internal")
    native()
    host.admit(f'{LOADING} [[tool:spawn_agent {{"agent":"hidden","task":"x"}}]] [[reply:no]]')
    await host.turn_completed()
    assert "There is no such agent. Available are: worker." in results(host)[0].text
    assert supervisor.words == []
