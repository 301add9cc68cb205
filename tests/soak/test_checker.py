"""The soak's checker accepts a history that keeps every promise, and finds each broken one."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.soak.check import check_home
from tests.soak.evidence import Ack, Asked, Evidence, Posted, Seen
from tests.soak.journals import AT_MS, SESSION, Event, Home, admitted, result, started

CHECKER = "tests.soak.check"

Breaking = Callable[[Home], object]


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """A home that keeps every promise."""
    return Home(tmp_path)


def problems(home: Home) -> list[str]:
    """What the checker finds."""
    return check_home(home.write(), home.evidence).problems


def drop(seq: int) -> Breaking:
    """The events without one of them, renumbered."""

    def breaking(home: Home) -> None:
        del home.events[seq - 1]

    return breaking


def double(seq: int) -> Breaking:
    """One event a second time, right after the first."""

    def breaking(home: Home) -> None:
        home.events.insert(seq, home.events[seq - 1])

    return breaking


def swap(seq: int) -> Breaking:
    """An event and its successor the other way round."""

    def breaking(home: Home) -> None:
        events = home.events
        events[seq - 1], events[seq] = events[seq], events[seq - 1]

    return breaking


def put(seq: int, event: Event) -> Breaking:
    """Another event in this place."""

    def breaking(home: Home) -> None:
        home.events[seq - 1] = event

    return breaking


def insert(seq: int, event: Event) -> Breaking:
    """One more event, before this place."""

    def breaking(home: Home) -> None:
        home.events.insert(seq - 1, event)

    return breaking


def change(seq: int, **fields: object) -> Breaking:
    """One event with other fields."""

    def breaking(home: Home) -> None:
        kind, incarnation, payload = home.events[seq - 1]
        home.events[seq - 1] = (kind, incarnation, {**payload, **fields})

    return breaking


JOURNALS: list[tuple[str, Breaking, str]] = [
    ("no creation", drop(1), "begins with SessionCreated"),
    ("created twice", double(1), "created once"),
    ("no admission", drop(2), "was not waiting"),
    ("admitted twice", double(2), "was admitted before"),
    ("message admitted twice", put(7, ("InputAdmitted", 1, {
        **admitted(2, "alice"), "source_message_id": "m1"})), "message m1 was admitted before"),
    ("no start", drop(3), "but None is open"),
    ("started twice", double(3), "is still open"),
    ("started within a turn", insert(9, ("TurnStarted", 1, started("t9", "i3", "bob"))),
        "turn t1 is still open"),
    ("another authority", change(3, authority={}), "under the authority of its input"),
    ("no round", drop(4), "is none of this round"),
    ("wrong round", change(4, round=1), "round 1 where 0 belongs"),
    ("no launch", drop(5), "was never launched"),
    ("launched twice", double(5), "was launched before"),
    ("launched after its result", swap(5), "has a result already"),
    ("no result", drop(6), "no result"),
    ("two results", double(6), "has a result already"),
    ("result of no call", put(6, ("ToolResultRecorded", 1, result("t1", 9))),
        "none of this round"),
    ("joined before the boundary", swap(9), "before the batch boundary"),
    ("joined by another person", change(10, input_ids=["i3"]), "of another requester"),
    ("joined nothing", drop(10), "it consumes i2, which it does not hold"),
    ("no end", drop(11), "turn t1 is still open"),
    ("ended twice", double(11), "but None is open"),
    ("consumed twice", change(11, input_ids=["i1", "i1", "i2"]), "consumes an input twice"),
    ("consumed by two turns", change(18, input_ids=["i3", "i1"]), "which it does not hold"),
    ("not consumed", change(11, input_ids=["i1"]), "consumes exactly what it took in"),
    ("unknown outcome", change(11, outcome="fine"), "is no outcome"),
    ("compacted in a batch", insert(6, ("Compacted", 1, {})), "in the middle of a batch"),
    ("unknown category", change(18, category="Bad"), "is no error category"),
    ("no reference", change(18, reference=""), "has a reference"),
    ("closed a call with a result", change(18, closed_call_ids=["c3"]), "closed ['c3']"),
    ("never ended", lambda home: home.events.__delitem__(slice(17, 19)), "was never ended"),
    ("an older process wrote", put(17, ("ToolResultRecorded", 0, result("t2", 3, "Interrupted"))),
        "wrote after"),
    ("wrote after its end", lambda home: home.events.append(("TitleSet", 2, {})),
        "had passivated"),
    ("passivated in a turn", insert(6, ("Passivated", 1, {"snapshot_seq": 6})),
        "is in the middle"),
    ("passivated with another snapshot", change(19, snapshot_seq=3), "its snapshot is of 3"),
    ("another life", insert(19, ("SessionReset", 2, {"life": 3})), "life 3 after 1"),
]  # fmt: skip
"""What is done to the journal, and words of what must be found."""


@pytest.mark.requirement("soak.checker")
def test_a_history_that_keeps_every_promise_is_accepted(home: Home) -> None:
    assert problems(home) == []


@pytest.mark.requirement("soak.checker")
def test_a_reply_that_was_delivered_is_known_by_its_adapter(home: Home) -> None:
    _deliver("done")(home)
    assert problems(home) == []


@pytest.mark.requirement("soak.checker")
@pytest.mark.parametrize(
    ("breaking", "words"), [case[1:] for case in JOURNALS], ids=[case[0] for case in JOURNALS]
)
def test_a_broken_journal_is_found(home: Home, breaking: Breaking, words: str) -> None:
    breaking(home)
    found = problems(home)
    assert any(words in line for line in found), found


@pytest.mark.requirement("soak.checker")
def test_a_gap_in_the_numbers_is_found(home: Home) -> None:
    root = home.write()
    with sqlite3.connect(root / "netclaw.db") as database:
        database.execute("DELETE FROM journal WHERE seq = 12")
    found = check_home(root, home.evidence).problems
    assert any("seq 12 belongs here" in line for line in found), found


@pytest.mark.requirement("soak.checker")
def test_an_overtaken_message_of_the_same_sender_is_found(home: Home) -> None:
    home.events[7] = ("InputAdmitted", 1, admitted(3, "alice", "C1"))
    home.events[9] = ("InputJoined", 1, {"turn_id": "t1", "input_ids": ["i3"]})
    assert any("overtook i2" in line for line in problems(home))


def _lose_ack(home: Home) -> None:
    home.evidence.acks.append(Ack(session=SESSION, input_id="i9", seq=9))


def _move_ack(home: Home) -> None:
    home.evidence.acks.append(Ack(session=SESSION, input_id="i3", seq=9))


def _ack_another_message(home: Home) -> None:
    home.evidence.acks.append(Ack(session=SESSION, input_id="i3", seq=8, message_id="m1"))


def _ack_as_new_twice(home: Home) -> None:
    home.evidence.acks.append(Ack(session=SESSION, input_id="i3", seq=8, message_id="m3"))


def _ack_elsewhere(home: Home) -> None:
    home.evidence.acks.append(Ack(session="nowhere", input_id="i1", seq=2))


def _ask_too_much(home: Home) -> None:
    home.evidence.asked = [Asked(session=SESSION, at_ms=AT_MS + 13, tokens=1001)]


def _complain(home: Home) -> None:
    home.evidence.complaints.append("tool_call_ids without a tool message: x")


def _say_cut_reply_again(home: Home) -> None:
    home.log += "Assistant: cut-0123\n"


def _post_cut_reply(home: Home) -> None:
    home.snapshot = (19, {"head": 19, "history": ["cut-0123"]})


def _deliver(text: str) -> Breaking:
    """The reply has left; only the adapter knows its text any more."""

    def breaking(home: Home) -> None:
        home.reply_state = "delivered"
        home.replies = [("t1", "C1", "")]
        home.evidence.posted = [Posted(row_id=1, address="C1", text=text)]

    return breaking


def _post_in_disorder(home: Home) -> None:
    home.replies = [("t1", "C1", "done"), ("t2", "C1", "x")]
    home.evidence.posted = [
        Posted(row_id=2, address="C1", text="x"),
        Posted(row_id=1, address="C1", text="done"),
    ]


def _see(*seen: Seen) -> Breaking:
    def breaking(home: Home) -> None:
        home.evidence.seen = {SESSION: list(seen)}

    return breaking


def _set(name: str, value: object) -> Breaking:
    return lambda home: setattr(home, name, value)


def _phase(phase: str, incarnation: int = 1) -> Seen:
    return Seen(attachment=1, kind="processing", incarnation=incarnation, phase=phase)


def _durable(seq: int, incarnation: int = 1) -> Seen:
    return Seen(attachment=1, kind="text", incarnation=incarnation, seq=seq)


REST: list[tuple[str, Breaking, str]] = [
    ("acknowledged and lost", _lose_ack, "acknowledged and is lost"),
    ("acknowledged elsewhere", _move_ack, "acknowledged at 9 and is at 8"),
    ("one message, two inputs", _ack_another_message, "message m1 is i1 and i3"),
    ("new twice", _ack_as_new_twice, "was new 2 times"),
    ("no such session", _ack_elsewhere, "and not there"),
    ("too long a request", _ask_too_much, "a request of 1001 tokens"),
    ("malformed request", _complain, "a request was malformed"),
    ("cut reply in the log", _say_cut_reply_again, "is stored in"),
    ("cut reply in the snapshot", _post_cut_reply, "is stored in the snapshot"),
    ("ran twice", _set("effects", ["tag1", "tag1", "tag2"]), "ran 2 times and was launched 1"),
    ("ran and was not launched", _set("effects", ["tag1", "tag2", "tag7"]), "launched 0 times"),
    ("succeeded without effect", _set("effects", ["tag1"]), "succeeded 1 times and ran 0"),
    ("no reply", _set("replies", []), "0 replies for slack C1"),
    ("two replies", _set("replies", [("t1", "C1", "done")] * 2), "2 replies for slack C1"),
    ("another reply", _set("replies", [("t1", "C1", "other")]), "is not its answer"),
    ("posted another text", _deliver("other"), "is not its answer"),
    ("closed without a post", _set("reply_state", "delivered"), "closed and was never posted"),
    ("posted in disorder", _post_in_disorder, "reply 1 to C1 left after 2"),
    ("a reply to nobody", _set("replies", [("t1", "C1", "done"), ("t2", "C9", "x")]), "too many"),
    ("ledger without input", lambda home: home.ledger.pop(), "input i3: ledger nothing"),
    ("ledger of another turn", lambda home: home.ledger.__setitem__(
        0, ("i1", 2, "m1", "t2", "completed")), "input i1: ledger completed t2"),
    ("dedupe forgot", lambda home: home.sources.clear(), "dedupe knows {}"),
    ("another head", lambda home: home.catalog.update(head=3), "catalog head is 3"),
    ("pending inputs", lambda home: home.catalog.update(pending_inputs=2), "pending_inputs is 2"),
    ("older catalog", lambda home: home.catalog.update(incarnation=1), "is behind 2"),
    ("snapshot of another seq", _set("snapshot", (19, {"head": 18})), "is one of 18"),
    ("ready within a turn", _see(_durable(4), _phase("ready"), _durable(6)), "cannot be ready"),
    ("asleep within a turn", _see(_durable(4), _phase("passivating"), _durable(6)),
        "cannot be passivating"),
    ("busy without a turn", _see(_durable(18, 2), _phase("processing", 2)),
        "cannot be processing"),
    ("back to recovering", _see(_phase("ready"), _phase("recovering")), "cannot be recovering"),
    ("unheard of", _see(_phase("sleeping")), "is no phase"),
]  # fmt: skip


@pytest.mark.requirement("soak.checker")
@pytest.mark.parametrize(
    ("breaking", "words"), [case[1:] for case in REST], ids=[case[0] for case in REST]
)
def test_what_contradicts_the_journal_is_found(home: Home, breaking: Breaking, words: str) -> None:
    breaking(home)
    found = problems(home)
    assert any(words in line for line in found), found


@pytest.mark.requirement("soak.checker")
def test_a_forced_drain_leaves_calls_to_the_next_process(home: Home) -> None:
    drained: list[Event] = [
        ("DrainStopped", 1, {"turn_id": "t2", "point": "budget", "is_person_told": True}),
        ("Passivated", 1, {"snapshot_seq": 17}),
    ]
    home.events[15:16] = drained
    home.events[-1] = ("Passivated", 2, {"snapshot_seq": 20})
    home.catalog["head"] = 20
    home.snapshot = (20, {"head": 20})
    home.evidence.seen = {}
    assert problems(home) == []
    home.root = home.root / "again"
    home.root.mkdir()
    home.events[15] = ("DrainStopped", 1, {**drained[0][2], "point": "batch-boundary"})
    assert any("calls run: ['c3']" in line for line in problems(home))


@pytest.mark.requirement("soak.checker")
def test_evidence_can_be_looked_at_again(home: Home, tmp_path: Path) -> None:
    home.evidence.save(tmp_path)
    assert Evidence.load(tmp_path) == home.evidence


@pytest.mark.requirement("soak.independent")
def test_the_checker_shares_no_code_with_netclaw() -> None:
    """Asked of an interpreter of its own: whatever it loads, by whatever way, is seen."""
    script = (
        f"import sys, {CHECKER}\n"
        "loaded = {name.partition('.')[0] for name in sys.modules}\n"
        "shared = loaded & {'netclaw', 'apsw', 'msgspec', 'grpc'}\n"
        "sys.exit(f'the checker loads {shared}' if shared else 0)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
