"""A session's copy of an attached file is read from its own folder and through no link."""

from __future__ import annotations

from pathlib import Path

import pytest

from netclaw.core.errors import NotFoundError
from netclaw.core.settings import SessionStorage
from netclaw.supervisor.attached_files import PIECE_BYTES, read_attached


@pytest.fixture
def storage(tmp_path: Path) -> SessionStorage:
    """An envelope in a home."""
    root = tmp_path / "sessions" / "one"
    (root / "artifacts" / "attached" / "t1").mkdir(parents=True)
    return SessionStorage(home=str(tmp_path), root=str(root), tmp=str(tmp_path / "tmp"))


async def read(storage: SessionStorage, path: str) -> bytes:
    """All of a file."""
    return b"".join([piece async for piece in read_attached(storage, path)])


def _write(path: str, data: bytes) -> None:
    Path(path).write_bytes(data)


@pytest.mark.requirement("channel_sends.file")
async def test_the_copy_is_read_also_after_the_home_was_moved(storage: SessionStorage) -> None:
    place = f"{storage.artifacts}/attached/t1/a.txt"
    data = b"abc" * PIECE_BYTES
    _write(place, data)
    assert await read(storage, place) == data
    assert await read(storage, "/old/home/sessions/one/artifacts/attached/t1/a.txt") == data


@pytest.mark.requirement("channel_sends.file")
@pytest.mark.parametrize(
    "path",
    [
        "",
        "a.txt",
        "/etc/passwd",
        "{root}/logs/attached/t1/a.txt",
        "{artifacts}/other/t1/a.txt",
        "{artifacts}/attached/../secret.txt",
        "{artifacts}/attached/t1/..",
        "{artifacts}/attached/t1/none",
        "{artifacts}/attached/t1/folder",
        "{artifacts}/attached/t1/link",
        "{artifacts}/attached/linked/secret.txt",
    ],
)
async def test_nothing_else_is_read(storage: SessionStorage, path: str) -> None:
    attached = Path(storage.artifacts) / "attached"
    outside = Path(storage.home) / "outside"
    outside.mkdir()
    (outside / "secret.txt").write_text("secret")
    (attached.parent / "secret.txt").write_text("secret")
    (attached / "t1" / "folder").mkdir()
    (attached / "t1" / "link").symlink_to(outside / "secret.txt")
    (attached / "linked").symlink_to(outside)
    named = path.format(root=storage.root, artifacts=storage.artifacts)
    with pytest.raises(NotFoundError):
        await read(storage, named)
