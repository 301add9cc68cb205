"""Takes secrets out of text before it is logged or shown again, by the core's one redactor."""

from __future__ import annotations

from collections.abc import Iterable
from weakref import WeakSet

from netclaw.core.redaction import Redactor as CoreRedactor
from netclaw.core.redaction import StreamRedactor
from netclaw.core.redaction_shapes import REDACTED as MARK

__all__ = ["MARK", "Redactor"]

PIECE_CHARS = 32_768
"""A longer text is redacted piece by piece. One pattern over a megabyte would hold the interpreter,
and with it an event loop, for about 200 ms, even from another thread (decision 86)."""


class Redactor:
    """Removes known values and whatever has the shape of a secret.

    The values can change while it is in use; what a session process redacts is the same.
    """

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._secrets = tuple(secrets)
        self._redactor = CoreRedactor(self._secrets)
        self._streams: WeakSet[StreamRedactor] = WeakSet()

    def replace_secrets(self, secrets: Iterable[str]) -> None:
        """From now on these values are redacted, and until the next change those of before.

        Work that is under way still holds the old ones, which may be good for a while.
        """
        fresh = tuple(secrets)
        if fresh != self._secrets:
            self._redactor = CoreRedactor((*fresh, *self._secrets))
            self._secrets = fresh
            for stream in self._streams:
                stream.renew(self._redactor)

    def stream(self) -> StreamRedactor:
        """For a text that arrives in pieces; it follows every change of the values."""
        stream = StreamRedactor(self._redactor)
        self._streams.add(stream)
        return stream

    def __call__(self, text: str) -> str:
        """The text with every secret replaced by a mark."""
        redactor = self._redactor
        if len(text) <= PIECE_CHARS:
            return redactor.redact(text)
        stream = StreamRedactor(redactor)
        starts = range(0, len(text), PIECE_CHARS)
        pieces = [stream.feed(text[at : at + PIECE_CHARS]) for at in starts]
        return "".join([*pieces, stream.finish()])
