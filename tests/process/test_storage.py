"""What sessions leave on disk, seen from outside: moves, old and newer sessions, upgrades."""

from __future__ import annotations

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import grpc
import pytest

from tests.process.errors import code_of
from tests.process.world import World

pytestmark = pytest.mark.timeout(90)


def change_row(home: Path, session_id: str, **columns: object) -> None:
    """Change a session's row as another program would have written it."""
    with closing(sqlite3.connect(home / "netclaw.db")) as database, database:
        for name, value in columns.items():
            statement = f"UPDATE sessions SET {name} = ? WHERE key = ?"  # noqa: S608 - ours
            database.execute(statement, (value, session_id))


def to_old_layout(home: Path, session_id: str, root: Path) -> Path:
    """Make a session one that is older than layouts, with a file in its folder."""
    old_place = home / "sessions" / session_id
    root.rename(old_place)
    (old_place / "workspace").mkdir(exist_ok=True)
    (old_place / "workspace" / "kept.txt").write_text("from before\n")
    change_row(home, session_id, storage_layout=0, storage_root=str(old_place))
    return old_place


def folders(root: Path) -> set[str]:
    """Names of the folders of an envelope, each of which must be private."""
    for folder in (root, *(path for path in root.rglob("*") if path.is_dir())):
        assert folder.stat().st_mode & 0o777 == 0o700, folder
    return {path.name for path in root.iterdir()}


async def write_file(world: World, session_id: str, text: str) -> None:
    """Let a turn write a file into the session's working folder."""
    call = json.dumps({"command": f"echo {text} >> kept.txt"})
    turn = await world.peer.turn(session_id, f"[[tool:shell_execute {call}]] [[reply:done]]")
    assert turn.error is None


@pytest.mark.requirement("supervisor.envelope")
@pytest.mark.requirement("storage.moved-home")
async def test_a_moved_home_keeps_its_sessions_and_says_so_once(world: World) -> None:
    await write_file(world, "one", "first")
    await write_file(world, "two", "first")
    old_root = (await world.peer.detail("one")).storage_root
    await world.stop()
    old_home = world.home
    new_home = old_home.with_name(f"{old_home.name}-moved")
    shutil.move(old_home, new_home)
    world.settle_in(new_home)
    await world.start()

    await write_file(world, "one", "second")
    await write_file(world, "two", "second")
    new_root = (await world.peer.detail("one")).storage_root
    assert new_root == old_root.replace(str(old_home), str(new_home))
    assert (Path(new_root) / "workspace" / "kept.txt").read_text() == "first\nsecond\n"
    assert not old_home.exists()
    warnings = [line for line in world.daemon_log.splitlines() if "was moved" in line]
    assert len(warnings) == 1
    assert "/sessions/" in warnings[0]
    assert str(old_home) + "/" in warnings[0]
    assert str(new_home) + "/" in warnings[0]


@pytest.mark.requirement("storage.newer-layout")
async def test_after_a_downgrade_newer_sessions_are_refused_and_the_others_run(
    world: World,
) -> None:
    await world.peer.turn("newer", "[[reply:made by the newer one]]")
    await world.peer.turn("plain", "[[reply:a]]")
    await world.stop()
    change_row(world.home, "newer", storage_layout=99)
    await world.start()

    with pytest.raises(grpc.aio.AioRpcError) as raised:
        await world.peer.send("newer", "hello?")
    assert code_of(raised.value) == "schema_newer"
    assert "99" in str(raised.value.details())
    assert (await world.peer.turn("plain", "[[reply:b]]")).text == "b"
    kept = [item.text for item in await world.peer.history("newer") if item.role == "assistant"]
    assert kept == ["made by the newer one"]
    await world.stop()
    change_row(world.home, "newer", storage_layout=1)  # the newer program again
    await world.start()
    assert (await world.peer.turn("newer", "[[reply:here]]")).text == "here"


@pytest.mark.requirement("storage.unversioned")
async def test_a_session_older_than_layouts_works_where_it_always_was(world: World) -> None:
    await world.peer.turn("old", "[[reply:a]]")
    root = Path((await world.peer.detail("old")).storage_root)
    await world.stop()
    old_place = to_old_layout(world.home, "old", root)
    await world.start()

    await write_file(world, "old", "after")
    assert (await world.peer.detail("old")).storage_root == str(old_place)
    assert (old_place / "workspace" / "kept.txt").read_text() == "from before\nafter\n"
    assert root not in set((world.home / "sessions").iterdir())


@pytest.mark.requirement("storage.on-demand")
async def test_folders_appear_as_they_are_needed_and_are_private(world: World) -> None:
    await world.peer.turn("bare", "[[reply:a]]")
    root = Path((await world.peer.detail("bare")).storage_root)
    assert folders(root) == {"logs"}
    await write_file(world, "bare", "x")
    assert folders(root) == {"logs", "workspace", "artifacts", "worktrees"}


@pytest.mark.requirement("storage.temp-for-tools")
async def test_tools_get_the_sessions_temporary_folder_under_every_usual_name(
    world: World,
) -> None:
    call = json.dumps({"command": 'echo "$TMPDIR|$TMP|$TEMP"; echo kept > "$TMPDIR/made.txt"'})
    turn = await world.peer.turn("temp", f"[[tool:shell_execute {call}]] [[results]]")
    place = (await world.peer.detail("temp")).storage_tmp
    assert f"{place}|{place}|{place}" in turn.text
    assert place.startswith("/tmp/netclaw-")
    assert place.endswith("/p")
    made = Path(place) / "made.txt"
    await world.stop()
    assert made.read_text() == "kept\n"  # nobody clears it but the system
    shutil.rmtree(made.parents[1])
