"""What a session says, as the lines that `sessions attach --json` prints.

Every type of the command contract has its keys here; a type this program does not know yet is
shown with what all types have.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from netclaw.cli.app import JsonRow, compact
from netclaw.cli.rows import parsed, usage_row

if TYPE_CHECKING:
    from netclaw.wire.v1 import common_pb2

Fields = Callable[["common_pb2.Output"], JsonRow]


def _text(output: common_pb2.Output) -> JsonRow:
    return {"turnId": output.turn_id, "round": output.round, "text": output.text}


def _tool_call(output: common_pb2.Output) -> JsonRow:
    return {
        "turnId": output.turn_id,
        "callId": output.call_id,
        "toolName": output.tool_name,
        "arguments": parsed(output.arguments),
    }


def _tool_result(output: common_pb2.Output) -> JsonRow:
    return {
        "turnId": output.turn_id,
        "callId": output.call_id,
        "toolName": output.tool_name,
        "outcome": output.outcome,
        "result": output.text,
        "durationMs": output.duration_ms,
    }


def _usage(output: common_pb2.Output) -> JsonRow:
    return {
        "turnId": output.turn_id,
        **usage_row(output.usage),
        "contextTokens": output.context_tokens or None,
        "contextWindow": output.context_window or None,
    }


def _file(output: common_pb2.Output) -> JsonRow:
    return {
        "turnId": output.turn_id,
        "path": output.path,
        "mediaType": output.media_type,
        "sizeBytes": output.size_bytes,
    }


def _processing(output: common_pb2.Output) -> JsonRow:
    return {"phase": output.phase, "bufferedInputs": output.buffered_inputs}


def _retry(output: common_pb2.Output) -> JsonRow:
    return {"turnId": output.turn_id, "text": output.text, "waitMs": output.duration_ms}


def _compaction(output: common_pb2.Output) -> JsonRow:
    return {"tokensBefore": output.tokens_before, "tokensAfter": output.tokens_after}


def _error(output: common_pb2.Output) -> JsonRow:
    return {
        "turnId": output.turn_id or None,
        "category": output.category,
        "message": output.text,
        "reference": output.reference or None,
        "inputIds": list(output.input_ids),
    }


def _turn_completed(output: common_pb2.Output) -> JsonRow:
    return {
        "turnId": output.turn_id,
        "inputIds": list(output.input_ids),
        "openChildRuns": list(output.open_child_runs),
        "outcome": output.outcome or "failed",
    }


def _titled(output: common_pb2.Output) -> JsonRow:
    return {"title": output.text}


def _notice(output: common_pb2.Output) -> JsonRow:
    return {
        "text": output.text,
        "kind": output.outcome or None,
        "inputIds": list(output.input_ids) or None,
    }


def _consent_request(output: common_pb2.Output) -> JsonRow:
    return {
        "turnId": output.turn_id,
        "callId": output.call_id,
        "tool": output.tool_name,
        "display": output.text,
        "cwd": output.path or None,
        "candidates": list(output.candidates),
        "options": [
            {"key": option.key, "label": option.label, "effect": option.effect}
            for option in output.options
        ],
        "requester": output.sender or None,
        "childRunId": output.run_id or None,
        "adoptedSpeakers": list(output.speakers) or None,
    }


def _consent_update(output: common_pb2.Output) -> JsonRow:
    return {
        "turnId": output.turn_id,
        "callId": output.call_id,
        "outcome": output.outcome,
        "answerer": output.sender or None,
        "childRunId": output.run_id or None,
    }


def _job(output: common_pb2.Output) -> JsonRow:
    return {
        "jobId": output.job_id,
        "state": output.outcome,
        "command": output.text,
        "exitCode": output.exit_code if output.HasField("exit_code") else None,
        "logPath": output.path or None,
    }


def _child(output: common_pb2.Output) -> JsonRow:
    return {
        "runId": output.run_id,
        "agent": output.agent,
        "state": output.outcome,
        "reason": output.text or None,
        "resultPath": output.path or None,
    }


def _resync(output: common_pb2.Output) -> JsonRow:
    del output
    return {}


def _other(output: common_pb2.Output) -> JsonRow:
    return {"turnId": output.turn_id or None, "text": output.text or None}


_FIELDS: dict[str, Fields] = {
    "text": _text,
    "text_delta": _text,
    "thinking_delta": _text,
    "tool_call": _tool_call,
    "tool_result": _tool_result,
    "usage": _usage,
    "file": _file,
    "processing": _processing,
    "retry": _retry,
    "compaction": _compaction,
    "error": _error,
    "turn_completed": _turn_completed,
    "title": _titled,
    "notice": _notice,
    "consent_request": _consent_request,
    "consent_update": _consent_update,
    "child": _child,
    "job": _job,
    "resync": _resync,
}


def output_row(output: common_pb2.Output) -> JsonRow:
    """A line of `sessions attach`."""
    fields = _FIELDS.get(output.type, _other)(output)
    return compact({"type": output.type, "seq": output.seq or None, **fields})
