"""What the built-in scanner lets through, and what it does not."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import stat
import tarfile
import tracemalloc
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netclaw.adapters.scanning import BuiltInScanner, Finding, Suspect
from netclaw.adapters.unpacking import Fault, Limits, RefusedArchiveError, look_into
from netclaw.core.attachments import kind_of

MIB = 1024 * 1024
LIMITS = Limits(unpacked_bytes=4 * MIB, entries=50, ratio_free_bytes=MIB)


def zipped(*files: tuple[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """A zip."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", method) as out:
        for name, data in files:
            out.writestr(name, data)
    return made.getvalue()


def tarred(*members: tuple[tarfile.TarInfo, bytes]) -> bytes:
    """A tar."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as out:
        for info, data in members:
            info.size = len(data)
            out.addfile(info, io.BytesIO(data))
    return made.getvalue()


def entry(name: str, kind: bytes = tarfile.REGTYPE, target: str = "") -> tarfile.TarInfo:
    """A member of a tar."""
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info


def zip_link(name: str, target: str) -> bytes:
    """A zip with a symbolic link."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as out:
        info = zipfile.ZipInfo(name)
        info.external_attr = (stat.S_IFLNK | 0o777) << 16
        out.writestr(info, target)
    return made.getvalue()


PLAIN = ("readme.txt", b"hello " * 100)


def false_offset() -> bytes:
    """A zip whose directory says that a file begins before the zip does."""
    plain = bytearray(zipped(PLAIN))
    end = plain.rindex(b"PK\5\6")
    plain[end + 16 : end + 20] = (2**31).to_bytes(4, "little")
    return bytes(plain)


def encrypted_zip() -> bytes:
    """A zip that says of its file that it is encrypted."""
    plain = bytearray(zipped(("a.txt", b"secret")))
    plain[6] |= 1
    plain[plain.index(b"PK\1\2") + 8] |= 1
    return bytes(plain)


BOMB = b"\0" * (5 * MIB)
DENSE = b"\0" * (3 * MIB)
"""Within the limit, but packed far too well."""
GOOD: dict[str, bytes] = {
    "a.txt": b"just text",
    "a.zip": zipped(PLAIN, ("folder/", b""), ("folder/b.txt", b"b")),
    "stored.zip": zipped(PLAIN, method=zipfile.ZIP_STORED),
    "lzma.zip": zipped(PLAIN, method=zipfile.ZIP_LZMA),
    "a.docx": zipped(("[Content_Types].xml", b"<x/>"), ("word/document.xml", b"<y/>")),
    "nested.zip": zipped(("inner.zip", zipped(PLAIN)), ("b.txt.gz", gzip.compress(b"b"))),
    "a.gz": gzip.compress(b"text" * 1000),
    "two.gz": gzip.compress(b"one") + gzip.compress(b"two"),
    "a.bz2": bz2.compress(b"text" * 1000),
    "a.xz": lzma.compress(b"text" * 1000),
    "a.tar": tarred((entry("a/b.txt"), b"b"), (entry("a/c", tarfile.SYMTYPE, "b.txt"), b"")),
    "a.tgz": gzip.compress(tarred((entry("a.txt"), b"x"), (entry("in.zip"), zipped(PLAIN)))),
    "empty.zip": zipped(),
}
BAD: dict[str, tuple[bytes, Fault]] = {
    "bomb.zip": (zipped(("a", BOMB)), Fault.TOO_MUCH),
    "dense.zip": (zipped(("a", DENSE)), Fault.TOO_MUCH),
    "bomb.gz": (gzip.compress(BOMB), Fault.TOO_MUCH),
    "bomb.bz2": (bz2.compress(BOMB), Fault.TOO_MUCH),
    "bomb.xz": (lzma.compress(BOMB), Fault.TOO_MUCH),
    "bomb.tgz": (gzip.compress(tarred((entry("a"), BOMB))), Fault.TOO_MUCH),
    "spread.zip": (zipped(*((f"{n}", b"\0" * MIB) for n in range(5))), Fault.TOO_MUCH),
    "nested.zip": (
        zipped(*((f"{n}.zip", zipped(("a", DENSE[:MIB]))) for n in range(5))),
        Fault.TOO_MUCH,
    ),
    "many.zip": (zipped(*((f"{n}", b"") for n in range(51))), Fault.TOO_MUCH),
    "many.tar": (tarred(*((entry(f"{n}"), b"") for n in range(51))), Fault.TOO_MUCH),
    "deep.zip": (
        zipped(("1.zip", zipped(("2.zip", zipped(("3.zip", zipped(PLAIN))))))),
        Fault.TOO_MUCH,
    ),
    "deep.gz": (
        gzip.compress(gzip.compress(gzip.compress(gzip.compress(b"x")))),
        Fault.TOO_MUCH,
    ),
    "up.zip": (zipped(("../evil", b"x")), Fault.LEADS_OUT),
    "root.zip": (zipped(("/etc/evil", b"x")), Fault.LEADS_OUT),
    "back.zip": (zipped(("a\\..\\..\\evil", b"x")), Fault.LEADS_OUT),
    "drive.zip": (zipped(("C:/evil", b"x")), Fault.LEADS_OUT),
    "link.zip": (zip_link("a", "/etc/passwd"), Fault.LEADS_OUT),
    "up.tar": (tarred((entry("a/../../evil"), b"x")), Fault.LEADS_OUT),
    "link.tar": (tarred((entry("a", tarfile.SYMTYPE, "/etc/passwd"), b"")), Fault.LEADS_OUT),
    "uplink.tar": (tarred((entry("a/b", tarfile.SYMTYPE, "../../x"), b"")), Fault.LEADS_OUT),
    "hard.tar": (tarred((entry("a/b", tarfile.LNKTYPE, "../x"), b"")), Fault.LEADS_OUT),
    "device.tar": (tarred((entry("a", tarfile.CHRTYPE), b"")), Fault.LEADS_OUT),
    "offset.zip": (false_offset(), Fault.OPAQUE),
    "secret.zip": (encrypted_zip(), Fault.OPAQUE),
    "half.zip": (zipped(PLAIN)[:-10], Fault.OPAQUE),
    "half.gz": (gzip.compress(b"text" * 1000)[:-10], Fault.OPAQUE),
    "half.bz2": (bz2.compress(b"text" * 1000)[:-10], Fault.OPAQUE),
    "bad.bz2": (b"BZh9" + b"x" * 50, Fault.OPAQUE),
    "bad.xz": (b"\xfd7zXZ\0" + b"x" * 50, Fault.OPAQUE),
    "tail.gz": (gzip.compress(b"x") + b"tail", Fault.OPAQUE),
    "a.7z": (b"7z\xbc\xaf\x27\x1c" + b"x" * 50, Fault.OPAQUE),
    "a.rar": (b"Rar!\x1a\x07\x00" + b"x" * 50, Fault.OPAQUE),
    "a.zst": (b"\x28\xb5\x2f\xfd" + b"x" * 50, Fault.OPAQUE),
}


def fault_of(data: bytes, folder: Path, limits: Limits = LIMITS) -> Fault | None:
    """What is wrong with a file."""
    place = folder / "suspect"
    place.write_bytes(data)
    try:
        look_into(place, limits)
    except RefusedArchiveError as refused:
        return refused.fault
    finally:
        assert [found.name for found in folder.iterdir()] == ["suspect"]
    return None


@pytest.mark.requirement("channels.scan")
@pytest.mark.parametrize("name", GOOD)
def test_an_ordinary_file_passes(name: str, tmp_path: Path) -> None:
    assert fault_of(GOOD[name], tmp_path) is None


@pytest.mark.requirement("channels.scan")
@pytest.mark.parametrize("name", BAD)
def test_an_archive_that_nobody_should_unpack_does_not(name: str, tmp_path: Path) -> None:
    data, fault = BAD[name]
    assert fault_of(data, tmp_path) is fault


@pytest.mark.requirement("channels.scan")
@pytest.mark.parametrize(
    "make",
    [
        lambda: gzip.compress(b"\0" * (200 * MIB), 1),
        lambda: zipped(("a", b"\0" * (200 * MIB))),
        lambda: gzip.compress(huge_tar_header(), 1),
        lambda: huge_zip_directory(),
    ],
)
def test_a_bomb_takes_no_memory(make: Callable[[], bytes], tmp_path: Path) -> None:
    place = tmp_path / "bomb"
    place.write_bytes(make())
    tracemalloc.start()
    try:
        with pytest.raises(RefusedArchiveError):
            look_into(place, Limits())
        assert tracemalloc.get_traced_memory()[1] < 16 * MIB
    finally:
        tracemalloc.stop()


def huge_tar_header() -> bytes:
    """A tar whose first extended header says that it has 100 MiB."""
    info = tarfile.TarInfo("././@PaxHeader")
    info.type, info.size = tarfile.XHDTYPE, 100 * MIB
    return info.tobuf() + b"\0" * (100 * MIB)


def huge_zip_directory() -> bytes:
    """A zip of so many entries that listing them alone is too much."""
    return zipped(*((f"{n:040}", b"") for n in range(40_000)), method=zipfile.ZIP_STORED)


@pytest.mark.requirement("channels.scan")
@given(st.sampled_from(sorted(GOOD)), st.integers(0, 10_000), st.binary(min_size=1, max_size=8))
def test_a_damaged_file_passes_or_is_refused_and_breaks_nothing(
    tmp_path_factory: pytest.TempPathFactory, name: str, at: int, damage: bytes
) -> None:
    data = bytearray(GOOD[name])
    place = at % (len(data) + 1)
    data[place : place + len(damage)] = damage
    fault_of(bytes(data), tmp_path_factory.mktemp("damaged"))


@pytest.mark.requirement("channels.scan")
async def test_the_scanner_names_what_it_found(tmp_path: Path) -> None:
    scanner = BuiltInScanner(LIMITS)
    place = tmp_path / "a.zip"

    async def scan(data: bytes, **other: object) -> Finding | None:
        place.write_bytes(data)
        suspect = Suspect(path=place, name="a.zip", kind=kind_of("a.zip", data), limit_bytes=MIB)
        return await scanner.scan(replace(suspect, **other))  # type: ignore[arg-type]

    assert await scan(GOOD["a.zip"]) is None
    assert await scan(BAD["bomb.zip"][0]) is Finding.ARCHIVE_TOO_LARGE
    assert await scan(BAD["up.zip"][0]) is Finding.ARCHIVE_LEADS_OUT
    assert await scan(BAD["secret.zip"][0]) is Finding.ARCHIVE_OPAQUE
    assert await scan(GOOD["a.zip"], limit_bytes=10) is Finding.TOO_LARGE
    assert await scan(GOOD["a.zip"], kind=kind_of("a.txt", b"x")) is Finding.FALSE_TYPE
