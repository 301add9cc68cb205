"""Carries out a compaction: into Compacting, the notes call, the record (S0 Compaction).

Nothing is journaled before the notes are there, so a process killed meanwhile leaves no trace and
the next one starts over. What follows a compaction is decided in `compaction_end`.
"""

from __future__ import annotations

from dataclasses import replace

from netclaw.core.errors import ErrorCategory
from netclaw.core.ids import InputId
from netclaw.core.messages import UserMessage
from netclaw.core.session import compaction, compaction_notes, memories, sentences
from netclaw.core.session.commands import FinishNotes
from netclaw.core.session.compaction import TooLarge
from netclaw.core.session.compaction_state import CompactionPlan, CompactionRun, Trigger
from netclaw.core.session.draft import Draft
from netclaw.core.session.effects import CallNotes
from netclaw.core.session.events import Compacted
from netclaw.core.session.outputs import CompactionOutput, ErrorOutput, NoticeOutput
from netclaw.core.session.phase import Phase

REFERENCE_LENGTH = 8


def begin(
    draft: Draft, trigger: Trigger, *, next_input: InputId | None = None
) -> CompactionPlan | TooLarge | None:
    """Enter Compacting if there is something to gain; the caller acts on any other answer.

    `next_input` is the one whose turn comes next, if not simply the oldest that waits.
    """
    draft.runtime = replace(draft.runtime, is_compaction_wanted=False)
    plan = compaction.make_plan(draft.state, draft.settings, trigger)
    if not isinstance(plan, CompactionPlan):
        return plan
    draft.move(Phase.COMPACTING)
    token = draft.token()
    draft.runtime = replace(
        draft.runtime,
        compaction=CompactionRun(token=token, trigger=trigger, plan=plan, next_input=next_input),
    )
    draft.perform(
        CallNotes(
            token=token,
            system_prompt=compaction_notes.prompt(plan, draft.state.session_id),
            messages=compaction_notes.transcript(
                plan, draft.settings, draft.state.meter.characters_per_token
            ),
        )
    )
    return plan


def begin_after_turn(draft: Draft, *, next_input: InputId | None = None) -> bool:
    """At the end of a turn: shorten the history if it is due or was asked for meanwhile."""
    if draft.runtime.is_compaction_wanted:
        return isinstance(begin(draft, Trigger.MANUAL, next_input=next_input), CompactionPlan)
    if not compaction.is_due(draft.state, draft.settings):
        return False
    return isinstance(begin(draft, Trigger.THRESHOLD, next_input=next_input), CompactionPlan)


def commit(draft: Draft, run: CompactionRun, answer: FinishNotes, *, failure: str = "") -> None:
    """Record the compaction; `failure` says why there are no new notes, if there should be any.

    If nothing at all would be left of the conversation it stays as it was (decision 29).
    """
    plan = run.plan
    draft.runtime = replace(draft.runtime, compaction=None)
    notes = compaction_notes.notes_text(plan, answer.text)
    fresh = notes if answer.text.strip() else ""
    if plan.is_nothing_left and not notes:
        draft.say(
            ErrorOutput(
                turn_id=None,
                category=ErrorCategory.MODEL_BEHAVIOR,
                sentence=sentences.COMPACTION_ABANDONED,
                reference=draft.make_id()[:REFERENCE_LENGTH],
            )
        )
        return
    if not notes and plan.notes_characters:
        notes = sentences.NO_NOTES
    event = Compacted(
        kept_from_seq=_kept_from(draft, plan),
        notes=notes,
        tokens_before=plan.tokens_before,
        tokens_after=plan.tokens_after + draft.state.meter.tokens(len(notes)),
        trigger=run.trigger.value,
        kept_messages=plan.kept_messages,
        kept_input_ids=plan.kept_input_ids,
        cleared_call_ids=plan.cleared_call_ids,
        notes_usage=answer.usage,
        notes_model=answer.model,
    )
    draft.record(event)
    memories.queue_notes(draft, run.token, fresh)
    draft.say(
        CompactionOutput(
            tokens_before=event.tokens_before,
            tokens_after=event.tokens_after,
            kept_messages=plan.kept_messages + len(plan.kept_input_ids),
        )
    )
    if failure:
        draft.say(NoticeOutput(sentence=sentences.without_notes(failure), kind="compaction"))


def _kept_from(draft: Draft, plan: CompactionPlan) -> int:
    history = draft.state.history
    cut = len(history) - plan.kept_messages
    inputs = (
        item.seq
        for index, item in enumerate(history)
        if isinstance(item, UserMessage) and (index >= cut or item.input_id in plan.kept_input_ids)
    )
    return next(inputs, 0)
