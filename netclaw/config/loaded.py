"""What a loaded configuration is: core settings, credentials, and how two of them compare."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from netclaw.config.home import Home
from netclaw.config.jsonc_tree import Json
from netclaw.config.schema.root import LIVE_SECTIONS, Config
from netclaw.core.settings import (
    DaemonSettings,
    SessionSettings,
    SignalSettings,
    StorageSettings,
    SupervisionSettings,
)
from netclaw.ports.model import Credential

Stamp = tuple[tuple[int, int, int] | None, ...]
"""Inode, size and time of change of each file; None for one that is not there."""


def stamp_of(home: Home) -> Stamp:
    """Tells whether the files were changed since a configuration was loaded from them."""
    return tuple(_look(path) for path in (home.config_file, home.secrets_file, home.deny_overrides))


def _look(path: Path) -> tuple[int, int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedConfig:
    """The effective configuration of one home.

    `degraded_reason` is empty when a main model is configured; otherwise one sentence that the
    daemon puts into each answer. `redactions` are the exact secret values, longest first, for the
    filters of logs and tool output.
    """

    home: Home
    model: Config = field(repr=False)
    session: SessionSettings
    daemon: DaemonSettings
    supervision: SupervisionSettings
    storage: StorageSettings
    signals: SignalSettings
    credentials: Mapping[str, Credential] = field(repr=False)
    """Provider name (as in `ModelSettings.provider`) to its credential."""
    redactions: tuple[str, ...] = field(repr=False)
    degraded_reason: str
    warnings: tuple[str, ...] = ()
    """Sentences for the log and doctor: accepted, but not quite right."""
    stamp: Stamp = ()
    """What the files looked like right before they were read."""

    def _restarting(self) -> dict[str, Json]:
        """What only a restart brings into force: not the live sections, not providers' keys."""
        dumped: dict[str, Json] = self.model.model_dump(
            by_alias=True, exclude={"providers": {"__all__": {"api_key"}}}
        )
        return {name: value for name, value in dumped.items() if name not in LIVE_SECTIONS}

    @property
    def _denied(self) -> tuple[object, ...]:
        tools = self.session.tools
        return tools.deny_rules, tools.deny_rules_fault

    def is_equal(self, other: LoadedConfig) -> bool:
        """Whether nothing at all differs in effect, secrets included."""
        is_same = self.model == other.model and self.home == other.home
        return is_same and self._denied == other._denied

    def needs_restart(self, other: LoadedConfig) -> bool:
        """Whether something differs beyond the live sections and the keys of providers.

        A new key is handed to the sessions as it is: it may be renewed every hour, and nobody's
        turn should stop for that.
        """
        return self._restarting() != other._restarting() or self._denied != other._denied
