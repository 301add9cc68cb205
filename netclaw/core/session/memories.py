"""What a session hands to memory: itself when it winds down, and the notes of a compaction.

Both are handed over and not waited for: a distillation has the grace period of the passivation
and ends with it (S0 Lifecycle), notes are queued behind the record they stand in (S0 Compaction).
What memory makes of them is not decided here.
"""

from __future__ import annotations

from dataclasses import replace

from netclaw.core.session.commands import FinishDistillation
from netclaw.core.session.draft import Draft
from netclaw.core.session.effects import CancelSidecar, DistilMemory, QueueCheckpoint
from netclaw.core.session.events import SessionKind


def begin_distillation(draft: Draft) -> None:
    """Offer the conversation for a last distillation, unless there is none or one is under way."""
    state = draft.state
    is_offered = state.kind is SessionKind.MAIN and bool(state.history)
    if not is_offered or draft.runtime.distillation_token is not None:
        return
    token = draft.token()
    draft.runtime = replace(draft.runtime, distillation_token=token)
    draft.perform(
        DistilMemory(
            token=token,
            session_id=state.session_id,
            life=state.life,
            audience=state.audience,
            up_to_seq=state.head,
            messages=state.history,
        )
    )


def cancel_distillation(draft: Draft) -> None:
    """The session goes on, or its process ends: what was not kept by now is not."""
    token = draft.runtime.distillation_token
    if token is not None:
        draft.runtime = replace(draft.runtime, distillation_token=None)
        draft.perform(CancelSidecar(token=token))


def finish_distillation(draft: Draft, command: FinishDistillation) -> None:
    """Memory is done; the grace period goes on, because it is for people (S0 Lifecycle)."""
    if command.token == draft.runtime.distillation_token:
        draft.runtime = replace(draft.runtime, distillation_token=None)


def queue_notes(draft: Draft, checkpoint_id: str, notes: str) -> None:
    """Queue new notes of a compaction that is recorded in this decision."""
    state = draft.state
    if notes and state.kind is SessionKind.MAIN:
        draft.perform(
            QueueCheckpoint(
                checkpoint_id=checkpoint_id,
                session_id=state.session_id,
                life=state.life,
                audience=state.audience,
                text=notes,
            )
        )
