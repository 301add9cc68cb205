"""`netclaw signals` and `netclaw goal`: shown, watched, followed; what `sessions` says of it."""

from __future__ import annotations

import pytest

from netclaw.core.errors import InvalidArgumentError, NotFoundError
from netclaw.wire.v1 import admin_pb2, gateway_pb2
from tests.cli.runner import Cli
from tests.cli.scripted_daemon import AT_MS, ScriptedDaemon
from tests.cli.test_completion import offered
from tests.cli.test_contract import AT, has_null

MESSAGE = admin_pb2.SignalRow(
    sequence=14,
    session_id="notes",
    kind="human_direct_message",
    actor_type="human",
    actor_id="U1",
    occurred_at_ms=AT_MS,
    summary="human message via slack",
    payload=admin_pb2.SignalFacts(channel="slack", turns=3),
)
FAILED = admin_pb2.SignalRow(
    sequence=19,
    session_id="notes",
    kind="run_failed",
    actor_type="system",
    occurred_at_ms=AT_MS,
    summary="child run timed out",
    run_id="r1",
    payload=admin_pb2.SignalFacts(outcome="timeout"),
)
WATCHES = [
    admin_pb2.WatchRow(watcher=watcher, target=target, last_seen=12, notified=n, material=19)
    for watcher, target, n in (
        *(("boss", "notes", 14), ("boss", "other", 12)),
        *(("notes", "other", 13), ("zeta", "notes", 12)),
    )
]


def changes(**fields: object) -> admin_pb2.ShowSignalsResponse:
    """Two changes, as the daemon tells of them."""
    values: dict[str, object] = {"state_version": 19, "events": [MESSAGE, FAILED], "earliest": 14}
    return admin_pb2.ShowSignalsResponse(**{**values, **fields})  # type: ignore[arg-type]


@pytest.mark.requirement("signals.cli-show")
def test_changes_are_shown_as_the_contract_says(cli: Cli, daemon: ScriptedDaemon) -> None:
    daemon.replies["ShowSignals"] = changes()
    found = cli.ok("signals", "show", "notes", "--since", "12", "--json").json
    assert found["stateVersion"] == 19
    assert set(found["stateChanges"]) == {
        *("events", "historyGap", "truncated", "earliestAvailableSequence")
    }
    message, failed = found["stateChanges"]["events"]
    assert message == {
        "sequence": 14,
        "sessionId": "notes",
        "kind": "human_direct_message",
        "actorType": "human",
        "actorId": "U1",
        "occurredAt": AT,
        "summary": "human message via slack",
        "payload": {"channel": "slack", "turns": 3},
    }
    assert (failed["runId"], failed["payload"]) == ("r1", {"outcome": "timeout"})
    assert not has_null(found)
    (asked,) = daemon.requests("ShowSignals")
    assert isinstance(asked, admin_pb2.ShowSignalsRequest)
    assert (asked.session_id, asked.since) == ("notes", 12)


@pytest.mark.requirement("signals.cli-show")
def test_people_are_shown_changes_as_a_table(cli: Cli, daemon: ScriptedDaemon) -> None:
    daemon.replies["ShowSignals"] = changes(truncated=True, gap=True)
    shown = cli.ok("signals", "show", "notes", "--since", "3").out
    head, gap, _, first, second, more = shown.splitlines()
    assert head == "state version 19"
    assert "after 3 is not kept any more" in gap
    assert "human U1" in first
    assert "human message via slack (3 messages)" in first
    assert "system" in second
    assert more.endswith("netclaw signals show notes --since 19")
    assert "\033" not in shown


@pytest.mark.requirement("signals.cli-show")
@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"state_version": 0, "events": []}, "nothing was recorded: state version 0\n"),
        ({"events": []}, "state version 19\nno change after 7\n"),
        ({"events": [], "gap": True}, "nothing is kept after 7"),
    ],
)
def test_no_change_is_said_in_words(
    cli: Cli, daemon: ScriptedDaemon, fields: dict[str, object], words: str
) -> None:
    daemon.replies["ShowSignals"] = changes(**fields)
    assert words in cli.ok("signals", "show", "notes", "--since", "7").out


@pytest.mark.requirement("signals.cli-show")
@pytest.mark.parametrize("since", ["-1", "x", str(2**63)])
def test_what_is_no_version_is_a_usage_error(cli: Cli, since: str) -> None:
    result = cli("signals", "show", "notes", "--since", since)
    assert result.code == 2
    assert "fix:" in result.err


@pytest.mark.requirement("signals.cli-show")
def test_an_unknown_session_is_refused(cli: Cli, daemon: ScriptedDaemon) -> None:
    daemon.refuse["ShowSignals"] = NotFoundError("There is no session nope.")
    result = cli("signals", "show", "nope", "--json")
    assert (result.code, result.json["error"]["code"]) == (1, "not_found")
    assert cli("signals", "show", "a\nb").code == 1
    assert len(daemon.requests("ShowSignals")) == 1


@pytest.mark.requirement("signals.cli-watch")
def test_a_watch_begins_and_ends(cli: Cli, daemon: ScriptedDaemon) -> None:
    assert cli.ok("signals", "watch", "boss", "notes", "--json").json == {"watched": True}
    assert cli.ok("signals", "watch", "boss", "notes").out == "boss watches notes\n"
    ended = cli.ok("signals", "unwatch", "boss", "notes", "--json").json
    assert ended == {"watched": False, "wasWatched": False}
    assert cli.ok("signals", "unwatch", "boss", "notes").out == "boss did not watch notes\n"
    daemon.replies["UnwatchSession"] = admin_pb2.WatchResponse(was_watched=True)
    assert "does not watch notes any more" in cli.ok("signals", "unwatch", "boss", "notes").out
    daemon.replies["WatchSession"] = admin_pb2.WatchResponse()
    assert "nothing was begun" in cli.ok("signals", "watch", "boss", "notes").out
    first, *_ = daemon.requests("WatchSession")
    assert isinstance(first, admin_pb2.WatchRequest)
    assert (first.watcher, first.target) == ("boss", "notes")


@pytest.mark.requirement("signals.cli-watch")
def test_a_session_does_not_watch_itself(cli: Cli, daemon: ScriptedDaemon) -> None:
    daemon.refuse["WatchSession"] = InvalidArgumentError("A session does not watch itself.")
    result = cli("signals", "watch", "boss", "boss", "--json")
    assert (result.code, result.json["error"]["code"]) == (1, "invalid_argument")


@pytest.mark.requirement("signals.cli-watch")
def test_watches_are_listed_to_the_last_page(cli: Cli, daemon: ScriptedDaemon) -> None:
    daemon.replies["ListWatches"] = admin_pb2.ListWatchesResponse(watches=WATCHES)
    rows = cli.ok("signals", "watches", "--json").json
    assert [(row["watcher"], row["target"]) for row in rows] == [
        *(("boss", "notes"), ("boss", "other"), ("notes", "other"), ("zeta", "notes"))
    ]
    assert rows[0] == {
        "watcher": "boss",
        "target": "notes",
        "lastSeen": 12,
        "notified": 14,
        "material": 19,
    }
    shown = cli.ok("signals", "watches")
    assert shown.out.count("waits (since 12)") == 2
    assert "2 notices" in shown.err
    only = cli.ok("signals", "watches", "zeta", "--json").json
    assert [row["target"] for row in only] == ["notes"]
    daemon.replies["ListWatches"] = admin_pb2.ListWatchesResponse()
    assert cli.ok("signals", "watches").out.startswith("nobody watches; begin with")
    said = cli.ok("signals", "watches", "notes").out
    assert said.startswith("notes watches nobody and nobody watches it; begin with")
    assert cli.ok("signals", "watches", "--json").json == []


@pytest.mark.requirement("signals.cli-goal")
def test_a_goal_is_set_moved_and_cleared(cli: Cli, daemon: ScriptedDaemon) -> None:
    daemon.row("notes")
    assert cli.ok("goal", "show", "notes", "--json").json == {"id": "notes"}
    assert cli.ok("goal", "show", "notes").out == "notes has no goal\n"
    made = cli.ok("goal", "set", "notes", "Ship it", "--json").json
    assert made == {"id": "notes", "goal": "Ship it", "status": "active", "changed": True}
    assert cli.ok("goal", "set", "notes", "--status", "blocked").out == "blocked  Ship it\n"
    again = cli.ok("goal", "set", "notes", "--status", "blocked")
    assert "nothing changed" in again.err
    shown = cli.ok("goal", "show", "notes", "--json").json
    assert shown == {"id": "notes", "goal": "Ship it", "status": "blocked"}
    assert cli.ok("goal", "clear", "notes", "--json").json == {"id": "notes", "changed": True}
    last = daemon.requests("SetGoal")[1]
    assert isinstance(last, admin_pb2.SetGoalRequest)
    assert (last.HasField("text"), last.status) == (False, "blocked")


@pytest.mark.requirement("signals.cli-goal")
@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("set", "notes"), 2, "Give a TEXT"),
        (("set", "notes", "x", "--status", "soon"), 2, "'soon'"),
        (("set", "notes", "  "), 1, "netclaw goal clear notes"),
        (("show", "nope"), 1, "no session nope"),
        (("clear", "nope"), 1, "no session nope"),
    ],
)
def test_what_is_no_goal_is_refused_with_a_way_out(
    cli: Cli, daemon: ScriptedDaemon, words: tuple[str, ...], code: int, said: str
) -> None:
    daemon.row("notes")
    result = cli("goal", *words)
    assert result.code == code
    assert said in result.err
    assert "fix:" in result.err


@pytest.mark.requirement("signals.cli-sessions")
def test_sessions_tell_of_versions_goals_and_watches(cli: Cli, daemon: ScriptedDaemon) -> None:
    daemon.row("quiet")
    row = daemon.row("notes")
    row.state_version, row.goal, row.goal_status = 19, "Ship it", "paused"
    daemon.replies["ListWatches"] = admin_pb2.ListWatchesResponse(watches=WATCHES)
    listed = {each["id"]: each for each in cli.ok("sessions", "--json").json}
    assert listed["notes"]["stateVersion"] == 19
    assert "stateVersion" not in listed["quiet"]
    shown = cli.ok("sessions", "show", "notes", "--json").json
    assert (shown["goal"], shown["goalStatus"]) == ("Ship it", "paused")
    assert (shown["watchers"], shown["watches"]) == (["boss", "zeta"], ["other"])
    assert shown["openNotices"] == ["other"]
    words = cli.ok("sessions", "show", "notes").out
    for text in ("Ship it (paused)", "watched by", "boss, zeta", "not told yet of"):
        assert text in words
    assert "adopted from" not in words
    daemon.replies["GetSession"] = gateway_pb2.SessionDetail(
        upstream="/t/a.jsonl", upstream_others=["x"]
    )
    shown = cli.ok("sessions", "show", "notes", "--json").json
    assert (shown["upstream"], shown["upstreamOthers"]) == ("/t/a.jsonl", ["x"])
    told = cli.ok("sessions", "show", "notes")
    assert "adopted from        /t/a.jsonl" in told.out
    assert "followed for none of them" in told.err
    quiet = cli.ok("sessions", "show", "quiet").out
    assert "watched by" not in quiet
    assert "goal" not in quiet


@pytest.mark.requirement("signals.cli-status")
def test_status_has_a_line_if_something_waits(cli: Cli, daemon: ScriptedDaemon) -> None:
    daemon.status.watches = 4
    assert "notice" not in cli("status").out
    daemon.status.open_notices = 1
    assert "1 notice to be told: netclaw signals watches" in cli("status").out
    assert cli("status", "--json").json["signals"] == {"watches": 4, "openNotices": 1}
    daemon.status.signals_problem = "database is locked"
    broken = cli("status")
    assert broken.code == 2
    assert "Changes of sessions are not recorded: database is locked" in broken.out


@pytest.mark.requirement("signals.cli-completion")
@pytest.mark.parametrize(
    "words",
    [
        ("signals", "show"),
        ("signals", "tail"),
        ("signals", "watch"),
        ("signals", "watch", "boss"),
        ("signals", "unwatch", "boss"),
        ("signals", "watches"),
        ("goal", "show"),
        ("goal", "set"),
        ("goal", "clear"),
    ],
)
def test_sessions_and_their_runs_are_offered(
    daemon: ScriptedDaemon, words: tuple[str, ...]
) -> None:
    for name in ("notes", "notes/sub/r1", "review"):
        daemon.row(name)
    assert offered(*words, "no") == ["notes", "notes/sub/r1"]


@pytest.mark.requirement("signals.cli-completion")
def test_states_of_a_goal_are_offered(daemon: ScriptedDaemon) -> None:
    del daemon
    assert offered("goal", "set", "notes", "--status", "b") == ["blocked"]
    assert offered("goal", "") == ["show", "set", "clear"]
    assert offered("signals", "") == ["show", "tail", "watch", "unwatch", "watches"]
