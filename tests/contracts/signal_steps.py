"""Short words for what people, sessions and runs do that others are told of."""

from __future__ import annotations

from netclaw.core.authority import Authority
from netclaw.core.ids import InputId, RunId, SessionId, TurnId
from netclaw.core.messages import AssistantMessage, Usage
from netclaw.core.session.child_events import ChildEnded, ChildState
from netclaw.core.session.events import NoticeMark, RoundRecorded, SessionEvent, TurnStarted
from netclaw.core.session.goals import GoalChange
from netclaw.core.signals.cursors import Cursor, Notice, NoticeChange
from netclaw.core.signals.events import Actor, ActorType, SignalEvent
from netclaw.ports.signals import StateChanges
from netclaw.testing.people import ALICE, OPERATOR
from netclaw.wire.journal_codec import encode_event
from tests.contracts.journal_world import OTHER, SESSION, World, recorded
from tests.contracts.test_journal_children import CHILD, begin, write
from tests.contracts.test_journal_runs import FIRST, accepted

P, C, Q = SESSION, CHILD, OTHER
"""A parent, the session of its child run, and another session of people."""
PERSON = Actor(type=ActorType.HUMAN, id="U1")
AGENT_P = Actor(type=ActorType.AGENT, id=P)


async def spawn(world: World) -> int:
    """P has a child run whose session is C; answers the version of C."""
    await world.create(P)
    await write(world, accepted())
    await begin(world)
    return (await world.record(C)).state_version


async def write_own(world: World, target: SessionId, *events: SessionEvent) -> None:
    """These are journaled in one transaction."""
    drafts = tuple(encode_event(event) for event in events)
    await world.journal.append_own(target, drafts, at=world.clock.now_ms())


async def admitted(
    world: World, target: SessionId, *, who: Authority = ALICE, text: str = "secret words"
) -> InputId:
    """An input waits in a session."""
    request = world.input_request(text, session_id=target, authority=who)
    return (await world.journal.admit(request)).input_id


async def says(
    world: World, target: SessionId, *, who: Authority = ALICE, times: int = 1, text: str = "x"
) -> None:
    """Somebody's messages are answered, each in a turn of its own."""
    for _ in range(times):
        input_id = await admitted(world, target, who=who, text=text)
        turn = f"t-{input_id}"
        await write_own(world, target, began(turn, input_id), recorded(turn, input_id))


def began(
    turn: str, *inputs: InputId, notices: tuple[NoticeMark, ...] = (), is_aside: bool = False
) -> TurnStarted:
    """A turn begins that tells of these notices."""
    return TurnStarted(
        turn_id=TurnId(turn),
        input_ids=inputs,
        authority=OPERATOR,
        notices=notices,
        is_aside=is_aside,
    )


def round_of(turn: str) -> RoundRecorded:
    """The first round of a turn."""
    return RoundRecorded(
        turn_id=TurnId(turn),
        round=1,
        message=AssistantMessage(text="", at=1, turn_id=turn),
        usage=Usage(),
        model="m",
    )


async def open_notices(world: World, watcher: SessionId = P) -> tuple[Notice, ...]:
    """What a process that starts now is not told of yet."""
    return (await world.start(watcher)).notices


async def begins_turn(world: World, watcher: SessionId = P, turn: str = "told") -> tuple[int, ...]:
    """A turn begins and tells of every open notice; answers from which versions on."""
    notices = await open_notices(world, watcher)
    marks = tuple(
        NoticeMark(target=item.target, mark=item.mark, since=item.since) for item in notices
    )
    await write_own(world, watcher, began(turn, notices=marks))
    return tuple(item.since for item in notices)


async def drains(world: World, watcher: SessionId = P) -> tuple[int, ...]:
    """A whole turn tells of every open notice."""
    found = await begins_turn(world, watcher, turn := f"t-{world.ids()}")
    await write_own(world, watcher, recorded(turn))
    return found


def ended(
    state: ChildState = ChildState.COMPLETED, reason: str = "", run_id: RunId = FIRST
) -> ChildEnded:
    """The child run is over."""
    return ChildEnded(run_id=run_id, state=state, reason=reason)


async def cursor(world: World, watcher: SessionId = P, target: SessionId = C) -> tuple[int, ...]:
    """Seen, notified and material; nothing if there is no such watch."""
    found = [item for item in await world.journal.cursors(watcher) if item.target == target]
    return next((numbers(item) for item in found if item.watcher == watcher), ())


def numbers(item: Cursor) -> tuple[int, int, int]:
    """A cursor's numbers."""
    return item.seen, item.notified, item.material


async def since(world: World, version: int, target: SessionId = C) -> StateChanges:
    """What changed after a version."""
    return await world.journal.changes_since(target, version)


async def lines(world: World, target: SessionId = C) -> list[str]:
    """The summary of every event of a session."""
    return [item.signal.summary for item in (await since(world, 0, target)).events]


async def wants(
    world: World,
    target: SessionId,
    text: str | None,
    *,
    actor: Actor = PERSON,
) -> bool:
    """Somebody sets the goal of a session; whether that changed it."""
    change = GoalChange(text=text)
    outcome = await world.journal.set_goal(target, change, actor=actor, at=world.clock.now_ms())
    return outcome.is_changed


async def watch(world: World, watcher: SessionId = Q, target: SessionId = C) -> bool:
    """A session watches another."""
    return await world.journal.watch_session(watcher, target, at=world.clock.now_ms())


def told_notices(world: World) -> list[NoticeChange]:
    """Every notice the listener was told of."""
    return [change for signals in world.signalled for change in signals.notices]


def told_events(world: World) -> list[SignalEvent]:
    """Every event the listener was told of."""
    return [event for signals in world.signalled for event in signals.events]
