"""Judges a downloaded file before it leaves the staging folder: the port, and what is built in.

A scanner of another kind (a virus scanner) implements `Scanner`; whatever one of them finds, or
cannot say, keeps the file out.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Protocol

from netclaw.adapters.unpacking import Fault, Limits, RefusedArchiveError, look_into
from netclaw.core.attachments import SNIFF_BYTES, AttachmentKind, kind_of

_log = logging.getLogger(__name__)


class Finding(StrEnum):
    """Why a file is kept out: stable words of the log."""

    TOO_LARGE = "too_large"
    FALSE_TYPE = "false_type"
    ARCHIVE_TOO_LARGE = "archive_too_large"
    ARCHIVE_LEADS_OUT = "archive_leads_out"
    ARCHIVE_OPAQUE = "archive_opaque"
    HARMFUL = "harmful"
    """For scanners that know harmful content."""
    NOT_SCANNED = "not_scanned"


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspect:
    """A file in the staging folder."""

    path: Path
    name: str
    kind: AttachmentKind
    """By name and content."""
    limit_bytes: int


class Scanner(Protocol):
    """Says whether a file may leave the staging folder."""

    async def scan(self, suspect: Suspect) -> Finding | None:
        """Why not; None if nothing was found. An exception counts as `NOT_SCANNED`."""


class BuiltInScanner:
    """Size, type and what archives would unpack to."""

    def __init__(self, limits: Limits | None = None) -> None:
        self._limits = limits or Limits()

    async def scan(self, suspect: Suspect) -> Finding | None:
        """Reads the file, in a thread."""
        return await asyncio.to_thread(self._scan, suspect)

    def _scan(self, suspect: Suspect) -> Finding | None:
        if suspect.path.stat().st_size > suspect.limit_bytes:
            return Finding.TOO_LARGE
        if kind_of(suspect.name, head_of(suspect.path)) != suspect.kind:
            return Finding.FALSE_TYPE
        try:
            look_into(suspect.path, self._limits)
        except RefusedArchiveError as refused:
            return _FINDING_OF[refused.fault]
        return None


_FINDING_OF = {
    Fault.TOO_MUCH: Finding.ARCHIVE_TOO_LARGE,
    Fault.LEADS_OUT: Finding.ARCHIVE_LEADS_OUT,
    Fault.OPAQUE: Finding.ARCHIVE_OPAQUE,
}


def head_of(path: Path) -> bytes:
    """The bytes that a file's kind is told by."""
    with path.open("rb") as file:
        return file.read(SNIFF_BYTES)


async def scan_with(scanners: Sequence[Scanner], suspect: Suspect) -> Finding | None:
    """Ask one scanner after another; the first that finds something, or fails, decides."""
    for scanner in scanners:
        try:
            finding = await scanner.scan(suspect)
        except Exception:  # noqa: BLE001 - whatever fails, the file stays out
            _log.exception("a scanner failed")
            return Finding.NOT_SCANNED
        if finding is not None:
            return finding
    return None
