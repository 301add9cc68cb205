"""`status` and `sessions list` at a glance: what people see first."""

from __future__ import annotations

import re

import pytest

from netclaw.cli.words import context_use, tokens
from netclaw.wire.v1 import admin_pb2
from netclaw.wire.v1.gateway_pb2 import SessionDetail
from tests.cli.runner import Cli
from tests.cli.scripted_daemon import ScriptedDaemon

MIB = 1024 * 1024


@pytest.mark.parametrize(
    ("number", "shown"),
    [
        *((0, "0"), (812, "812"), (1000, "1.0k"), (12_400, "12.4k"), (32_768, "32.8k")),
        *((128_000, "128k"), (999_949, "1000k"), (999_950, "1.0M"), (1_200_000, "1.2M")),
    ],
)
def test_numbers_of_tokens_are_short(number: int, shown: str) -> None:
    assert tokens(number) == shown


def test_context_use_names_the_share_where_the_window_is_known() -> None:
    assert context_use(12_400, 32_768) == "12.4k/32.8k (38 %)"
    assert context_use(500, 0) == "500"


@pytest.mark.requirement("operator.status-overview")
def test_status_shows_sessions_queue_storage_sandbox_model_and_memory(
    cli: Cli, daemon: ScriptedDaemon
) -> None:
    daemon.status.MergeFrom(
        admin_pb2.StatusResponse(
            uptime_s=12,
            total_sessions=9,
            live_sessions=3,
            quarantined_sessions=1,
            admitted_inputs=1204,
            pending_inputs=2,
            turns_completed=1190,
            turns_failed=12,
            storage_state="ok",
            database_bytes=3 * MIB,
            sandbox_backend="bubblewrap",
            sandbox_limits="cgroup",
            main_model="qwen3",
            main_provider="ollama",
            daemon_memory_bytes=62 * MIB,
            sessions_memory_bytes=21 * MIB,
        )
    )
    result = cli("status")
    assert result.code == 2, "a quarantined session needs somebody"
    assert result.out.splitlines() == [
        "netclaw 9.9 is degraded, up 12 s",
        "  ! 1 quarantined; see `netclaw sessions`, then `netclaw sessions restart ID`.",
        "",
        "  model      qwen3 at ollama",
        "  sessions   3 live, 5 passive, 1 quarantined",
        "  queue      2 waiting, 1,204 messages in all",
        "  turns      1,190 done, 12 failed",
        "  storage    ok, 3.0 MiB",
        "  sandbox    bubblewrap, limits by cgroup",
        "  memory     daemon 62 MiB, sessions 21 MiB",
        "  daemon     process 4242",
        f"  home       {cli.home.root}",
    ]
    row = cli("status", "--json").json
    assert row["sessions"] == {"total": 9, "live": 3, "passive": 5, "quarantined": 1}
    assert row["memory"] == {"daemonBytes": 62 * MIB, "sessionsBytes": 21 * MIB}


@pytest.mark.requirement("consent_cli.count")
def test_calls_that_wait_for_a_decision_are_counted(cli: Cli, daemon: ScriptedDaemon) -> None:
    fill(daemon)
    assert "decisions" not in cli.ok("status").out
    daemon.status.open_approvals = 2
    assert "  decisions  2 calls to decide: netclaw approvals pending" in cli.ok("status").out
    assert cli.ok("status", "--json").json["approvals"] == {"open": 2}
    assert "approvals pending" not in cli.ok("sessions", "show", "notes").out
    daemon.replies["GetSession"] = SessionDetail(open_approvals=["c1", "c2"])
    shown = cli.ok("sessions", "show", "notes").out
    assert re.search(r"calls to decide +c1, c2\n", shown)
    assert shown.endswith("decide about them: netclaw approvals pending\n")


def fill(daemon: ScriptedDaemon) -> None:
    """Two sessions: one that talks, one that never did."""
    row = daemon.row("notes")
    row.title, row.phase, row.pid, row.turns = "Where the disk went", "processing", 77, 4
    row.context_tokens, row.context_window = 12_400, 32_768
    daemon.row("quiet").context_window = 32_768


@pytest.mark.requirement("operator.context-use")
def test_the_list_of_sessions_names_title_phase_and_context(
    cli: Cli, daemon: ScriptedDaemon
) -> None:
    fill(daemon)
    head, notes, quiet = cli.ok("sessions", "list").out.splitlines()
    assert head.split() == [
        *("ID", "TITLE", "PHASE", "CONTEXT", "TURNS", "WAITING", "LAST", "ACTIVE"),
        *("CHANNEL", "AUDIENCE", "VERSION", "PID"),
    ]
    assert "notes  Where the disk went  processing  12.4k/32.8k (38 %)  4" in notes
    assert quiet.split()[:4] == ["quiet", "-", "passive", "-"]
    row, other = cli.ok("sessions", "--json").json
    assert (row["contextTokens"], row["contextWindow"]) == (12_400, 32_768)
    assert "contextTokens" not in other


@pytest.mark.requirement("operator.narrow")
@pytest.mark.parametrize(
    ("columns", "last"), [(200, "PID"), (100, "CHANNEL"), (80, "ACTIVE"), (10, "ACTIVE")]
)
def test_a_narrow_terminal_is_shown_fewer_columns(
    cli: Cli, daemon: ScriptedDaemon, monkeypatch: pytest.MonkeyPatch, columns: int, last: str
) -> None:
    fill(daemon)
    monkeypatch.setattr("netclaw.cli.app.os.isatty", lambda _descriptor: True)
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("NO_COLOR", "1")
    lines = cli.ok("sessions").out.splitlines()
    assert lines[0].split()[-1] == last
    assert columns == 10 or max(map(len, lines)) <= columns
    assert "\x1b" not in "".join(lines)
