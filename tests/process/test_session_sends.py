"""Messages between real sessions: admitted once, answered once, and never taken for a person's."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from netclaw.wire.v1 import admin_pb2
from tests.process.lending import Lender
from tests.process.notice_calls import SLOW, lines_in, set_goal, show, speak, unwatch
from tests.process.run_calls import add_agent, begin, in_state, kill, shell
from tests.process.session_calls import (
    ASKER,
    TARGET,
    answers,
    at_rest,
    call,
    from_sessions,
    late_replies,
    one_reply,
    send,
    texts,
)
from tests.process.world import ASKING, World

pytestmark = pytest.mark.timeout(90)
THIRD = "third"


@pytest.fixture
async def world(lender: Lender) -> AsyncIterator[World]:
    """A daemon with one agent, which wakes a watcher for the first change alone."""
    async with lender.lend(SLOW, prepare=add_agent) as world:
        yield world


async def two(world: World) -> None:
    """Both sessions, each of which has answered a person."""
    await world.peer.turn(ASKER, "[[reply:here]]")
    await world.peer.turn(TARGET, "[[reply:there]]")


async def watches(world: World, session_id: str = ASKER) -> list[tuple[str, str, int]]:
    """Watcher, target and version seen of each watch."""
    response = await world.peer.admin.ListWatches(
        admin_pb2.ListWatchesRequest(session_id=session_id), metadata=world.peer.metadata
    )
    return [(row.watcher, row.target, row.last_seen) for row in response.watches]


@pytest.mark.requirement("sends.admission", "sends.results", "signals.case-11")
async def test_a_message_is_answered_in_the_call_that_waits(world: World) -> None:
    await two(world)
    await world.peer.turn(ASKER, f"{send('[[reply:forty-two]]')} [[reply:thanks]]")
    rows = await world.peer.journal(ASKER)
    (sent,) = from_sessions(await world.peer.journal(TARGET))
    assert answers(rows) == [
        {
            "status": "ok",
            "sessionKey": TARGET,
            "inputId": sent["input_id"],
            "reply": "forty-two",
        }
    ]
    assert await one_reply(world, "forty-two") == "inline"
    assert await watches(world) == []


@pytest.mark.requirement("sends.admission", "signals.trouble-33")
async def test_a_receivers_turn_is_another_sessions_and_no_persons(world: World) -> None:
    await two(world)
    await world.peer.turn(ASKER, f"{send('do it [[reply:done]]')} [[reply:ok]]")
    (sent,) = from_sessions(await world.peer.journal(TARGET))
    authority = sent["authority"]
    assert authority["provenance"] == {
        "source_kind": "session",
        "authenticity": "LocalProcess",
    }
    assert authority["requester"]["session_id"] == TARGET
    assert authority["requester"]["sender_id"] == ASKER
    assert authority["delivery_targets"] == []
    assert not sent["attended"]
    assert sent["text"].startswith(f'[netclaw] Message of session "{ASKER}".')
    borders = [line for line in sent["text"].splitlines() if sent["input_id"] in line]
    assert len(borders) == 2
    assert (await show(world, TARGET)).state_version == 0
    history = await world.peer.history(TARGET)
    assert [item.sender for item in history if item.role == "user"] == ["", ASKER]


@pytest.mark.requirement("sends.watch", "signals.case-10")
async def test_a_watch_begins_at_the_version_of_the_send(world: World) -> None:
    await two(world)
    await set_goal(world, TARGET, "old history")
    version = (await show(world, TARGET)).state_version
    asked = send("hello [[reply:hi]]", watch=True)
    await world.peer.turn(ASKER, f"{asked} [[reply:one]]")
    (first,) = answers(await world.peer.journal(ASKER))
    assert first["watched"] is True
    await world.peer.turn(ASKER, "[[reply:two]]")
    assert lines_in(world.model.requests[-1]) == []

    await speak(world, TARGET)
    await at_rest(world, ASKER)
    await world.peer.turn(ASKER, "[[reply:three]]")
    (line,) = set(lines_in(world.model.requests[-1]))
    assert f"changesSince {version}." in line
    await world.peer.turn(ASKER, f"{asked} [[reply:again]]")
    assert answers(await world.peer.journal(ASKER))[-1]["watched"] is True


@pytest.mark.requirement("sends.watch", "signals.trouble-33")
async def test_a_third_agents_message_is_no_event_for_a_watcher(world: World) -> None:
    await two(world)
    await world.peer.turn(ASKER, f"{send('hello [[reply:hi]]', watch=True)} [[reply:ok]]")
    await world.peer.turn(THIRD, f"{send('psst [[reply:what]]')} [[reply:ok]]")
    assert (await show(world, TARGET)).state_version == 0
    await world.peer.turn(ASKER, "[[reply:quiet]]")
    assert lines_in(world.model.requests[-1]) == []


@pytest.mark.requirement("sends.watch", "sends.results", "signals.case-12", "signals.trouble-27")
@pytest.mark.parametrize("is_by_label", [False, True])
async def test_a_refused_message_leaves_no_watch(world: World, is_by_label: bool) -> None:
    await two(world)
    name = {"label": "Nothing"} if is_by_label else {"sessionKey": "nobody"}
    asked = call("sessions_send", message="hi", watch=True, **name)
    await world.peer.turn(ASKER, f"{asked} [[reply:ok]]")
    (refused,) = answers(await world.peer.journal(ASKER))
    assert (refused["status"], refused["code"]) == ("error", "not_found")
    assert "sentBeforeError" not in refused
    assert "watched" not in refused
    assert await watches(world) == []
    assert "nobody" not in await world.peer.rows()
    await speak(world, TARGET)
    await world.peer.turn(ASKER, "[[reply:quiet]]")
    assert lines_in(world.model.requests[-1]) == []


@pytest.mark.requirement("sends.wait", "signals.case-14")
async def test_a_session_sends_nothing_to_itself(world: World) -> None:
    await two(world)
    await world.peer.turn(ASKER, f"{send('hm', to=ASKER)} [[reply:ok]]")
    rows = await world.peer.journal(ASKER)
    (refused,) = answers(rows)
    assert refused["status"] == "error"
    assert "to itself" in refused["error"]
    assert from_sessions(rows) == []


@pytest.mark.requirement("sends.targets", "sends.results")
async def test_a_held_target_is_refused_and_one_that_is_held_later_ends_the_wait(
    lender: Lender,
) -> None:
    async with lender.lend({"Supervision": {"QuarantineCrashes": 1}}) as world:
        await two(world)
        await world.peer.send(ASKER, f"{send('[[gate:die]] [[reply:x]]')} [[reply:ok]]")
        await world.at_gate("die")
        row = (await world.peer.rows())[TARGET]
        kill(row.pid)
        await at_rest(world, ASKER)
        (broken,) = answers(await world.peer.journal(ASKER))
        assert (broken["status"], broken["sentBeforeError"]) == ("error", True)
        assert "held" in broken["error"]
        await world.peer.turn(ASKER, f"{send('more')} [[reply:ok]]")
        refused = answers(await world.peer.journal(ASKER))[-1]
        assert (refused["status"], refused["code"]) == ("error", "quarantined")
        assert "sentBeforeError" not in refused
        # The message was kept: its reply comes once the target runs again.
        world.open_gate("die")
        await world.peer.restart_session(TARGET)
        (late,) = await late_replies(world, 1)
        assert "\nx\n" in late["text"]


@pytest.mark.requirement("sends.targets")
async def test_a_target_that_is_deleted_ends_the_wait_and_no_reply_comes(world: World) -> None:
    await two(world)
    await world.peer.send(ASKER, f"{send('[[gate:no]] [[reply:x]]')} [[reply:ok]]")
    await world.at_gate("no")
    await world.peer.admin.DeleteSession(
        admin_pb2.SessionRef(session_id=TARGET), metadata=world.peer.metadata
    )
    await at_rest(world, ASKER)
    (broken,) = answers(await world.peer.journal(ASKER))
    assert (broken["status"], broken["sentBeforeError"]) == ("error", True)
    assert "deleted" in broken["error"]
    assert from_sessions(await world.peer.journal(ASKER)) == []


@pytest.mark.requirement("sends.targets")
async def test_a_full_target_is_refused(world: World) -> None:
    await two(world)
    await world.peer.send(TARGET, "[[gate:busy]] [[reply:x]]")
    await world.at_gate("busy")
    await asyncio.gather(*(world.peer.send(TARGET, "[[reply:y]]") for _ in range(199)))
    await world.peer.turn(ASKER, f"{send('me too')} [[reply:ok]]")
    (refused,) = answers(await world.peer.journal(ASKER))
    assert (refused["status"], refused["code"]) == ("error", "queue_full")
    world.open_gate("busy")


@pytest.mark.requirement("sends.wait", "sends.results", "signals.trouble-21")
@pytest.mark.parametrize(("wait_s", "status"), [(1, "timeout"), (0, "accepted")])
async def test_a_late_reply_comes_once_and_is_answered_to_nobody(
    world: World, wait_s: int, status: str
) -> None:
    await two(world)
    asked = send("[[gate:slow]] [[reply:at last]]", wait_s=wait_s)
    await world.peer.turn(ASKER, f"{asked} [[reply:went on]]")
    (told,) = answers(await world.peer.journal(ASKER))
    assert (told["status"], told["targetDisposition"]) == (status, "queued")
    assert told.get("sentBeforeError") == (True if wait_s else None)
    world.open_gate("slow")
    (late,) = await late_replies(world, 1)
    assert late["source_message_id"] == f"reply:{told['inputId']}"
    assert late["authority"]["requester"]["sender_id"] == TARGET
    assert not late["attended"]
    assert "at last" in late["text"]
    assert await one_reply(world, "at last") == "late"
    # Its turn answered, and nothing went back.
    assert len(from_sessions(await world.peer.journal(TARGET))) == 1


@pytest.mark.requirement("sends.wait", "signals.trouble-24")
async def test_two_sessions_that_wait_for_each_other_go_on(world: World) -> None:
    await two(world)
    back = f"{send('[[reply:from asker]]', to=ASKER, wait_s=1)} [[reply:from target]]"
    await world.peer.turn(ASKER, f"{send(back, wait_s=30)} [[reply:over]]")
    (there,) = answers(await world.peer.journal(ASKER))
    assert (there["status"], there["reply"]) == ("ok", "from target")
    (back_again,) = answers(await world.peer.journal(TARGET))
    assert back_again["status"] == "timeout"
    (late,) = await late_replies(world, 1, by=TARGET)
    assert "from asker" in late["text"]


@pytest.mark.requirement("sends.wait", "signals.trouble-25")
async def test_a_message_waits_behind_a_person_and_joins_nobody(world: World) -> None:
    await two(world)
    await world.peer.send(TARGET, "[[tool:file_list {}]] [[gate:work]] [[reply:mine]]")
    await world.at_gate("work")
    await world.peer.send(ASKER, f"{send('[[reply:yours]]')} [[reply:ok]]")
    await world.peer.wait_row(TARGET, lambda row: row.pending_inputs == 2)
    world.open_gate("work")
    assert await one_reply(world, "yours") == "inline"
    turns = [
        row["payload"]["input_ids"]
        for row in await world.peer.journal(TARGET)
        if row["type"] == "TurnStarted"
    ]
    assert [len(item) for item in turns] == [1, 1, 1]
    joined = [row for row in await world.peer.journal(TARGET) if row["type"] == "InputJoined"]
    assert joined == []


@pytest.mark.requirement("sends.wait")
async def test_a_person_ends_a_receivers_turn_and_the_sender_is_told(world: World) -> None:
    await two(world)
    message = "[[tool:file_list {}]] [[gate:mid]] [[tool:file_list {}]] [[reply:never]]"
    await world.peer.send(ASKER, f"{send(message)} [[reply:ok]]")
    await world.at_gate("mid")
    person = await world.peer.send(TARGET, "[[reply:to me]]")
    world.open_gate("mid")
    assert (await world.peer.follow(TARGET, person)).text == "to me"
    await at_rest(world, ASKER)
    (told,) = answers(await world.peer.journal(ASKER))
    assert (told["status"], told["sentBeforeError"]) == ("error", True)
    assert "person" in told["error"]


@pytest.mark.requirement("sends.admission")
async def test_a_message_consents_to_nothing_in_its_target(lender: Lender) -> None:
    async with lender.lend(ASKING) as world:
        await two(world)
        message = f"{shell('touch never')} [[reply:tried]]"
        await world.peer.turn(ASKER, f"{send(message)} [[reply:ok]]")
        (told,) = answers(await world.peer.journal(ASKER))
        assert told["reply"] == "tried"
        (denied,) = texts(await world.peer.journal(TARGET), "shell_execute")
        assert "approval_required_unattended" in denied
        found = await world.peer.approvals(TARGET, 0)
        assert found == []


@pytest.mark.requirement("sends.admission", "sessions.visibility")
async def test_a_parent_writes_to_its_run(world: World) -> None:
    (run,) = await begin(world, "[[gate:run]] [[reply:done]]", name=ASKER)
    await in_state(world, run.run_id, "Running")
    await world.at_gate("run")
    asked = send("wrap up [[reply:wrapping up]]", to=run.session_id, wait_s=0)
    await world.peer.turn(ASKER, f"{asked} [[reply:told it]]")
    (told,) = answers(await world.peer.journal(ASKER))
    assert told["status"] == "accepted"
    (sent,) = from_sessions(await world.peer.journal(run.session_id))
    assert sent["authority"]["requester"]["sender_id"] == ASKER
    world.open_gate("run")
    await in_state(world, run.run_id, "Completed")


@pytest.mark.requirement("sends.reply-once", "signals.trouble-17")
async def test_a_reset_sender_hears_nothing_of_its_former_life(world: World) -> None:
    await two(world)
    await world.peer.turn(
        ASKER, f"{send('[[gate:slow]] [[reply:too late]]', wait_s=0)} [[reply:ok]]"
    )
    await world.peer.admin.ResetSession(
        admin_pb2.SessionRef(session_id=ASKER), metadata=world.peer.metadata
    )
    world.open_gate("slow")
    await at_rest(world, TARGET, ASKER)
    await world.peer.turn(ASKER, "[[reply:new]]")
    assert from_sessions(await world.peer.journal(ASKER)) == []


@pytest.mark.requirement("sends.watch")
async def test_a_watch_of_a_send_can_be_ended(world: World) -> None:
    await two(world)
    await world.peer.turn(ASKER, f"{send('hi [[reply:hi]]', watch=True)} [[reply:ok]]")
    assert await unwatch(world, ASKER, TARGET)
    assert await watches(world) == []
