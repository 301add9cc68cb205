"""`netclaw trash list|empty`: the files of deleted sessions."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import click

from netclaw.cli.app import App
from netclaw.cli.command import Entry, LazyGroup, command
from netclaw.cli.words import counted, size
from netclaw.core.errors import InvalidArgumentError, StorageReadOnlyError

_HERE = "netclaw.cli.commands.trash"

trash = LazyGroup(
    "trash",
    {
        "list": Entry(f"{_HERE}:list_trash", "List what is in the trash, by day."),
        "empty": Entry(f"{_HERE}:empty", "Remove it for good."),
    },
    default="list",
    summary="The files of deleted sessions, kept until you remove them.",
    examples=("netclaw trash list", "netclaw trash empty --yes"),
)


def _entries(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except FileNotFoundError:
        return []


def _bytes_below(path: Path) -> int:
    total = 0
    for folder, _, files in os.walk(path):
        for name in files:
            try:
                total += (Path(folder) / name).lstat().st_size
            except OSError:
                continue
    return total


@command("list", examples=("netclaw trash list", "netclaw trash list --json"))
def list_trash(app: App) -> None:
    """List what is in the trash, by the day it came there."""
    rows = [
        (day.name, len(_entries(day)), _bytes_below(day)) for day in _entries(app.home.trash_dir)
    ]
    if app.is_json:
        app.emit(
            [{"date": day, "sessions": held, "bytes": held_bytes} for day, held, held_bytes in rows]
        )
    elif not rows:
        app.say("the trash is empty")
    else:
        app.table(("date", "sessions", "size"), ((d, str(n), size(b)) for d, n, b in rows))


@command("empty", examples=("netclaw trash empty --yes",))
@click.option("--yes", is_flag=True, help="Confirm.")
def empty(app: App, *, yes: bool) -> None:
    """Remove the files of deleted sessions for good."""
    days = _entries(app.home.trash_dir)
    sessions = sum(len(_entries(day)) for day in days)
    if sessions and not yes:
        raise InvalidArgumentError(
            f"The files of {counted(sessions, 'deleted session')} would be removed for good.",
            fix="Confirm with --yes.",
        )
    freed = sum(_bytes_below(day) for day in days)
    for day in days:
        try:
            shutil.rmtree(day)
        except OSError as error:
            raise StorageReadOnlyError(f"{day} cannot be removed: {error.strerror}.") from None
    if app.is_json:
        app.emit({"removed": sessions, "bytes": freed})
    elif not sessions:
        app.say("the trash is empty")
    else:
        app.say(f"removed the files of {counted(sessions, 'session')}, {size(freed)}")
