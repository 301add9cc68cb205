"""What memory is offered: a conversation that winds down, and the notes of a compaction."""

from __future__ import annotations

import pytest

from netclaw.core.ids import DispatchToken
from netclaw.core.messages import Usage
from netclaw.core.session.commands import (
    FailNotes,
    FinishDistillation,
    FinishNotes,
    Passivate,
    TimerKind,
)
from netclaw.core.session.effects import (
    CancelSidecar,
    Decision,
    DistilMemory,
    ExitProcess,
    QueueCheckpoint,
    StartTimer,
)
from netclaw.core.session.events import Compacted, Passivated, SessionCreated, SessionKind
from netclaw.core.session.phase import Phase
from netclaw.core.settings import SessionSettings, SessionTuning
from netclaw.testing.matchers import like
from netclaw.testing.people import SESSION
from netclaw.testing.story import Story
from tests.core.session.compactions import compacting, run_of

SPENT = Usage(input_tokens=900, output_tokens=50)


def rested(*, grace_s: float = 5.0, turns: int = 1) -> Story:
    """A session at rest after some turns."""
    told = Story(settings=SessionSettings(tuning=SessionTuning(passivation_grace_s=grace_s)))
    told.start()
    for _ in range(turns):
        told.admit()
        told.answer()
    return told


def offered(decision: Decision) -> list[DistilMemory]:
    """The distillations that a decision begins."""
    return [item for item in decision.effects if isinstance(item, DistilMemory)]


def queued(decision: Decision) -> list[QueueCheckpoint]:
    """The checkpoints that a decision queues."""
    return [item for item in decision.effects if isinstance(item, QueueCheckpoint)]


@pytest.mark.requirement("sidecars.distil")
def test_an_idle_session_is_offered_to_memory_for_the_grace_period() -> None:
    told = rested()
    decision = told.fire(TimerKind.IDLE)
    (offer,) = offered(decision)
    assert offer == like(
        DistilMemory,
        session_id=SESSION,
        life=1,
        audience=told.state.audience,
        up_to_seq=told.state.head,
        messages=told.state.history,
    )
    assert decision.effects[-2] == like(StartTimer, after_s=5.0)
    ended = told.fire(TimerKind.PASSIVATION_GRACE)
    assert ended.events == (like(Passivated),)
    assert ended.effects == (CancelSidecar(token=offer.token), ExitProcess(reason="idle"))


@pytest.mark.requirement("sidecars.distil")
def test_a_distillation_that_is_done_leaves_people_the_rest_of_the_grace_period() -> None:
    told = rested()
    (offer,) = offered(told.fire(TimerKind.IDLE))
    decision = told.when(FinishDistillation(token=offer.token))
    assert (decision.events, decision.effects) == ((), ())
    assert told.runtime.phase is Phase.PASSIVATING
    ended = told.fire(TimerKind.PASSIVATION_GRACE)
    assert ended.effects == (ExitProcess(reason="idle"),)


@pytest.mark.requirement("sidecars.distil-abort")
def test_a_message_in_the_grace_period_cancels_the_distillation() -> None:
    told = rested()
    (offer,) = offered(told.fire(TimerKind.IDLE))
    decision = told.admit("wait")
    assert CancelSidecar(token=offer.token) in decision.effects
    told.answer()
    (again,) = offered(told.fire(TimerKind.IDLE))
    assert told.when(FinishDistillation(token=offer.token)).effects == ()
    assert told.runtime.distillation_token == again.token
    assert again.up_to_seq > offer.up_to_seq


@pytest.mark.requirement("sidecars.distil-no-grace")
def test_a_drain_or_an_operators_stop_waits_for_no_distillation() -> None:
    told = rested()
    assert not offered(told.when(Passivate(reason="operator")))
    told = rested()
    assert not offered(told.drain())
    told = rested(grace_s=0.0)
    assert not offered(told.fire(TimerKind.IDLE))


@pytest.mark.requirement("sidecars.distil-no-grace")
def test_a_stop_in_the_grace_period_ends_the_distillation_with_the_process() -> None:
    told = rested()
    (offer,) = offered(told.fire(TimerKind.IDLE))
    told.when(Passivate(reason="room"))
    assert told.last.effects == (like(StartTimer, after_s=0.0),)
    ended = told.fire(TimerKind.PASSIVATION_GRACE)
    assert CancelSidecar(token=offer.token) in ended.effects


@pytest.mark.requirement("sidecars.distil")
def test_nothing_is_offered_where_nothing_was_said_or_of_a_child() -> None:
    assert not offered(rested(turns=0).fire(TimerKind.IDLE))
    told = rested()
    created = told.journal[0].event
    assert isinstance(created, SessionCreated)
    child = Story()
    child.given(
        SessionCreated(
            session_id=created.session_id,
            kind=SessionKind.CHILD,
            channel=created.channel,
            audience=created.audience,
            life=1,
        )
    )
    child.start()
    child.admit()
    child.answer()
    assert not offered(child.fire(TimerKind.IDLE))


@pytest.mark.requirement("sidecars.checkpoint")
def test_new_notes_are_queued_behind_their_record_with_what_they_cost() -> None:
    told = compacting()
    token = run_of(told).token
    decision = told.when(FinishNotes(token=token, text="The notes.", usage=SPENT, model="scribe"))
    (event,) = decision.events
    assert isinstance(event, Compacted)
    assert (event.notes_usage, event.notes_model) == (SPENT, "scribe")
    assert told.state.last_input_tokens == 0
    (checkpoint,) = queued(decision)
    assert checkpoint == like(
        QueueCheckpoint, checkpoint_id=str(token), session_id=SESSION, life=1, text=event.notes
    )


@pytest.mark.requirement("sidecars.checkpoint")
@pytest.mark.parametrize("failed", [True, False])
def test_without_new_notes_nothing_is_queued(failed: bool) -> None:
    told = compacting()
    token = run_of(told).token
    decision = told.when(
        FailNotes(token=token, sentence="Down.") if failed else FinishNotes(token=token, text=" ")
    )
    assert isinstance(told.events()[-1], Compacted)
    assert not queued(decision)


@pytest.mark.requirement("core.late-results")
def test_the_end_of_an_older_distillation_changes_nothing() -> None:
    told = rested()
    told.fire(TimerKind.IDLE)
    token = told.runtime.distillation_token
    told.when(FinishDistillation(token=DispatchToken("old")))
    assert told.runtime.distillation_token == token
