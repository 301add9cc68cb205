"""Removes secrets from text before it is shown, stored or logged.

Known secret values go first, exactly and in the spellings they take inside JSON and URLs; then
come shapes (`redaction_shapes`). Text that was redacted may safely be redacted again. This is a
net under policy, not a wall: a secret of unknown value and unremarkable shape passes.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator
from urllib.parse import quote

from netclaw.core.redaction_shapes import REDACTED, SHAPES, Shape

MIN_SECRET_LENGTH = 6
"""A shorter known value is not replaced: it would shred ordinary text."""

LOGGED_STRING_MAX = 256
"""Longer strings of logged arguments become a length and a hash (decision 20)."""

SHOWN_ARGUMENTS_MAX = 65_536
"""Characters of a call's arguments that are shown in full."""

_LOGGED_DEPTH_MAX = 32
_HASH_PREFIX = 12
_SECRET_KEY = re.compile(r"(?i)api_?key|secret|token\Z|passw|passphrase|authorization|credential")

_HOLD = 512
"""A stream keeps back at least this much: every shape is recognised within it."""
_RUN_MAX = 16_384
"""A word longer than this may be cut apart."""
_OPEN_MAX = 65_536
"""A secret longer than this is shortened in memory while its end is awaited."""


def redact_shapes(text: str) -> str:
    """Replace every token that can be told by its form."""
    for shape in SHAPES:
        if any(marker in text for marker in shape.markers):
            text = shape.pattern.sub(shape.replacement, text)
    return text


class Redactor:
    """Replaces known secret values, then shapes; immutable once made."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        spellings: set[str] = set()
        for value in secrets:
            if len(value) >= MIN_SECRET_LENGTH and value not in REDACTED:
                spellings |= {value, json.dumps(value)[1:-1], quote(value, safe="")}
        self._spellings = tuple(sorted(spellings, key=lambda item: (-len(item), item)))

        self._broken = tuple(item for item in self._spellings if "\n" in item)

    @property
    def longest(self) -> int:
        """Length of the longest spelling of a known value."""
        return len(self._spellings[0]) if self._spellings else 0

    def arriving_at(self, text: str) -> int:
        """Where a known value of several lines may begin that ends after the text; else its length.

        One that begins in the last line, which has no end yet, is not looked for.
        """
        found = len(text)
        for spelling in self._broken:
            head = spelling[: spelling.index("\n") + 1]
            at = text.find(head)
            while at >= 0:
                if spelling.startswith(text[at:]):
                    found = min(found, at)
                at = text.find(head, at + 1)
        return found

    def redact(self, text: str) -> str:
        """The text without known values and without tokens."""
        return redact_shapes(self.redact_known(text))

    def redact_known(self, text: str) -> str:
        """The text without known values."""
        pattern = self._pattern_for(text)
        return pattern.sub(REDACTED, text) if pattern else text

    def spans(self, text: str) -> Iterator[tuple[int, int, Shape | None]]:
        """Start, end and shape of everything `redact` would replace; None for a known value."""
        pattern = self._pattern_for(text)
        if pattern:
            for found in pattern.finditer(text):
                yield (*found.span(), None)
        for shape in SHAPES:
            if any(marker in text for marker in shape.markers):
                for found in shape.pattern.finditer(text):
                    yield (*found.span(), shape)

    def _pattern_for(self, text: str) -> re.Pattern[str] | None:
        present = [re.escape(item) for item in self._spellings if item in text]
        return re.compile("|".join(present)) if present else None


class StreamRedactor:
    """Redacts text that arrives in pieces, however it is cut.

    What `feed` returns and `finish` ends is the redacted whole. It keeps back the last few
    hundred characters and whatever secret is still arriving; work is linear in the stream.
    """

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._hold = max(_HOLD, redactor.longest)
        self._parts: list[str] = []
        self._waiting = 0
        self._scan_at = 2 * self._hold

    @property
    def held(self) -> int:
        """How many characters are kept back."""
        return self._waiting

    def feed(self, chunk: str) -> str:
        """Take the next piece and return what can no longer change."""
        self._parts.append(chunk)
        self._waiting += len(chunk)
        if self._waiting < self._scan_at:
            return ""
        text = "".join(self._parts)
        cut, held = self._cut(text)
        self._parts = [held]
        self._waiting = len(held)
        self._scan_at = max(2 * self._hold, 2 * len(held))
        return self._redactor.redact(text[:cut])

    def settle(self) -> str:
        """Return the whole lines that are kept back, for a stream that pauses.

        A line without an end stays, and so does a secret of several lines that is still arriving.
        """
        text = "".join(self._parts)
        cut = min(text.rfind("\n") + 1, self._redactor.arriving_at(text))
        spans = sorted(self._redactor.spans(text), key=lambda span: span[0], reverse=True)
        for start, end, _ in spans:
            if start < cut <= end:
                cut = start
        self._parts = [text[cut:]]
        self._waiting = len(text) - cut
        self._scan_at = max(2 * self._hold, 2 * self._waiting)
        return self._redactor.redact(text[:cut])

    def renew(self, redactor: Redactor) -> None:
        """Look for the secrets of another redactor from now on, in what is kept back too."""
        self._redactor = redactor
        self._hold = max(_HOLD, redactor.longest)

    def finish(self) -> str:
        """Return the rest; the stream is over."""
        rest = self._redactor.redact("".join(self._parts))
        self._parts, self._waiting = [], 0
        return rest

    def _cut(self, text: str) -> tuple[int, str]:
        """Where the settled part ends, and what is kept of the rest."""
        cut = len(text) - self._hold
        word = max(text.rfind(space, max(0, cut - _RUN_MAX), cut) for space in " \n\t\r")
        cut = word + 1 if word >= 0 else (0 if cut < _RUN_MAX else cut)
        spans = sorted(self._redactor.spans(text), key=lambda span: (span[0], -span[1]))
        for start, end, _ in reversed(spans):
            if start < cut < end:
                cut = start
        held = text[cut:]
        opened = next((span for span in spans if span[0] == cut and span[1] == len(text)), None)
        if len(held) > _OPEN_MAX and opened is not None:
            held = _shortened(held, opened[2])
        return cut, held


def _shortened(text: str, shape: Shape | None) -> str:
    """An open secret without its middle, if its shape still recognises it as one."""
    short = text[: _OPEN_MAX // 4] + text[-_HOLD:]
    if shape is not None and shape.pattern.fullmatch(short):
        return short
    return text


def shown_arguments(arguments: str, redact: Callable[[str], str]) -> str:
    """A call's arguments as subscribers see them, live, on replay and in the history.

    Very long ones as in the session log: redacting megabytes would hold an event loop
    (decision 86), and nobody reads them.
    """
    if len(arguments) <= SHOWN_ARGUMENTS_MAX:
        return redact(arguments)
    return redact_arguments(arguments, redact)


def redact_arguments(arguments: str, redact: Callable[[str], str] = redact_shapes) -> str:
    """The arguments of a tool call as a log may show them (S0 "Storage on disk", decision 20).

    Strings over 256 characters become their length and the start of their SHA-256; values under
    telling names are replaced; everything else is redacted. Text that is no JSON is one string.
    """
    try:
        value: object = json.loads(arguments)
    except (ValueError, RecursionError):
        return _logged_string(arguments, redact)
    return json.dumps(_logged(value, redact, 0), ensure_ascii=False)


def _logged(value: object, redact: Callable[[str], str], depth: int) -> object:
    if isinstance(value, str):
        return _logged_string(value, redact)
    if not isinstance(value, dict | list):
        return value
    if depth >= _LOGGED_DEPTH_MAX:
        return "<nested too deep to log>"
    if isinstance(value, list):
        return [_logged(item, redact, depth + 1) for item in value]
    return {
        redact(key): REDACTED
        if isinstance(item, str) and _SECRET_KEY.search(key)
        else _logged(item, redact, depth + 1)
        for key, item in value.items()
    }


def _logged_string(text: str, redact: Callable[[str], str]) -> str:
    if len(text) <= LOGGED_STRING_MAX:
        return redact(text)
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    return f"<{len(text)} characters, sha256 {digest[:_HASH_PREFIX]}>"
