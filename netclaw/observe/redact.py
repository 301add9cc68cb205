"""Takes secrets out of text before it is logged or shown again, by the core's one redactor."""

from __future__ import annotations

from collections.abc import Iterable

from netclaw.core.redaction import Redactor as CoreRedactor
from netclaw.core.redaction_shapes import REDACTED as MARK

__all__ = ["MARK", "Redactor"]


class Redactor:
    """Removes known values and whatever has the shape of a secret.

    The values can change while it is in use; what a session process redacts is the same.
    """

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._redactor = CoreRedactor(secrets)

    def replace_secrets(self, secrets: Iterable[str]) -> None:
        """From now on these values are redacted."""
        self._redactor = CoreRedactor(secrets)

    def __call__(self, text: str) -> str:
        """The text with every secret replaced by a mark."""
        return self._redactor.redact(text)
