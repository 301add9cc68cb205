"""How `status` and `daemon status` tell of the processes of channels."""

from __future__ import annotations

import pytest

from netclaw.wire.v1.admin_pb2 import AdapterRow
from tests.cli.runner import Cli
from tests.cli.scripted_daemon import ScriptedDaemon

READY = AdapterRow(
    channel="slack",
    pid=5,
    state="ready",
    account="helper",
    scope="T1",
    last_failure="The connection to the platform ended.",
    last_failure_at_ms=1_000,
    restarts=2,
    counters={"received": 9, "admitted": 7, "delivered": 6, "denied": 1},
)
FAILED = AdapterRow(channel="discord", state="failed", last_failure="The token is refused.")


@pytest.mark.requirement("channel_host.status")
def test_a_row_tells_account_failure_and_counters(cli: Cli, daemon: ScriptedDaemon) -> None:
    daemon.status.adapters.extend([READY, FAILED])
    row = cli.ok("daemon", "status", "--json").json
    assert row["adapters"] == [
        {
            "channel": "slack",
            "pid": 5,
            "state": "ready",
            "account": "helper",
            "scope": "T1",
            "lastFailure": "The connection to the platform ended.",
            "lastFailureAt": "1970-01-01T00:00:01.000Z",
            "restarts": 2,
            "counters": {"admitted": 7, "delivered": 6, "denied": 1, "received": 9},
        },
        {"channel": "discord", "state": "failed", "lastFailure": "The token is refused."},
    ]
    human = cli.ok("daemon", "status").out
    assert "ready as helper of T1, process 5, 7 in, 6 out, 1 not served; last failure " in human
    assert "failed; last failure: The token is refused." in human


@pytest.mark.requirement("channels.disabled-listed")
def test_a_disabled_channel_is_shown_and_no_fault(cli: Cli, daemon: ScriptedDaemon) -> None:
    daemon.status.adapters.extend([AdapterRow(channel="slack", state="disabled")])
    found = cli.ok("status", "--json").json
    assert (found["overall"], found["daemon"]["adapters"]) == (
        "healthy",
        [{"channel": "slack", "state": "disabled"}],
    )
    assert "disabled" in cli.ok("status").out


@pytest.mark.requirement("channel_host.status")
def test_a_channel_that_cannot_work_degrades_and_says_why(cli: Cli, daemon: ScriptedDaemon) -> None:
    daemon.status.adapters.extend([READY, FAILED])
    found = cli("status", "--json")
    assert (found.code, found.json["overall"]) == (2, "degraded")
    assert found.json["reasons"] == [
        "The discord adapter is failed: The token is refused. See `netclaw doctor`."
    ]
    human = cli("status").out
    assert human.count("The token is refused.") == 1
    assert "; last failure " in human, "a channel that is ready may have given something up"
    assert "The connection to the platform ended." in human
