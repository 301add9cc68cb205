"""The command behind `scripts/bench`: quick (under a minute) or full, as text or JSON."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections.abc import Awaitable
from dataclasses import dataclass

from benchmarks import (
    admission,
    channels,
    children,
    endurance,
    flow,
    judging,
    passive,
    recovery,
    signals,
    size,
    turns,
)
from benchmarks.figures import FIGURES, render
from benchmarks.stage import Stage


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """How many samples each figure gets."""

    turns: int
    twenty: int
    starts: int
    kills: int
    supervisor_kills: int
    admissions: int
    batches: int
    sizes: int
    tokens: int
    judged: int
    sandbox: int
    idle_sessions: int
    idle_seconds: float
    output_megabytes: int
    status: int
    events: int
    endless: int
    live: int
    passive: int
    beside_wild: int
    signals: int
    threads: int


QUICK = Effort(
    turns=60, twenty=8, starts=2, kills=8, supervisor_kills=1, admissions=60, batches=190,
    sizes=20, tokens=20_000, judged=10, sandbox=30, idle_sessions=60, idle_seconds=4.0,
    output_megabytes=300, status=5, events=100_000, endless=0, live=0, passive=0,
    beside_wild=0, signals=20, threads=20,
)  # fmt: skip
FULL = Effort(
    turns=1000, twenty=30, starts=5, kills=40, supervisor_kills=5, admissions=180, batches=190,
    sizes=50, tokens=100_000, judged=50, sandbox=200, idle_sessions=200, idle_seconds=20.0,
    output_megabytes=1500, status=15, events=100_000, endless=1000, live=500, passive=1000,
    beside_wild=100, signals=200, threads=200,
)  # fmt: skip
FULL_ONLY = {
    "liveSessions500",
    "memory1000TurnsMiB",
    "passive1000DaemonPssMiB",
    "passive1000Live100PssMiB",
    "childStartP50Ms20",
    "childStartP95Ms20",
    "childPssMiB20",
    "childTurnP50Ms20",
    "childTurnP95Ms20",
    "childSpinningRatio",
    "childEatingRatio",
}


async def run(effort: Effort) -> dict[str, float]:
    """Measure every key; a figure whose measurement failed is absent and named on stderr."""
    values: dict[str, float] = {}

    async def take(name: str, measuring: Awaitable[dict[str, float]]) -> None:
        print(f"measuring {name} ...", file=sys.stderr, flush=True)
        try:
            values.update(await measuring)
        except Exception as fault:  # noqa: BLE001 - one figure must not cost the others
            print(f"  {name} failed: {type(fault).__name__}: {fault}", file=sys.stderr)

    await take("judging", judging.measure_authorize(runs=effort.judged))
    await take("signals", signals.measure_signals(runs=effort.signals))
    await take("the sandbox", flow.measure_sandbox(runs=effort.sandbox))
    async with Stage() as stage:
        await take("readiness", recovery.measure_ready(stage, starts=effort.starts))
        await take("the idle daemon", size.measure_idle_daemon(stage))
        await take("turns", turns.measure_alone(stage, turns=effort.turns))
        await take("twenty sessions", turns.measure_twenty(stage, turns=effort.twenty))
        await take("cold starts", recovery.measure_cold(stage, rounds=effort.kills))
        await take(
            "session kills",
            recovery.measure_session_kill(
                stage, rounds=effort.kills, bare_ms=values.get("bareCallP50Ms", 0.0)
            ),
        )
        await take("status", size.measure_status(stage, runs=effort.status))
        await take("relay", flow.measure_relay(stage, tokens=effort.tokens))
        await take(
            "tool output", size.measure_tool_output(stage, megabytes=effort.output_megabytes)
        )
        await take(
            "supervisor kills",
            recovery.measure_supervisor_kill(stage, rounds=effort.supervisor_kills),
        )
    async with Stage() as stage:
        await stage.world.start()
        await take("unary admissions", admission.measure_unary(stage, each=effort.admissions))
    # A daemon of its own: the turns that the first one holds would run beside the measurement.
    async with Stage() as stage:
        await stage.world.start()
        await take("ingest", admission.measure_ingest(stage, batches=effort.batches))
    async with Stage() as stage:
        await stage.world.start()
        await take("session memory", size.measure_sessions(stage, count=effort.sizes))
        await take(
            "idle CPU",
            size.measure_idle_cpu(stage, count=effort.idle_sessions, seconds=effort.idle_seconds),
        )
    async with endurance.endurance_stage() as stage:
        await stage.world.start()
        await take(
            "a long journal",
            endurance.measure_replay(stage, events=effort.events, colds=effort.kills),
        )
        if effort.endless:
            await take("an endless talk", endurance.measure_memory(stage, turns=effort.endless))
    if effort.live:
        async with Stage() as stage:
            await stage.world.start()
            await take("live sessions", size.measure_live(stage, count=effort.live))
    if effort.passive:
        async with Stage(config=passive.places()) as stage:
            await stage.world.start()
            await take("passive sessions", passive.measure_passive(stage, passive=effort.passive))
    if effort.beside_wild:
        async with Stage(config=children.places()) as stage:
            await stage.world.start()
            await take("child runs at once", children.measure_at_once(stage))
            await take(
                "a child run gone wild", children.measure_wild(stage, turns=effort.beside_wild)
            )
    await take("a channel", channels.measure_channel(at_once=effort.threads))
    return {f.key: round(values[f.key], 4) for f in FIGURES if f.key in values}


def main() -> int:
    """Print the figures; the exit status says whether all of them could be measured."""
    parser = argparse.ArgumentParser(prog="scripts/bench", description=__doc__)
    parser.add_argument("effort", choices=["quick", "full"], nargs="?", default="quick")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    options = parser.parse_args()
    effort = QUICK if options.effort == "quick" else FULL
    values = asyncio.run(run(effort))
    print(json.dumps(values, indent=2) if options.json else render(values))
    wanted = {f.key for f in FIGURES} - (set() if effort is FULL else FULL_ONLY)
    return 0 if wanted <= set(values) else 1


if __name__ == "__main__":
    sys.exit(main())
