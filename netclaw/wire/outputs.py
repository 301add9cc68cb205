"""Turns what subscribers see into protocol outputs and back.

One entry per core class: the word that names it on the wire and the two directions. The supervisor
passes a session's outputs on without turning them into core values, so `FILTER_BIT` answers for
protocol outputs alone which of a subscriber's filter bits admits them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar, cast

from netclaw.core.errors import ErrorCategory, InvalidArgumentError
from netclaw.core.ids import CallId, JobId, RunId, TurnId
from netclaw.core.session import outputs as out
from netclaw.core.session.child_events import ChildState
from netclaw.core.session.consent_events import ConsentEffect, ConsentOption
from netclaw.core.session.events import TurnOutcome
from netclaw.core.session.job_events import JobState
from netclaw.core.session.outputs import FILTER_OF, Output
from netclaw.core.session.phase import Phase
from netclaw.core.tool_call import OutcomeCategory
from netclaw.wire.convert import input_ids_of, usage_from_proto, usage_to_proto
from netclaw.wire.v1 import common_pb2 as pb

RESYNC = "resync"
"""Made by the supervisor alone: outputs after `seq` were dropped, read the history from there."""

_O = TypeVar("_O", bound=Output)


@dataclass(frozen=True, slots=True)
class _Form(Generic[_O]):
    kind: type[_O]
    word: str
    write: Callable[[_O, pb.Output], None]
    read: Callable[[pb.Output], _O]


def output_to_proto(output: Output) -> pb.Output:
    """One output for the wire, without seq and index: the supervisor numbers it."""
    form = _BY_KIND[type(output)]
    message = pb.Output(type=form.word)
    form.write(output, message)
    return message


def output_from_proto(message: pb.Output) -> Output:
    """One output from the wire; raises `InvalidArgumentError` when it is none of the core's."""
    form = _BY_WORD.get(message.type)
    if form is None:
        raise InvalidArgumentError(f"{message.type!r} is no output of a session.")
    try:
        return form.read(message)
    except ValueError:
        raise InvalidArgumentError(f"An output of type {message.type} is malformed.") from None


def _write_text(output: out.TextOutput | out.TextDelta | out.ThinkingDelta, m: pb.Output) -> None:
    m.turn_id, m.text, m.round = output.turn_id, output.text, output.round


def _read_text(m: pb.Output) -> out.TextOutput:
    return out.TextOutput(turn_id=TurnId(m.turn_id), text=m.text, round=m.round)


def _read_delta(m: pb.Output) -> out.TextDelta:
    return out.TextDelta(turn_id=TurnId(m.turn_id), text=m.text, round=m.round)


def _read_thinking(m: pb.Output) -> out.ThinkingDelta:
    return out.ThinkingDelta(turn_id=TurnId(m.turn_id), text=m.text, round=m.round)


def _write_tool_call(output: out.ToolCallOutput, m: pb.Output) -> None:
    m.turn_id, m.call_id = output.turn_id, output.call_id
    m.tool_name, m.arguments = output.name, output.arguments


def _read_tool_call(m: pb.Output) -> out.ToolCallOutput:
    return out.ToolCallOutput(
        turn_id=TurnId(m.turn_id),
        call_id=CallId(m.call_id),
        name=m.tool_name,
        arguments=m.arguments,
    )


def _write_tool_result(output: out.ToolResultOutput, m: pb.Output) -> None:
    m.turn_id, m.call_id, m.tool_name = output.turn_id, output.call_id, output.name
    m.outcome, m.text, m.duration_ms = output.outcome.value, output.text, output.duration_ms


def _read_tool_result(m: pb.Output) -> out.ToolResultOutput:
    return out.ToolResultOutput(
        turn_id=TurnId(m.turn_id),
        call_id=CallId(m.call_id),
        name=m.tool_name,
        outcome=OutcomeCategory(m.outcome),
        text=m.text,
        duration_ms=m.duration_ms,
    )


def _write_usage(output: out.UsageOutput, m: pb.Output) -> None:
    m.turn_id, m.context_window = output.turn_id, output.context_window
    m.context_tokens = output.context_tokens
    m.usage.CopyFrom(usage_to_proto(output.usage))


def _read_usage(m: pb.Output) -> out.UsageOutput:
    return out.UsageOutput(
        turn_id=TurnId(m.turn_id),
        usage=usage_from_proto(m.usage),
        context_window=m.context_window,
        context_tokens=m.context_tokens,
    )


def _write_file(output: out.FileOutput, m: pb.Output) -> None:
    m.turn_id, m.path = output.turn_id, output.path
    m.media_type, m.size_bytes = output.media_type, output.size_bytes


def _read_file(m: pb.Output) -> out.FileOutput:
    return out.FileOutput(
        turn_id=TurnId(m.turn_id),
        path=m.path,
        media_type=m.media_type,
        size_bytes=m.size_bytes,
    )


def _write_processing(output: out.ProcessingOutput, m: pb.Output) -> None:
    m.phase, m.buffered_inputs = output.phase.value, output.buffered_inputs


def _read_processing(m: pb.Output) -> out.ProcessingOutput:
    return out.ProcessingOutput(phase=Phase(m.phase), buffered_inputs=m.buffered_inputs)


def _write_retry(output: out.RetryOutput, m: pb.Output) -> None:
    m.turn_id, m.text = output.turn_id, output.sentence
    m.duration_ms = int(output.wait_s * 1000)


def _read_retry(m: pb.Output) -> out.RetryOutput:
    return out.RetryOutput(turn_id=TurnId(m.turn_id), sentence=m.text, wait_s=m.duration_ms / 1000)


def _write_title(output: out.TitleOutput, m: pb.Output) -> None:
    m.text = output.title


def _read_title(m: pb.Output) -> out.TitleOutput:
    return out.TitleOutput(title=m.text)


def _write_error(output: out.ErrorOutput, m: pb.Output) -> None:
    m.turn_id, m.category = output.turn_id or "", output.category.value
    m.text, m.reference = output.sentence, output.reference
    m.input_ids.extend(output.input_ids)


def _read_error(m: pb.Output) -> out.ErrorOutput:
    return out.ErrorOutput(
        turn_id=TurnId(m.turn_id) if m.turn_id else None,
        category=ErrorCategory(m.category),
        sentence=m.text,
        reference=m.reference,
        input_ids=input_ids_of(m.input_ids),
    )


def _write_notice(output: out.NoticeOutput, m: pb.Output) -> None:
    m.text, m.outcome = output.sentence, output.kind
    m.input_ids.extend(output.input_ids)


def _read_notice(m: pb.Output) -> out.NoticeOutput:
    return out.NoticeOutput(sentence=m.text, kind=m.outcome, input_ids=input_ids_of(m.input_ids))


def _write_compaction(output: out.CompactionOutput, m: pb.Output) -> None:
    m.tokens_before, m.tokens_after = output.tokens_before, output.tokens_after
    m.kept_messages = output.kept_messages


def _read_compaction(m: pb.Output) -> out.CompactionOutput:
    return out.CompactionOutput(
        tokens_before=m.tokens_before,
        tokens_after=m.tokens_after,
        kept_messages=m.kept_messages,
    )


def _write_request(output: out.ConsentRequestOutput, m: pb.Output) -> None:
    m.turn_id, m.call_id, m.tool_name = output.turn_id, output.call_id, output.tool
    m.text, m.sender, m.run_id = output.display, output.sender_id, output.run_id or ""
    m.path = output.cwd
    m.speakers.extend(output.adopted_speakers)
    m.candidates.extend(output.candidates)
    m.options.extend(
        pb.ConsentOption(key=item.key, label=item.label, effect=item.effect.value)
        for item in output.options
    )


def _read_request(m: pb.Output) -> out.ConsentRequestOutput:
    return out.ConsentRequestOutput(
        turn_id=TurnId(m.turn_id),
        call_id=CallId(m.call_id),
        tool=m.tool_name,
        display=m.text,
        candidates=tuple(m.candidates),
        options=tuple(
            ConsentOption(key=item.key, label=item.label, effect=ConsentEffect(item.effect))
            for item in m.options
        ),
        sender_id=m.sender,
        run_id=_run_id(m),
        cwd=m.path,
        adopted_speakers=tuple(m.speakers),
    )


def _write_update(output: out.ConsentUpdateOutput, m: pb.Output) -> None:
    m.turn_id, m.call_id, m.outcome = output.turn_id, output.call_id, output.end.value
    m.sender, m.run_id = output.answerer, output.run_id or ""


def _read_update(m: pb.Output) -> out.ConsentUpdateOutput:
    return out.ConsentUpdateOutput(
        turn_id=TurnId(m.turn_id),
        call_id=CallId(m.call_id),
        end=out.ConsentEnd(m.outcome),
        answerer=m.sender,
        run_id=_run_id(m),
    )


def _write_child(output: out.ChildOutput, m: pb.Output) -> None:
    m.run_id, m.agent, m.outcome = output.run_id, output.agent, output.state.value
    m.text, m.path = output.reason, output.result_path


def _read_child(m: pb.Output) -> out.ChildOutput:
    return out.ChildOutput(
        run_id=RunId(m.run_id),
        agent=m.agent,
        state=ChildState(m.outcome),
        reason=m.text,
        result_path=m.path,
    )


def _write_job(output: out.JobOutput, m: pb.Output) -> None:
    m.job_id, m.outcome = output.job_id, output.state.value
    m.text, m.path = output.command, output.log_path
    if output.exit_code is not None:
        m.exit_code = output.exit_code


def _read_job(m: pb.Output) -> out.JobOutput:
    return out.JobOutput(
        job_id=JobId(m.job_id),
        state=JobState(m.outcome),
        command=m.text,
        log_path=m.path,
        exit_code=m.exit_code if m.HasField("exit_code") else None,
    )


def _run_id(m: pb.Output) -> RunId | None:
    return RunId(m.run_id) if m.run_id else None


def _write_completed(output: out.TurnCompletedOutput, m: pb.Output) -> None:
    m.turn_id, m.outcome = output.turn_id, output.outcome.value if output.outcome else ""
    m.input_ids.extend(output.input_ids)
    m.open_child_runs.extend(output.open_child_runs)


def _read_completed(m: pb.Output) -> out.TurnCompletedOutput:
    return out.TurnCompletedOutput(
        turn_id=TurnId(m.turn_id),
        input_ids=input_ids_of(m.input_ids),
        outcome=TurnOutcome(m.outcome) if m.outcome else None,
        open_child_runs=tuple(m.open_child_runs),
    )


def _form(
    kind: type[_O],
    word: str,
    write: Callable[[_O, pb.Output], None],
    read: Callable[[pb.Output], _O],
) -> _Form[Output]:
    return cast("_Form[Output]", _Form(kind, word, write, read))


_FORMS: tuple[_Form[Output], ...] = (
    _form(out.TextOutput, "text", _write_text, _read_text),
    _form(out.TextDelta, "text_delta", _write_text, _read_delta),
    _form(out.ThinkingDelta, "thinking_delta", _write_text, _read_thinking),
    _form(out.ToolCallOutput, "tool_call", _write_tool_call, _read_tool_call),
    _form(out.ToolResultOutput, "tool_result", _write_tool_result, _read_tool_result),
    _form(out.UsageOutput, "usage", _write_usage, _read_usage),
    _form(out.FileOutput, "file", _write_file, _read_file),
    _form(out.ProcessingOutput, "processing", _write_processing, _read_processing),
    _form(out.RetryOutput, "retry", _write_retry, _read_retry),
    _form(out.TitleOutput, "title", _write_title, _read_title),
    _form(out.ErrorOutput, "error", _write_error, _read_error),
    _form(out.NoticeOutput, "notice", _write_notice, _read_notice),
    _form(out.CompactionOutput, "compaction", _write_compaction, _read_compaction),
    _form(out.ConsentRequestOutput, "consent_request", _write_request, _read_request),
    _form(out.ConsentUpdateOutput, "consent_update", _write_update, _read_update),
    _form(out.ChildOutput, "child", _write_child, _read_child),
    _form(out.JobOutput, "job", _write_job, _read_job),
    _form(out.TurnCompletedOutput, "turn_completed", _write_completed, _read_completed),
)
_BY_KIND: dict[type[Output], _Form[Output]] = {form.kind: form for form in _FORMS}
_BY_WORD: dict[str, _Form[Output]] = {form.word: form for form in _FORMS}

FILTER_BIT: dict[str, int] = {form.word: int(FILTER_OF[form.kind] or 0) for form in _FORMS}
"""Wire word to the filter bit that admits it; 0 is lifecycle, always delivered."""
