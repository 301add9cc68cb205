"""Protocol messages as the rows that `--json` prints, with the keys of the command contract."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from netclaw.cli.app import JsonRow, JsonValue, compact
from netclaw.cli.words import ago

if TYPE_CHECKING:
    from netclaw.wire.v1 import admin_pb2, common_pb2, gateway_pb2


HELD_PHASES = ("backoff", "quarantined")
_SNAKE = re.compile(r"_([a-z0-9])")


def camel_keys(value: JsonValue) -> JsonValue:
    """The value with snake_case keys in camelCase, at every depth."""
    if isinstance(value, dict):
        return {
            _SNAKE.sub(lambda found: found[1].upper(), key): camel_keys(item)
            for key, item in value.items()
        }
    if isinstance(value, list):
        return [camel_keys(item) for item in value]
    return value


def when(at_ms: int) -> str | None:
    """Epoch milliseconds as an ISO instant in UTC; None for 0."""
    if not at_ms:
        return None
    moment = datetime.fromtimestamp(at_ms / 1000, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def parsed(text: str | bytes) -> JsonValue:
    """JSON text as its value; other text as it is."""
    try:
        value: JsonValue = json.loads(text)
    except ValueError:
        return text.decode("utf-8", "replace") if isinstance(text, bytes) else text
    return value


def phase_of(row: gateway_pb2.SessionRow) -> str:
    """The phase to show: `passive` when no process runs, unless it is held back."""
    return row.phase if row.pid or row.phase in HELD_PHASES else "passive"


def session_row(row: gateway_pb2.SessionRow) -> JsonRow:
    """A line of `sessions list`."""
    return compact(
        {
            "id": row.id,
            "title": row.title,
            "channel": row.channel,
            "audience": row.audience,
            "phase": phase_of(row),
            "pid": row.pid or None,
            "incarnation": row.incarnation,
            "turns": row.turns,
            "pendingInputs": row.pending_inputs,
            "stateVersion": row.state_version or None,
            "lastActivityAt": when(row.last_activity_at_ms),
            "quarantined": row.quarantined,
            "headSeq": row.head_seq,
            "life": row.life,
            "kind": row.kind or None,
            "parent": row.parent or None,
            "contextTokens": row.context_tokens or None,
            "contextWindow": row.context_window or None,
            "goal": row.goal or None,
            "goalStatus": row.goal_status or None,
        }
    )


def usage_row(usage: common_pb2.Usage) -> JsonRow:
    """Token counts; what the model's service did not report is 0 or absent."""
    return compact(
        {
            "inputTokens": usage.input_tokens,
            "outputTokens": usage.output_tokens,
            "totalTokens": usage.input_tokens + usage.output_tokens,
            "cachedInputTokens": usage.cached_input_tokens or None,
            "reasoningTokens": usage.reasoning_tokens or None,
        }
    )


def detail_row(detail: gateway_pb2.SessionDetail) -> JsonRow:
    """`sessions show`."""
    root = detail.storage_root
    return session_row(detail.row) | compact(
        {
            "storage": {
                "root": root,
                "workspace": f"{root}/workspace",
                "artifacts": f"{root}/artifacts",
                "worktrees": f"{root}/worktrees",
                "logs": f"{root}/logs",
                "tmp": detail.storage_tmp,
            },
            "tokens": usage_row(detail.tokens),
            "lastInputTokens": detail.last_input_tokens or None,
            "contextWindow": detail.context_window or None,
            "workingDirectory": detail.working_directory or None,
            "openApprovals": list(detail.open_approvals),
            "openChildRuns": list(detail.open_child_runs),
            "jobs": list(detail.jobs),
            "parent": detail.parent or None,
            "children": list(detail.children),
            "upstream": detail.upstream or None,
            "upstreamOthers": list(detail.upstream_others) or None,
        }
    )


def call_row(call: gateway_pb2.HistoryCall) -> JsonRow:
    """A tool call of the history."""
    return {
        "callId": call.call_id,
        "toolName": call.tool_name,
        "arguments": parsed(call.arguments),
    }


def history_row(item: gateway_pb2.HistoryItem) -> JsonRow:
    """A message of `sessions history`."""
    return compact(
        {
            "role": item.role,
            "text": item.text,
            "toolCalls": [call_row(call) for call in item.tool_calls] or None,
            "toolCallId": item.tool_call_id or None,
            "at": when(item.at_ms),
            "turnId": item.turn_id or None,
            "sender": item.sender or None,
        }
    )


def journal_row(row: common_pb2.JournalRow) -> JsonRow:
    """A line of `sessions journal`."""
    return compact(
        {
            "seq": row.seq,
            "at": when(row.at_ms),
            "type": row.type,
            "version": row.version,
            "incarnation": row.incarnation,
            "payload": camel_keys(parsed(row.payload)),
            "cause": row.cause or None,
        }
    )


def ledger_row(entry: gateway_pb2.LedgerEntry) -> JsonRow:
    """A line of `ledger`."""
    return compact(
        {
            "inputId": entry.input_id,
            "source": entry.source,
            "messageId": entry.source_message_id or None,
            "receivedAt": when(entry.received_at_ms),
            "admittedAt": when(entry.admitted_at_ms),
            "turnId": entry.turn_id or None,
            "outcome": entry.outcome,
            "seq": entry.seq or None,
            "deliveries": [
                compact(
                    {
                        "channel": delivery.channel,
                        "state": delivery.state,
                        "attempts": delivery.attempts,
                        "externalId": delivery.external_id or None,
                    }
                )
                for delivery in entry.deliveries
            ],
        }
    )


def adapter_row(row: admin_pb2.AdapterRow) -> JsonRow:
    """A channel's process as `status` tells of it."""
    counters: JsonRow = {name: row.counters[name] for name in sorted(row.counters)}
    return compact(
        {
            "channel": row.channel,
            "pid": row.pid or None,
            "state": row.state,
            "account": row.account or None,
            "scope": row.scope or None,
            "lastFailure": row.last_failure or None,
            "lastFailureAt": when(row.last_failure_at_ms) if row.last_failure else None,
            "restarts": row.restarts or None,
            "counters": counters or None,
        }
    )


def adapter_text(row: admin_pb2.AdapterRow, *, is_failure_told: bool = False) -> str:
    """The same in a few words; without the last failure if that `is_failure_told` elsewhere."""
    words = row.state
    if row.account:
        words += f" as {row.account}"
    if row.scope:
        words += f" of {row.scope}"
    if row.pid:
        words += f", process {row.pid}"
    if row.counters:
        words += f", {row.counters.get('admitted', 0)} in"
        words += f", {row.counters.get('delivered', 0)} out"
        if row.counters.get("denied", 0):
            words += f", {row.counters['denied']} not served"
    if row.last_failure and not is_failure_told:
        when_ago = f" {ago(row.last_failure_at_ms)}" if row.last_failure_at_ms else ""
        words += f"; last failure{when_ago}: {row.last_failure}"
    return words


def daemon_row(status: admin_pb2.StatusResponse) -> JsonRow:
    """`daemon status` of a daemon that answers."""
    return compact(
        {
            "state": status.state,
            "pid": status.pid,
            "generation": status.generation,
            "uptimeSeconds": round(status.uptime_s, 3),
            "version": status.version,
            "sessions": {
                "live": status.live_sessions,
                "quarantined": status.quarantined_sessions,
                "total": status.total_sessions,
            },
            "sandbox": compact(
                {
                    "backend": status.sandbox_backend,
                    "limits": status.sandbox_limits,
                    "why": status.sandbox_why or None,
                }
            ),
            "zygote": compact({"pid": status.zygote_pid or None}),
            "adapters": [adapter_row(row) for row in status.adapters],
            "degradedReason": status.degraded_reason or None,
            "openApprovals": status.open_approvals,
            "grantsProblem": status.grants_problem or None,
        }
    )
