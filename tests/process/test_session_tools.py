"""The session tools of a model, through real sessions of a real daemon."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator

import pytest

from tests.process.lending import Lender
from tests.process.notice_calls import SLOW, lines_in, marks, set_goal, show, speak, watch
from tests.process.run_calls import add_agent, begin, in_state, shell
from tests.process.session_calls import ASKER, TARGET, answers, ask, asked_text, at_rest, call
from tests.process.world import World, merge

pytestmark = pytest.mark.timeout(90)
WHOLE = {"Session": {"Tuning": {"MaxInlineToolResultChars": 200_000}}}


@pytest.fixture
async def world(lender: Lender) -> AsyncIterator[World]:
    """A daemon with one agent, which wakes a watcher for the first change alone."""
    async with lender.lend(SLOW, prepare=add_agent) as world:
        yield world


async def two(world: World, target: str = TARGET) -> None:
    """Both sessions, each of which has answered a person."""
    await world.peer.turn(ASKER, "[[reply:here]]")
    await world.peer.turn(target, "the plan is secret [[reply:there]]")


@pytest.mark.requirement("sessions.status", "signals.case-09")
async def test_a_session_tells_how_another_stands_and_its_version(world: World) -> None:
    target = "unheard-of"  # a name that the daemon had before would have a gap
    await two(world, target)
    status = await ask(world, "session_status", sessionKey=target, changesSince=0)
    assert (status["ok"], status["sessionKey"], status["stateVersion"]) == (True, target, 0)
    assert "turns: 1" in status["statusText"]
    assert status["stateChanges"] == {
        "events": [],
        "truncated": False,
        "earliestAvailableSequence": 0,
        "historyGap": False,
    }
    (row,) = [
        item
        for item in (await ask(world, "sessions_list"))["sessions"]
        if item["sessionKey"] == target
    ]
    assert "stateVersion" not in row

    own = await ask(world, "session_status")
    assert (own["sessionKey"], own["stateVersion"]) == (ASKER, 0)
    assert "phase: processing" in own["statusText"]
    assert "stateChanges" not in own
    same = await ask(world, "session_status", sessionKey="current")
    assert same["sessionKey"] == ASKER


@pytest.mark.requirement("sessions.status", "signals.case-04", "signals.case-08")
async def test_changes_are_listed_without_words_and_moved_by_no_question(world: World) -> None:
    await two(world)
    await set_goal(world, TARGET, "get it green")
    await set_goal(world, TARGET)
    await set_goal(world, TARGET)
    await watch(world, ASKER, TARGET)
    version = (await show(world, TARGET)).state_version
    # A turn with the question three times: the notice that opened meanwhile is not consumed.
    since = (version, 0, version)
    three = [call("session_status", sessionKey=TARGET, changesSince=item) for item in since]
    await world.peer.send(ASKER, f"[[gate:go]] {' [[next]] '.join(three)} [[reply:three]]")
    await world.at_gate("go")
    await speak(world, TARGET, "nobody may know [[reply:ok]]")
    stand = await marks(world, ASKER, TARGET)
    world.open_gate("go")
    await at_rest(world, ASKER)

    found = answers(await world.peer.journal(ASKER), "session_status")
    assert len(found) == 3
    assert found[0] == found[2]
    (event,) = found[0]["stateChanges"]["events"]
    assert (event["kind"], event["actorType"]) == ("human_direct_message", "human")
    assert event["summary"] == "human message via cli"
    assert "payload" not in event
    assert "nobody may know" not in str(found)
    assert stand[0] == version < stand[1]
    everything = await ask(world, "session_status", sessionKey=TARGET, changesSince=0)
    goals = [item for item in everything["stateChanges"]["events"] if "goal" in item["kind"]]
    assert [item["summary"] for item in goals] == ["goal created", "goal cleared"]
    assert {item["actorType"] for item in goals} == {"human"}


@pytest.mark.requirement("sessions.status", "signals.case-23")
async def test_a_long_log_comes_in_pages_of_two_hundred(lender: Lender) -> None:
    async with lender.lend(merge(SLOW, WHOLE)) as world:
        await two(world)
        for number in range(250):
            await set_goal(world, TARGET, f"goal {number}")
        first = await ask(world, "session_status", sessionKey=TARGET, changesSince=0)
        changes = first["stateChanges"]
        assert len(changes["events"]) == 200
        assert changes["truncated"]
        last = changes["events"][-1]["sequence"]
        rest = await ask(world, "session_status", sessionKey=TARGET, changesSince=last)
        assert len(rest["stateChanges"]["events"]) == 50
        assert not rest["stateChanges"]["truncated"]
        assert rest["stateVersion"] == first["stateVersion"]
        negative = await asked_text(world, "session_status", sessionKey=TARGET, changesSince=-1)
        assert "`changesSince` must be at least 0" in negative


@pytest.mark.requirement("sessions.status", "signals.case-01")
async def test_a_parent_sees_its_run_and_is_told_nothing_of_its_birth(world: World) -> None:
    (run,) = await begin(world, "[[gate:work]] [[reply:done]]", name=ASKER)
    await in_state(world, run.run_id, "Running")
    status = await ask(world, "session_status", sessionKey=run.session_id, changesSince=0)
    (event,) = status["stateChanges"]["events"]
    assert (event["kind"], event["actorType"]) == ("child_spawned", "agent")
    assert event["actorId"] == ASKER
    assert event["sequence"] == status["stateVersion"]
    assert f"parent: {ASKER}" in status["statusText"]
    assert lines_in(world.model.requests[-1]) == []
    world.open_gate("work")


@pytest.mark.requirement("sessions.list")
async def test_the_list_is_filtered_and_paged(world: World) -> None:
    await two(world)
    for number in range(5):
        await world.peer.ensure(f"other-{number}")
    await set_goal(world, "other-3", "paint the fence")
    page = await ask(world, "sessions_list", limit=3)
    assert (page["total"], page["hasMore"], page["nextOffset"]) == (7, True, 3)
    rest = await ask(world, "sessions_list", limit=200, offset=3)
    assert not rest["hasMore"]
    assert len(rest["sessions"]) == 4
    (found,) = (await ask(world, "sessions_list", search="FENCE"))["sessions"]
    assert (found["sessionKey"], found["goal"]) == ("other-3", "paint the fence")
    assert found["stateVersion"] > 0
    assert (await ask(world, "sessions_list", kinds=["group", "cron"]))["total"] == 0
    said = await ask(world, "sessions_list", search=TARGET, messageLimit=2)
    texts = [item["text"] for item in said["sessions"][0]["messages"]]
    assert texts == ["the plan is secret [[reply:there]]", "there"]
    wrong = await asked_text(world, "sessions_list", kinds=["nothing"])
    assert "`kinds` may hold only" in wrong


@pytest.mark.requirement("sessions.history")
async def test_a_history_is_shown_redacted_and_cut(lender: Lender) -> None:
    async with lender.lend(merge(SLOW, WHOLE)) as world:
        await world.peer.turn(ASKER, "[[reply:here]]")
        key = "ghp_" + "a1B2" * 9
        await world.peer.turn(TARGET, f"my key is {key} [[reply:noted]]")
        await world.peer.turn(TARGET, f"{'x' * 9_000} [[reply:long]]")
        await world.peer.turn(TARGET, f"{shell('echo tool-says')} [[reply:ran]]")
        shown = await ask(world, "sessions_history", sessionKey=TARGET)
        assert key not in json.dumps(shown)
        assert shown["contentRedacted"]
        assert shown["contentTruncated"]
        assert shown["truncated"]
        assert shown["droppedMessages"] == 0
        assert max(len(item["text"]) for item in shown["messages"]) <= 4_010
        assert "tool" not in {item["role"] for item in shown["messages"]}
        tools = await ask(world, "sessions_history", sessionKey=TARGET, includeTools=True)
        assert "tool-says" in json.dumps(tools)
        newest = await ask(world, "sessions_history", sessionKey=TARGET, limit=1)
        assert [item["text"] for item in newest["messages"]] == ["ran"]
        older = await ask(
            world, "sessions_history", sessionKey=TARGET, limit=1, offset=newest["nextOffset"]
        )
        assert older["messages"][0]["role"] == "user"


@pytest.mark.requirement("sessions.visibility", "sessions.authority")
async def test_what_is_not_there_and_what_may_not_be_known_look_the_same(world: World) -> None:
    await two(world)
    for name in ("session_status", "sessions_history"):
        text = await asked_text(world, name, sessionKey="nobody")
        assert 'There is no session "nobody".' in text


@pytest.mark.requirement("sessions.visibility", "sends.results")
async def test_a_run_sees_itself_and_no_other_session(world: World) -> None:
    await world.peer.turn(TARGET, "[[reply:there]]")
    asking = call("sessions_history", sessionKey=TARGET)
    sending = call("sessions_send", sessionKey=TARGET, message="hi", watch=True)
    task = f"{asking} [[next]] {sending} [[next]] [[gate:stay]] [[reply:done]]"
    (run,) = await begin(world, task, name=ASKER)
    await world.at_gate("stay")
    rows = await world.peer.journal(run.session_id)
    texts = [row["payload"]["result"]["text"] for row in rows if "Result" in row["type"]]
    refused = [text for text in texts if 'visibility is "tree"' in text.replace("\\", "")]
    assert len(refused) == 2
    assert all(TARGET in text for text in refused)
    assert json.loads(refused[1])["status"] == "forbidden"
    assert "watched" not in json.loads(refused[1])
    world.open_gate("stay")


@pytest.mark.requirement("goals.models", "signals.own-changes")
async def test_a_model_gives_a_goal_and_reports_its_end(world: World) -> None:
    await two(world)
    await watch(world, ASKER, TARGET)
    made = await ask(world, "create_goal", objective="ship it", sessionKey=TARGET)
    assert lines_in(world.model.requests[-1]) == []
    assert made["goal"] == {"objective": "ship it", "status": "active"}
    again = await asked_text(world, "create_goal", objective="other", sessionKey=TARGET)
    assert "There is a goal already" in again
    done = await ask(world, "update_goal", status="complete", sessionKey=TARGET)
    assert done["goal"]["status"] == "complete"
    assert await marks(world, ASKER, TARGET) == (0, 0, 0), "who changed it is told of it"
    seen = await ask(world, "get_goal", by=TARGET)
    assert seen["goal"] == {"objective": "ship it", "status": "complete"}
    changes = await show(world, TARGET)
    steps = [event for event in changes.events if event.kind == "goal_changed"]
    assert [event.summary for event in steps] == [
        "goal created",
        "goal status changed to complete",
    ]
    assert {(event.actor_type, event.actor_id) for event in steps} == {("agent", ASKER)}
    own = await ask(world, "session_status", sessionKey=TARGET, changesSince=0)
    assert [
        (event["summary"], event["actorId"])
        for event in own["stateChanges"]["events"]
        if event["kind"] == "goal_changed"
    ] == [(event.summary, ASKER) for event in steps]
    # A change that changed nothing is none.
    await ask(world, "update_goal", status="complete", sessionKey=TARGET)
    assert (await show(world, TARGET)).state_version == changes.state_version
    none = await asked_text(world, "update_goal", status="blocked")
    assert "no goal" in none
