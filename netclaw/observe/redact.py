"""Takes exact secret values out of text before it is stored or shown."""

from __future__ import annotations

import re
from collections.abc import Iterable

MARK = "[redacted]"


class Redactor:
    """Replaces known secrets; the set can change while it is in use."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._pattern: re.Pattern[str] | None = None
        self.replace_secrets(secrets)

    def replace_secrets(self, secrets: Iterable[str]) -> None:
        """From now on these values are redacted; longer ones first, so that none hides another."""
        ordered = sorted({secret for secret in secrets if secret}, key=len, reverse=True)
        self._pattern = re.compile("|".join(map(re.escape, ordered))) if ordered else None

    def __call__(self, text: str) -> str:
        """The text with every known secret replaced by a mark."""
        return self._pattern.sub(MARK, text) if self._pattern is not None else text
