"""What the supervisor runs by: the loaded configuration as plain values, replaced as one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from netclaw.config.loaded import LoadedConfig
from netclaw.core.settings import (
    DaemonSettings,
    SessionSettings,
    SignalSettings,
    StorageSettings,
    SupervisionSettings,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """One effective configuration.

    `credentials` (provider name to secret) and `redactions` (exact secret values) travel to
    session processes by message only; neither is ever logged, so they stay out of the repr.
    """

    daemon: DaemonSettings = field(default_factory=DaemonSettings)
    supervision: SupervisionSettings = field(default_factory=SupervisionSettings)
    storage: StorageSettings = field(default_factory=StorageSettings)
    session: SessionSettings = field(default_factory=SessionSettings)
    signals: SignalSettings = field(default_factory=SignalSettings)
    credentials: Mapping[str, str] = field(default_factory=dict, repr=False)
    redactions: tuple[str, ...] = field(default=(), repr=False)
    degraded_reason: str = ""
    """Why no turn can be answered; empty when a model is configured."""


def settings_of(config: LoadedConfig) -> Settings:
    """The part of a configuration that the supervisor runs by."""
    return Settings(
        daemon=config.daemon,
        supervision=config.supervision,
        storage=config.storage,
        session=config.session,
        signals=config.signals,
        credentials={name: item.secret for name, item in config.credentials.items()},
        redactions=config.redactions,
        degraded_reason=config.degraded_reason,
    )


class LiveSettings:
    """Holds the configuration in force; a reload replaces it and new starts see it."""

    def __init__(self, initial: Settings) -> None:
        self._current = initial
        self._on_change: list[Callable[[], None]] = []

    @property
    def current(self) -> Settings:
        """What is in force."""
        return self._current

    @current.setter
    def current(self, settings: Settings) -> None:
        self._current = settings
        for action in self._on_change:
            action()

    def when_changed(self, action: Callable[[], None]) -> None:
        """Call `action` each time something else is in force."""
        self._on_change.append(action)
