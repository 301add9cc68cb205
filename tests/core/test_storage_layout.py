"""Names of a session's folders."""

from __future__ import annotations

import hashlib
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netclaw.core.ids import RunId, SessionId, chat_key, run_of_key
from netclaw.core.settings import SessionStorage
from netclaw.core.storage_layout import (
    Rerooted,
    child_run_dir,
    envelope_name,
    new_root,
    readable,
    reroot,
    storage_of,
    storage_of_run,
    temp_child_dir,
    temp_key_dir,
    temp_parent_dir,
    unversioned_root,
)

HOME = "/home/u/.netclaw"
SLACK = SessionId("C0123456789/1700000000.123456")


@pytest.mark.requirement("core.envelope-name")
def test_an_envelope_is_named_by_a_readable_part_and_a_hash() -> None:
    digest = hashlib.sha256(SLACK.encode()).hexdigest()
    assert envelope_name(SLACK) == f"C0123456789_1700000000_123456-{digest[:12]}"
    assert new_root(HOME, SLACK) == f"{HOME}/sessions/{envelope_name(SLACK)}"
    assert new_root(HOME + "/", SLACK) == new_root(HOME, SLACK)


@pytest.mark.requirement("core.envelope-name")
@given(st.text(min_size=1, max_size=80).filter(lambda text: "\ud800" not in text))
def test_any_id_gives_one_safe_short_folder_name(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        return
    name = envelope_name(SessionId(text))
    assert re.fullmatch(r"[A-Za-z0-9_-]{1,40}-[0-9a-f]{12}", name)
    assert len(readable(SessionId(text))) <= 40


def test_ids_that_read_alike_have_envelopes_of_their_own() -> None:
    assert readable(SessionId("a/b")) == readable(SessionId("a.b"))
    assert envelope_name(SessionId("a/b")) != envelope_name(SessionId("a.b"))
    assert envelope_name(SessionId("A")).lower() != envelope_name(SessionId("a")).lower()


@pytest.mark.requirement("core.temp-layout")
def test_temporary_folders_lie_outside_the_envelope_under_the_user_and_the_session() -> None:
    key = hashlib.sha256(f"{HOME}\0{SLACK}".encode()).hexdigest()[:12]
    run = RunId("abcdefghijklmnop")
    child = hashlib.sha256(run.encode()).hexdigest()[:8]
    assert temp_key_dir(1000, HOME, SLACK) == f"/tmp/netclaw-1000/{key}"
    assert temp_parent_dir(1000, HOME, SLACK) == f"/tmp/netclaw-1000/{key}/p"
    assert temp_child_dir(1000, HOME, SLACK, run) == f"/tmp/netclaw-1000/{key}/c{child}"


@pytest.mark.requirement("core.temp-layout")
def test_equal_ids_in_two_homes_share_no_temporary_folder() -> None:
    assert temp_key_dir(1000, HOME, SLACK) != temp_key_dir(1000, "/srv/netclaw", SLACK)
    assert temp_key_dir(1000, f"{HOME}/", SLACK) == temp_key_dir(1000, HOME, SLACK)


def test_the_folders_of_a_session_follow_from_its_root() -> None:
    storage = storage_of(HOME, new_root(HOME, SLACK), 7, SLACK)
    root = new_root(HOME, SLACK)
    assert storage.tmp == temp_parent_dir(7, HOME, SLACK)
    assert (
        storage.workspace,
        storage.artifacts,
        storage.worktrees,
        storage.logs,
        storage.spills,
        storage.jobs,
        storage.staging,
    ) == tuple(
        f"{root}/{name}"
        for name in (
            "workspace",
            "artifacts",
            "worktrees",
            "logs",
            "tool-calls",
            "jobs",
            "attachment-staging",
        )
    )
    assert child_run_dir(root, RunId("r")) == f"{root}/subagents/r"


@pytest.mark.requirement("core.reroot")
def test_a_moved_data_directory_keeps_the_folder_and_names_both_paths_once() -> None:
    stored = new_root(HOME, SLACK)
    assert reroot(stored, HOME) == Rerooted(root=stored)
    moved = reroot(stored, "/mnt/restored")
    assert moved == Rerooted(
        root=f"/mnt/restored/sessions/{envelope_name(SLACK)}", moved_from=stored
    )
    assert reroot(moved.root, "/mnt/restored") == Rerooted(root=moved.root)


@pytest.mark.requirement("storage.unversioned")
def test_a_session_older_than_layouts_is_where_it_was_or_named_by_its_id_alone() -> None:
    name = SessionId("C1/17.1 x")
    assert unversioned_root("/home/new/", name, "/home/old/place") == "/home/old/place"
    assert unversioned_root("/home/new/", name, "") == "/home/new/sessions/C1_17_1_x"


@pytest.mark.requirement("children.own-process")
def test_a_run_has_its_folders_within_those_of_its_parent() -> None:
    run = SessionId("slack/a/sub/abcdefghij234567")
    parent = chat_key(run)
    assert parent == "slack/a" == chat_key(parent)
    assert run_of_key(run) == "abcdefghij234567"
    assert run_of_key(parent) is None
    storage = storage_of_run("/home/n", "/home/n/sessions/a", 1000, parent, RunId("r1"))
    assert storage.root == "/home/n/sessions/a/subagents/r1"
    assert storage.tmp != temp_parent_dir(1000, "/home/n", parent)
    assert storage.tmp.rpartition("/")[0] == temp_parent_dir(1000, "/home/n", parent)[: -len("/p")]


@pytest.mark.requirement("agents.roots")
def test_a_run_may_write_what_its_parent_may() -> None:
    parent = SessionStorage(home=HOME, root=f"{HOME}/sessions/a-1", tmp="/tmp/p")
    run = SessionStorage(home=HOME, root=f"{parent.root}/subagents/abcdefghijklmnop", tmp="/tmp/c")
    assert (parent.outer, run.outer) == (parent.root, parent.root)
    assert parent.areas == (parent.workspace, parent.artifacts, parent.worktrees)
    assert run.areas == (run.workspace, run.artifacts, run.worktrees, *parent.areas)
    assert run.project_places == (
        *(run.workspace, run.worktrees),
        *(parent.workspace, parent.worktrees),
    )
