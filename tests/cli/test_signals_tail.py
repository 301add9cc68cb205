"""`netclaw signals tail`: live, over restarts of the daemon, until Ctrl-C."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from datetime import datetime
from typing import Any

import pytest

from netclaw.cli.words import clock, moment
from netclaw.config.home import Home
from netclaw.core.errors import NotFoundError
from netclaw.wire.v1 import admin_pb2
from tests.cli.runner import Cli
from tests.cli.scripted_daemon import ScriptedDaemon
from tests.cli.terminal import Terminal
from tests.cli.test_signals import FAILED, MESSAGE

pytestmark = [pytest.mark.requirement("signals.cli-tail"), pytest.mark.timeout(60)]

PROGRAM = (
    "import sys; import netclaw.cli.signal_feed as f; f.RECONNECT_DELAYS_S = (0.05,) * 40;"
    "sys.argv = ['netclaw', *sys.argv[1:]]; from netclaw.cli.main import main; main()"
)
"""The command line, which looks for a lost daemon more often."""


class Reader:
    """A `signals tail` that runs."""

    def __init__(self, *words: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, "signals", "tail", *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ},
        )

    def line(self) -> str:
        """The next line."""
        assert self.process.stdout is not None
        return self.process.stdout.readline()

    @property
    def row(self) -> Any:
        """The next line as JSON."""
        return json.loads(self.line())

    def end(self) -> tuple[int, str]:
        """What is left once it has ended: exit code and standard error."""
        _, said = self.process.communicate(timeout=20)
        return self.process.returncode, said

    def interrupt(self) -> tuple[int, str]:
        """Ctrl-C."""
        self.process.send_signal(signal.SIGINT)
        return self.end()


@pytest.fixture
def readers() -> Iterator[list[Reader]]:
    """Readers that are ended after the test, whatever became of them."""
    made: list[Reader] = []
    yield made
    for reader in made:
        reader.process.kill()
        reader.process.communicate()


def following(readers: list[Reader], *words: str) -> Reader:
    """Begin a reader."""
    readers.append(Reader(*words))
    return readers[-1]


def send(daemon: ScriptedDaemon, *events: admin_pb2.SignalRow, **fields: Any) -> None:
    """Tell readers of changes."""
    daemon.tail.put(admin_pb2.SignalsTail(events=events, **fields))


def asked(daemon: ScriptedDaemon) -> list[tuple[str, int | None]]:
    """What was asked of the log: session, and since when."""
    return [
        (request.session_id, request.since if request.HasField("since") else None)
        for request in daemon.requests("TailSignals")
        if isinstance(request, admin_pb2.TailSignalsRequest)
    ]


def test_changes_are_json_lines_until_it_is_interrupted(
    daemon: ScriptedDaemon, readers: list[Reader]
) -> None:
    reader = following(readers, "--json")
    send(daemon, head=12)
    send(daemon, MESSAGE)
    row = reader.row
    assert (row["sequence"], row["sessionId"], row["actorId"]) == (14, "notes", "U1")
    send(daemon, FAILED, missed=3)
    assert reader.row["payload"] == {"outcome": "timeout"}
    assert reader.row == {"missed": 3}
    send(daemon, gap=True)
    assert reader.row == {"historyGap": True}
    assert reader.interrupt() == (0, "")
    assert asked(daemon) == [("", None)]


def test_changes_are_lines_for_people(daemon: ScriptedDaemon, readers: list[Reader]) -> None:
    reader = following(readers)
    send(daemon, MESSAGE, FAILED, missed=1)
    when = moment(MESSAGE.occurred_at_ms)
    wanted = f"{when}  notes  human U1: human message via slack (3 messages)\n"
    assert reader.line() == wanted
    assert reader.line() == f"{when}  notes  system: child run timed out\n"
    assert "1 change not shown" in reader.line()
    send(daemon, gap=True)
    assert "not kept any more" in reader.line()
    assert reader.interrupt() == (0, "")


def test_one_session_is_followed_from_a_version_on(
    daemon: ScriptedDaemon, readers: list[Reader]
) -> None:
    reader = following(readers, "notes", "--since", "3")
    send(daemon, MESSAGE)
    assert "  human U1: " in reader.line(), "the session is not repeated in every line"
    assert reader.interrupt()[0] == 0
    assert asked(daemon) == [("notes", 3)]


def test_a_restart_of_the_daemon_loses_and_doubles_nothing(
    daemon: ScriptedDaemon, readers: list[Reader]
) -> None:
    reader = following(readers, "--json")
    send(daemon, head=12)
    daemon.tail.put(None)  # the first end comes before any change
    send(daemon, MESSAGE)
    assert reader.row["sequence"] == 14
    daemon.stop()
    daemon.come_back()
    send(daemon, FAILED)
    assert reader.row["sequence"] == 19
    code, said = reader.interrupt()
    assert code == 0
    assert said.count("the daemon went away") == said.count("[connection] back") == 2
    assert asked(daemon) == [("", None), ("", 12), ("", 14)]


def test_a_daemon_that_stays_away_is_said(daemon: ScriptedDaemon, readers: list[Reader]) -> None:
    reader = following(readers)
    send(daemon, MESSAGE)
    reader.line()
    daemon.stop()
    code, said = reader.end()
    assert code == 1
    assert "the daemon went away" in said
    assert "[FAIL] signals tail: " in said
    assert "fix:" in said


def test_who_waits_for_a_lost_daemon_can_leave(
    daemon: ScriptedDaemon, readers: list[Reader]
) -> None:
    reader = following(readers)
    send(daemon, MESSAGE)
    reader.line()
    daemon.stop()
    assert reader.process.stderr is not None
    assert "went away" in reader.process.stderr.readline()
    reader.process.send_signal(signal.SIGINT)
    assert reader.end()[0] == 0


def test_a_reader_that_leaves_ends_it_quietly(
    daemon: ScriptedDaemon, readers: list[Reader]
) -> None:
    reader = following(readers)
    send(daemon, MESSAGE)
    reader.line()
    assert reader.process.stdout is not None
    reader.process.stdout.close()
    send(daemon, FAILED)
    assert reader.process.wait(20) == 0
    assert reader.process.stderr is not None
    assert reader.process.stderr.read() == ""


def test_without_a_daemon_it_says_how_to_start_one(cli: Cli, home: Home) -> None:
    result = cli("signals", "tail", "--json")
    assert (result.code, result.json["error"]["code"]) == (1, "daemon_down")
    assert "netclaw daemon start" in result.err
    assert not home.root.exists()


def test_an_unknown_session_is_refused(cli: Cli, daemon: ScriptedDaemon) -> None:
    daemon.refuse["TailSignals"] = NotFoundError("There is no session nope.")
    result = cli("signals", "tail", "nope", "--json")
    assert (result.code, result.json["error"]["code"]) == (1, "not_found")


def test_a_terminal_is_told_how_to_leave_and_shown_colours(daemon: ScriptedDaemon) -> None:
    with Terminal(["signals", "tail"]) as terminal:
        send(daemon, head=12)
        terminal.expect("changes after 12 as they come; Ctrl-C leaves")
        send(daemon, MESSAGE)
        terminal.expect("human message via slack (3 messages)")
        assert "\x1b[33mhuman U1\x1b[0m" in terminal.raw
        terminal.interrupt()
        assert terminal.ended() == 0


def test_a_time_of_today_needs_no_day() -> None:
    now_ms = int(datetime.now().astimezone().timestamp() * 1000)
    assert len(clock(now_ms)) in (8, 19), "19 in the second after midnight"
    assert clock(MESSAGE.occurred_at_ms) == moment(MESSAGE.occurred_at_ms)
