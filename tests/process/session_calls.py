"""What tests of the session tools do again and again.

`ASKER` is the session whose model asks and sends, `TARGET` the one that it means.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any

from tests.process.checks import Row, check_journal
from tests.process.notice_calls import WAIT_S
from tests.process.world import World

ASKER = "asker"
TARGET = "target"


def call(name: str, **arguments: object) -> str:
    """The directive for a call; session tools but `session_status` are loaded first."""
    asked = f"[[tool:{name} {json.dumps(arguments)}]]"
    if name == "session_status":
        return asked
    return f"[[tool:load_tool {json.dumps({'name': name})}]] [[next]] {asked}"


def send(message: str, *, to: str = TARGET, wait_s: int = 20, **more: object) -> str:
    """The directive for one message to another session."""
    return call("sessions_send", sessionKey=to, message=message, timeoutSeconds=wait_s, **more)


async def ask(world: World, name: str, *, by: str = ASKER, **arguments: object) -> dict[str, Any]:
    """One call of a turn of its own, and the JSON object that it answered."""
    await world.peer.turn(by, f"{call(name, **arguments)} [[reply:asked]]")
    return answers(await world.peer.journal(by), name)[-1]


async def asked_text(world: World, name: str, *, by: str = ASKER, **arguments: object) -> str:
    """The same for a call that is answered with a sentence."""
    await world.peer.turn(by, f"{call(name, **arguments)} [[reply:asked]]")
    return texts(await world.peer.journal(by), name)[-1]


def answers(rows: list[Row], name: str = "sessions_send") -> list[dict[str, Any]]:
    """What the calls of this tool answered, in order; one whose process died has no answer."""
    return [json.loads(text) for text in texts(rows, name) if text.startswith("{")]


def texts(rows: list[Row], name: str) -> list[str]:
    """The results of the calls of this tool, in order."""
    made = [
        item["call_id"]
        for row in rows
        if row["type"] == "RoundRecorded"
        for item in row["payload"]["message"]["calls"]
        if item["name"] == name
    ]
    results = {
        row["payload"]["result"]["call_id"]: row["payload"]["result"]["text"]
        for row in rows
        if row["type"] == "ToolResultRecorded"
    }
    return [results[call_id] for call_id in made if call_id in results]


def inputs(rows: list[Row]) -> list[dict[str, Any]]:
    """Every input that was admitted, in order."""
    return [row["payload"] for row in rows if row["type"] == "InputAdmitted"]


def from_sessions(rows: list[Row], prefix: str = "") -> list[dict[str, Any]]:
    """The inputs that other sessions sent."""
    return [
        item
        for item in inputs(rows)
        if item["authority"]["provenance"]["source_kind"] == "session"
        and (item["source_message_id"] or "").startswith(prefix)
    ]


async def late_replies(world: World, count: int, by: str = ASKER) -> list[dict[str, Any]]:
    """The late replies to a session, once there are so many and all is answered; bounded."""
    found: list[dict[str, Any]] = []
    try:
        async with asyncio.timeout(WAIT_S):
            while True:
                rows = await world.peer.journal(by)
                found = from_sessions(rows, "reply:")
                if len(found) >= count:
                    break
                await asyncio.sleep(0.02)
    except TimeoutError:
        raise AssertionError(f"{by} was told of {len(found)} late replies, not {count}") from None
    await at_rest(world, by)
    rows = await world.peer.journal(by)
    check_journal(rows)
    found = from_sessions(rows, "reply:")
    assert len(found) == count
    return found


async def at_rest(world: World, *sessions: str) -> None:
    """Return once none of these has anything to do; bounded."""
    for name in sessions:
        await world.peer.wait_row(
            name, lambda row: row.pending_inputs == 0 and row.phase in {"ready", "passive"}
        )


async def one_reply(world: World, text: str, *, by: str = ASKER) -> str:
    """How the one message of a session was answered, `inline` or `late`: exactly once."""
    async with asyncio.timeout(WAIT_S):
        while not any(_replies(await world.peer.journal(by), text)):
            await asyncio.sleep(0.02)
    await at_rest(world, by, TARGET)
    rows = await world.peer.journal(by)
    check_journal(rows)
    check_journal(await world.peer.journal(TARGET))
    inline, late = _replies(rows, text)
    assert len(inline) + len(late) == 1, (inline, late)
    return "inline" if inline else "late"


def _replies(rows: list[Row], text: str) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Results that hold the reply, and inputs that do."""
    inline = [item for item in answers(rows) if item.get("reply") == text]
    late = [item for item in from_sessions(rows, "reply:") if text in item["text"]]
    return inline, late


async def until_sent(world: World) -> None:
    """Return once the target has a message of another session; bounded."""
    async with asyncio.timeout(WAIT_S):
        while not from_sessions(await world.peer.journal(TARGET)):
            await asyncio.sleep(0.01)
