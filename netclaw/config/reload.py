"""Watches the configuration folder and says what a change means for a running daemon."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from enum import StrEnum
from pathlib import Path

from netclaw.config.home import Home
from netclaw.config.loaded import LoadedConfig

DEBOUNCE_MS = 500
_NAMES = ("netclaw.json", "secrets.json", "hard-deny-overrides.json")


class Effect(StrEnum):
    """What bringing a new configuration into force takes."""

    NOTHING = "nothing"
    """The effective configuration is equal."""
    LIVE = "live"
    """Only keys differ that never restart anything."""
    RESTART = "restart"
    """Something differs that sessions were started with."""


def effect_of(old: LoadedConfig, new: LoadedConfig) -> Effect:
    """What a change means (protocol, "Configuration")."""
    if new.is_equal(old):
        return Effect.NOTHING
    return Effect.RESTART if new.needs_restart(old) else Effect.LIVE


async def config_changes(home: Home, stop: asyncio.Event) -> AsyncGenerator[None, None]:
    """Yields once after the configuration files changed and were quiet for 500 ms.

    Ends when `stop` is set. The folder must exist. What changed is not said: load again, then ask
    `effect_of`.
    """
    from watchfiles import Change, awatch

    def is_ours(change: Change, path: str) -> bool:
        del change
        return Path(path).name in _NAMES

    async for _ in awatch(
        home.config_dir,
        watch_filter=is_ours,
        stop_event=stop,
        recursive=False,
        debounce=DEBOUNCE_MS,
        step=DEBOUNCE_MS,
        # Nothing of ours is polled: an idle daemon should cost nothing.
        rust_timeout=5000,
        yield_on_timeout=False,
    ):
        yield
