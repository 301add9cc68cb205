"""How many replies one claim of an adapter carries: a rule that both stores keep."""

from __future__ import annotations

from collections.abc import Iterable

CLAIM_BYTES = 3 * 1024 * 1024
"""Text of the replies of one claim: as much as one answer over the public socket carries."""


def fitting(texts: Iterable[str]) -> int:
    """How many of these replies one claim hands out: at least one, at most `CLAIM_BYTES`."""
    size = count = 0
    for text in texts:
        size += len(text.encode("utf-8", "surrogatepass"))
        if count and size > CLAIM_BYTES:
            break
        count += 1
    return count
