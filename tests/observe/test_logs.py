"""Log lines: JSON by the day, bounded, about something, without secrets."""

from __future__ import annotations

import asyncio
import json
import logging
import threading
import warnings
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from netclaw.observe.context import about
from netclaw.observe.daily_file import KEEP_DAYS, DailyFileHandler
from netclaw.observe.logs import LogSetup
from netclaw.observe.redact import MARK, Redactor

log = logging.getLogger("netclaw.test")
SECRET = 'sk-"quoted"-\nsecret'


@pytest.fixture
def setup(tmp_path: Path) -> Iterator[LogSetup]:
    """Logging into a folder, taken off afterwards."""
    root = logging.getLogger()
    level = root.level
    made = LogSetup(tmp_path, level="Information", has_console=False, redact=Redactor([SECRET]))
    yield made
    made.close()
    root.setLevel(level)


def fail(text: str) -> None:
    """Raise."""
    raise ValueError(text)


def lines(folder: Path) -> list[dict[str, str | int]]:
    """What was logged."""
    return [
        json.loads(line)
        for path in sorted(folder.glob("daemon-*.log"))
        for line in path.read_text().splitlines()
    ]


@pytest.mark.usefixtures("setup")
def test_a_line_is_one_json_object(tmp_path: Path) -> None:
    log.info("hello %s", "world\nnext")
    row = lines(tmp_path)[0]
    assert row["message"] == "hello world\nnext"
    assert (row["level"], row["logger"]) == ("info", "netclaw.test")
    assert datetime.fromisoformat(str(row["at"])).tzinfo is not None
    path = next(tmp_path.glob("daemon-*.log"))
    assert path.name == f"daemon-{datetime.now(UTC):%Y-%m-%d}.log"
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.requirement("observe.redacted")
@pytest.mark.usefixtures("setup")
def test_secrets_reach_no_line(tmp_path: Path) -> None:
    try:
        fail(SECRET)
    except ValueError:
        with about(session=SECRET):
            log.exception("failed with %s", SECRET)
    text = next(tmp_path.glob("daemon-*.log")).read_text()
    assert "quoted" not in text
    row = lines(tmp_path)[0]
    assert MARK in str(row["message"])
    assert MARK in str(row["stack"])
    assert row["session"] == MARK


async def test_a_line_says_what_it_is_about(setup: LogSetup, tmp_path: Path) -> None:
    async def work(name: str) -> None:
        with about(session=name):
            await asyncio.sleep(0)
            log.info("working")

    with about(generation="1"):
        await asyncio.gather(work("a"), work("b"))
    log.info("outside")
    found = [(row.get("session"), row.get("generation")) for row in lines(tmp_path)]
    assert found == [("a", "1"), ("b", "1"), (None, None)]
    assert setup is not None


@pytest.mark.parametrize(
    ("level", "shown"),
    [
        ("Debug", ["debug", "info", "warning", "error"]),
        ("information", ["info", "warning", "error"]),
        ("Warning", ["warning", "error"]),
        ("None", []),
        ("odd", ["warning", "error"]),
    ],
)
def test_the_level_can_change(
    setup: LogSetup, tmp_path: Path, level: str, shown: list[str]
) -> None:
    setup.set_level(level)
    log.debug("x")
    log.info("x")
    log.warning("x")
    log.error("x")
    assert [row["level"] for row in lines(tmp_path)] == shown


def test_new_secrets_are_redacted_too(setup: LogSetup, tmp_path: Path) -> None:
    setup.replace_secrets(("other-secret",))
    log.info("other-secret and warnings")
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.warn("beware", stacklevel=1)
    assert lines(tmp_path)[0]["message"] == f"{MARK} and warnings"
    assert "beware" in str(lines(tmp_path)[1]["message"])


def test_the_console_gets_plain_lines(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = logging.getLogger()
    level = root.level
    made = LogSetup(tmp_path, level="Debug", has_console=True, redact=Redactor(["hidden-value"]))
    try:
        with about(session="s1"):
            log.info("hidden-value is %d", 5)
        try:
            fail("reason")
        except ValueError:
            log.exception("failed")
    finally:
        made.close()
        root.setLevel(level)
    shown = capsys.readouterr().err
    assert f"info     netclaw.test [session=s1] {MARK} is 5" in shown
    assert "ValueError: reason" in shown


def record(text: str) -> logging.LogRecord:
    """A log record."""
    return logging.LogRecord("x", logging.INFO, __file__, 1, text, None, None)


@pytest.mark.requirement("observe.bounded")
def test_a_day_keeps_its_newest_lines_and_no_more(tmp_path: Path) -> None:
    handler = DailyFileHandler(tmp_path, max_bytes=1000)
    handler.setFormatter(logging.Formatter("%(message)s"))
    for number in range(100):
        handler.emit(record(f"{number:049d}"))
    handler.close()
    sizes = {path.name: path.stat().st_size for path in tmp_path.iterdir()}
    assert len(sizes) == 2
    assert max(sizes.values()) <= 1000
    newest = next(tmp_path.glob("daemon-????-??-??.log"))
    assert newest.read_text().splitlines()[-1].endswith("99")


@pytest.mark.requirement("observe.bounded")
def test_each_day_has_its_file_and_old_ones_go(tmp_path: Path) -> None:
    today = datetime(2026, 3, 1, 23, 59, tzinfo=UTC)
    moment = today
    old = today - timedelta(days=KEEP_DAYS + 1)
    kept = today - timedelta(days=KEEP_DAYS - 1)
    for day in (old, kept):
        (tmp_path / f"daemon-{day:%Y-%m-%d}.log").write_text("x\n")
    (tmp_path / f"daemon-{old:%Y-%m-%d}.1.log").write_text("x\n")
    (tmp_path / "daemon-other.log").write_text("x\n")
    handler = DailyFileHandler(tmp_path, now=lambda: moment)
    handler.emit(record("before midnight"))
    moment = today + timedelta(minutes=2)
    handler.emit(record("after midnight"))
    handler.close()
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        f"daemon-{kept:%Y-%m-%d}.log",
        "daemon-2026-03-01.log",
        "daemon-2026-03-02.log",
        "daemon-other.log",
    ]


def test_a_log_that_cannot_be_written_disturbs_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "logs"
    handler = DailyFileHandler(folder)
    handler.setFormatter(logging.Formatter("%(message)s"))
    handler.emit(record("lost"))
    folder.mkdir()
    handler.emit(record("kept"))
    handler.close()
    assert next(folder.iterdir()).read_text() == "kept\n"


def test_a_wrong_log_call_raises_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    handler = DailyFileHandler(tmp_path)
    handler.emit(logging.LogRecord("x", logging.INFO, __file__, 1, "%d", ("no number",), None))
    handler.close()
    assert "Logging error" in capsys.readouterr().err


def test_threads_share_the_file(setup: LogSetup, tmp_path: Path) -> None:
    def work(number: int) -> None:
        for _ in range(50):
            log.info("from %d", number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(lines(tmp_path)) == 200
    assert setup is not None


def test_a_longer_secret_is_redacted_before_a_shorter_one() -> None:
    redact = Redactor(["abcdef", "abcdefghi", ""])
    assert redact("xabcdefghix abcdef") == f"x{MARK}x {MARK}"


@pytest.mark.requirement("observe.redacted")
def test_a_secret_nobody_configured_is_known_by_its_shape() -> None:
    assert Redactor()("key ghp_0123456789abcdefghijABCDEFGHIJ") == f"key {MARK}"
