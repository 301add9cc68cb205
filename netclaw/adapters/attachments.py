"""Brings the files of a message into its session's inbox, or tells the person why not.

In this order: number, size and claimed kind, before anything is fetched; the download into the
staging folder; size and kind again, by content; the scanners; only then the upload (S0 Channels,
issue 7 item 6). What is refused on the way is removed and never becomes visible to the agent.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from netclaw.adapters.bounded import bounded
from netclaw.adapters.driver import Attachment, DriverFailure, TransientFailure
from netclaw.adapters.normalise import FileFact
from netclaw.adapters.parts import HostContext
from netclaw.adapters.patience import Patience
from netclaw.adapters.scanning import (
    BuiltInScanner,
    Finding,
    Scanner,
    Suspect,
    head_of,
    scan_with,
)
from netclaw.core.attachments import AttachmentKind, claimed_kind, kind_of
from netclaw.core.authz.profiles import AttachmentRule
from netclaw.core.context import modality
from netclaw.core.errors import DeniedByPolicyError, InvalidArgumentError, TooLargeError
from netclaw.core.messages import MediaRef
from netclaw.core.text import storable
from netclaw.wire.v1 import common_pb2

_log = logging.getLogger(__name__)

FETCHES = 4
"""Files of all threads that are fetched at the same time."""
ATTEMPTS = 3
PAUSE_S = 1.0
LONGEST_PAUSE_S = 10.0


class Rejection(StrEnum):
    """Why a file, or all of a message, was not taken: stable words of the log."""

    TOO_MANY = "too_many"
    NONE_TAKEN = "none_taken"
    KIND = "kind_not_allowed"
    TOO_LARGE = "too_large"
    NOT_FETCHED = "not_fetched"
    UNSAFE = "unsafe"
    NOT_STORED = "not_stored"


_SENTENCES = {
    Rejection.TOO_MANY: "it holds more files than one message may; none of them was taken.",
    Rejection.NONE_TAKEN: "files are not accepted here.",
    Rejection.KIND: "files of its kind are not accepted here.",
    Rejection.TOO_LARGE: "it is too large.",
    Rejection.NOT_FETCHED: "it could not be fetched.",
    Rejection.UNSAFE: "it did not pass the safety check.",
    Rejection.NOT_STORED: "it could not be stored.",
}
_REJECTION_OF = {Finding.TOO_LARGE: Rejection.TOO_LARGE, Finding.FALSE_TYPE: Rejection.KIND}


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """Which files of a message are worth fetching; `whole` concerns all of them."""

    wanted: tuple[int, ...] = ()
    refused: tuple[tuple[int, Rejection], ...] = ()
    whole: Rejection | None = None


def judge_files(files: Sequence[Attachment], rule: AttachmentRule) -> Verdict:
    """Judge by what the platform and the names claim, before anything is fetched."""
    if not files:
        return Verdict()
    if not rule.categories:
        return Verdict(whole=Rejection.NONE_TAKEN)
    if len(files) > rule.max_files_per_message:
        return Verdict(whole=Rejection.TOO_MANY)
    judged = [(number, _judge(file, rule)) for number, file in enumerate(files)]
    return Verdict(
        wanted=tuple(number for number, found in judged if found is None),
        refused=tuple((number, found) for number, found in judged if found is not None),
    )


def _judge(file: Attachment, rule: AttachmentRule) -> Rejection | None:
    if claimed_kind(file.name).category not in rule.categories:
        return Rejection.KIND
    return Rejection.TOO_LARGE if file.size_bytes > rule.max_file_bytes else None


def explain(refused: Iterable[tuple[int, Rejection]], total: int) -> str:
    """What the person is told of single files: fixed words, no name that could mean something."""
    return "\n".join(
        f"{'The file' if total == 1 else f'File {number + 1} of {total}'} was not taken:"
        f" {_SENTENCES[rejection]}"
        for number, rejection in refused
    )


def explain_whole(rejection: Rejection) -> str:
    """What the person is told when no file of the message was taken."""
    return f"The message's files were not taken: {_SENTENCES[rejection]}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """What became of the files of a message."""

    files: tuple[FileFact, ...] = ()
    pictures: tuple[common_pb2.MediaRef, ...] = ()
    """Those of the files that a model with eyes can be shown."""
    notice: str = ""
    """What the person is told; empty if all were taken."""


NOTHING = Taken()


class Files:
    """Takes files in; raises the `NetclawError` of a daemon that is not there or ends."""

    def __init__(
        self,
        context: HostContext,
        patience: Patience,
        *,
        scanners: Sequence[Scanner] | None = None,
        pause_s: float = PAUSE_S,
    ) -> None:
        self._context = context
        self._patience = patience
        self._scanners = scanners if scanners is not None else (BuiltInScanner(),)
        self._pause_s = pause_s
        self._fetches = asyncio.Semaphore(FETCHES)

    async def take(
        self, session_id: str, audience: str, files: Sequence[Attachment], *, sender_id: str = ""
    ) -> Taken:
        """Bring a message's files into the inbox of its session.

        `sender_id` is named with each of them, if it is another one than the message's.
        """
        rule = self._context.config.attachments.get(audience, AttachmentRule())
        verdict = judge_files(files, rule)
        if verdict.whole is not None:
            self._log_refusal(session_id, verdict.whole)
            return Taken(notice=explain_whole(verdict.whole))
        refused = list(verdict.refused)
        facts: list[FileFact] = []
        pictures: list[common_pb2.MediaRef] = []
        for number in verdict.wanted:
            found = await self._bring(session_id, files[number], rule, sender_id)
            if isinstance(found, Rejection):
                refused.append((number, found))
                continue
            fact, media = found
            facts.append(fact)
            if media is not None:
                pictures.append(media)
        for _, rejection in refused:
            self._log_refusal(session_id, rejection)
        return Taken(
            files=tuple(facts),
            pictures=tuple(pictures),
            notice=explain(sorted(refused), len(files)),
        )

    def _log_refusal(self, session_id: str, rejection: Rejection) -> None:
        _log.info("a file for %s was not taken: %s", session_id, rejection.value)

    async def _bring(
        self, session_id: str, file: Attachment, rule: AttachmentRule, sender_id: str
    ) -> tuple[FileFact, common_pb2.MediaRef | None] | Rejection:
        place = self._context.staging / secrets.token_hex(8)
        try:
            async with self._fetches:
                rejection = await self._fetch(file, place, rule.max_file_bytes)
                if rejection is not None:
                    return rejection
                name = storable(file.name)
                kind = kind_of(name, await asyncio.to_thread(head_of, place))
                rejection = await self._check(place, name, kind, rule)
                if rejection is not None:
                    return rejection
                return await self._upload(session_id, place, name, kind, sender_id)
        except OSError as error:
            # Of this machine: the staging folder has no room, or is not there.
            _log.error("a file cannot be kept: %s", error.strerror)
            return Rejection.NOT_STORED
        finally:
            await asyncio.to_thread(place.unlink, missing_ok=True)

    async def _fetch(self, file: Attachment, place: Path, limit: int) -> Rejection | None:
        """Download, again after failures that may pass."""
        for attempt in range(1, ATTEMPTS + 1):
            try:
                download = self._context.driver.download(file, place, limit)
                await bounded(download, is_transfer=True)
            except TransientFailure as failure:
                await asyncio.to_thread(place.unlink, missing_ok=True)
                _log.info("a file was not fetched: %s", failure.sentence)
                if attempt < ATTEMPTS:
                    pause_s = failure.retry_after_s or self._pause_s * 2 ** (attempt - 1)
                    await asyncio.sleep(min(pause_s, LONGEST_PAUSE_S))
            except DriverFailure as failure:
                _log.info("a file was not fetched: %s", failure.sentence)
                return Rejection.NOT_FETCHED
            except OSError:
                raise
            except Exception:  # noqa: BLE001 - a driver's fault concerns this file alone
                _log.exception("a file was not fetched")
                return Rejection.NOT_FETCHED
            else:
                return None
        return Rejection.NOT_FETCHED

    async def _check(
        self, place: Path, name: str, kind: AttachmentKind, rule: AttachmentRule
    ) -> Rejection | None:
        if kind.category not in rule.categories:
            return Rejection.KIND
        suspect = Suspect(path=place, name=name, kind=kind, limit_bytes=rule.max_file_bytes)
        finding = await scan_with(self._scanners, suspect)
        if finding is None:
            return None
        _log.warning("a file was kept out by the scan: %s", finding.value)
        return _REJECTION_OF.get(finding, Rejection.UNSAFE)

    async def _upload(
        self, session_id: str, place: Path, name: str, kind: AttachmentKind, sender_id: str
    ) -> tuple[FileFact, common_pb2.MediaRef | None] | Rejection:
        try:
            sent = await self._patience.call(
                lambda: self._context.link.put_into_inbox(
                    session_id, place, name=upload_name(name), media_type=kind.media_type
                )
            )
        except (DeniedByPolicyError, InvalidArgumentError, TooLargeError) as error:
            _log.warning("the daemon did not take a file: %s", error.code.value)
            return Rejection.NOT_STORED
        fact = FileFact(
            path=sent.path,
            media_type=kind.media_type,
            size_bytes=sent.media.size_bytes,
            sender_id=sender_id,
        )
        media = sent.media
        is_picture = modality.is_picture(
            MediaRef(
                upload_id=media.upload_id,
                media_type=media.media_type,
                size_bytes=media.size_bytes,
                name=media.name,
            )
        )
        return fact, media if is_picture else None


def upload_name(name: str) -> str:
    """A name that an upload may have: its end, which says what it is, without control characters.

    How it is called in the inbox is the daemon's decision.
    """
    clean = "".join(char if char.isprintable() else "_" for char in name)
    return clean.replace("[", "(").replace("]", ")")[-120:]
