"""The tools about sessions over a scripted supervisor: arguments, refusals, answers."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any, TypeVar

import pytest

from netclaw.core.authority import Audience
from netclaw.core.errors import (
    DeniedByPolicyError,
    InternalError,
    NetclawError,
    NotFoundError,
    OperationTimeoutError,
    QueueFullError,
    StorageTimeoutError,
)
from netclaw.core.ids import TurnId
from netclaw.core.session.goal_events import GoalStatus
from netclaw.core.session.inter_session import SendStatus
from netclaw.core.signals.events import SignalKind
from netclaw.core.tool_call import OutcomeCategory, ToolResult
from netclaw.ports.sessions import (
    Asking,
    ChangesView,
    ChangeView,
    GoalView,
    HistoryQuestion,
    ListQuestion,
    SendReport,
    StatusView,
)
from netclaw.ports.tool import ToolContext
from netclaw.tools.session_status import REFRESH
from netclaw.tools.sessions_send import LATER
from tests.tools.rig import Rig

_T = TypeVar("_T")
OTHER = "slack/C1/17.1"
LOADED = (
    *("sessions_list", "sessions_history", "sessions_send"),
    *("get_goal", "create_goal", "update_goal"),
)
SENT = SendReport(status=SendStatus.ACCEPTED, key=OTHER, input_id="in1")
EVENT = ChangeView(
    sequence=13,
    kind=SignalKind.RUN_FAILED,
    actor_type="system",
    occurred_at=1_700_000_000_123,
    summary="child run timed out",
    run_id="r1",
    outcome="timeout",
)


class Supervisor:
    """Answers as a test says."""

    def __init__(self, asking: Asking) -> None:
        self.asking = asking
        self.view: StatusView | NetclawError = InternalError("Nobody said anything.")
        self.goal_view = GoalView(key=OTHER, text="ship it", status=GoalStatus.ACTIVE)
        self.sent: SendReport | NetclawError = SENT
        self.waits: list[SendReport | NetclawError] = []
        self.calls: list[tuple[str, object]] = []

    async def status(self, key: str, *, since: int | None) -> StatusView:
        """See `Sessions`."""
        self.calls.append((key, since))
        return _given(self.view)

    async def listed(self, question: ListQuestion) -> str:
        """See `Sessions`."""
        self.calls.append(("list", question))
        return '{"ok":true}'

    async def history(self, question: HistoryQuestion) -> str:
        """See `Sessions`."""
        self.calls.append(("history", question))
        return '{"ok":true}'

    async def send(self, *, key: str, label: str, message: str, watch: bool) -> SendReport:
        """See `Sessions`."""
        self.calls.append(("send", (key, label, message, watch)))
        return _given(self.sent)

    async def wait(self, patience_s: float) -> SendReport:
        """See `Sessions`."""
        self.calls.append(("wait", patience_s))
        return _given(self.waits.pop(0))

    async def goal(
        self, key: str, *, create: str | None = None, status: GoalStatus | None = None
    ) -> GoalView:
        """See `Sessions`."""
        self.calls.append((key, (create, status)))
        return self.goal_view


def _given(value: _T | NetclawError) -> _T:
    if isinstance(value, NetclawError):
        raise value
    return value


@pytest.fixture
def supervisor(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> Supervisor:
    """What the rig's session asks; its model has loaded every tool about sessions."""
    made = Supervisor(Asking(turn_id=TurnId("turn"), authority=rig.authority))
    really = rig.context
    rig.loaded = LOADED

    def context() -> ToolContext:
        return replace(really(), sessions=made)

    monkeypatch.setattr(rig, "context", context)
    return made


def read(result: ToolResult) -> dict[str, Any]:
    """The JSON object of an answer."""
    found: dict[str, Any] = json.loads(result.text)
    return found


@pytest.mark.requirement("sessions.exposure")
def test_only_the_status_is_shown_before_a_load_and_nothing_to_the_public(rig: Rig) -> None:
    assert "session_status" in rig.names()
    assert not set(LOADED) & set(rig.names())
    rig.loaded = LOADED
    assert set(rig.names()) > set(LOADED)
    rig.audience = Audience.PUBLIC
    assert not {"session_status", *LOADED} & set(rig.names())


@pytest.mark.requirement("sessions.status")
async def test_changes_are_shown_with_what_a_model_may_see(
    rig: Rig, supervisor: Supervisor
) -> None:
    changes = ChangesView(events=(EVENT,), is_truncated=True, earliest_available=9)
    supervisor.view = StatusView(
        key=OTHER, is_own=False, state_version=13, text="facts", changes=changes
    )
    answer = read(await rig.call("session_status", sessionKey=OTHER, changesSince=12))
    assert supervisor.calls == [(OTHER, 12)]
    assert answer == {
        "ok": True,
        "sessionKey": OTHER,
        "stateVersion": 13,
        "statusText": "facts",
        "stateChanges": {
            "events": [
                {
                    "sequence": 13,
                    "kind": "run_failed",
                    "actorType": "system",
                    "runId": "r1",
                    "occurredAt": "2023-11-14T22:13:20.123Z",
                    "summary": "child run timed out",
                    "payload": {"outcome": "timeout"},
                }
            ],
            "truncated": True,
            "earliestAvailableSequence": 9,
            "historyGap": False,
        },
    }


@pytest.mark.requirement("sessions.status-gap", "signals.gap-advice")
async def test_a_gap_says_what_to_do(rig: Rig, supervisor: Supervisor) -> None:
    supervisor.view = StatusView(
        key=OTHER,
        is_own=False,
        state_version=40,
        text="facts",
        changes=ChangesView(has_history_gap=True),
    )
    answer = read(await rig.call("session_status", sessionKey=OTHER, changesSince=12))
    assert answer["notice"] == REFRESH
    assert "sessions_history" in REFRESH
    assert "session_status" in REFRESH


@pytest.mark.requirement("sessions.status-gap")
@pytest.mark.parametrize("key", ["", "current", "cli/aaaaaaaaaa"])
async def test_a_session_tells_of_itself_whatever_the_supervisor_says(
    rig: Rig, supervisor: Supervisor, key: str
) -> None:
    supervisor.view = OperationTimeoutError("The daemon gave no answer.")
    answer = read(await rig.call("session_status", sessionKey=key, changesSince=0))
    assert (answer["stateVersion"], answer["stateChanges"]["events"]) == (0, [])
    assert "turns: 3" in answer["statusText"]
    supervisor.view = StatusView(
        key="cli/aaaaaaaaaa", is_own=True, state_version=5, text="goal: ship it (active)"
    )
    answer = read(await rig.call("session_status"))
    assert answer["stateVersion"] == 5
    assert answer["statusText"].endswith("goal: ship it (active)")


REFUSALS: dict[str, tuple[NetclawError, OutcomeCategory]] = {
    "unknown": (NotFoundError("There is no session."), OutcomeCategory.NOT_FOUND),
    "denied": (DeniedByPolicyError("Policy says no."), OutcomeCategory.ACCESS_DENIED),
    "full": (QueueFullError("It is full."), OutcomeCategory.TRANSIENT_FAILURE),
    "storage": (StorageTimeoutError("Too slow."), OutcomeCategory.TRANSIENT_FAILURE),
    "late": (OperationTimeoutError("No answer."), OutcomeCategory.TIMEOUT),
    "other": (InternalError("It failed."), OutcomeCategory.FAILURE),
}


@pytest.mark.requirement("sessions.status", "sends.results")
@pytest.mark.parametrize(("error", "category"), REFUSALS.values(), ids=REFUSALS)
async def test_a_refusal_is_an_outcome_with_its_sentence(
    rig: Rig, supervisor: Supervisor, error: NetclawError, category: OutcomeCategory
) -> None:
    supervisor.view = supervisor.sent = error
    result = await rig.call("session_status", sessionKey=OTHER)
    assert (result.text, result.receipt.category) == (error.sentence, category)
    sent = await rig.call("sessions_send", sessionKey=OTHER, message="hi", watch=True)
    status = "forbidden" if isinstance(error, DeniedByPolicyError) else "error"
    assert read(sent) == {"status": status, "error": error.sentence, "code": error.code.value}
    assert sent.receipt.category is category
    assert sent.answered_input == ""


WRONG: dict[str, tuple[str, dict[str, object]]] = {
    "negative version": ("session_status", {"changesSince": -1}),
    "half a version": ("session_status", {"changesSince": 1.5}),
    "long key": ("session_status", {"sessionKey": "x" * 257}),
    "unknown kind": ("sessions_list", {"kinds": ["main", "all"]}),
    "kinds as text": ("sessions_list", {"kinds": "main"}),
    "large page": ("sessions_list", {"limit": 201}),
    "no page": ("sessions_list", {"limit": 0}),
    "many messages": ("sessions_list", {"messageLimit": 21}),
    "before the first": ("sessions_list", {"offset": -1}),
    "no minutes": ("sessions_list", {"activeMinutes": 0}),
    "no session": ("sessions_history", {}),
    "long history": ("sessions_history", {"sessionKey": "x", "limit": 201}),
    "no target": ("sessions_send", {"message": "hi"}),
    "two targets": ("sessions_send", {"message": "hi", "sessionKey": "x", "label": "y"}),
    "no message": ("sessions_send", {"sessionKey": "x"}),
    "blank message": ("sessions_send", {"sessionKey": "x", "message": " \n"}),
    "long message": ("sessions_send", {"sessionKey": "x", "message": "x" * 100_001}),
    "negative wait": ("sessions_send", {"sessionKey": "x", "message": "x", "timeoutSeconds": -1}),
    "long wait": ("sessions_send", {"sessionKey": "x", "message": "x", "timeoutSeconds": 601}),
    "blank goal": ("create_goal", {"objective": "  "}),
    "long goal": ("create_goal", {"objective": "x" * 2_001}),
    "active": ("update_goal", {"status": "active"}),
    "paused": ("update_goal", {"status": "paused"}),
}


@pytest.mark.requirement("sessions.status", "sessions.list", "sends.results", "goals.models")
@pytest.mark.parametrize(("name", "arguments"), WRONG.values(), ids=WRONG)
async def test_wrong_arguments_reach_nobody(
    rig: Rig, supervisor: Supervisor, name: str, arguments: dict[str, object]
) -> None:
    result = await rig.call(name, **arguments)
    assert result.receipt.category is OutcomeCategory.INVALID_INPUT, result.text
    assert supervisor.calls == []


@pytest.mark.requirement("sessions.list", "sessions.history")
async def test_lists_and_histories_have_their_defaults(rig: Rig, supervisor: Supervisor) -> None:
    await rig.call("sessions_list")
    await rig.call("sessions_list", kinds=["main", "hook"], limit=3, offset=2, messageLimit=0)
    await rig.call("sessions_history", sessionKey=OTHER, includeTools=True)
    asking = supervisor.asking
    assert [question for _, question in supervisor.calls] == [
        ListQuestion(asking=asking, limit=100),
        ListQuestion(asking=asking, kinds=("main", "hook"), limit=3, offset=2),
        HistoryQuestion(asking=asking, key=OTHER, limit=50, with_tools=True),
    ]


@pytest.mark.requirement("sends.results")
async def test_a_message_that_is_not_waited_for_is_accepted(
    rig: Rig, supervisor: Supervisor
) -> None:
    supervisor.sent = replace(SENT, is_watched=True)
    result = await rig.call("sessions_send", label="Plan", message="hi", timeoutSeconds=0)
    assert supervisor.calls == [("send", ("", "Plan", "hi", False))]
    assert read(result) == {
        "status": "accepted",
        "sessionKey": OTHER,
        "inputId": "in1",
        "targetDisposition": "queued",
        "note": LATER,
    }
    assert result.answered_input == ""


@pytest.mark.requirement("sends.results", "sends.watch")
async def test_a_reply_in_time_is_held_by_the_result(rig: Rig, supervisor: Supervisor) -> None:
    supervisor.sent = replace(SENT, is_watched=True)
    supervisor.waits = [SENT, replace(SENT, status=SendStatus.OK, reply="fine")]
    result = await rig.call("sessions_send", sessionKey=OTHER, message="hi", watch=True)
    assert read(result) == {
        "status": "ok",
        "sessionKey": OTHER,
        "inputId": "in1",
        "reply": "fine",
        "watched": True,
    }
    assert result.answered_input == "in1"
    assert rig.items >= 2
    assert all(isinstance(wait, float) and wait <= 5 for name, wait in supervisor.calls[1:])


@pytest.mark.requirement("sends.results")
async def test_an_end_without_a_reply_is_held_too(rig: Rig, supervisor: Supervisor) -> None:
    supervisor.waits = [replace(SENT, status=SendStatus.NO_REPLY)]
    result = await rig.call("sessions_send", sessionKey=OTHER, message="hi")
    assert (read(result)["status"], result.answered_input) == ("no_reply", "in1")
    supervisor.waits = [replace(SENT, status=SendStatus.ERROR, error="Its turn failed.")]
    result = await rig.call("sessions_send", sessionKey=OTHER, message="hi")
    answer = read(result)
    assert (answer["status"], answer["sentBeforeError"]) == ("error", True)
    assert result.answered_input == "in1"
    assert result.receipt.category is OutcomeCategory.FAILURE


@pytest.mark.requirement("sends.results", "sends.watch")
async def test_a_wait_that_ends_says_that_the_message_was_sent(
    rig: Rig, supervisor: Supervisor
) -> None:
    supervisor.waits = [SENT] * 1_000_000
    result = await rig.call(
        "sessions_send", sessionKey=OTHER, message="hi", timeoutSeconds=1, watch=True
    )
    answer = read(result)
    assert (answer["status"], answer["sentBeforeError"]) == ("timeout", True)
    assert (answer["targetDisposition"], answer["note"]) == ("queued", LATER)
    assert answer["watched"] is False
    assert result.answered_input == ""
    assert result.receipt.category is OutcomeCategory.SUCCESS
    supervisor.waits = [InternalError("It broke.")]
    broken = await rig.call("sessions_send", sessionKey=OTHER, message="hi", watch=True)
    answer = read(broken)
    assert (answer["status"], answer["error"]) == ("error", "It broke.")
    assert (answer["sentBeforeError"], answer["watched"]) == (True, False)
    assert broken.answered_input == ""


@pytest.mark.requirement("goals.models")
async def test_goals_are_read_made_and_reported(rig: Rig, supervisor: Supervisor) -> None:
    shown = read(await rig.call("get_goal", sessionKey=OTHER))
    assert shown["goal"] == {"objective": "ship it", "status": "active"}
    await rig.call("create_goal", objective="ship it")
    await rig.call("update_goal", status="blocked", sessionKey=OTHER)
    assert supervisor.calls == [
        (OTHER, (None, None)),
        ("", ("ship it", None)),
        (OTHER, (None, GoalStatus.BLOCKED)),
    ]
    supervisor.goal_view = GoalView(key="x", text="", status=GoalStatus.ACTIVE)
    assert read(await rig.call("get_goal"))["goal"] == "none"
