"""Brings the pictures of a conversation from the session's staging folder into a model request.

A picture is read once and kept as long as requests show it; one that cannot be read is not looked
for again. What cannot be shown stays a line in its message: a turn never fails because of an
attachment of an old one (decision 16).
"""

from __future__ import annotations

import asyncio
import base64
import logging
import os
import stat
from collections.abc import Iterable, Sequence

from netclaw.core.context import modality
from netclaw.core.messages import MediaRef, Message, UserMessage
from netclaw.core.settings import SessionSettings, SessionStorage
from netclaw.ports.model import Picture

_log = logging.getLogger(__name__)

TOGETHER_MAX_BYTES = 12 * 1024 * 1024
"""Of all pictures of one request; the newest are shown first of all."""
COUNT_MAX = 20

_OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class Pictures:
    """The pictures of one session."""

    def __init__(self, storage: SessionStorage, settings: SessionSettings) -> None:
        self._staging = storage.staging
        models = (settings.main_model, settings.fallback_model)
        self._are_wanted = any(
            modality.IMAGE in model.input_modalities for model in models if model is not None
        )
        self._kept: dict[str, Picture] = {}
        self._lost: set[str] = set()
        self._told: set[str] = set()

    async def of(self, messages: Sequence[Message]) -> dict[str, Picture]:
        """The pictures to show with these messages, by upload id."""
        media = [item for message in messages for item in _media(message)]
        if not media:
            return {}
        chosen = _choose(media) if self._are_wanted else []
        ids = {item.upload_id for item in chosen}
        self._kept = {key: picture for key, picture in self._kept.items() if key in ids}
        self._lost &= ids
        missing = [item for item in chosen if item.upload_id not in self._kept.keys() | self._lost]
        if missing:
            read = await asyncio.to_thread(lambda: [self._read(item) for item in missing])
            for item, picture in zip(missing, read, strict=True):
                if picture is None:
                    self._lost.add(item.upload_id)
                else:
                    self._kept[item.upload_id] = picture
        self._tell(media)
        return dict(self._kept)

    def _read(self, media: MediaRef) -> Picture | None:
        if not media.upload_id.isalnum():
            return None
        try:
            data = _read_file(f"{self._staging}/{media.upload_id}")
        except OSError as fault:
            _log.warning("attachment %s cannot be read: %s", media.upload_id, fault.strerror)
            return None
        media_type = modality.picture_type(data)
        if media_type is None or len(data) > modality.PICTURE_MAX_BYTES:
            return None
        return Picture(media_type=media_type, base64=base64.b64encode(data).decode("ascii"))

    def _tell(self, media: Iterable[MediaRef]) -> None:
        """Say once of each attachment that the model cannot see it."""
        for item in media:
            is_hidden = item.upload_id not in self._kept and modality.modality_of(item.media_type)
            if is_hidden and item.upload_id not in self._told:
                self._told.add(item.upload_id)
                _log.warning("attachment %s is not shown to the model", item.upload_id)


def _media(message: Message) -> tuple[MediaRef, ...]:
    return message.media if isinstance(message, UserMessage) else ()


def _choose(media: Sequence[MediaRef]) -> list[MediaRef]:
    """The newest pictures, as many as one request takes."""
    chosen: dict[str, MediaRef] = {}
    room = TOGETHER_MAX_BYTES
    for item in reversed(media):
        if item.upload_id in chosen or not modality.is_picture(item):
            continue
        room -= item.size_bytes
        if room < 0 or len(chosen) == COUNT_MAX:
            break
        chosen[item.upload_id] = item
    return list(chosen.values())


def _read_file(path: str) -> bytes:
    """A regular file, at most one byte more than a picture may have; raises `OSError`."""
    with os.fdopen(os.open(path, _OPEN), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(0, "it is no regular file")
        return file.read(modality.PICTURE_MAX_BYTES + 1)
