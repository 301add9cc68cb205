"""What this channel shows that has an end to come: prompts, and replies while they are made.

Kept in a small file, so that the next start of the process finds what a killed one left: buttons of
a request that was answered meanwhile, a message whose reply never came. It is written before the
platform is called, so a line may tell of what was never shown; that is looked for by its key. The
file is for deaths of the process, not of the machine: nothing is lost with it but these ends.
"""

from __future__ import annotations

import base64
import json
import logging
import os
from collections.abc import Container
from dataclasses import dataclass
from pathlib import Path

from google.protobuf.message import DecodeError

from netclaw.wire.v1.gateway_pb2 import PendingApproval

_log = logging.getLogger(__name__)

LINES = 2000
"""Written anew when it has so many lines: most of them are over."""
_MODE = 0o600


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftLive:
    """A message that showed a turn's reply in a thread."""

    session_id: str
    turn_id: str
    address: str


class Unfinished:
    """One channel's; without a path it is kept for this process alone."""

    def __init__(self, path: Path | None = None) -> None:
        """Read what an earlier start left."""
        self._path = path
        self._lines = 0
        self._prompts: dict[str, str] = {}
        self._lives: dict[str, LeftLive] = {}
        if path is not None and path.exists():
            for line in path.read_text("utf-8", "replace").splitlines():
                self._read(line)
            self._write_anew()
        self._left = tuple(self._prompts)

    def take_left(self, still_open: Container[str]) -> tuple[PendingApproval, ...]:
        """Requests that an earlier start showed, or meant to, but for those that are open; once."""
        left, self._left = self._left, ()
        return tuple(
            PendingApproval.FromString(base64.b64decode(self._prompts[key]))
            for key in left
            if key not in still_open
        )

    def lives(self) -> tuple[LeftLive, ...]:
        """Replies that are shown while they are made, or may be."""
        return tuple(self._lives.values())

    def keep_prompt(self, key: str, approval: PendingApproval) -> None:
        """A request is about to be shown."""
        if key not in self._prompts:
            self._prompts[key] = base64.b64encode(approval.SerializeToString()).decode()
            self._write({"key": key, "prompt": self._prompts[key]})

    def keep_live(self, key: str, live: LeftLive) -> None:
        """A reply is about to be shown."""
        if key not in self._lives:
            self._lives[key] = live
            self._write(_of_live(key, live))

    def drop(self, key: str) -> None:
        """It has its end."""
        is_known = self._prompts.pop(key, None) or self._lives.pop(key, None)
        if is_known is not None:
            self._write({"key": key})

    def _read(self, line: str) -> None:
        """One line; one that was cut off by a death says nothing."""
        try:
            found = json.loads(line)
            key = str(found["key"])
            self._prompts.pop(key, None)
            self._lives.pop(key, None)
            if "prompt" in found:
                PendingApproval.FromString(base64.b64decode(found["prompt"]))
                self._prompts[key] = found["prompt"]
            elif "live" in found:
                session_id, turn_id, address = map(str, found["live"])
                self._lives[key] = LeftLive(session_id=session_id, turn_id=turn_id, address=address)
        except (ValueError, TypeError, KeyError, DecodeError):
            _log.warning("a line of what is unfinished cannot be read")

    def _write(self, line: dict[str, object]) -> None:
        self._lines += 1
        if self._path is None:
            return
        if self._lines > LINES:
            self._write_anew()
            return
        try:
            with self._path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(line) + "\n")
        except OSError as error:
            _log.warning("what is unfinished cannot be kept: %s", error.strerror)

    def _write_anew(self) -> None:
        if self._path is None:
            return
        lines: list[dict[str, object]] = [
            {"key": key, "prompt": known} for key, known in self._prompts.items()
        ]
        lines += [_of_live(key, live) for key, live in self._lives.items()]
        # Half, so that a list which stays long is not written anew with each line.
        self._lines = len(lines) // 2
        fresh = self._path.with_suffix(".new")
        try:
            fresh.unlink(missing_ok=True)
            fd = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, _MODE)
            with os.fdopen(fd, "w", encoding="utf-8") as file:
                file.writelines(json.dumps(line) + "\n" for line in lines)
            fresh.replace(self._path)
        except OSError as error:
            _log.warning("what is unfinished cannot be kept: %s", error.strerror)


def _of_live(key: str, live: LeftLive) -> dict[str, object]:
    return {"key": key, "live": [live.session_id, live.turn_id, live.address]}
