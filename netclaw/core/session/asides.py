"""Answers slash commands: turns without a model call that leave the conversation as it is.

Such a turn is recorded like any other, so that dedupe, order, delivery and the ledger need know
nothing of it; neither the command nor the answer becomes history. `slash` says what is a command.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from netclaw.core.authority import Audience
from netclaw.core.ids import TurnId
from netclaw.core.messages import AssistantMessage, Usage
from netclaw.core.session import compaction, open_work, replies, sentences, slash, titles
from netclaw.core.session.compaction_state import CompactionPlan, Trigger
from netclaw.core.session.draft import Draft
from netclaw.core.session.events import TitleSet, TurnOutcome, TurnRecorded, TurnStarted
from netclaw.core.session.outputs import TextOutput, TitleOutput, TurnCompletedOutput
from netclaw.core.session.slash import CommandName, SlashCommand
from netclaw.core.session.state import BufferedInput, OpenTurn, SessionState
from netclaw.core.text import storable

TITLE_MAX_CHARACTERS = 120
"""Longer titles are refused: they are shown in lists."""

PERSON_ACTOR = "person"
"""`TitleSet.actor` where the sender's own id would not say that it was a person."""


def command_of(item: BufferedInput) -> SlashCommand | None:
    """The command that a waiting input is; an attachment makes it a message for the model.

    What another session says is data, however it reads.
    """
    admitted = item.admitted
    if admitted.media or admitted.authority.provenance.source_kind in open_work.OF_SESSIONS:
        return None
    return slash.parse(admitted.text)


def answer(draft: Draft, item: BufferedInput) -> bool:
    """Answer the input if it is a command; the session stays Ready."""
    command = command_of(item)
    if command is None:
        return False
    turn = open_turn(draft, item, is_aside=True)
    _end(draft, turn, _act(draft, item, command))
    return True


def open_turn(draft: Draft, item: BufferedInput, *, is_aside: bool = False) -> OpenTurn:
    """Record the start of a turn that ends in the same decision."""
    event = TurnStarted(
        turn_id=TurnId(draft.make_id()),
        input_ids=(item.admitted.input_id,),
        authority=item.admitted.authority,
        is_aside=is_aside,
    )
    draft.record(event)
    return OpenTurn(
        turn_id=event.turn_id,
        authority=event.authority,
        input_ids=event.input_ids,
        started_at=draft.now_ms,
        is_aside=is_aside,
    )


def asked_to_stop(state: SessionState) -> BufferedInput | None:
    """The first of those that ask to stop the open turn."""
    return next(iter(asking_to_stop(state)), None)


def asking_to_stop(state: SessionState) -> tuple[BufferedInput, ...]:
    """The waiting `/stop`s that mean the open turn: sent while it ran, or by its own person after
    the message that began it, however long that message had to wait.
    """
    turn = state.turn
    if turn is None:
        return ()
    return tuple(item for item in state.buffered if _is_stop(item) and _means(item, turn, state))


def is_called_off(state: SessionState, item: BufferedInput) -> bool:
    """Whether a `/stop` of its own sender waits behind this input."""
    sender = item.admitted.authority
    return any(
        later.seq > item.seq and _is_stop(later) and later.admitted.authority.is_same_sender(sender)
        for later in state.buffered
    )


def _is_stop(item: BufferedInput) -> bool:
    command = command_of(item)
    return command is not None and command.name is CommandName.STOP


def _means(item: BufferedInput, turn: OpenTurn, state: SessionState) -> bool:
    authority = item.admitted.authority
    is_after = item.at >= turn.started_at
    if authority.is_same_sender(turn.authority):
        return is_after or (bool(state.in_turn) and item.seq > state.in_turn[0].seq)
    return is_after and authority.is_of_person and slash.is_trusted(authority)


def _end(draft: Draft, turn: OpenTurn, text: str) -> None:
    inputs = draft.state.in_turn
    event = TurnRecorded(
        turn_id=turn.turn_id,
        message=AssistantMessage(text=text, at=draft.now_ms, turn_id=turn.turn_id),
        outcome=TurnOutcome.COMPLETED,
        usage=Usage(),
        model="",
        input_ids=turn.input_ids,
        open_child_runs=open_work.open_run_ids(draft.state),
    )
    draft.record(event)
    draft.say(
        TextOutput(turn_id=turn.turn_id, text=text, round=0),
        TurnCompletedOutput(
            turn_id=turn.turn_id,
            input_ids=event.input_ids,
            outcome=event.outcome,
            open_child_runs=event.open_child_runs,
        ),
    )
    draft.post(replies.rows_for(inputs, turn, text=text))


def _act(draft: Draft, item: BufferedInput, command: SlashCommand) -> str:
    """Do what the command says; answers what the person is told."""
    authority = item.admitted.authority
    if not slash.may_use(command.name, authority):
        return sentences.COMMAND_REFUSED
    match command.name:
        case CommandName.HELP:
            return "\n".join(slash.help_lines(authority))
        case CommandName.STATUS:
            is_public = authority.requester.audience is Audience.PUBLIC
            return "\n".join(_status(draft, is_short=is_public or not slash.is_trusted(authority)))
        case CommandName.TITLE:
            return _set_title(draft, item, command.argument)
        case CommandName.COMPACT:
            return _compact(draft)
        case _:  # the turn that a /stop means was ended when it came
            return sentences.NOTHING_RUNS


def _set_title(draft: Draft, item: BufferedInput, wanted: str) -> str:
    title = titles.one_line(storable(wanted))
    if len(title) > TITLE_MAX_CHARACTERS:
        return sentences.title_too_long(TITLE_MAX_CHARACTERS)
    sender = item.admitted.authority.requester.sender_id or ""
    is_mistakable = sender in {"", titles.MODEL_ACTOR}
    draft.record(TitleSet(title=title, actor=PERSON_ACTOR if is_mistakable else sender))
    draft.say(TitleOutput(title=title))
    return sentences.title_set(title)


def _compact(draft: Draft) -> str:
    """Ask for a compaction, which follows this turn as it follows any other."""
    plan = compaction.make_plan(replace(draft.state, turn=None), draft.settings, Trigger.MANUAL)
    if not isinstance(plan, CompactionPlan):
        return sentences.NOTHING_TO_COMPACT
    draft.runtime = replace(draft.runtime, is_compaction_wanted=True)
    return sentences.COMPACTING


def _status(draft: Draft, *, is_short: bool) -> Iterable[str]:
    """The session in a few lines; strangers learn nothing of the host and of other work."""
    state, model = draft.state, draft.settings.main_model
    yield f"Session: {state.session_id}"
    yield f"Title: {state.title or 'none yet'}"
    yield f"Turns: {state.turns}; messages waiting: {len(state.buffered)}"
    if model is not None:
        used = state.last_input_tokens
        share = round(100 * used / model.context_window)
        yield f"Context: {used:,} of {model.context_window:,} tokens ({share} %)"
    if is_short:
        return
    if model is not None:
        yield f"Model: {model.model_id}"
    if state.working_directory:
        yield f"Project directory: {state.working_directory}"
    jobs = sum(job.state.is_live for job in state.jobs)
    runs = len(open_work.open_run_ids(state))
    if jobs or runs:
        yield f"Background jobs: {jobs}; open child runs: {runs}"
