"""Ids that look like real ones and are the same in every run."""

from __future__ import annotations

import base64
import random

from netclaw.core.ids import MINTED_ID_LENGTH


class SeededIds:
    """Makes 80-bit base32 ids from a seed; callable like the real maker."""

    def __init__(self, seed: int = 1) -> None:
        self._random = random.Random(seed)  # noqa: S311 - repeatable, not secret
        self.made: list[str] = []

    def __call__(self) -> str:
        """A fresh id."""
        made = base64.b32encode(self._random.randbytes(10)).decode().lower()
        made = made[:MINTED_ID_LENGTH]
        self.made.append(made)
        return made
