"""The session log: what a person reads of a session afterwards."""

from __future__ import annotations

import logging
import re
import time
from pathlib import Path

import pytest

from netclaw.core.redaction import Redactor
from netclaw.core.session.commands import StopTurn
from netclaw.session_proc.log_lines import LogLines, stamp
from netclaw.session_proc.session_log import SessionLog, SessionLogHandler
from netclaw.testing.people import ALICE
from netclaw.testing.story import Story
from tests.session_proc.conftest import Start
from tests.session_proc.host import ScriptedHost

SECRET = "sk-abcdefghijklmnopqrstuvwx"


async def log_of(host: ScriptedHost) -> list[str]:
    """Passivate the session and read its log, without the time stamps."""
    host.command("passivate", reason="test")
    await host.ended()
    text = (host.folder / "root" / "logs" / "session.log").read_text()
    assert all(re.match(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z ", ln) for ln in text.splitlines())
    return [line.partition(" ")[2] for line in text.splitlines()]


@pytest.mark.requirement("session_proc.log")
async def test_a_turn_in_the_log(host: ScriptedHost, start: Start) -> None:
    host.watch(start())
    host.admit('[[think:hm]] [[reply:Looking.]] [[tool:say {"key":"a"}]] [[reply:Done.]]')
    await host.turn_completed()
    lines = await log_of(host)
    kinds = [re.sub(r" ?[a-z2-7]{16}", "", line).partition(":")[0] for line in lines]
    assert kinds == [
        "Turn started",
        "User (cli, input)",
        "Thinking",
        "Assistant",
        "Tool call",
        "Usage",
        "Tools started",
        "Tool result",
        "Assistant",
        "Usage",
        "Turn 1 completed",
        "Passivated",
    ]
    assert 'Assistant: "Done."' in lines
    assert any(line.endswith('"say" {"key": "a"}') for line in lines)


@pytest.mark.requirement("session_proc.log")
async def test_secrets_and_long_texts_are_not_in_the_log(host: ScriptedHost, start: Start) -> None:
    host.watch(start())
    body = "z" * 300
    host.admit(
        f'[[tool:say {{"key":"a","body":"{body}","password":"hunter2"}}]] [[reply:{SECRET} {body}]]'
    )
    await host.turn_completed()
    text = "\n".join(await log_of(host))
    assert SECRET not in text
    assert body not in text
    assert "hunter2" not in text
    assert '"<300 characters, sha256 ' in text


@pytest.mark.requirement("session_proc.log")
async def test_a_log_that_cannot_be_written_fails_no_turn(host: ScriptedHost, start: Start) -> None:
    (host.folder / "root").mkdir()
    (host.folder / "root" / "logs").write_text("in the way")
    start()
    host.admit("[[reply:fine]]")
    await host.turn_completed()
    assert host.seen.text("text") == "fine"


def test_the_log_is_private_and_written_in_order(tmp_path: Path) -> None:
    path = tmp_path / "logs" / "session.log"
    log = SessionLog(str(path))
    for number in range(100):
        log.write(lambda number=number: f"{number}\n")  # type: ignore[misc]
    log.close(5.0)
    assert path.read_text().split() == [str(number) for number in range(100)]
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert log.dropped == 0


@pytest.mark.requirement("session_proc.log-lost")
@pytest.mark.parametrize("is_more_said", [True, False])
def test_a_log_says_what_it_lost_once_it_can_be_written(
    tmp_path: Path, *, is_more_said: bool
) -> None:
    path = tmp_path / "logs" / "session.log"
    path.parent.write_text("in the way")
    log = SessionLog(str(path))
    for _ in range(3):
        log.write(lambda: "lost\n")
    deadline = time.monotonic() + 10
    while log.dropped < 3 and time.monotonic() < deadline:
        time.sleep(0.005)
    path.parent.unlink()
    if is_more_said:
        log.write(lambda: "kept\n")
    log.close(5.0)
    kept = "kept\n" if is_more_said else ""
    assert re.fullmatch(rf"\S+Z Warning: 3 entries of this log were lost\n{kept}", path.read_text())
    assert log.dropped == 3


def test_a_log_is_not_written_through_a_link(tmp_path: Path) -> None:
    target = tmp_path / "elsewhere"
    path = tmp_path / "session.log"
    path.symlink_to(target)
    log = SessionLog(str(path))
    log.write(lambda: "line\n")
    log.close(5.0)
    assert log.dropped == 1
    assert not target.exists()


def test_our_own_warnings_are_logged_redacted(tmp_path: Path) -> None:
    path = tmp_path / "session.log"
    log = SessionLog(str(path))
    redact = Redactor(("a-known-secret",)).redact
    logger = logging.getLogger("netclaw.test_session_log")
    logger.propagate = False
    handler = SessionLogHandler(log, redact)
    logger.addHandler(handler)
    logger.warning("it broke: %s and %s", "a-known-secret", SECRET)
    logger.info("not said")
    logger.removeHandler(handler)
    log.close(5.0)
    assert re.fullmatch(
        r"\S+Z Warning: it broke: \[redacted\] and \[redacted\]\n", path.read_text()
    )


@pytest.mark.requirement("session_proc.log")
def test_what_people_were_asked_and_said_is_in_the_log() -> None:
    story = Story()
    story.start()
    story.admit(by=ALICE)
    story.ask_consent(2)
    first, second = story.call_id(0), story.call_id(1)
    story.choose("refuse", by=ALICE, call=first)
    story.when(StopTurn(actor="U1"))
    lines = LogLines(Redactor().redact)
    text = "".join(lines.render(row, story.state) for row in story.journal)
    told = [line.partition(" ")[2] for line in text.splitlines() if " Consent " in line]
    assert told == [
        f'Consent asked: {first} shell_execute "ls"',
        f'Consent asked: {second} shell_execute "ls"',
        f'Consent answered: {first} refuse ("refuse") by "U1"',
        f"Consent withdrawn: {second} turn-stopped",
    ]


def test_lines_are_one_line_each() -> None:
    lines = LogLines(Redactor().redact)
    assert lines.quote('two\nlines "quoted"') == '"two\\nlines \\"quoted\\""'
    assert stamp(1_800_000_000_007) == "2027-01-15T08:00:00.007Z"
