"""What the end of a model call means: an answer, a batch, another try, or a failed turn."""

from __future__ import annotations

from dataclasses import replace

from netclaw.core.errors import ErrorCategory
from netclaw.core.session import sentences, tool_batch, turn
from netclaw.core.session.commands import FinishReason, FinishRound
from netclaw.core.session.draft import Draft
from netclaw.core.session.state import OpenTurn
from netclaw.core.text import storable

NUDGES = 1
"""Tries after an empty first reply."""
NUDGES_AFTER_TOOLS = 3
"""Tries after an empty reply once tools were used: the work is worth more than a call."""

_BROKEN_ENDS = {
    FinishReason.LENGTH: sentences.CUT_AT_LIMIT,
    FinishReason.CONTENT_FILTER: sentences.FILTERED,
}


def classify(draft: Draft, open_turn: OpenTurn, command: FinishRound) -> None:
    """Decide what follows from a finished model call.

    A reply cut at the output limit fails the turn and leaves nothing behind (S0 "What ends or
    stalls a turn", decision 25).
    """
    command = replace(command, text=storable(command.text), thinking=storable(command.thinking))
    broken = _BROKEN_ENDS.get(command.finish)
    if broken is not None:
        _fail(draft, open_turn, broken)
    elif command.calls and not command.are_tools_offered:
        _fail(draft, open_turn, sentences.UNOFFERED_CALLS)
    elif command.calls:
        tool_batch.begin(draft, open_turn, command)
    elif command.text.strip():
        turn.complete(draft, open_turn, command)
    else:
        _ask_again(draft, open_turn, command)


def _ask_again(draft: Draft, open_turn: OpenTurn, command: FinishRound) -> None:
    runtime = draft.runtime
    limit = NUDGES_AFTER_TOOLS if open_turn.rounds else NUDGES
    if runtime.nudges >= limit:
        _fail(draft, open_turn, sentences.EMPTY_REPLY)
        return
    is_thinking = bool(command.thinking.strip())
    draft.runtime = replace(
        runtime,
        nudges=runtime.nudges + 1,
        nudge=sentences.NUDGE_THINKING if is_thinking else sentences.NUDGE_EMPTY,
        spent=runtime.spent.plus(command.usage),
    )
    draft.call_model(open_turn)


def _fail(draft: Draft, open_turn: OpenTurn, sentence: str) -> None:
    turn.fail(draft, open_turn, category=ErrorCategory.MODEL_BEHAVIOR, sentence=sentence)
