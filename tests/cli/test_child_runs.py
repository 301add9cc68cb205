"""`netclaw runs` and `netclaw agents`: listed, shown, cancelled, checked."""

from __future__ import annotations

from pathlib import Path

import pytest

from netclaw.config.home import Home
from netclaw.wire.v1 import admin_pb2, gateway_pb2
from tests.cli.runner import Cli
from tests.cli.scripted_daemon import AT_MS, ScriptedDaemon
from tests.cli.test_completion import offered
from tests.cli.test_contract import AT, has_null

pytestmark = pytest.mark.requirement("children.cli")

GOOD = "---\nname: scout\ndescription: Looks around.\n---\nLook around.\n"


def row(position: int, **fields: object) -> admin_pb2.RunRow:
    """One run."""
    values: dict[str, object] = {
        "run_id": f"run{position}x",
        "parent": "notes",
        "session_id": f"notes/sub/run{position}x",
        "agent": "scout",
        "state": "Running",
        "pid": 40 + position,
        "started_at_ms": AT_MS,
        "turn_id": "t1",
        "call_id": "c1",
        "folder": f"/h/subagents/run{position}x",
        "position": position,
    }
    return admin_pb2.RunRow(**{**values, **fields})  # type: ignore[arg-type]


DONE = row(
    3,
    state="Partial",
    reason="loop_guard",
    pid=0,
    ended_at_ms=AT_MS + 61_000,
    result_path="/h/subagents/run3x/result.md",
)


@pytest.fixture
def known(daemon: ScriptedDaemon) -> ScriptedDaemon:
    """Three runs."""
    runs = [row(1), row(2, state="Parked", pid=0), DONE]
    daemon.replies["ListRuns"] = admin_pb2.ListRunsResponse(runs=runs)
    return daemon


@pytest.mark.parametrize("words", [["runs"], ["runs", "list"]])
def test_runs_are_listed(cli: Cli, known: ScriptedDaemon, words: list[str]) -> None:
    rows = cli.ok(*words, "--json").json
    assert [each["state"] for each in rows] == ["Running", "Parked", "Partial"]
    assert rows[0] == {
        "runId": "run1x",
        "parent": "notes",
        "sessionId": "notes/sub/run1x",
        "agent": "scout",
        "state": "Running",
        "pid": 41,
        "startedAt": AT,
        "folder": "/h/subagents/run1x",
        "turnId": "t1",
        "callId": "c1",
    }
    assert rows[2]["resultPath"] == "/h/subagents/run3x/result.md"
    assert not has_null(rows)
    assert len(known.requests("ListRuns")) == 2
    shown = cli.ok(*words).out
    for text in ("run1x", "Parked", "Partial (loop_guard)", "scout", "1 min"):
        assert text in shown


def test_a_list_can_be_narrowed(cli: Cli, known: ScriptedDaemon) -> None:
    left = cli.ok("runs", "list", "--open", "--session", "notes", "--json").json
    assert [each["runId"] for each in left] == ["run1x", "run2x"]
    (asked, *_) = known.requests("ListRuns")
    assert isinstance(asked, admin_pb2.ListRunsRequest)
    assert asked.session_id == "notes"
    known.replies["ListRuns"] = admin_pb2.ListRunsResponse()
    assert "no child runs" in cli.ok("runs").out
    assert cli.ok("runs", "--json").json == []


@pytest.mark.usefixtures("known")
def test_a_run_is_shown(cli: Cli) -> None:
    shown = cli.ok("runs", "show", "run3x").out
    for text in (
        "Partial (loop_guard)",
        "scout",
        "notes/sub/run3x",
        "/h/subagents/run3x/result.md",
    ):
        assert text in shown
    assert cli.ok("runs", "show", "run3", "--json").json["reason"] == "loop_guard"


@pytest.mark.usefixtures("known")
@pytest.mark.parametrize(("name", "words"), [("none", "no child run"), ("run", "3 runs")])
def test_a_name_must_mean_one_run(cli: Cli, name: str, words: str) -> None:
    for command in ("show", "cancel"):
        result = cli("runs", command, name)
        assert result.code == 1
        assert words in result.err
        assert "fix:" in result.err


def test_a_run_is_cancelled(cli: Cli, known: ScriptedDaemon) -> None:
    known.replies["CancelRun"] = row(1, state="Cancelling")
    assert cli.ok("runs", "cancel", "run1").out == "run1x: Cancelling\n"
    assert cli.ok("runs", "cancel", "run1", "--json").json["state"] == "Cancelling"
    (asked, _) = known.requests("CancelRun")
    assert isinstance(asked, admin_pb2.RunRef)
    assert asked.run_id == "run1x"


@pytest.mark.usefixtures("known")
def test_ids_are_completed() -> None:
    assert list(offered("runs", "show", "run")) == ["run1x", "run2x", "run3x"]


def test_the_sessions_of_runs_are_listed_on_request(cli: Cli, daemon: ScriptedDaemon) -> None:
    daemon.rows["notes/sub/run1x"] = gateway_pb2.SessionRow(
        id="notes/sub/run1x", kind="child", parent="notes"
    )
    listed = cli.ok("sessions", "list", "--children", "--json").json
    assert listed[-1]["parent"] == "notes"
    cli.ok("sessions", "list", "--json")
    asked = daemon.requests("ListSessions")
    assert [
        item.with_children for item in asked if isinstance(item, gateway_pb2.ListSessionsRequest)
    ] == [True, False]


def agents(home: Home, **files: str) -> Path:
    """Definitions of a home."""
    folder = home.root / "agents"
    folder.mkdir(parents=True)
    for name, text in files.items():
        (folder / f"{name}.md").write_text(text)
    return folder


def test_agents_are_listed_without_a_daemon(cli: Cli, home: Home) -> None:
    assert "no agents" in cli.ok("agents").out
    agents(home, scout=GOOD, broken="nothing")
    (agent,) = cli.ok("agents", "list", "--json").json
    assert (agent["name"], agent["file"]) == ("scout", "scout.md")
    assert "timeoutSeconds" not in agent, "as SubAgents.DefaultTimeoutSeconds says"
    assert not has_null(agent)
    listed = cli.ok("agents")
    assert "Looks around." in listed.out
    assert "broken.md" in listed.err


def test_definitions_are_checked(cli: Cli, home: Home, tmp_path: Path) -> None:
    folder = agents(home, scout=GOOD)
    assert "scout" in cli.ok("agents", "validate").out
    (folder / "broken.md").write_text("nothing")
    refused = cli("agents", "validate", "--json")
    assert refused.code == 1
    assert refused.json["problems"][0]["file"] == "broken.md"
    assert [agent["name"] for agent in refused.json["agents"]] == ["scout"]
    assert "fix: Mend it" in refused.err
    draft = tmp_path / "draft.md"
    draft.write_text(GOOD.replace("scout", "no good"))
    refused = cli("agents", "validate", str(draft))
    assert refused.code == 1
    assert "its name may have" in refused.out
    draft.write_text(GOOD)
    assert cli.ok("agents", "validate", str(draft)).code == 0
