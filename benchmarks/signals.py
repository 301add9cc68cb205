"""What it costs that sessions learn of each other, in the store itself, each write durable."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Awaitable
from pathlib import Path

from benchmarks.figures import percentile
from netclaw.core.authority import Audience, SourceKind
from netclaw.core.ids import InputId, SessionId, TurnId
from netclaw.core.session.events import NoticeMark, SessionKind, TurnStarted
from netclaw.core.session.goals import GoalChange
from netclaw.core.settings import DaemonSettings, StorageSettings
from netclaw.core.signals.events import SYSTEM
from netclaw.ports.journal import NewSession
from netclaw.store.store import SqliteJournalStore, wall_clock_ms
from netclaw.testing.people import OPERATOR
from netclaw.wire.journal_codec import encode_event

WATCHERS = 100
CURSORS = 50
SESSIONS = 2_000
TARGET = SessionId("cli/target")


async def measure_signals(*, runs: int) -> dict[str, float]:
    """Appends with many watchers, turn starts with many notices, and the sweep of a boot."""
    with tempfile.TemporaryDirectory(prefix="nc-", dir="/tmp") as folder:
        store = await SqliteJournalStore.open(
            Path(folder) / "netclaw.db", StorageSettings(), DaemonSettings()
        )
        try:
            await _create(store, TARGET)
            names = [SessionId(f"cli/watcher-{number}") for number in range(SESSIONS)]
            for name in names:
                await _create(store, name)
            return {
                **await _append(store, names[:WATCHERS], runs),
                **await _turn_starts(store, names, runs),
                **await _sweep(store, names),
            }
        finally:
            await store.close()


async def _append(
    store: SqliteJournalStore, watchers: list[SessionId], runs: int
) -> dict[str, float]:
    alone = [await _timed(_reword(store, TARGET, f"alone {number}")) for number in range(runs)]
    for watcher in watchers:
        await store.watch_session(watcher, TARGET, at=wall_clock_ms())
    watched = [await _timed(_reword(store, TARGET, f"{number}")) for number in range(runs)]
    return {
        "signalAppendP50Ms": percentile(alone, 0.5),
        "signalAppend100P50Ms": percentile(watched, 0.5),
    }


async def _turn_starts(
    store: SqliteJournalStore, names: list[SessionId], runs: int
) -> dict[str, float]:
    """The same append with and without notices, in turn, so that both see the same disk."""
    watcher, targets = names[WATCHERS], names[-CURSORS:]
    for target in targets:
        await store.watch_session(watcher, target, at=wall_clock_ms())
    plain, telling = [], []
    for number in range(runs):
        for target in targets:
            await _reword(store, target, f"turn {number}")
        notices = (await store.begin_incarnation(watcher, at=wall_clock_ms())).notices
        marks = tuple(NoticeMark(target=n.target, mark=n.mark, since=n.since) for n in notices)
        if len(marks) != CURSORS:
            message = f"{len(marks)} notices are open"
            raise RuntimeError(message)
        plain.append(await _timed(_start(store, watcher, ())))
        telling.append(await _timed(_start(store, watcher, marks)))
    return {"turnStart50AddedMs": percentile(telling, 0.5) - percentile(plain, 0.5)}


async def _sweep(store: SqliteJournalStore, names: list[SessionId]) -> dict[str, float]:
    """A boot at which every one of 2,000 sessions has something to tell."""
    for watcher in names[:-1]:
        await store.watch_session(watcher, names[-1], at=wall_clock_ms())
    await _reword(store, names[-1], "everybody is told")
    return {"signalSweep2000Ms": await _timed(store.sweep_cursors(at=wall_clock_ms()))}


async def _timed(work: Awaitable[object]) -> float:
    began = time.perf_counter()
    await work
    return (time.perf_counter() - began) * 1000


async def _reword(store: SqliteJournalStore, target: SessionId, text: str) -> None:
    await store.set_goal(target, GoalChange(text=text), actor=SYSTEM, at=wall_clock_ms())


async def _start(
    store: SqliteJournalStore, watcher: SessionId, marks: tuple[NoticeMark, ...]
) -> None:
    event = TurnStarted(
        turn_id=TurnId("t"), input_ids=(InputId("i"),), authority=OPERATOR, notices=marks
    )
    await store.append_own(watcher, (encode_event(event),), at=wall_clock_ms())


async def _create(store: SqliteJournalStore, name: SessionId) -> None:
    await store.create_session(
        NewSession(
            session_id=name,
            kind=SessionKind.MAIN,
            channel=SourceKind.CLI,
            audience=Audience.PERSONAL,
            storage_root=f"/home/{name}",
            at=wall_clock_ms(),
        )
    )
