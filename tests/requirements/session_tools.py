"""Session tools of the model: what they show, what they send, and to whom."""

from __future__ import annotations

from tests.requirements.manifest import Requirement

REQUIREMENTS: tuple[Requirement, ...] = (
    Requirement(
        id="sessions.status",
        source="issue 6 item 4, S1 session_status",
        text="session_status tells how the own or another visible session stands, with its version"
        " always, and the changes after a version, at most 200; it moves no cursor.",
    ),
    Requirement(
        id="sessions.status-gap",
        source="decision 61",
        text="On a history gap the result itself says to refresh with sessions_history and"
        " session_status; an unreadable log gives version 0 and the tool still works.",
    ),
    Requirement(
        id="sessions.list",
        source="issue 6 item 4, S1 sessions_list",
        text="sessions_list filters by kind, label, text and activity, pages within 64 KiB, and"
        " shows a version only of sessions of which something was recorded.",
    ),
    Requirement(
        id="sessions.history",
        source="issue 6 item 4, S1 sessions_history",
        text="sessions_history shows the newest messages, redacted, each text cut at 4,000"
        " characters and the whole at 80 KB, and says what was cut, dropped and redacted.",
    ),
    Requirement(
        id="sessions.visibility",
        source="decision 62",
        text="A run sees its own tree, a conversation every session of its audience or a narrower"
        " one, a public turn itself alone; a broader session looks like one that does not exist.",
    ),
    Requirement(
        id="sessions.authority",
        source="decision 62, issue 6",
        text="The supervisor believes a process no wider than its session's record and answers no"
        " turn that is not the open one.",
    ),
    Requirement(
        id="sessions.exposure",
        source="ADR 0040",
        text="session_status is always shown, the other session tools are loaded; public turns"
        " have none of them.",
    ),
    Requirement(
        id="sends.admission",
        source="issue 6 item 4, S1 sessions_send",
        text="A message is durable in its target before its call says so, once for each call, under"
        " the sending turn's requester no wider than either session, marked as another session's.",
    ),
    Requirement(
        id="sends.results",
        source="issue 6 item 4, S1 sessions_send",
        text="Every answer of sessions_send is accepted, ok, no_reply, timeout, error or forbidden,"
        " and after admission an error says that the message was sent.",
    ),
    Requirement(
        id="sends.reply-once",
        source="issue 6 item 4, reference section 8 no. 23",
        text="A reply is told exactly once, by the waiting call or later by an input of the sender,"
        " wherever sender, target or daemon is killed.",
    ),
    Requirement(
        id="sends.wait",
        source="issue 6 item 4",
        text="A wait bounds the caller alone; two sessions that wait for each other go on; a"
        " session sends nothing to itself; a late reply causes no other message.",
    ),
    Requirement(
        id="sends.watch",
        source="issue 6 item 4, decision 55",
        text="With `watch` the session that received the message is watched from its present"
        " version on, and only after it did; `watched` is told whenever it was asked for.",
    ),
    Requirement(
        id="sends.targets",
        source="issue 6 item 4",
        text="A target that is unknown, held, over, deleted or full of messages is refused at once,"
        " and one that is deleted or reset later ends the wait with an error.",
    ),
    Requirement(
        id="sends.end",
        source="ADR 0046",
        text="At most 100 messages between sessions follow from each other; then a person, or"
        " another source, has to ask for something before the next.",
    ),
    Requirement(
        id="goals.models",
        source="issue 6 item 5",
        text="A model reads goals, gives one to a session that has none open, and reports it as"
        " complete or blocked; it rewords, pauses and clears none.",
    ),
)
