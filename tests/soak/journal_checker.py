"""Walks one session's journal and names every promise it breaks; knows no netclaw.

Written against the protocol page alone: seq, incarnations, one turn at a time, inputs consumed
once, calls with one result and one launch, rest before Passivated, closed sets of words.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from tests.soak.stored import Json, Row

CATEGORIES = frozenset(
    {
        "Timeout",
        "ProviderFailure",
        "RateLimited",
        "InputCompatibility",
        "ModelBehavior",
        "ToolFailure",
        "Storage",
        "Policy",
        "Interrupted",
        "Internal",
    }
)
"""Decision 14."""

FORCED = "budget"
"""Where a drain stops a turn whose calls did not end in time: they are ended with the process."""

OUTCOMES = frozenset({"completed", "stopped", "guard-ended"})

OF_THE_SUPERVISOR = frozenset(
    {"InputAdmitted", "AnswerAdmitted", "CrashRecorded", "SessionReset", "TurnFailed"}
)
"""What may be written after a process has ended itself: a turn that a drain left open can still
be given up, by a stop of its session or as poison."""

OF_A_TURN = frozenset(
    {
        "InputJoined",
        "OutputStarted",
        "RoundRecorded",
        "ToolBatchStarted",
        "ToolResultRecorded",
        "DrainStopped",
        "Resumed",
        "TurnRecorded",
        "TurnFailed",
    }
)
"""Events that name the turn they belong to; it must be the open one."""


@dataclass(slots=True, kw_only=True)
class Call:
    """One tool call of the journal."""

    call_id: str
    name: str
    arguments: str
    turn: str
    launches: int = 0
    result: Json | None = None
    is_closed: bool = False
    """A failed turn or a reset ended it without a result."""


@dataclass(slots=True, kw_only=True)
class Turn:
    """One turn of the journal."""

    turn_id: str
    inputs: list[str]
    rounds: int = 0
    batch: list[str] = field(default_factory=list)
    drained_at: str = ""
    """Point of the DrainStopped that is the last thing that happened to it."""
    end: Row | None = None


@dataclass(slots=True, kw_only=True)
class Walk:
    """What a journal says, and what is wrong with it."""

    session: str
    problems: list[str] = field(default_factory=list)
    inputs: dict[str, Row] = field(default_factory=dict)
    waiting: list[str] = field(default_factory=list)
    """Inputs that no turn holds and none consumed, in admission order."""
    outcome: dict[str, tuple[str, str | None]] = field(default_factory=dict)
    """Input to what became of it and its turn, in the words of the ledger."""
    turns: dict[str, Turn] = field(default_factory=dict)
    open_turn: Turn | None = None
    calls: dict[str, Call] = field(default_factory=dict)
    sources: dict[str, str] = field(default_factory=dict)
    life: int = 1
    passivated_by: int | None = None
    """Incarnation that wrote Passivated last, if nothing of a process came after it."""

    def complain(self, row: Row, words: str) -> None:
        """Note a broken promise with its place."""
        self.problems.append(f"{self.session} seq {row.seq} {row.type}: {words}")


def walk(session: str, rows: list[Row], *, is_settled: bool = True) -> Walk:
    """Walk a journal from its beginning; `is_settled` demands that nothing is left open."""
    state = Walk(session=session)
    _check_order(state, rows)
    for row in rows:
        _check_place(state, row)
        rule = _RULES.get(row.type)
        if rule is not None:
            rule(state, row)
    if is_settled:
        _check_rest(state)
    return state


def _check_order(state: Walk, rows: list[Row]) -> None:
    incarnation = 0
    for expected, row in enumerate(rows, 1):
        if row.seq != expected:
            state.complain(row, f"seq {expected} belongs here")
        if row.incarnation < incarnation:
            state.complain(row, f"incarnation {row.incarnation} wrote after {incarnation}")
        incarnation = max(incarnation, row.incarnation)
    if rows and rows[0].type != "SessionCreated":
        state.complain(rows[0], "a journal begins with SessionCreated")
    for row in rows[1:]:
        if row.type == "SessionCreated":
            state.complain(row, "a session is created once")


def _check_place(state: Walk, row: Row) -> None:
    if row.type not in OF_THE_SUPERVISOR:
        if state.passivated_by == row.incarnation:
            state.complain(row, "its process had passivated")
        state.passivated_by = None
    if row.type not in OF_A_TURN:
        return
    open_id = state.open_turn.turn_id if state.open_turn else None
    if row.payload["turn_id"] != open_id:
        state.complain(row, f"of turn {row.payload['turn_id']}, but {open_id} is open")


def _check_rest(state: Walk) -> None:
    if state.open_turn is not None:
        state.problems.append(f"{state.session}: turn {state.open_turn.turn_id} was never ended")
    if state.waiting:
        state.problems.append(f"{state.session}: never answered or reported: {state.waiting}")
    for call in state.calls.values():
        if call.result is None and not call.is_closed:
            state.problems.append(f"{state.session}: call {call.call_id} has no result")


def _admitted(state: Walk, row: Row) -> None:
    input_id, source = row.payload["input_id"], row.payload["source_message_id"]
    if input_id in state.inputs:
        state.complain(row, f"input {input_id} was admitted before")
    if source is not None:
        if source in state.sources:
            state.complain(row, f"message {source} was admitted before")
        state.sources[source] = input_id
    state.inputs[input_id] = row
    state.waiting.append(input_id)
    state.outcome[input_id] = ("waiting", None)


def _requester(row: Row) -> Json:
    requester: Json = row.payload["authority"]["requester"]
    return requester


def _take(state: Walk, row: Row, turn: Turn, input_ids: Iterable[str]) -> None:
    for input_id in input_ids:
        if input_id not in state.waiting:
            state.complain(row, f"input {input_id} was not waiting")
            continue
        requester = _requester(state.inputs[input_id])
        earlier = next(i for i in state.waiting if _requester(state.inputs[i]) == requester)
        if earlier != input_id:
            state.complain(row, f"input {input_id} overtook {earlier} of the same sender")
        state.waiting.remove(input_id)
        state.outcome[input_id] = ("running", turn.turn_id)


def _turn_started(state: Walk, row: Row) -> None:
    turn_id, input_ids = row.payload["turn_id"], row.payload["input_ids"]
    if state.open_turn is not None:
        state.complain(row, f"turn {state.open_turn.turn_id} is still open")
    if turn_id in state.turns:
        state.complain(row, f"turn {turn_id} was started before")
    turn = Turn(turn_id=turn_id, inputs=list(input_ids))
    state.turns[turn_id] = state.open_turn = turn
    _take(state, row, turn, input_ids)
    admitted = state.inputs.get(input_ids[0]) if input_ids else None
    if admitted and admitted.payload["authority"] != row.payload["authority"]:
        state.complain(row, "a turn runs under the authority of its input")


def _joined(state: Walk, row: Row) -> None:
    turn = state.open_turn
    if turn is None:
        return
    _take(state, row, turn, row.payload["input_ids"])
    turn.inputs.extend(row.payload["input_ids"])
    first = state.inputs.get(turn.inputs[0])
    for input_id in row.payload["input_ids"]:
        admitted = state.inputs.get(input_id)
        if first and admitted and _requester(first) != _requester(admitted):
            state.complain(row, f"input {input_id} is of another requester")
    if _unresolved(state, turn):
        state.complain(row, "joined before the batch boundary")


def _round(state: Walk, row: Row) -> None:
    turn = state.open_turn
    if turn is None:
        return
    if left := _unresolved(state, turn):
        state.complain(row, f"calls of the round before have no result: {left}")
    if row.payload["round"] != turn.rounds:
        state.complain(row, f"round {row.payload['round']} where {turn.rounds} belongs")
    turn.rounds += 1
    turn.drained_at = ""
    turn.batch = []
    calls = row.payload["message"]["calls"]
    if not calls:
        state.complain(row, "a recorded round asks for tools")
    for call in calls:
        call_id = call["call_id"]
        if call_id in state.calls:
            state.complain(row, f"call id {call_id} was used before")
        turn.batch.append(call_id)
        state.calls[call_id] = Call(
            call_id=call_id, name=call["name"], arguments=call["arguments"], turn=turn.turn_id
        )


def _batch(state: Walk, row: Row) -> None:
    turn = state.open_turn
    if turn is None:
        return
    turn.drained_at = ""
    for call_id in row.payload["call_ids"]:
        call = state.calls.get(call_id)
        if call is None or call_id not in turn.batch:
            state.complain(row, f"call {call_id} is none of this round")
            continue
        call.launches += 1
        if call.launches > 1:
            state.complain(row, f"call {call_id} was launched before")
        if call.result is not None:
            state.complain(row, f"call {call_id} has a result already")


def _result(state: Walk, row: Row) -> None:
    turn = state.open_turn
    if turn is None:
        return
    result = row.payload["result"]
    call = state.calls.get(result["call_id"])
    if call is None or call.call_id not in turn.batch:
        state.complain(row, f"result of call {result['call_id']}, which is none of this round")
        return
    if call.result is not None:
        state.complain(row, f"call {call.call_id} has a result already")
    if not call.launches and result["receipt"]["category"] in ("Success", "Interrupted"):
        state.complain(row, f"call {call.call_id} was never launched")
    call.result = result


def _unresolved(state: Walk, turn: Turn) -> list[str]:
    return [call_id for call_id in turn.batch if state.calls[call_id].result is None]


def _end(state: Walk, row: Row, outcome: str) -> Turn | None:
    turn = state.open_turn
    if turn is None:
        return None
    turn.end = row
    consumed = row.payload["input_ids"]
    if len(set(consumed)) != len(consumed):
        state.complain(row, "it consumes an input twice")
    for input_id in consumed:
        if state.outcome.get(input_id) != ("running", turn.turn_id):
            state.complain(row, f"it consumes {input_id}, which it does not hold")
        state.outcome[input_id] = (outcome, turn.turn_id)
    held = [input_id for input_id in turn.inputs if input_id in state.inputs]
    returned = [input_id for input_id in held if input_id not in consumed]
    for input_id in returned:
        state.outcome[input_id] = ("waiting", None)
    order = list(state.inputs)
    state.waiting = sorted([*state.waiting, *returned], key=order.index)
    state.open_turn = None
    return turn


def _recorded(state: Walk, row: Row) -> None:
    outcome = row.payload["outcome"]
    if outcome not in OUTCOMES:
        state.complain(row, f"{outcome!r} is no outcome")
    turn = _end(state, row, outcome)
    if turn is None:
        return
    if set(row.payload["input_ids"]) != set(turn.inputs):
        state.complain(row, "a recorded turn consumes exactly what it took in")
    if left := _unresolved(state, turn):
        state.complain(row, f"calls have no result: {left}")


def _failed(state: Walk, row: Row) -> None:
    if row.payload["category"] not in CATEGORIES:
        state.complain(row, f"{row.payload['category']!r} is no error category")
    if not row.payload["reference"]:
        state.complain(row, "a failure has a reference")
    turn = _end(state, row, "failed")
    if turn is None:
        return
    left = set(_unresolved(state, turn))
    if left != set(row.payload["closed_call_ids"]):
        state.complain(row, f"open calls {left}, closed {row.payload['closed_call_ids']}")
    for call_id in left:
        state.calls[call_id].is_closed = True


def _compacted(state: Walk, row: Row) -> None:
    turn = state.open_turn
    if turn is not None and (left := _unresolved(state, turn)):
        state.complain(row, f"in the middle of a batch: {left}")


def _drained_or_resumed(state: Walk, row: Row) -> None:
    if state.open_turn is not None:
        state.open_turn.drained_at = row.payload.get("point", "")


def _passivated(state: Walk, row: Row) -> None:
    turn = state.open_turn
    if turn is not None:
        if not turn.drained_at:
            state.complain(row, f"turn {turn.turn_id} is in the middle")
        running = [i for i in _unresolved(state, turn) if state.calls[i].launches]
        if running and turn.drained_at != FORCED:
            state.complain(row, f"calls run: {running}")
    if row.payload["snapshot_seq"] != row.seq:
        state.complain(row, f"its snapshot is of {row.payload['snapshot_seq']}")
    state.passivated_by = row.incarnation


def _reset(state: Walk, row: Row) -> None:
    if row.payload["life"] != state.life + 1:
        state.complain(row, f"life {row.payload['life']} after {state.life}")
    state.life = row.payload["life"]
    turn = state.open_turn
    held = turn.inputs if turn else []
    for input_id in [*state.waiting, *held]:
        taken = state.outcome[input_id][1]
        state.outcome[input_id] = ("closed", taken)
    for call in state.calls.values():
        call.is_closed = call.is_closed or call.result is None
    state.waiting = []
    state.open_turn = None


_RULES: dict[str, Callable[[Walk, Row], None]] = {
    "InputAdmitted": _admitted,
    "TurnStarted": _turn_started,
    "InputJoined": _joined,
    "RoundRecorded": _round,
    "ToolBatchStarted": _batch,
    "ToolResultRecorded": _result,
    "TurnRecorded": _recorded,
    "TurnFailed": _failed,
    "Compacted": _compacted,
    "DrainStopped": _drained_or_resumed,
    "Resumed": _drained_or_resumed,
    "Passivated": _passivated,
    "SessionReset": _reset,
}
