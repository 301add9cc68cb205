"""Finds the module of a channel by its name: the built-in ones, then what is installed beside them.

A package offers a channel by an entry point of the group `netclaw.channels` whose name is the
channel's and whose object is its `create`. Nothing else of netclaw names channels.
"""

from __future__ import annotations

import importlib
import re

from netclaw.adapters.driver import ChannelConfig, Create, Driver, FatalFailure
from netclaw.core.authority import SourceKind

GROUP = "netclaw.channels"
BUILT_IN = {
    "slack": "netclaw.adapters.slack",
    "discord": "netclaw.adapters.discord",
    "mattermost": "netclaw.adapters.mattermost",
}
"""Modules that export `create`, by channel; each imports its platform's library by itself."""
_NAME = re.compile(r"[a-z][a-z0-9-]{0,31}")


def is_name(name: str) -> bool:
    """Whether a channel can be called so: it is part of paths, ids and process titles."""
    return _NAME.fullmatch(name) is not None


def source_kind_of(name: str) -> SourceKind:
    """What the messages of a channel come from; raises `ValueError` for what is no name."""
    return SourceKind(name) if name in BUILT_IN else SourceKind.of_channel(name)


def make_driver(config: ChannelConfig) -> Driver:
    """Make the driver of a channel; raises `FatalFailure` if there is none that can be loaded."""
    return _find(config.name)(config)


def _find(name: str) -> Create:
    try:
        if name in BUILT_IN:
            made: Create = importlib.import_module(BUILT_IN[name]).create
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
