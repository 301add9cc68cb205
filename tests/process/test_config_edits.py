"""Edits of the configuration folder while the daemon runs: what is noticed and what follows."""

from __future__ import annotations

import json
from typing import Any

import pytest

from netclaw.config.home import Home
from netclaw.config.secret_store import set_secret
from tests.fakes.model import FakeModel
from tests.process.peer import Turn
from tests.process.test_command_line import Result, begin, finish
from tests.process.world import World

pytestmark = pytest.mark.timeout(120)

KEY = "Providers.fake.ApiKey"


def key_of(model: FakeModel, words: str) -> str:
    """The key of the first call whose conversation holds these words."""
    call = next(item for item in model.requests if words in item.raw.decode())
    return call.headers["Authorization"].removeprefix("Bearer ")


async def run(world: World, *words: str) -> Result:
    """Run a command, however it ends."""
    return await finish(await begin(world, *words))


async def say_status(world: World) -> tuple[int, dict[str, Any]]:
    """What `netclaw status --json` says, and its exit code."""
    answer = await run(world, "status", "--json")
    return answer.code, json.loads(answer.out)


@pytest.mark.requirement("restart.invalid-is-shown")
async def test_an_invalid_edit_is_shown_until_it_is_mended(world: World) -> None:
    before = await world.peer.status()
    world.edit_config({"Session": {"PrefillTimeoutSeconds": 0}})
    found = await world.peer.wait_status(lambda status: bool(status.config_problem))
    assert "PrefillTimeoutSeconds" in found.config_problem

    code, row = await say_status(world)
    assert code == 2
    assert "PrefillTimeoutSeconds" in " ".join(row["reasons"])
    doctor = await run(world, "doctor")
    assert "configuration in use" in doctor.out
    assert (await world.peer.turn("still", "[[reply:here]]")).text == "here"

    world.edit_config({})
    after = await world.peer.wait_status(lambda status: not status.config_problem)
    assert after.generation == before.generation
    assert (await say_status(world))[0] == 0


@pytest.mark.requirement("restart.deleted-file")
async def test_a_deleted_configuration_stops_nothing_and_its_return_is_noticed(
    world: World,
) -> None:
    path = world.home / "config" / "netclaw.json"
    generation = (await world.peer.status()).generation
    path.unlink()
    await world.peer.wait_status(lambda status: "gone" in status.config_problem)
    assert (await world.peer.turn("still", "[[reply:here]]")).text == "here"

    world.edit_config({"Session": {"PrefillTimeoutSeconds": 61}})
    await world.wait_generation(generation + 1)
    status = await world.peer.status()
    assert status.config_problem == ""
    assert status.degraded_reason == ""


@pytest.mark.requirement("upstream.rename-over-edit")
@pytest.mark.requirement("restart.watch-forms")
async def test_an_edit_is_seen_whether_written_in_place_or_renamed_over(world: World) -> None:
    generation = (await world.peer.status()).generation
    world.edit_config({"Session": {"PrefillTimeoutSeconds": 61}})  # renamed over
    await world.wait_generation(generation + 1)
    path = world.home / "config" / "netclaw.json"
    text = path.read_text()
    path.write_text(text.replace("61", "62"))  # in place
    await world.wait_generation(generation + 2)
    text = path.read_text()
    path.rename(path.with_suffix(".json~"))  # as editors that keep a backup do
    path.write_text(text.replace("62", "63"))
    await world.wait_generation(generation + 3)


@pytest.mark.requirement("upstream.secret-is-no-restart")
async def test_a_renewed_key_reaches_live_sessions_without_a_restart() -> None:
    async with World() as world:
        set_secret(Home(world.home), KEY, "first-key-000")
        await world.start()
        before = await world.peer.status()
        await world.peer.turn("live", "first question [[reply:a]]")
        assert key_of(world.model, "first question") == "first-key-000"
        pid = (await world.peer.rows())["live"].pid

        answer = await run(world, "secrets", "set", KEY, "second-key-000", "--json")
        # On a slow machine the watch is faster than the command that asks for it.
        assert json.loads(answer.out)["applied"] in ("live", "unchanged")
        turn = await world.peer.turn("live", "say second-key-000 [[echo]]")
        assert key_of(world.model, "second-key-000") == "second-key-000"

        after = await world.peer.status()
        assert (after.generation, after.pid) == (before.generation, before.pid)
        assert (await world.peer.rows())["live"].pid == pid
        assert turn.error is None
        log = next(world.home.glob("sessions/*/logs/session.log")).read_text()
        assert "second-key-000" not in log


@pytest.mark.requirement("upstream.secret-is-no-restart")
async def test_files_of_clients_and_a_write_that_changes_nothing_are_no_edit(
    world: World,
) -> None:
    before = await world.peer.status()
    folder = world.home / "config"
    for name in ("client.json", "netclaw.json.swp", ".netclaw.json.tmp", "devices.json"):
        (folder / name).write_text("{}")
    world.edit_config({})  # what a wizard does that ends where it began
    world.edit_config({"Session": {"PrefillTimeoutSeconds": 0}})
    # The last edit is noticed after all that came before it.
    after = await world.peer.wait_status(lambda status: bool(status.config_problem))
    assert after.generation == before.generation


@pytest.mark.requirement("restart.watch-forms")
async def test_the_first_configuration_of_a_home_is_noticed_when_it_is_made() -> None:
    async with World() as world:
        path = world.home / "config" / "netclaw.json"
        text = path.read_text()
        path.unlink()
        path.parent.rmdir()
        await world.start()
        assert (await world.peer.status()).degraded_reason
        path.write_text(text)
        await world.wait_generation(2)
        assert not (await world.peer.status()).degraded_reason
        assert (await world.peer.turn("new", "[[reply:here]]")).text == "here"


def results(turn: Turn) -> str:
    """What the tools of a turn gave."""
    return "\n".join(output.text for output in turn.outputs if output.type == "tool_result")


@pytest.mark.requirement("profiles.deny-rules-broken")
async def test_deny_rules_count_from_the_next_call_on_and_a_broken_file_turns_commands_off(
    world: World,
) -> None:
    rules = world.home / "config" / "hard-deny-overrides.json"
    run_it = '[[tool:shell_execute {"command": "echo hello"}]] [[reply:tried]]'
    generation = (await world.peer.status()).generation

    rules.write_text('[{"verbs": ["echo"], "reason": "Quiet here.", "match": ["echo x"]}]')
    await world.wait_generation(generation + 1)
    turn = await world.peer.turn("quiet", run_it)
    assert "A rule of the operator forbids this command." in results(turn)

    rules.write_text("[{")
    await world.wait_generation(generation + 2)
    status = await world.peer.status()
    assert "Shell commands are off" in status.degraded_reason
    code, row = await say_status(world)
    assert code == 2
    assert str(rules) in " ".join(row["reasons"])
    assert "deny rules" in (await run(world, "doctor")).out
    turn = await world.peer.turn("quiet", run_it)
    assert "hello" not in results(turn)

    rules.unlink()
    await world.wait_generation(generation + 3)
    assert (await world.peer.status()).degraded_reason == ""
    turn = await world.peer.turn("quiet", run_it)
    assert "hello" in results(turn)
