"""Grants files that are older, newer, broken or somebody else's."""

from __future__ import annotations

import errno
import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from netclaw.core.authz import grants_file as form
from netclaw.core.authz.grants import GrantForm, GrantStore
from netclaw.core.errors import ApprovalStoreError
from netclaw.store import grants_file
from netclaw.store.grants_file import NAME, GrantsFile, look
from tests.store.test_grants_file import AT, MAKE, PUSH

VERSION_2 = (
    '{ "version": 2,\n  "audiences": {"Personal": {"shell_execute": [\n'
    '    {"shell": "Bash", "verb": "git push", "directory": "/p", "createdAt": "' + AT + '"}]}}}\n'
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the file will be."""
    return tmp_path / "config" / NAME


@pytest.fixture
def file(path: Path) -> GrantsFile:
    """A store of grants over an empty folder."""
    path.parent.mkdir(mode=0o700)
    return GrantsFile(path)


@pytest.mark.requirement("approvals.file-versions")
def test_version_2_is_kept_byte_for_byte_and_migrated(file: GrantsFile, path: Path) -> None:
    path.write_text(VERSION_2)
    expected = replace(PUSH, form=GrantForm.LEGACY_EXACT, words=("git push",), directory="/p")
    assert file.read() == GrantStore(grants=(expected,))
    assert path.with_name(NAME + ".v2.bak").read_text() == VERSION_2
    assert json.loads(path.read_text())["version"] == 3
    # Once more: the same copy serves, another one gets a name of its own.
    path.write_text(VERSION_2)
    assert file.add((MAKE,)) == (MAKE,)
    assert file.read().grants == (expected, MAKE)
    assert not path.with_name(NAME + ".v2.bak.2").exists()
    path.write_text(VERSION_2 + " ")
    file.read()
    assert path.with_name(NAME + ".v2.bak").read_text() == VERSION_2
    assert path.with_name(NAME + ".v2.bak.2").read_text() == VERSION_2 + " "


@pytest.mark.requirement("approvals.file-versions")
def test_version_1_is_moved_aside(file: GrantsFile, path: Path) -> None:
    for number in ("", ".2"):
        path.write_text('{"version": 1, "approved": ["git push"]}')
        assert file.read() == GrantStore()
        assert not path.exists()
        kept = path.with_name(NAME + ".v1.quarantined" + number)
        assert kept.read_text() == '{"version": 1, "approved": ["git push"]}'
    path.write_text('{"version": 1}')
    assert file.add((PUSH,)) == (PUSH,)
    assert file.read().grants == (PUSH,)


BROKEN = {
    "no-json": b"{",
    "empty": b"",
    "a-list": b"[]",
    "future": b'{"version": 4, "audiences": {}}',
    "no-version": b'{"audiences": {}}',
    "a-word": b'{"version": "3", "audiences": {}}',
    "true": b'{"version": true, "audiences": {}}',
    "unknown-member": b'{"version": 3, "audiences": {}, "more": 1}',
    "unknown-audience": b'{"version": 3, "audiences": {"Everybody": {}}}',
    "twice": b'{"version": 3, "version": 3, "audiences": {}}',
    "not-utf8": b'{"version": 3, "audiences": {"\xff": {}}}',
    "version-2-broken": b'{"version": 2, "audiences": {"Personal": {"t": [{"verb": 1}]}}}',
    "too-large": b" " * (form.MAX_BYTES + 1),
    "deep": b"[" * 100_000,
}


@pytest.mark.requirement("approvals.broken")
@pytest.mark.parametrize("name", BROKEN)
def test_a_file_that_cannot_be_believed_is_left_as_it_is(
    file: GrantsFile, path: Path, name: str
) -> None:
    path.write_bytes(BROKEN[name])
    store = file.read()
    assert store.fault
    assert store.grants == ()
    assert "\n" not in store.fault
    with pytest.raises(ApprovalStoreError):
        file.add((PUSH,))
    with pytest.raises(ApprovalStoreError):
        file.remove(lambda there: tuple(there))
    assert path.read_bytes() == BROKEN[name]
    assert [item.name for item in path.parent.iterdir()] == [NAME]
    path.unlink()
    assert file.add((PUSH,)) == (PUSH,)


@pytest.mark.requirement("approvals.broken")
def test_a_link_a_folder_and_a_pipe_are_no_grants_file(
    file: GrantsFile, path: Path, tmp_path: Path
) -> None:
    real = tmp_path / "elsewhere.json"
    real.write_text(form.write((PUSH,)))
    path.symlink_to(real)
    assert "link" in (file.read().fault or "")
    with pytest.raises(ApprovalStoreError):
        file.add((MAKE,))
    assert path.is_symlink()
    assert real.read_text() == form.write((PUSH,))
    path.unlink()
    path.mkdir()
    assert file.read().fault
    path.rmdir()
    os.mkfifo(path)
    assert "ordinary" in (file.read().fault or "")


@pytest.mark.requirement("approvals.broken")
def test_a_file_that_others_may_write_is_not_believed(file: GrantsFile, path: Path) -> None:
    file.add((PUSH,))
    path.chmod(0o666)
    assert "everybody" in (file.read().fault or "")
    path.chmod(0o640)
    assert file.read().grants == (PUSH,)
    if os.geteuid() == 0:
        os.chown(path, 12345, 12345)
        assert "another user" in (file.read().fault or "")


@pytest.mark.requirement("approvals.file-versions")
def test_an_older_file_that_cannot_be_kept_aside_is_left_as_it_is(
    file: GrantsFile, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> None:
        raise OSError(errno.EROFS, "read-only")

    for text in (VERSION_2, '{"version": 1}'):
        path.write_text(text)
        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", fails)
            patch.setattr(Path, "rename", fails)
            assert file.read().fault
        assert path.read_text() == text


@pytest.mark.requirement("approvals.file-versions")
def test_an_older_file_that_never_rests_grants_nothing(
    file: GrantsFile, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path.write_text(VERSION_2)
    write = grants_file._write_private

    def interrupted(target: Path, data: bytes) -> None:
        write(target, data)
        path.write_bytes(path.read_bytes() + b"\n")

    monkeypatch.setattr(grants_file, "_write_private", interrupted)
    assert "all the time" in (file.read().fault or "")
    assert json.loads(path.read_text())["version"] == 2
    monkeypatch.undo()
    assert file.read().fault is None


def test_looking_changes_nothing(file: GrantsFile, path: Path) -> None:
    del file
    for text in (VERSION_2, '{"version": 1}', "{"):
        path.write_text(text)
        look(path)
        assert path.read_text() == text
        assert [item.name for item in path.parent.iterdir()] == [NAME]
