"""`netclaw sessions adopt`: what it asks of the daemon, and what it says of the answer."""

from __future__ import annotations

from pathlib import Path

import pytest

from netclaw.core.errors import InvalidArgumentError
from netclaw.wire.v1 import admin_pb2
from tests.cli.runner import Cli
from tests.cli.scripted_daemon import ScriptedDaemon


@pytest.mark.requirement("signals.cli-adopt")
def test_an_adoption_is_told_as_the_contract_says(cli: Cli, daemon: ScriptedDaemon) -> None:
    found = cli.ok("sessions", "adopt", "/t/talk.jsonl", "--json").json
    assert found == {
        "id": "cli/abcdefghij",
        "catalog": "jsonl",
        "upstream": "/t/talk.jsonl",
        "created": True,
        "messages": 2,
        "omitted": 0,
    }
    assert daemon.requests("AdoptTranscript") == [
        admin_pb2.AdoptTranscriptRequest(path="/t/talk.jsonl")
    ]


@pytest.mark.requirement("signals.cli-adopt")
def test_the_path_is_made_absolute_and_nothing_else(
    cli: Cli, daemon: ScriptedDaemon, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", "/home/p")
    for given, sent in (
        ("talk.jsonl", f"{Path.cwd()}/talk.jsonl"),
        ("../talk.jsonl", f"{Path.cwd()}/../talk.jsonl"),
        ("~/talk.jsonl", "/home/p/talk.jsonl"),
    ):
        cli.ok("sessions", "adopt", given, "--session", "cli/notes")
        wanted = admin_pb2.AdoptTranscriptRequest(path=sent, session_id="cli/notes")
        assert daemon.requests("AdoptTranscript")[-1] == wanted


@pytest.mark.requirement("signals.cli-adopt")
def test_people_are_told_what_was_left_out_and_what_is_followed(
    cli: Cli, daemon: ScriptedDaemon
) -> None:
    said = cli.ok("sessions", "adopt", "/t/talk.jsonl").out
    assert "adopted into cli/abcdefghij: 2 messages" in said
    assert "follows /t/talk.jsonl" in said
    assert "left out" not in said
    daemon.replies["AdoptTranscript"] = admin_pb2.AdoptTranscriptResponse(
        session_id="notes", catalog="claude-code", messages=10, omitted=5
    )
    said = cli.ok("sessions", "adopt", "/t/talk.jsonl", "--session", "notes").out
    assert "left out 5 older ones" in said
    assert "is not followed" in said
    daemon.replies["AdoptTranscript"] = admin_pb2.AdoptTranscriptResponse(
        session_id="notes", catalog="claude-code", upstream="/t/talk.jsonl"
    )
    said = cli.ok("sessions", "adopt", "/t/talk.jsonl", "--session", "notes").out
    assert "keeps its own history" in said
    daemon.replies["AdoptTranscript"] = admin_pb2.AdoptTranscriptResponse(
        session_id="a b", catalog="jsonl", upstream="/t/talk.jsonl", messages=2, others=["x", "y"]
    )
    said = cli.ok("sessions", "adopt", "/t/talk.jsonl", "--session", "a b").out
    assert "followed for nobody: x, y adopted it, too" in said
    assert "follows" not in said
    assert "netclaw chat --resume 'a b'" in said
    row = cli.ok("sessions", "adopt", "/t/talk.jsonl", "--json").json
    assert row["others"] == ["x", "y"]


@pytest.mark.requirement("signals.cli-adopt")
def test_a_refusal_keeps_its_code_and_way_out(cli: Cli, daemon: ScriptedDaemon) -> None:
    daemon.refuse["AdoptTranscript"] = InvalidArgumentError(
        "It is no transcript.", fix="Name another file."
    )
    result = cli("sessions", "adopt", "/t/talk.jsonl", "--json")
    assert result.code == 1
    assert result.json["error"]["code"] == "invalid_argument"
    assert result.json["error"]["fix"] == "Name another file."
    result = cli("sessions", "adopt", "/t/talk.jsonl", "--session", "\x01")
    assert result.code == 1
