"""Finds the module of a channel by its name: the built-in ones, then what is installed beside them.

A package offers a channel by an entry point of the group `netclaw.channels` whose name is the
channel's and whose object is its `create`. Nothing else of netclaw names channels.
"""

from __future__ import annotations

import importlib

from netclaw.adapters.driver import ChannelConfig, Create, Driver, FatalFailure
from netclaw.adapters.names import source_kind_of as source_kind_of

GROUP = "netclaw.channels"
MODULES = {
    "slack": "netclaw.adapters.slack",
    "discord": "netclaw.adapters.discord",
    "mattermost": "netclaw.adapters.mattermost",
}
"""Modules that export `create`, by channel; each imports its platform's library by itself."""


def make_driver(config: ChannelConfig) -> Driver:
    """Make the driver of a channel; raises `FatalFailure` if there is none that can be loaded."""
    return _find(config.name)(config)


def _find(name: str) -> Create:
    try:
        if name in MODULES:
            made: Create = importlib.import_module(MODULES[name]).create
            return made
        from importlib.metadata import entry_points  # large, and the daemon needs it not

        for found in entry_points(group=GROUP, name=name):
            offered: Create = found.load()
            return offered
    except (ImportError, AttributeError) as error:
        raise FatalFailure(
            f"The channel {name} cannot be loaded: {type(error).__name__}."
        ) from error
    raise FatalFailure(f"No channel called {name} is installed.")
