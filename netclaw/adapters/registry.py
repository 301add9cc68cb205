"""Finds the module of a channel by its name: the built-in ones, then what is installed beside them.

A package offers a channel by an entry point of the group `netclaw.channels` whose name is the
channel's and whose object is its `create`. Nothing else of netclaw names channels.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from netclaw.adapters.driver import ChannelConfig, Create, Driver, FatalFailure
from netclaw.adapters.names import source_kind_of as source_kind_of

GROUP = "netclaw.channels"
MODULES = {
    "slack": "netclaw.adapters.slack",
    "discord": "netclaw.adapters.discord",
    "mattermost": "netclaw.adapters.mattermost",
}
"""Modules that export `create`, by channel; each imports its platform's library by itself."""


class UnloadableFailure(FatalFailure):
    """The channel's code is missing or broken."""


def make_driver(config: ChannelConfig) -> Driver:
    """Make the driver of a channel; raises `UnloadableFailure` if there is none to be loaded."""
    return _find(config.name)(config)


def _find(name: str) -> Create:
    if name in MODULES:
        with _loading(name, fix="Netclaw's own installation is incomplete: run `scripts/setup`."):
            made: Create = importlib.import_module(MODULES[name]).create
            return made
    from importlib.metadata import entry_points  # large, and the daemon needs it not

    for found in entry_points(group=GROUP, name=name):
        package = found.dist.name if found.dist is not None else "its package"
        fix = f"Install {package} anew, with what it requires, or mend its entry point `{name}`"
        with _loading(name, fix=f"{fix} = `{found.value}`."):
            offered: Create = found.load()
            return offered
    raise UnloadableFailure(
        f"No channel called {name} is installed.",
        fix=f"Install the package that brings it: `{sys.executable} -m pip install PACKAGE`;"
        f" or correct the name `Channels.{name}`.",
    )


@contextmanager
def _loading(name: str, *, fix: str) -> Iterator[None]:
    """Whatever loading the code of a channel raises says that it cannot be loaded."""
    try:
        yield
    except Exception as error:
        kind = type(error).__name__
        missing = f" ({error.name})" if isinstance(error, ImportError) and error.name else ""
        raise UnloadableFailure(
            f"The channel {name} cannot be loaded: {kind}{missing}.", fix=fix
        ) from error
