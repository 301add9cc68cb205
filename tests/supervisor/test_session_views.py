"""How sessions are shown to models: bounds, redaction, kinds, and what may be known of them."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from netclaw.core.authority import Audience, SourceKind
from netclaw.core.ids import CallId, InputId, SessionId, TurnId
from netclaw.core.messages import AssistantMessage, Message, NoteMessage, ToolMessage, UserMessage
from netclaw.core.session.events import SessionKind
from netclaw.core.signals.visibility import Visibility
from netclaw.core.tool_call import ToolCall
from netclaw.ports.journal import SessionRecord
from netclaw.ports.sessions import Asking, HistoryQuestion, ListQuestion
from netclaw.supervisor import session_views as views
from netclaw.supervisor.session_sight import Viewer
from netclaw.testing.people import OPERATOR, authority

SECRET = "hunter2-hunter2"
ASKING = Asking(turn_id=TurnId("t1"), authority=OPERATOR)
NOW = 1_700_000_000_000
RECORD = SessionRecord(
    session_id=SessionId("cli/one"),
    kind=SessionKind.MAIN,
    channel=SourceKind.CLI,
    audience=Audience.PERSONAL,
    title="The Plan",
    life=1,
    incarnation=1,
    head=9,
    turns=3,
    pending_inputs=0,
    pending_bytes=0,
    state_version=0,
    created_at=NOW,
    last_activity_at=NOW,
    storage_layout=1,
    storage_root="/x",
    is_quarantined=False,
    open_turn=None,
)


def redact(text: str) -> str:
    """Removes the one secret."""
    return text.replace(SECRET, "***")


def said(text: str, at: int = NOW) -> UserMessage:
    """A person's message."""
    return UserMessage(input_id=InputId("i"), text=text, at=at)


def history(*messages: Message, **more: Any) -> dict[str, Any]:
    """The answer about these messages."""
    question = HistoryQuestion(asking=ASKING, key="k", **{"limit": 50, **more})
    found: dict[str, Any] = json.loads(views.history_answer("k", messages, question, redact))
    return found


@pytest.mark.requirement("sessions.history")
def test_a_text_is_redacted_before_it_is_cut() -> None:
    edge = "x" * (views.BLOCK_CHARS - 5)
    answer = history(said(f"{edge}{SECRET}{'y' * 100}"))
    (item,) = answer["messages"]
    assert "hunter" not in item["text"]
    assert item["text"].endswith(views.CUT)
    assert len(item["text"]) == views.BLOCK_CHARS + len(views.CUT)
    assert answer["contentRedacted"]
    assert answer["contentTruncated"]
    assert answer["truncated"]
    plain = history(said("hi"))
    assert not any(plain[name] for name in ("truncated", "contentTruncated", "contentRedacted"))


@pytest.mark.requirement("sessions.history")
def test_a_history_keeps_its_newest_messages_within_its_bytes() -> None:
    texts = [f"{number:03}" + "é" * 3_900 for number in range(40)]
    answer = history(*map(said, texts))
    raw = json.dumps(answer, ensure_ascii=False).encode()
    assert len(raw) <= views.HISTORY_BYTES + 1_000
    kept = [item["text"][:3] for item in answer["messages"]]
    assert kept == [text[:3] for text in texts[-len(kept) :]]
    assert answer["droppedMessages"] == 40 - len(kept)
    assert answer["truncated"]
    rest = history(*map(said, texts), offset=answer["nextOffset"])
    assert rest["messages"][-1]["text"][:3] == texts[-len(kept) - 1][:3]


@pytest.mark.requirement("sessions.history")
def test_tools_are_left_out_unless_they_are_wanted() -> None:
    call = ToolCall(
        call_id=CallId("c1"),
        provider_call_id="p",
        name="shell_execute",
        arguments=json.dumps({"command": f"login {SECRET}"}),
    )
    messages = (
        said("do it"),
        AssistantMessage(text="", at=NOW, calls=(call,)),
        ToolMessage(call_id=CallId("c1"), text="done", at=NOW),
        NoteMessage(text="[netclaw] note", at=NOW),
        AssistantMessage(text="it is done", at=NOW),
    )
    plain = history(*messages)
    assert [item["role"] for item in plain["messages"]] == ["user", "note", "assistant"]
    whole = history(*messages, with_tools=True)
    assert [item["role"] for item in whole["messages"]][1:3] == ["assistant", "tool"]
    assert whole["messages"][1]["toolCalls"][0]["tool"] == "shell_execute"
    assert SECRET not in json.dumps(whole)
    assert history(*messages, limit=1)["messages"][0]["text"] == "it is done"
    assert history(*messages, offset=9)["messages"] == []


@pytest.mark.requirement("sessions.list")
def test_a_page_ends_within_its_bytes_and_says_where_to_go_on() -> None:
    rows: list[views.Json] = [{"sessionKey": str(number), "x": "é" * 900} for number in range(100)]
    raw = views.page(rows, offset=7, total=200)
    assert len(raw) <= views.PAGE_BYTES + 200
    answer = json.loads(raw)
    count = len(answer["sessions"])
    assert 30 < count < 40
    assert (answer["hasMore"], answer["nextOffset"], answer["total"]) == (True, 7 + count, 200)
    last = json.loads(views.page(rows[:2], offset=198, total=200))
    assert "nextOffset" not in last
    assert not last["hasMore"]
    assert json.loads(views.page([], offset=0, total=0))["sessions"] == []


@pytest.mark.requirement("sessions.list")
def test_one_full_row_fits_into_a_page() -> None:
    worst = [said("\x01" * 5_000) for _ in range(20)]
    messages = views.last_messages(worst, 20, redact)
    row = views.row(replace(RECORD, title="t" * 400), "ready", messages)
    assert len(views.page([row], offset=0, total=1)) <= views.PAGE_BYTES


@pytest.mark.requirement("sessions.list")
def test_a_row_has_a_version_only_if_something_was_recorded() -> None:
    assert "stateVersion" not in views.row(RECORD, "ready", None)
    shown = views.row(replace(RECORD, state_version=7, goal="g"), "ready", None)
    assert (shown["stateVersion"], shown["goal"], shown["goalStatus"]) == (7, "g", "active")
    assert "messages" not in shown


KINDS = {
    SourceKind.CLI: "main",
    SourceKind.SLACK: "group",
    SourceKind.MATTERMOST: "group",
    SourceKind.REMINDER: "cron",
    SourceKind.WEBHOOK: "hook",
    SourceKind.JOB: "other",
}


@pytest.mark.requirement("sessions.list")
@pytest.mark.parametrize("channel", KINDS)
def test_sessions_are_told_apart_by_where_they_come_from(channel: SourceKind) -> None:
    assert views.kind_of(replace(RECORD, channel=channel)) == KINDS[channel]
    child = replace(RECORD, channel=channel, kind=SessionKind.CHILD)
    assert views.kind_of(child) == "other"


@pytest.mark.requirement("sessions.list")
def test_each_filter_leaves_out_what_it_does_not_mean() -> None:
    def is_listed(**chosen: Any) -> bool:
        question = ListQuestion(asking=ASKING, **chosen)
        return views.is_listed(replace(RECORD, goal="Ship"), question, now_ms=NOW + 60_000)

    assert is_listed()
    assert is_listed(kinds=("hook", "main"))
    assert not is_listed(kinds=("hook",))
    assert is_listed(label=" the plan ")
    assert not is_listed(label="plan")
    assert all(is_listed(search=word) for word in ("PLAN", "cli/", "ship"))
    assert not is_listed(search="fence")
    assert is_listed(active_minutes=1)
    assert not views.is_listed(
        RECORD, ListQuestion(asking=ASKING, active_minutes=1), now_ms=NOW + 60_001
    )


@pytest.mark.requirement("sessions.visibility")
@pytest.mark.parametrize("asking", Audience)
@pytest.mark.parametrize("target", Audience)
def test_a_broader_session_is_not_there_for_a_narrower_turn(
    asking: Audience, target: Audience
) -> None:
    order = [Audience.PUBLIC, Audience.TEAM, Audience.PERSONAL]
    viewer = Viewer(
        record=RECORD,
        authority=authority("x", OPERATOR.requester.principal, audience=asking),
        visibility=Visibility.ALL,
    )
    other = replace(RECORD, session_id=SessionId("cli/two"), audience=target)
    is_broader = order.index(target) > order.index(asking)
    assert viewer.is_blind_to(other) is is_broader
    assert viewer.sees(other) is not is_broader
    assert viewer.sees(RECORD)
    assert not viewer.is_blind_to(RECORD)
