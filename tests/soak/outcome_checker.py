"""Holds the journal against what else is stored and what clients saw; knows no netclaw.

The ledger, the catalog, the dedupe table and the outbox are projections of the journal: here they
are made again by other code. Beside them: what senders were told, what tools really did, and what
must not be found anywhere.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator

from tests.soak.evidence import Ack, Evidence, Posted
from tests.soak.journal_checker import Walk
from tests.soak.stored import Row, StoredSession

_TAG = re.compile(r"echo (\S+) >>")


def check_projections(session: StoredSession, walk: Walk) -> Iterator[str]:
    """The ledger, the catalog row, the dedupe table and the snapshot agree with the journal."""
    told = {row.input_id: (row.outcome, row.turn) for row in session.ledger}
    for input_id, (outcome, turn) in walk.outcome.items():
        told_outcome, told_turn = told.pop(input_id, ("nothing", None))
        is_same_turn = told_turn == turn or outcome == "closed"
        if told_outcome != outcome or not is_same_turn:
            yield f"input {input_id}: ledger {told_outcome} {told_turn}, journal {outcome} {turn}"
    if told:
        yield f"the ledger holds inputs that were never admitted: {sorted(told)}"
    known = {source: input_id for source, (input_id, _) in session.sources.items()}
    if known != walk.sources:
        yield f"dedupe knows {known}, the journal {walk.sources}"
    yield from _check_catalog(session, walk)
    if session.snapshot is not None and session.snapshot["head"] != session.snapshot_seq:
        yield f"the snapshot at {session.snapshot_seq} is one of {session.snapshot['head']}"


def _check_catalog(session: StoredSession, walk: Walk) -> Iterator[str]:
    ends = Counter(turn.end.type for turn in walk.turns.values() if turn.end is not None)
    last = session.rows[-1] if session.rows else None
    open_ones = [state for state, _ in walk.outcome.values() if state in ("waiting", "running")]
    expected = {
        "head": last.seq if last else 0,
        "turns_recorded": ends["TurnRecorded"],
        "turns_failed": ends["TurnFailed"],
        "admitted_inputs": len(walk.inputs),
        "pending_inputs": len(open_ones),
        "open_turn": walk.open_turn.turn_id if walk.open_turn else None,
        "life": walk.life,
    }
    for name, value in expected.items():
        if session.catalog[name] != value:
            yield f"catalog {name} is {session.catalog[name]!r}, the journal says {value!r}"
    if last and session.catalog["incarnation"] < last.incarnation:
        yield f"catalog incarnation is behind {last.incarnation}"


def check_outbox(session: StoredSession, walk: Walk, delivered: list[Posted]) -> Iterator[str]:
    """Each end of a turn with something to say has one reply for each place of its inputs."""
    yield from _check_posts(session, delivered)
    # What was delivered is kept in the outbox no longer; the adapter knows what it posted.
    texts_of = {post.row_id: post.text for post in delivered}
    posted: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    for reply in session.replies:
        text = texts_of.get(reply.row_id, reply.text)
        posted[reply.turn, reply.channel, reply.address].append(text)
    for turn_id, turn in walk.turns.items():
        if turn.end is None:
            continue
        wanted = _places(walk, turn.end) if _says_something(turn.end) else set()
        told_of_stop = _stop_notices(session, turn_id)
        for channel, address in wanted:
            texts = posted.pop((turn_id, channel, address), [])
            # A turn that a drain stopped may have been told of it before it went on.
            if not 1 <= len(texts) <= 1 + told_of_stop:
                yield f"turn {turn_id}: {len(texts)} replies for {channel} {address}"
            if turn.end.type == "TurnRecorded" and texts:
                answer = turn.end.payload["message"]["text"]
                if texts[-1] != answer:
                    yield f"turn {turn_id}: the reply to {address} is not its answer"
    for (turn_id, channel, address), texts in posted.items():
        if len(texts) > _stop_notices(session, turn_id):
            yield f"turn {turn_id}: {len(texts)} replies too many for {channel} {address}"


def _check_posts(session: StoredSession, delivered: list[Posted]) -> Iterator[str]:
    """Replies leave in their order, and none is closed that was never posted."""
    mine = {reply.row_id: reply for reply in session.replies}
    newest: dict[str, int] = {}
    for post in delivered:
        if post.row_id not in mine:
            continue
        if post.row_id < newest.get(post.address, 0):
            yield f"reply {post.row_id} to {post.address} left after {newest[post.address]}"
        newest[post.address] = max(post.row_id, newest.get(post.address, 0))
    known = {post.row_id for post in delivered}
    for reply in mine.values():
        if reply.state == "delivered" and reply.row_id not in known:
            yield f"reply {reply.row_id} is closed and was never posted"


def _says_something(end: Row) -> bool:
    if end.type == "TurnRecorded":
        return bool(end.payload["message"]["text"].strip())
    return bool(end.payload["is_person_told"])


def _places(walk: Walk, end: Row) -> set[tuple[str, str]]:
    targets = set()
    for input_id in end.payload["input_ids"]:
        admitted = walk.inputs.get(input_id)
        for target in admitted.payload["authority"]["delivery_targets"] if admitted else ():
            targets.add((target["channel"], target["address"]))
    return targets


def _stop_notices(session: StoredSession, turn_id: str) -> int:
    return sum(
        row.type == "DrainStopped"
        and row.payload["turn_id"] == turn_id
        and row.payload["is_person_told"]
        for row in session.rows
    )


def check_acks(acks: list[Ack], walk: Walk) -> Iterator[str]:
    """What a sender was told of is in the journal, at that place, once."""
    first_of: dict[str, str] = {}
    fresh: Counter[str] = Counter()
    for ack in acks:
        row = walk.inputs.get(ack.input_id)
        if row is None:
            yield f"input {ack.input_id} was acknowledged and is lost"
        elif row.seq != ack.seq:
            yield f"input {ack.input_id} was acknowledged at {ack.seq} and is at {row.seq}"
        elif ack.message_id and row.payload["source_message_id"] != ack.message_id:
            yield f"input {ack.input_id} is not of message {ack.message_id}"
        if not ack.message_id:
            continue
        first = first_of.setdefault(ack.message_id, ack.input_id)
        if first != ack.input_id:
            yield f"message {ack.message_id} is {first} and {ack.input_id}"
        fresh[ack.message_id] += not ack.is_duplicate
    for message_id, count in fresh.items():
        if count > 1:
            yield f"message {message_id} was new {count} times"


def check_effects(session: StoredSession, walk: Walk, effects_file: str) -> Iterator[str]:
    """No tool ran more often than it was launched, nor less often than it reported success."""
    path = session.folder / "workspace" / effects_file
    ran = Counter(path.read_text().split()) if path.exists() else Counter[str]()
    launched: Counter[str] = Counter()
    succeeded: Counter[str] = Counter()
    for call in walk.calls.values():
        for tag in _TAG.findall(_command(call.arguments)):
            launched[tag] += call.launches
            if call.result is not None:
                succeeded[tag] += call.result["receipt"]["category"] == "Success"
    for tag, count in ran.items():
        if count > launched[tag]:
            yield f"the call of {tag} ran {count} times and was launched {launched[tag]} times"
    for tag, count in succeeded.items():
        if ran[tag] < count:
            yield f"the call of {tag} succeeded {count} times and ran {ran[tag]} times"


def _command(arguments: str) -> str:
    try:
        return str(json.loads(arguments)["command"])
    except (ValueError, KeyError, TypeError):
        return ""


def check_requests(session: StoredSession, evidence: Evidence) -> Iterator[str]:
    """The first request after a compaction is not over the window."""
    asked = [item for item in evidence.asked if item.session == session.key]
    for row in session.rows:
        if row.type != "Compacted":
            continue
        after = next((item for item in asked if item.at_ms > row.at), None)
        if after is not None and after.tokens > evidence.window:
            yield (
                f"after the compaction at seq {row.seq} a request of {after.tokens} tokens was"
                f" sent to a window of {evidence.window}"
            )


def check_cut_replies(session: StoredSession, evidence: Evidence) -> Iterator[str]:
    """A reply cut at the output limit is in no table and no file of the session."""
    places: dict[str, str] = {f"seq {row.seq}": json.dumps(row.payload) for row in session.rows}
    places["the snapshot"] = json.dumps(session.snapshot)
    places["the outbox"] = json.dumps([reply.text for reply in session.replies])
    for folder in ("logs", "tool-calls"):
        for path in (session.folder / folder).glob("**/*"):
            if path.is_file():
                places[str(path)] = path.read_text(errors="replace")
    for marker in evidence.cut_markers:
        for place, text in places.items():
            if marker in text:
                yield f"the cut reply {marker} is stored in {place}"
