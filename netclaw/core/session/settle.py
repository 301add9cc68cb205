"""What is left of a decision once it is committed, if others committed something beneath it."""

from __future__ import annotations

from dataclasses import replace

from netclaw.core.session.commands import LookAgain
from netclaw.core.session.effects import CallModel, Decision
from netclaw.core.session.state import Runtime


def settle(
    decision: Decision, before: Runtime, *, is_interleaved: bool
) -> tuple[Decision, LookAgain | None]:
    """The decision to put in force, and what to decide before anything else.

    `before` is the runtime the decision was made on; `is_interleaved` says that its rows do not
    follow directly on the head it was made on (protocol "Appending"). Then the snapshot that rode
    along was not stored, and a model call that would follow waits for a second look, so that what
    was committed before a batch boundary joins or preempts at it. A call begun early belongs to
    the start of a turn, at which nobody joins.
    """
    if not is_interleaved:
        return decision, None
    if decision.needs_snapshot:
        kept = replace(decision.runtime, snapshot_seq=before.snapshot_seq)
        decision = replace(decision, runtime=kept)
    token = decision.runtime.model_token
    rest = tuple(item for item in decision.effects if not isinstance(item, CallModel))
    if token is None or len(rest) == len(decision.effects):
        return decision, None
    return replace(decision, effects=rest), LookAgain(token=token)
