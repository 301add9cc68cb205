"""The words a shell offers: commands, ids of the running daemon, keys of the configuration."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from netclaw.config.home import Home
from netclaw.core.errors import InternalError
from tests.cli.runner import Cli
from tests.cli.scripted_daemon import ScriptedDaemon

PROGRAM = "import sys; sys.argv = ['netclaw']; from netclaw.cli.main import main; main()"


def offered(*words: str) -> list[str]:
    """What bash is offered for the last word, as its completion asks for it."""
    asked = {
        "_NETCLAW_COMPLETE": "bash_complete",
        "COMP_WORDS": " ".join(["netclaw", *words]),
        "COMP_CWORD": str(len(words)),
    }
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **asked},
    )
    assert done.stderr == ""
    return [line.partition(",")[2] for line in done.stdout.splitlines() if line]


@pytest.mark.requirement("operator.completion")
@pytest.mark.parametrize(
    "words",
    [
        ("sessions", "show"),
        ("sessions", "attach"),
        ("sessions", "kill"),
        ("ledger",),
        ("chat", "--resume"),
    ],
)
def test_ids_come_from_the_running_daemon(daemon: ScriptedDaemon, words: tuple[str, ...]) -> None:
    for name in ("notes", "notes-old", "review", "cli/abcdefghij"):
        daemon.row(name)
    assert offered(*words, "no") == ["notes", "notes-old"]


@pytest.mark.requirement("operator.completion")
def test_words_of_a_filter_are_offered_one_after_the_other(home: Home) -> None:
    del home
    words = ("sessions", "attach", "notes", "--filter")
    assert offered(*words, "te") == ["text", "text-streaming"]
    assert offered(*words, "text,t") == ["text,text-streaming", "text,thinking", "text,tool-calls"]


@pytest.mark.requirement("operator.completion")
def test_tools_and_audiences_to_be_explained_are_offered(home: Home) -> None:
    assert offered("authorize", "--tool", "file_r") == ["file_read"]
    assert offered("authorize", "--audience", "te") == ["team"]
    assert not home.root.exists()


@pytest.mark.requirement("operator.completion")
def test_without_a_daemon_there_are_no_ids_and_no_words(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("netclaw.cli.client.PATIENCE_S", 3600.0)  # no daemon, nothing to wait for
    assert offered("sessions", "show", "n") == []
    assert not home.root.exists()


@pytest.mark.requirement("operator.completion")
def test_a_daemon_that_refuses_offers_nothing(daemon: ScriptedDaemon) -> None:
    daemon.refuse["ListSessions"] = InternalError("Broken.")
    assert offered("ledger", "n") == []


@pytest.mark.requirement("operator.completion")
def test_keys_come_from_the_configuration(cli: Cli, home: Home) -> None:
    words = ("init", "--non-interactive", "--provider", "openai-compatible")
    cli.ok(*words, "--endpoint", "http://127.0.0.1:1/v1", "--model", "m1")
    keys = offered("config", "get", "session.idle")
    assert keys == ["Session.IdleTimeout"]
    named = offered("config", "set", "Providers.")
    assert "Providers.openai-compatible.Endpoint" in named
    assert "Providers.openai-compatible.ApiKey" not in named, "that is a secret"
    place = "Providers.openai-compatible.ApiKey"
    assert offered("secrets", "set", "Prov") == [place]
    assert offered("secrets", "unset", "Prov") == []
    cli.ok("secrets", "set", place, "sk-1")
    assert offered("secrets", "unset", "prov") == [place]
    home.config_file.write_text("{ broken")
    assert offered("config", "get", "Session.Idle") == keys
