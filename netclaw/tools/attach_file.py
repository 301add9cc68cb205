"""`attach_file`: gives a file to the people of the session, as a copy that the session keeps."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass

from netclaw.core.attachments import SNIFF_BYTES, AttachmentKind, kind_of
from netclaw.core.authz.profiles import MAX_ATTACHMENT_BYTES, AttachmentRule
from netclaw.core.settings import SessionStorage
from netclaw.core.tool_call import Attachment, FileActivity, FileOperation, OutcomeCategory
from netclaw.tools import beneath
from netclaw.tools.faults import ToolFault
from netclaw.tools.files import locate, opened_file
from netclaw.tools.reach import Located, reach_for
from netclaw.tools.schema import Arguments, Field, Kind
from netclaw.tools.spill import is_spill_name
from netclaw.tools.tool import EVERYONE, Outcome, Scope

FOLDER = "attached"
"""Below the session's artifacts: one folder for each turn that attached something."""

MAX_NAME_CHARS = 120
_CHUNK = 1024 * 1024
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_OPEN_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class AttachFile:
    """Judges and opens the file before anything of it is copied."""

    name = "attach_file"
    description = (
        "Sends a file to the people of this conversation. A copy is made of the file as it is now; "
        "what it may be and how large depends on the conversation."
    )
    audiences = EVERYONE
    fields: tuple[Field, ...] = (
        Field(
            name="path",
            kind=Kind.STRING,
            description="The file; relative to the project directory, else the session's.",
            is_required=True,
        ),
    )

    async def run(self, arguments: Arguments, scope: Scope) -> Outcome:
        """See `Tool`."""
        located, made = await asyncio.to_thread(_attach, arguments.text("path"), scope)
        name = os.path.basename(made.path)
        return Outcome(
            text=f"Attached {name} ({made.media_type}, {made.size_bytes} bytes).",
            activity=(FileActivity(path=located.path, operation=FileOperation.ATTACH),),
            attachment=made,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Source:
    """An opened file that may be attached."""

    fd: int
    name: str
    kind: AttachmentKind
    limit: int
    path: str


def _attach(text: str, scope: Scope) -> tuple[Located, Attachment]:
    reach, rule = reach_for(scope), scope.clearance.policy.profile.attachments
    located = locate(reach, text, FileOperation.ATTACH)
    with opened_file(reach, located) as fd:
        source = _checked(fd, located, rule)
        return located, _copy(source, scope, rule)


def _checked(fd: int, located: Located, rule: AttachmentRule) -> _Source:
    limit = min(rule.max_file_bytes, MAX_ATTACHMENT_BYTES)
    size = os.fstat(fd).st_size
    if size > limit:
        raise _too_large(located.path, f"{size}", limit)
    name = shown_name(os.path.basename(located.path))
    kind = kind_of(name, os.pread(fd, SNIFF_BYTES, 0))
    if kind.category not in rule.categories:
        raise ToolFault.denied(
            f"{located.path} counts as {kind.category} by its name and its content; such files are"
            " not attached in this conversation."
        )
    return _Source(fd=fd, name=name, kind=kind, limit=limit, path=located.path)


def _too_large(path: str, size: str, limit: int) -> ToolFault:
    return ToolFault.invalid(f"{path} has {size} bytes; at most {limit} are attached.")


def shown_name(name: str) -> str:
    """A file name as people are shown it: nothing in it hides what it is."""
    clean = "".join(char if char.isprintable() else "_" for char in name)
    stem, dot, extension = clean.rpartition(".")
    if not dot:
        return clean[:MAX_NAME_CHARS]
    return f"{stem[: MAX_NAME_CHARS - len(extension[:20]) - 1]}.{extension[:20]}"


def _copy(source: _Source, scope: Scope, rule: AttachmentRule) -> Attachment:
    with _folder(scope.context.storage, scope.context.turn_id) as (folder_fd, folder):
        taken = len(os.listdir(folder_fd))
        if taken >= rule.max_files_per_message:
            raise ToolFault.invalid(
                f"{taken} files are attached already; one message takes no more."
            )
        name, fd = _new_file(folder_fd, source.name)
        try:
            with open(fd, "wb") as target:
                size, digest = _pour(source, target.fileno())
                os.fdatasync(target.fileno())
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(name, dir_fd=folder_fd)
            raise
        return Attachment(
            path=f"{folder}/{name}",
            media_type=source.kind.media_type,
            size_bytes=size,
            sha256=digest,
        )


def _pour(source: _Source, target_fd: int) -> tuple[int, str]:
    """Copies at most the limit: a file may grow while it is read. Answers size and SHA-256."""
    done = 0
    digest = hashlib.sha256()
    while piece := os.pread(source.fd, _CHUNK, done):
        if done == 0 and kind_of(source.name, piece[:SNIFF_BYTES]) != source.kind:
            raise _changed(source.path)
        done += len(piece)
        if done > source.limit:
            raise _too_large(source.path, f"more than {source.limit}", source.limit)
        digest.update(piece)
        view = memoryview(piece)
        while view:
            view = view[os.write(target_fd, view) :]
    return done, digest.hexdigest()


def _changed(path: str) -> ToolFault:
    return ToolFault(
        OutcomeCategory.TRANSIENT_FAILURE, f"{path} was changed while it was attached."
    )


def _new_file(folder_fd: int, name: str) -> tuple[str, int]:
    stem, dot, extension = name.rpartition(".")
    for number in range(1, 1000):
        tried = name if number == 1 else f"{stem or extension}-{number}{dot and dot + extension}"
        with contextlib.suppress(FileExistsError):
            return tried, os.open(tried, _NEW, 0o600, dir_fd=folder_fd)
    raise FileExistsError(name)


@contextlib.contextmanager
def _folder(storage: SessionStorage, turn_id: str) -> Iterator[tuple[int, str]]:
    """The folder of this turn's attachments and its announced path."""
    turn = turn_id if is_spill_name(turn_id) else "turn"
    names = (os.path.basename(storage.artifacts), FOLDER, turn)
    try:
        fd = _made(os.path.realpath(storage.root), names)
    except OSError:
        raise ToolFault.failed("The session's folder for attachments is not usable.") from None
    try:
        yield fd, "/".join((storage.root, *names))
    finally:
        os.close(fd)


def _made(envelope: str, names: tuple[str, ...]) -> int:
    """A folder of the envelope, made and opened step by step; a link in its place is refused."""
    fd = beneath.open_root(envelope)
    for name in names:
        try:
            with contextlib.suppress(FileExistsError):
                os.mkdir(name, 0o700, dir_fd=fd)
            inner = os.open(name, _OPEN_FOLDER, dir_fd=fd)
        finally:
            os.close(fd)
        fd = inner
    return fd
