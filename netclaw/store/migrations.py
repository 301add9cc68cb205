"""Brings a database to the schema of this program: forward only, all or nothing.

Each `sql/NNNN_name.sql` is one step; `user_version` counts the steps taken. A file from a newer
program, or of another program, is refused before anything is written to it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path

import apsw

from netclaw.core.errors import SchemaNewerError, StorageCorruptError
from netclaw.store.connection import APPLICATION_ID, Database, ForkGuard, open_reader

_SMALLEST_PAGE = 512
_FILE_NAME = re.compile(r"(\d{4})_\w+\.sql")


@dataclass(frozen=True, slots=True, kw_only=True)
class Migration:
    """One step of the schema."""

    number: int
    sql: str


@cache
def known_migrations() -> tuple[Migration, ...]:
    """Every step of this program, numbered from 1 without a gap."""
    found = [
        Migration(number=int(match[1]), sql=entry.read_text("utf-8"))
        for entry in resources.files("netclaw.store.sql").iterdir()
        if (match := _FILE_NAME.fullmatch(entry.name))
    ]
    return tuple(sorted(found, key=lambda migration: migration.number))


def refuse_foreign_file(path: Path, guard: ForkGuard) -> None:
    """Look at an existing file without changing it.

    Raises `SchemaNewerError`, or `StorageCorruptError` when it is not a netclaw database.
    """
    size = path.stat().st_size if path.exists() else 0
    if size == 0:
        return
    if size < _SMALLEST_PAGE:
        # SQLite would take so short a file for an empty one and write over it.
        raise StorageCorruptError("The file netclaw.db is not a database.")
    database = open_reader(path, guard)
    try:
        version = database.number("PRAGMA user_version")
        application = database.number("PRAGMA application_id")
        tables = database.number("SELECT count(*) FROM sqlite_schema")
    except apsw.Error as error:
        raise database.translate(error) from error
    finally:
        database.close()
    if application != APPLICATION_ID and (application or version or tables):
        raise StorageCorruptError("The file netclaw.db is a database of another program.")
    newest = known_migrations()[-1].number
    if version > newest:
        raise SchemaNewerError(
            f"The database has schema {version}; this netclaw knows up to {newest}."
        )


def migrate(database: Database) -> None:
    """Take the missing steps in one transaction; an `apsw.Error` leaves the file as it was."""
    version = database.number("PRAGMA user_version")
    missing = [step for step in known_migrations() if step.number > version]
    if not missing:
        return
    database.run("BEGIN IMMEDIATE")
    try:
        for step in missing:
            database.run(step.sql)
        database.run(f"PRAGMA user_version = {missing[-1].number}")
        database.run(f"PRAGMA application_id = {APPLICATION_ID}")
        database.run("COMMIT")
    except apsw.Error:
        database.roll_back()
        raise
