"""The files of a child run: its task, its result, and a reply that was cut (S0 Storage on disk)."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from netclaw.core.authority import Requester
from netclaw.core.session.child_events import ChildState
from netclaw.core.session.own_run import OUTPUT_LIMIT, OwnRun
from netclaw.core.settings import SessionStorage
from netclaw.session_proc.envelope import ensure_private_folder

TASK, RESULT, TRUNCATED = "task.md", "result.md", "truncated-output.md"
_MODE = 0o600


class RunFiles:
    """What is written into the folder of one run; every text is redacted before."""

    def __init__(self, storage: SessionStorage, redact: Callable[[str], str]) -> None:
        self._root = Path(storage.root)
        self._artifacts = Path(storage.artifacts)
        self._redact = redact

    @property
    def result_path(self) -> str:
        """Where the result is, once it is written."""
        return str(self._root / RESULT)

    def write_task(self, run: OwnRun, requester: Requester, brief: str) -> None:
        """Who works on what for whom; written once. Raises `OSError`."""
        path = self._root / TASK
        if path.exists():
            return
        who = requester.sender_id or requester.principal.value
        head = (
            f"# {run.frozen.agent}",
            f"- Run: {run.frozen.run_id}",
            f"- Requester: {who} ({requester.channel_type.value}, {requester.audience.value})",
        )
        self._write(path, "\n".join(head) + f"\n\n{brief}\n")

    def write_result(self, run: OwnRun, state: ChildState, reason: str, text: str) -> str:
        """The report of a run that is over; durable when its path is returned. Raises `OSError`."""
        head = [f"# {run.frozen.agent}: {state.value}", f"- Run: {run.frozen.run_id}"]
        if reason:
            head.append(f"- Reason: {reason}")
        cut = self._artifacts / TRUNCATED
        if reason == OUTPUT_LIMIT and cut.exists():
            head.append(f"- What was written until then: {cut}")
        head.extend(f"- Wrote: {path}" for path in run.files)
        self._write(self._root / RESULT, "\n".join(head) + f"\n\n{text}\n")
        return self.result_path

    def write_truncated(self, text: str) -> None:
        """A reply that the output limit cut, which nothing else keeps. Raises `OSError`."""
        self._write(self._artifacts / TRUNCATED, text)

    def _write(self, path: Path, text: str) -> None:
        """Put a whole file into place, so that a kill leaves the old one or the new one."""
        ensure_private_folder(path.parent)
        new = path.with_name(f".{path.name}.new")
        descriptor = os.open(
            new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, _MODE
        )
        with open(descriptor, "wb") as file:  # noqa: PTH123 - a descriptor
            file.write(self._redact(text).encode("utf-8", "replace"))
            file.flush()
            os.fsync(file.fileno())
        new.replace(path)
        folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
