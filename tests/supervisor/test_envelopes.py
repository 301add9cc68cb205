"""Where sessions keep their files: moved homes, old sessions, sessions of a newer program."""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from netclaw.core.errors import SchemaNewerError
from netclaw.core.ids import RunId, SessionId
from netclaw.core.storage_layout import LAYOUT, child_run_dir
from netclaw.supervisor.envelope import Envelopes
from tests.supervisor.test_gateway import refused
from tests.supervisor.world import InProcess


@dataclass(frozen=True)
class Bound:
    """What a row says of a session's folders."""

    storage_root: str
    storage_layout: int = LAYOUT


@pytest.mark.requirement("supervisor.envelope")
def test_a_moved_home_is_found_again_and_said_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    old, new = Envelopes(tmp_path / "old"), Envelopes(tmp_path / "new")
    names = [SessionId("C1/17.1"), SessionId("C1/17.2")]
    roots = [old.new_root(name) for name in names]
    assert len(set(roots)) == 2
    assert old.storage(names[0], Bound(roots[0])).root == roots[0]
    assert caplog.records == []
    for name, root in zip(names, roots, strict=True):
        moved = new.storage(name, Bound(root))
        assert moved.root == new.new_root(name)
        assert moved.home == str(tmp_path / "new")
    assert len(caplog.records) == 1
    assert roots[0] in caplog.text
    assert new.new_root(names[0]) in caplog.text


@pytest.mark.requirement("children.own-process")
def test_the_folders_of_a_run_lie_in_its_parents_wherever_the_home_is(tmp_path: Path) -> None:
    old, new = Envelopes(tmp_path / "old"), Envelopes(tmp_path / "new")
    parent, run = SessionId("C1/17.1"), RunId("abc")
    bound = Bound(child_run_dir(old.new_root(parent), run))
    before = old.storage(SessionId(f"{parent}/sub/{run}"), bound)
    assert before.root == f"{old.new_root(parent)}/subagents/abc"
    assert before.workspace == f"{before.root}/workspace"
    moved = new.storage(SessionId(f"{parent}/sub/{run}"), bound)
    assert moved.root == f"{new.new_root(parent)}/subagents/abc"
    above = new.storage(parent, Bound(new.new_root(parent)))
    assert moved.tmp.rpartition("/")[0] == above.tmp.rpartition("/")[0]
    assert moved.tmp != above.tmp


@pytest.mark.requirement("storage.unversioned")
def test_a_session_older_than_layouts_keeps_its_path_wherever_the_home_is(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    moved = Envelopes(tmp_path / "new")
    old = Bound(str(tmp_path / "old" / "sessions" / "C1_17_1"), storage_layout=0)
    assert moved.storage(SessionId("C1/17.1"), old).root == old.storage_root
    unbound = Bound("", storage_layout=0)
    found = moved.storage(SessionId("C1/17.1 x"), unbound).root
    assert found == str(tmp_path / "new" / "sessions" / "C1_17_1_x")
    assert caplog.records == []
    assert list(tmp_path.iterdir()) == []


@pytest.mark.requirement("storage.newer-layout")
def test_a_newer_layout_is_shown_and_not_worked_in(tmp_path: Path) -> None:
    envelopes, name = Envelopes(tmp_path), SessionId("C1/17.1")
    newer = Bound(envelopes.new_root(name), storage_layout=2)
    assert envelopes.shown(name, newer).root == newer.storage_root
    with pytest.raises(SchemaNewerError, match="made by a newer netclaw"):
        envelopes.storage(name, newer)


@pytest.mark.requirement("storage.newer-layout")
async def test_a_session_of_a_newer_program_refuses_messages_and_the_others_run(
    world: InProcess,
) -> None:
    await world.send("newer", "x")
    await world.until_phase("newer", "ready")
    await world.stop()
    name = SessionId("newer")
    world.data.sessions[name].storage_layout = LAYOUT + 1
    before = replace(world.data.sessions[name])
    await world.start()

    error = await refused(world.send("newer", "again"))
    assert isinstance(error, SchemaNewerError)
    assert "newer netclaw" in error.sentence
    for method in ("RestartSession", "ResetSession"):
        assert isinstance(await refused(world.admin_call(method, "newer")), SchemaNewerError)
    assert (await world.row("newer")).phase == "quarantined"
    assert world.data.sessions[name].rows == before.rows
    assert not [b for b in world.spawner.bootstraps[1:] if b.session_id == name]
    assert world.supervisor.services.health.state == "ok"
    await world.send("other", "served")
    await world.until_phase("other", "ready")
