"""Numbers and times in words for people."""

from __future__ import annotations

import time
from datetime import UTC, datetime

from netclaw.cli.app import printable

_STEPS = ((86_400, "d"), (3600, "h"), (60, "min"))
_SIZES = ("B", "KiB", "MiB", "GiB", "TiB")


def duration(seconds: float) -> str:
    """A length of time in its two largest units."""
    if seconds < 60:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    rest = int(seconds)
    parts = []
    for size, unit in _STEPS:
        if rest >= size:
            parts.append(f"{rest // size} {unit}")
            rest %= size
    return " ".join(parts[:2])


def elapsed(seconds: float) -> str:
    """Time that goes on, in whole seconds up to an hour: 7 s, 1 min 30 s."""
    minutes, rest = divmod(int(seconds), 60)
    if minutes >= 60:
        return duration(seconds)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


def took(seconds: float) -> str:
    """Time that something took: 30 ms, 0.4 s, 12 s, 1 min 30 s."""
    if seconds < 0.1:
        return f"{round(seconds * 1000)} ms"
    return f"{seconds:.1f} s" if seconds < 10 else elapsed(seconds)


def moment(at_ms: int) -> str:
    """An instant as the clocks here show it, to the second; a dash for never."""
    if not at_ms:
        return "-"
    return f"{datetime.fromtimestamp(at_ms / 1000, UTC).astimezone():%Y-%m-%d %H:%M:%S}"


def clock(at_ms: int) -> str:
    """The time of an instant of today, and the day before it of any other."""
    day, _, time_of_day = moment(at_ms).partition(" ")
    return time_of_day if day == f"{datetime.now().astimezone():%Y-%m-%d}" else moment(at_ms)


def ago(at_ms: int) -> str:
    """How long ago an instant was; a dash for never."""
    if not at_ms:
        return "-"
    seconds = max(time.time() - at_ms / 1000, 0)
    return "now" if seconds < 1 else f"{duration(seconds)} ago"


def size(count: int) -> str:
    """A number of bytes."""
    value, unit = float(count), 0
    while value >= 1024 and unit < len(_SIZES) - 1:
        value, unit = value / 1024, unit + 1
    return (
        f"{value:.0f} {_SIZES[unit]}" if unit == 0 or value >= 10 else f"{value:.1f} {_SIZES[unit]}"
    )


def count(number: int) -> str:
    """A whole number with separators."""
    return f"{number:,}"


def counted(number: int, what: str) -> str:
    """So many of something: 1 message, 1,204 messages."""
    return f"{count(number)} {what}{'' if number == 1 else 's'}"


def tokens(number: int) -> str:
    """A number of tokens in at most five characters: 812, 12.4k, 128k, 1.2M."""
    if number < 1000:
        return str(number)
    value, unit = (number / 1000, "k") if number < 999_950 else (number / 1_000_000, "M")
    return f"{value:.0f}{unit}" if value >= 100 else f"{value:.1f}{unit}"


def context_use(used: int, window: int) -> str:
    """How full a context is: `12.4k/32.8k (38 %)`; without a window only what is used."""
    if not window:
        return tokens(used)
    return f"{tokens(used)}/{tokens(window)} ({round(100 * used / window)} %)"


def shorten(text: str, width: int) -> str:
    """The text on one line, cut to a width."""
    line = " ".join(text.split())
    return _cut(line, width)


def first_lines(text: str, lines: int, width: int) -> list[str]:
    """The beginning of a text, line by line and harmless to a terminal; at least one line.

    What is left out is counted in a line of its own; blank lines at both ends do not count.
    """
    found = text.strip("\r\n").splitlines()
    shown = [_cut(printable(line.expandtabs(4).rstrip()), width) for line in found[:lines]]
    if len(found) > lines:
        more = len(found) - lines
        shown.append(f"... {count(more)} more line{'s' if more > 1 else ''}")
    return shown or [""]


def _cut(line: str, width: int) -> str:
    return line if len(line) <= width else line[: width - 1] + "\u2026"
