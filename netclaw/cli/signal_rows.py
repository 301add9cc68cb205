"""What is told of state awareness: changes of sessions, who watches whom, goals."""

from __future__ import annotations

from typing import TYPE_CHECKING

from netclaw.cli.app import JsonRow, compact
from netclaw.cli.rows import when

if TYPE_CHECKING:
    from netclaw.cli.client import DaemonClient
    from netclaw.wire.v1.admin_pb2 import (
        GoalRow,
        ShowSignalsResponse,
        SignalFacts,
        SignalRow,
        WatchRow,
    )


def changes_row(found: ShowSignalsResponse) -> JsonRow:
    """`signals show`: the state version, and what changed after the one asked for."""
    return {
        "stateVersion": found.state_version,
        "stateChanges": {
            "events": [signal_row(event) for event in found.events],
            "historyGap": found.gap,
            "truncated": found.truncated,
            "earliestAvailableSequence": found.earliest,
        },
    }


def signal_row(event: SignalRow) -> JsonRow:
    """One change of a session."""
    return compact(
        {
            "sequence": event.sequence,
            "sessionId": event.session_id,
            "kind": event.kind,
            "actorType": event.actor_type,
            "actorId": event.actor_id or None,
            "occurredAt": when(event.occurred_at_ms),
            "summary": event.summary,
            "runId": event.run_id or None,
            "payload": _facts_row(event.payload) or None,
        }
    )


def _facts_row(facts: SignalFacts) -> JsonRow:
    return compact(
        {
            "outcome": facts.outcome or None,
            "channel": facts.channel or None,
            "turns": facts.turns or None,
            "catalogId": facts.catalog_id or None,
            "hostId": facts.host_id or None,
        }
    )


def watch_row(row: WatchRow) -> JsonRow:
    """One session that watches another; a notice waits while `notified` is above `lastSeen`."""
    return {
        "watcher": row.watcher,
        "target": row.target,
        "lastSeen": row.last_seen,
        "notified": row.notified,
        "material": row.material,
    }


def is_open(row: WatchRow) -> bool:
    """Whether the watcher still has something to be told."""
    return row.notified > row.last_seen


def watches_of(session_id: str, rows: list[WatchRow]) -> JsonRow:
    """What `sessions show` says of watching: who does, whom, and what was not told yet."""
    mine = [row for row in rows if row.watcher == session_id]
    return {
        "watchers": [row.watcher for row in rows if row.target == session_id],
        "watches": [row.target for row in mine],
        "openNotices": [row.target for row in mine if is_open(row)],
    }


def all_watches(client: DaemonClient, session_id: str = "") -> list[WatchRow]:
    """Every watch, or those in which a session watches or is watched, a page at a time."""
    from netclaw.wire.v1.admin_pb2 import ListWatchesRequest

    rows: list[WatchRow] = []
    while True:
        request = ListWatchesRequest(
            session_id=session_id,
            after_watcher=rows[-1].watcher if rows else "",
            after_target=rows[-1].target if rows else "",
        )
        page = client.call(client.admin.ListWatches, request)
        rows.extend(page.watches)
        if not page.more:
            return rows


def goal_row(row: GoalRow) -> JsonRow:
    """A session's goal; a session without one has neither goal nor status."""
    return compact({"id": row.session_id, "goal": row.text or None, "status": row.status or None})


def what(event: SignalRow) -> str:
    """What happened, for people: the line that is kept, and how many messages it stands for."""
    times = f" ({event.payload.turns} messages)" if event.payload.turns > 1 else ""
    return event.summary + times


def actor(event: SignalRow) -> str:
    """Who changed it, for people: `human 1000`, `agent planner`, `system`."""
    return f"{event.actor_type} {event.actor_id}".rstrip()
