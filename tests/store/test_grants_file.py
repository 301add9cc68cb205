"""The grants file on disk: strict, migrated, mended by nobody but its owner, replaced whole."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from netclaw.core.authority import Audience
from netclaw.core.authz import grants_file as form
from netclaw.core.authz.grants import Grant, GrantForm, GrantStore
from netclaw.core.errors import (
    ApprovalStoreError,
    InvalidArgumentError,
    NetclawError,
    StorageFullError,
    StorageReadOnlyError,
    TooLargeError,
)
from netclaw.store import grants_file
from netclaw.store.grants_file import NAME, GrantsFile

AT, LATER = "2026-11-30T12:00:00+00:00", "2026-12-01T12:00:00+00:00"
PUSH = Grant(
    audience=Audience.PERSONAL,
    tool="shell_execute",
    form=GrantForm.TOKENS,
    words=("git", "push"),
    created_at=AT,
)
MAKE = replace(PUSH, words=("make",))


def in_folder(directory: str | Path) -> Grant:
    """The grant for one folder."""
    return replace(PUSH, directory=str(directory))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the file will be."""
    return tmp_path / "config" / NAME


@pytest.fixture
def file(path: Path) -> GrantsFile:
    """A store of grants over an empty folder."""
    path.parent.mkdir(mode=0o700)
    return GrantsFile(path)


@pytest.mark.requirement("approvals.file-saving")
def test_what_is_added_is_read_back_by_anybody(path: Path) -> None:
    file = GrantsFile(path)
    assert file.read() == GrantStore()
    assert file.add((PUSH, MAKE)) == (PUSH, MAKE)
    assert GrantsFile(path).read() == file.read() == GrantStore(grants=(PUSH, MAKE))
    assert path.stat().st_mode & 0o7777 == 0o600
    assert path.parent.stat().st_mode & 0o7777 == 0o700
    assert [item.name for item in path.parent.iterdir()] == [NAME]


@pytest.mark.requirement("approvals.file-saving")
def test_what_is_there_already_is_not_saved_again(file: GrantsFile, path: Path) -> None:
    file.add((PUSH,))
    before = path.stat()
    later = replace(PUSH, created_at=LATER)
    assert file.add((later, replace(later, directory="/p"))) == ()
    after = path.stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    assert file.read().grants == (PUSH,)
    other_shell = replace(PUSH, shell_name="PowerShell", words=("ls",))
    assert file.add((other_shell,)) == (other_shell,)
    assert file.add((replace(other_shell, shell_name="Bash"),)), "of another shell"


@pytest.mark.requirement("approvals.file-saving")
def test_of_several_grants_each_is_compared_with_those_before_it(file: GrantsFile) -> None:
    assert file.add((PUSH, in_folder("/p"), PUSH)) == (PUSH,)


@pytest.mark.requirement("approvals.file-saving")
def test_a_folder_covers_no_place_that_a_link_below_it_leads_to(
    file: GrantsFile, tmp_path: Path
) -> None:
    inside = tmp_path / "project"
    (inside / "src").mkdir(parents=True)
    outside = tmp_path / "outside"
    outside.mkdir()
    (inside / "link").symlink_to(outside)
    file.add((in_folder(inside),))
    assert file.add((in_folder(inside / "src"),)) == ()
    linked = in_folder(inside / "link")
    assert file.add((linked,)) == (linked,)


@pytest.mark.requirement("approvals.file-edits")
def test_an_edit_by_hand_counts_at_the_next_look(file: GrantsFile, path: Path) -> None:
    file.add((PUSH, MAKE))
    assert len(file.read().grants) == 2
    text = path.read_text()
    stamp = path.stat()
    same_size = text.replace("make", "made")
    path.write_text(same_size)
    os.utime(path, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    assert file.read().grants == (PUSH, replace(MAKE, words=("made",)))
    path.write_text(form.write((MAKE,)))
    assert file.read().grants == (MAKE,)
    path.unlink()
    assert file.read() == GrantStore()


@pytest.mark.requirement("approvals.file-edits")
def test_a_file_that_rests_is_not_read_again(
    path: Path, file: GrantsFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    file.add((PUSH,))
    later = GrantsFile(path, clock_ns=lambda: path.stat().st_ctime_ns + 10**10)
    first = later.read()
    monkeypatch.setattr(grants_file, "look", lambda _path: pytest.fail("it was read again"))
    assert later.read() is first


@pytest.mark.requirement("approvals.file-edits")
def test_no_edit_made_between_two_looks_is_lost(file: GrantsFile, path: Path) -> None:
    file.add((PUSH,))
    file.read()
    path.write_text(form.write((MAKE,)))
    extra = replace(PUSH, words=("ls",))
    file.add((extra,))
    assert set(file.read().grants) == {MAKE, extra}
    path.write_text(form.write((MAKE, extra, PUSH)))
    file.remove(lambda there: tuple(grant for grant in there if grant == extra))
    assert set(file.read().grants) == {MAKE, PUSH}


@pytest.mark.requirement("approvals.file-edits")
def test_an_edit_made_while_a_change_is_written_is_taken_along(
    file: GrantsFile, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file.add((PUSH,))
    write = grants_file._write_private
    edits = [lambda: path.write_text(form.write((PUSH, MAKE)))]

    def interrupted(target: Path, data: bytes) -> None:
        write(target, data)
        if edits:
            edits.pop()()

    monkeypatch.setattr(grants_file, "_write_private", interrupted)
    extra = replace(PUSH, words=("ls",))
    assert file.add((extra,)) == (extra,)
    assert file.read().grants == (PUSH, MAKE, extra)


@pytest.mark.requirement("approvals.file-edits")
def test_a_file_that_never_rests_is_given_up(
    file: GrantsFile, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file.add((PUSH,))
    write = grants_file._write_private

    def interrupted(target: Path, data: bytes) -> None:
        write(target, data)
        path.write_bytes(path.read_bytes() + b"\n")

    monkeypatch.setattr(grants_file, "_write_private", interrupted)
    with pytest.raises(ApprovalStoreError):
        file.add((MAKE,))
    assert file.read().grants == (PUSH,)
    assert [item.name for item in path.parent.iterdir()] == [NAME]


@pytest.mark.requirement("approvals.file-edits")
def test_many_changes_at_once_are_all_kept(file: GrantsFile) -> None:
    grants = [replace(PUSH, words=(f"w{number}",)) for number in range(32)]
    threads = [threading.Thread(target=file.add, args=((grant,),)) for grant in grants]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(file.read().grants) == set(grants)


@pytest.mark.requirement("approvals.file-saving")
@pytest.mark.parametrize(
    "grant",
    [
        replace(PUSH, words=("git\x1b[31m",)),
        replace(PUSH, words=("a\u202eb",)),
        replace(PUSH, words=("\ud800",)),
        replace(PUSH, words=()),
        replace(PUSH, tool="Shell Execute"),
        replace(PUSH, directory="here"),
        replace(PUSH, created_at="today"),
        replace(PUSH, digest="sha256:0"),
    ],
)
def test_what_would_not_be_read_back_is_not_written(
    file: GrantsFile, path: Path, grant: Grant
) -> None:
    file.add((MAKE,))
    before = path.read_bytes()
    with pytest.raises(InvalidArgumentError):
        file.add((replace(PUSH, words=("ls",)), grant))
    assert path.read_bytes() == before


@pytest.mark.requirement("approvals.file-saving")
def test_a_file_does_not_grow_beyond_what_is_read(
    file: GrantsFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    file.add((PUSH,))
    monkeypatch.setattr(form, "MAX_BYTES", 400)
    with pytest.raises((TooLargeError, InvalidArgumentError)):
        file.add((replace(PUSH, words=("w" * 400,)),))
    assert file.read().grants == (PUSH,)


@pytest.mark.requirement("approvals.file-saving")
@pytest.mark.parametrize(
    ("number", "expected"),
    [(errno.ENOSPC, StorageFullError), (errno.EROFS, StorageReadOnlyError)],
)
@pytest.mark.parametrize("step", ["os.fsync", "pathlib.Path.replace"])
def test_a_disk_that_takes_nothing_leaves_the_old_file(
    file: GrantsFile,
    path: Path,
    monkeypatch: pytest.MonkeyPatch,
    number: int,
    expected: type[NetclawError],
    step: str,
) -> None:
    file.add((PUSH,))
    before = path.read_bytes()

    def fails(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    with monkeypatch.context() as patch:
        patch.setattr(step, fails)
        with pytest.raises(expected):
            file.add((MAKE,))
    assert path.read_bytes() == before
    assert [item.name for item in path.parent.iterdir()] == [NAME]
    assert file.add((MAKE,)) == (MAKE,)


KILLED = """
import os, sys
from pathlib import Path
from netclaw.store import grants_file
from netclaw.core.authz import grants_file as form
path, stop_at = Path(sys.argv[1]), int(sys.argv[2])
calls = 0
def counted(real):
    def call(*arguments, **named):
        global calls
        calls += 1
        if calls == stop_at:
            os.kill(os.getpid(), 9)
        return real(*arguments, **named)
    return call
for name in ("open", "fsync", "fchmod"):
    setattr(os, name, counted(getattr(os, name)))
Path.replace = counted(Path.replace)
file = grants_file.GrantsFile(path)
(grant,) = form.read(sys.stdin.read())
file.add((grant,))
print("saved", flush=True)
"""


@pytest.mark.requirement("approvals.file-saving")
@pytest.mark.timeout(60)
def test_a_kill_at_any_step_leaves_the_old_file_or_the_new_one(
    file: GrantsFile, path: Path
) -> None:
    for stop_at in range(1, 20):
        path.unlink(missing_ok=True)
        file.add((PUSH,))
        done = subprocess.run(
            [sys.executable, "-c", KILLED, str(path), str(stop_at)],
            input=form.write((MAKE,)),
            capture_output=True,
            text=True,
            check=False,
            timeout=30,
        )
        store = file.read()
        assert store.fault is None
        assert store.grants in ((PUSH,), (PUSH, MAKE))
        if "saved" in done.stdout:
            assert store.grants == (PUSH, MAKE)
            break
        assert done.returncode == -9, done.stderr
        file.add((MAKE,))
        assert file.read().grants == (PUSH, MAKE)
    else:
        pytest.fail("it never came to its end")
