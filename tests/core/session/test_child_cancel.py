"""How child runs are cancelled, and who may do that."""

from __future__ import annotations

from dataclasses import replace

import pytest

from netclaw.core.authority import Audience, Authenticity, Authority, Principal, SourceKind
from netclaw.core.ids import RunId, SessionId
from netclaw.core.session.child_commands import (
    BeginChild,
    CancelChild,
    CloseChildDispatch,
)
from netclaw.core.session.child_control import may_control
from netclaw.core.session.child_effects import (
    AcknowledgeChild,
    AnswerChildCancel,
    CancelAnswer,
    CloseChild,
    ReportKind,
)
from netclaw.core.session.child_events import (
    ChildCancelAdmitted,
    ChildDispatchClosed,
    ChildEnded,
    ChildStarted,
    ChildState,
)
from netclaw.core.session.consent_events import ConsentWithdrawn, Withdrawal
from netclaw.core.session.outputs import ConsentEnd, ConsentUpdateOutput
from netclaw.testing.matchers import like
from netclaw.testing.people import ALICE, BOB, OPERATOR, REMINDER, STRANGER, WEBHOOK, authority
from netclaw.testing.story import Story
from tests.core.session.runs import (
    RESULT,
    end_run,
    park,
    run_of,
    spawn,
    working,
)


def acknowledged(story: Story, report: ReportKind, position: int = 0) -> AcknowledgeChild:
    run = run_of(story, position)
    return AcknowledgeChild(run_id=run.run_id, start=run.start, report=report)


def cancelling(story: Story, by: Authority | None = ALICE) -> CancelChild:
    return CancelChild(run_id=run_of(story).run_id, actor="U1", authority=by)


@pytest.mark.requirement("child.cancel")
def test_a_cancel_is_admitted_then_the_gate_closes_then_the_run_ends() -> None:
    story = working()
    run_id = spawn(story)
    decision = story.when(cancelling(story))
    assert decision.events == (ChildCancelAdmitted(run_id=run_id, actor="U1"),)
    assert decision.effects == (
        CloseChild(run_id=run_id),
        AnswerChildCancel(run_id=run_id, actor="U1", answer=CancelAnswer.ADMITTED),
    )
    assert run_of(story).state is ChildState.CANCELLING
    closing = CloseChildDispatch(run_id=run_id, start=1)
    decision = story.when(closing)
    assert decision.events == (ChildDispatchClosed(run_id=run_id),)
    assert decision.effects == (acknowledged(story, ReportKind.DISPATCH_CLOSED),)
    assert story.when(closing).events == ()
    assert end_run(story).events == (
        ChildEnded(
            run_id=run_id,
            state=ChildState.CANCELLED,
            reason="CancelledByParent",
            result_path=RESULT,
        ),
    )


@pytest.mark.requirement("child.first-wins")
def test_an_end_after_a_cancel_is_a_cancelled_one() -> None:
    story = working()
    run_id = spawn(story)
    story.when(cancelling(story))
    assert end_run(story).events == (
        ChildDispatchClosed(run_id=run_id),
        like(ChildEnded, state=ChildState.CANCELLED),
    )


@pytest.mark.requirement("child.first-wins")
def test_a_cancel_after_the_end_changes_nothing() -> None:
    story = working()
    spawn(story)
    end_run(story)
    decision = story.when(cancelling(story))
    assert decision.events == ()
    assert decision.effects == (like(AnswerChildCancel, answer=CancelAnswer.ALREADY),)


@pytest.mark.requirement("child.cancel")
def test_a_second_cancel_adds_nothing() -> None:
    story = working()
    spawn(story)
    story.when(cancelling(story))
    assert story.when(cancelling(story)).effects == (
        like(AnswerChildCancel, answer=CancelAnswer.ALREADY),
    )


@pytest.mark.requirement("child.cancel")
def test_a_gate_closes_only_for_a_cancel() -> None:
    story = working()
    run_id = spawn(story)
    assert story.when(CloseChildDispatch(run_id=run_id, start=1)).events == ()


@pytest.mark.requirement("child.cancel")
def test_a_run_that_begins_after_its_cancel_is_told_so() -> None:
    story = working()
    run_id = spawn(story, begins=False)
    story.when(cancelling(story))
    decision = story.when(BeginChild(run_id=run_id, start=1))
    assert decision.events == (ChildStarted(run_id=run_id),)
    assert decision.effects[0] == CloseChild(run_id=run_id)
    assert run_of(story).state is ChildState.CANCELLING


@pytest.mark.requirement("child.cancel")
def test_a_run_that_parks_after_its_cancel_is_over() -> None:
    story = working()
    run_id = spawn(story)
    story.when(cancelling(story))
    assert park(story, "c1").events == (
        ChildDispatchClosed(run_id=run_id),
        like(ChildEnded, state=ChildState.CANCELLED),
    )


@pytest.mark.requirement("child.cancel-withdraws")
def test_cancelling_a_parked_run_withdraws_its_requests_and_ends_it_at_once() -> None:
    story = working()
    run_id = spawn(story)
    park(story, "c1", "c2")
    decision = story.when(cancelling(story))
    withdrawn = like(ConsentWithdrawn, reason=Withdrawal.RUN_ENDED, run_id=run_id)
    assert decision.events == (
        withdrawn,
        withdrawn,
        like(ChildCancelAdmitted),
        ChildDispatchClosed(run_id=run_id),
        like(ChildEnded, state=ChildState.CANCELLED),
    )
    assert decision.outputs[0] == like(ConsentUpdateOutput, end=ConsentEnd.WITHDRAWN, run_id=run_id)


@pytest.mark.requirement("child.cancel-withdraws")
def test_the_end_of_a_parked_run_withdraws_its_requests() -> None:
    story = working()
    run_id = spawn(story)
    park(story, "c1")
    assert end_run(story).events == (
        like(ConsentWithdrawn, call_id="c1", run_id=run_id),
        like(ChildEnded),
    )


@pytest.mark.requirement("child.requester")
@pytest.mark.parametrize("by", [BOB, STRANGER, OPERATOR, WEBHOOK, REMINDER])
def test_a_run_of_somebody_else_is_not_found(by: Authority) -> None:
    story = working(ALICE)
    spawn(story)
    decision = story.when(cancelling(story, by))
    assert decision.events == ()
    assert decision.effects == (like(AnswerChildCancel, answer=CancelAnswer.NOT_FOUND),)
    nobody = CancelChild(run_id=RunId("nobody"), actor="U1", authority=ALICE)
    assert story.when(nobody).effects == (like(AnswerChildCancel, answer=CancelAnswer.NOT_FOUND),)


@pytest.mark.requirement("child.requester")
def test_the_same_requester_may_whatever_the_turn_carries() -> None:
    quoting = replace(ALICE, adopted_context=("quoted",), delivery_targets=())
    story = working(quoting)
    spawn(story)
    assert may_control(run_of(story), ALICE)
    assert may_control(run_of(story), None), "the operator of the host, outside every turn"


LOCAL_REMINDER = authority(None, Principal.AUTOMATION, source=SourceKind.CLI)
LOCAL_REMINDER = replace(
    LOCAL_REMINDER,
    provenance=replace(LOCAL_REMINDER.provenance, source_kind=SourceKind.REMINDER),
)
"""A reminder that fires in the operator's session."""
DISGUISED = replace(
    LOCAL_REMINDER,
    provenance=replace(LOCAL_REMINDER.provenance, authenticity=Authenticity.VERIFIED),
)
"""A webhook that calls itself a reminder."""


@pytest.mark.requirement("child.requester-reminder")
def test_reminder_turns_and_other_turns_manage_each_others_runs() -> None:
    story = working(OPERATOR)
    spawn(story)
    assert may_control(run_of(story), LOCAL_REMINDER)
    story = working(LOCAL_REMINDER)
    spawn(story)
    assert may_control(run_of(story), OPERATOR)


@pytest.mark.requirement("child.requester-reminder")
@pytest.mark.parametrize(
    "by",
    [
        DISGUISED,
        replace(
            LOCAL_REMINDER,
            requester=replace(LOCAL_REMINDER.requester, session_id=SessionId("cli/other")),
        ),
        replace(LOCAL_REMINDER, requester=replace(LOCAL_REMINDER.requester, boundary="slack:T/C")),
        replace(
            LOCAL_REMINDER,
            requester=replace(LOCAL_REMINDER.requester, channel_type=SourceKind.SLACK),
        ),
        replace(
            LOCAL_REMINDER,
            requester=replace(LOCAL_REMINDER.requester, audience=Audience.TEAM),
        ),
    ],
)
def test_what_is_no_reminder_of_this_session_manages_nothing(by: Authority) -> None:
    story = working(OPERATOR)
    spawn(story)
    assert not may_control(run_of(story), by)
