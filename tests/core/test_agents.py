"""Agent definitions: what a file may say, and what becomes of a bad one."""

from __future__ import annotations

from dataclasses import replace

import pytest

from netclaw.core import agents
from netclaw.core.agents import AgentDefinition, AgentFault, ModelRole, Visibility
from netclaw.core.authority import Audience
from netclaw.core.context.turn_block import (
    LOAD_HINT,
    AgentLine,
    LocalTime,
    RunLine,
    TurnFacts,
    render_turn_block,
)
from netclaw.core.ids import RunId, SessionId
from netclaw.core.run_settings import model_for, run_settings
from netclaw.core.session.child_events import ChildFrozen
from netclaw.core.settings import ModelSettings, ProviderType, SessionSettings


def text(body: str = "Work.", **matter: object) -> bytes:
    """A file with this front matter."""
    lines = {"name": "worker", "description": "Works.", **matter}
    head = "\n".join(f"{key}: {value}" for key, value in lines.items() if value is not None)
    return f"---\n{head}\n---\n{body}\n".encode()


@pytest.mark.requirement("agents.files")
def test_a_file_with_name_and_description_is_an_agent() -> None:
    assert agents.parse("a.md", text()) == AgentDefinition(
        name="worker", description="Works.", body="Work.", source="a.md"
    )


@pytest.mark.requirement("agents.files")
def test_everything_that_a_file_may_say() -> None:
    data = b"""\xef\xbb\xbf---
# how it is used
name: "Worker"
description: >
  Works, and
  goes on.

modelRole: main
timeoutSeconds: 600
prefillTimeoutSeconds: 3600
emitStructuredFindings: True
visibility: internal
colour: blue
tools:
  - file_read
  - shell_execute
---

# Heading

--- not a fence
"""
    assert agents.parse("a.md", data) == AgentDefinition(
        name="Worker",
        description="Works, and goes on.",
        body="# Heading\n\n--- not a fence",
        role=ModelRole.MAIN,
        timeout_s=600,
        prefill_s=3600,
        wants_findings=True,
        visibility=Visibility.INTERNAL,
        tools=("file_read", "shell_execute"),
        source="a.md",
    )
    assert agents.parse("a.md", text(tools="[a, 'b']")).tools == ("a", "b")


@pytest.mark.requirement("agents.files")
@pytest.mark.parametrize(
    ("data", "word"),
    [
        (b"", "does not begin"),
        (b"name: x\n", "does not begin"),
        (b"---\nname: x\n", "has no end"),
        (b"---\nname x\n---\nbody", "cannot be read"),
        (b"---\n  name: x\n---\nbody", "cannot be read"),
        (b"---\nname: x\nname: y\n---\nbody", "twice"),
        (b"---\nname: \xff\n---\nbody", "UTF-8"),
        (text("x" * agents.MAX_BYTES), "larger"),
        (text("  "), "no text"),
        (text(name=None), "no name"),
        (text(name="two words"), "letters"),
        (text(name="x" * 65), "letters"),
        (text(description=None), "no description"),
        (text(modelRole="Fast"), "modelRole must be one of Main, Compaction"),
        (text(timeoutSeconds=4), "timeoutSeconds must be a whole number from 5 to 600"),
        (text(timeoutSeconds=601), "timeoutSeconds"),
        (text(timeoutSeconds="9" * 30), "timeoutSeconds"),
        (text(timeoutSeconds="60s"), "timeoutSeconds"),
        (text(timeoutSeconds="٦٠"), "timeoutSeconds"),
        (text(prefillTimeoutSeconds=3601), "prefillTimeoutSeconds"),
        (text(emitStructuredFindings="maybe"), "emitStructuredFindings"),
        (text(visibility="hidden"), "visibility"),
    ],
)
def test_a_file_that_says_it_wrong_is_no_agent(data: bytes, word: str) -> None:
    with pytest.raises(AgentFault) as fault:
        agents.parse("a.md", data)
    assert word in fault.value.sentence


@pytest.mark.requirement("agents.files")
def test_a_bad_file_takes_no_other_with_it_and_the_first_of_a_name_counts() -> None:
    book = agents.book_of(
        (
            ("a.md", text(name="worker", description="The first.")),
            ("b.md", text(name="WORKER", description="The second.")),
            ("c.md", b"nothing"),
            ("d.md", text(name="helper")),
            ("e.md", text(name="hidden", visibility="internal")),
        )
    )
    assert [item.name for item in book.agents] == ["helper", "hidden", "worker"]
    assert [item.name for item in book.offered] == ["helper", "worker"]
    found = book.find(" Worker ")
    assert found is not None
    assert found.description == "The first."
    assert book.find("nobody") is None
    assert [(item.source, item.sentence) for item in book.problems] == [
        ("b.md", "the name WORKER is taken by a.md"),
        ("c.md", "it does not begin with a line of ---"),
    ]


@pytest.mark.requirement("agents.frozen")
def test_a_run_is_told_the_rules_the_project_its_agent_and_that_it_is_alone() -> None:
    agent = agents.parse("a.md", text("Do it well."))
    prompt = agents.system_prompt(agent, operating_rules="Rules.", project="[project]\nTabs.")
    assert prompt == f"Rules.\n\n[project]\nTabs.\n\nDo it well.\n\n{agents.HEADLESS}"
    bare = agents.system_prompt(replace(agent, wants_findings=True), operating_rules="", project="")
    assert bare == f"Do it well.\n\n{agents.HEADLESS}\n\n{agents.FINDINGS}"


def model(name: str) -> ModelSettings:
    """A model of this name."""
    return ModelSettings(
        provider="p",
        provider_type=ProviderType.OPENAI_COMPATIBLE,
        endpoint="http://localhost",
        model_id=name,
    )


@pytest.mark.requirement("agents.frozen")
def test_an_agent_uses_the_model_of_its_role() -> None:
    agent = agents.parse("a.md", text())
    both = SessionSettings(main_model=model("main"), compaction_model=model("small"))
    assert model_for(agent, both) == model("small")
    assert model_for(replace(agent, role=ModelRole.MAIN), both) == model("main")
    assert model_for(agent, replace(both, compaction_model=None)) == model("main")


@pytest.mark.requirement("agents.frozen")
def test_a_run_goes_by_what_it_was_frozen_to() -> None:
    frozen = ChildFrozen(
        run_id=RunId("r"),
        parent=SessionId("s"),
        agent="worker",
        system_prompt="",
        provider="p",
        model="small",
        tools=(),
        timeout_s=120.0,
    )
    both = SessionSettings(main_model=model("main"), compaction_model=model("small"))
    settings = run_settings(both, frozen)
    assert settings.main_model == model("small")
    assert (settings.timeouts.no_progress_s, settings.timeouts.token_gap_s) == (120.0, 120.0)
    assert settings.timeouts.prefill_s == both.timeouts.prefill_s
    assert run_settings(both, replace(frozen, prefill_s=30.0)).timeouts.prefill_s == 30.0


@pytest.mark.requirement("agents.model-gone")
def test_a_run_whose_model_is_gone_has_none_and_no_other() -> None:
    settings = SessionSettings(
        main_model=model("main"), compaction_model=model("small"), fallback_model=model("spare")
    )
    frozen = ChildFrozen(
        run_id=RunId("r"),
        parent=SessionId("s"),
        agent="worker",
        system_prompt="",
        provider="p",
        model="gone",
        tools=(),
    )
    assert run_settings(settings, frozen).main_model is None
    assert run_settings(settings, frozen).fallback_model is None
    kept = run_settings(settings, replace(frozen, model="small"))
    assert (kept.main_model, kept.fallback_model) == (model("small"), model("spare"))


@pytest.mark.requirement("agents.events")
def test_a_turn_is_told_of_the_runs_that_are_not_over() -> None:
    lines = tuple(RunLine(run_id=f"r{n}", agent="a", state="Running") for n in range(22))
    facts = TurnFacts(audience=Audience.TEAM, time=LocalTime(at_ms=0), runs=lines)
    told = render_turn_block(facts)
    assert "[child-runs]\n- r0 a: Running\n" in told
    assert told.endswith("- r19 a: Running\n- and 2 more")
    assert "child-runs" not in render_turn_block(replace(facts, audience=Audience.PUBLIC))


@pytest.mark.requirement("agents.files")
def test_a_turn_is_told_of_the_agents_there_are() -> None:
    facts = TurnFacts(
        audience=Audience.PERSONAL,
        time=LocalTime(at_ms=0),
        agents=(AgentLine(name="worker", description="Works\nwell."),),
    )
    assert render_turn_block(facts).endswith(
        f"[available-subagents]\n{LOAD_HINT}\n- worker: Works well."
    )
    public = replace(facts, audience=Audience.PUBLIC)
    assert "worker" not in render_turn_block(public)
