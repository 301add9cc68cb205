"""`netclaw version`."""

from __future__ import annotations

import platform

from netclaw import __version__
from netclaw.cli.app import App
from netclaw.cli.command import command


@command("version", examples=("netclaw version", "netclaw version --json"))
def version(app: App) -> None:
    """Print the version of netclaw and of the Python that runs it."""
    if app.is_json:
        app.emit({"version": __version__, "python": platform.python_version()})
    else:
        app.say(f"netclaw {__version__}")
