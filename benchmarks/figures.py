"""The figures of a run: their names, targets, and how a person reads them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum


class Better(Enum):
    """Which side of its target a figure should be on."""

    LOWER = "<="
    HIGHER = ">="
    NONE = ""
    """Context, no target: a bare call, or what was not promised."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One measured key: its unit, target (architecture section 7) and meaning."""

    key: str
    unit: str
    better: Better
    target: float
    meaning: str

    def is_met(self, value: float) -> bool | None:
        """Whether the target is met; None when there is none."""
        if self.better is Better.NONE:
            return None
        return value <= self.target if self.better is Better.LOWER else value >= self.target


def _low(key: str, unit: str, target: float, meaning: str) -> Figure:
    return Figure(key=key, unit=unit, better=Better.LOWER, target=target, meaning=meaning)


def _high(key: str, unit: str, target: float, meaning: str) -> Figure:
    return Figure(key=key, unit=unit, better=Better.HIGHER, target=target, meaning=meaning)


def _bare(key: str, unit: str, meaning: str) -> Figure:
    return Figure(key=key, unit=unit, better=Better.NONE, target=0, meaning=meaning)


FIGURES: tuple[Figure, ...] = (
    _bare("bareCallP50Ms", "ms", "a streamed model call without netclaw, keep-alive"),
    _bare("bareCallP99Ms", "ms", "the same, p99"),
    _bare("bareCallsPerSecond20", "/s", "bare calls of 20 loops"),
    _bare("bareCallP95Ms20", "ms", "the same, p95"),
    _bare("rpcP50Ms", "ms", "an empty unary call to the daemon: the client's and gRPC's own share"),
    _low("turnOverheadP50Ms", "ms", 8, "client wall time of a turn minus the bare call, p50"),
    _low("turnOverheadP99Ms", "ms", 30, "p99 of a turn minus the p50 of the bare call"),
    _low("daemonOwnTimeP50Ms", "ms", 6, "overhead minus one empty unary call, p50"),
    _high("turnsPerSecond20", "/s", 150, "turns of 20 sessions at once"),
    _low("turnP95Ms20", "ms", 150, "p95 of those turns"),
    _low("readySeconds", "s", 0.8, "start of netclawd to READY=1"),
    _low("idleDaemonPssMiB", "MiB", 75, "PSS of supervisor and zygote without sessions"),
    _low("idleSessionPssMiB", "MiB", 8, "PSS of a live session before its first turn, mean"),
    _low("sessionAfterTurnPssMiB", "MiB", 12, "PSS of a session after one turn, mean"),
    _low("coldStartP50Ms", "ms", 40, "message to a passive session until its model request came"),
    _low("replay100kMs", "ms", 15, "a journal of 100,000 events: snapshot and tail to the state"),
    _low("coldStart100kP50Ms", "ms", 60, "message to that session, passive, until its request"),
    _low("memory1000TurnsMiB", "MiB", 1, "growth of a session from turn 100 to turn 1000"),
    _low("sessionKillRecoveryP50Ms", "ms", 60, "kill -9 of a session to its answer, minus bare"),
    _low("supervisorKillRecoverySeconds", "s", 3, "start after kill -9 until the answer"),
    _high("admissionsPerSecond", "/s", 1500, "unary admissions, 64 senders"),
    _low("admissionWorstP99Ms", "ms", 80, "p99 of the worst of those senders"),
    _high("ingestPerSecond", "/s", 6000, "admissions of 64 senders over 4 ingest streams"),
    _low("ingestP99Ms", "ms", 30, "p99 of a batch on those streams"),
    _high("relayTokensPerSecond16", "/s", 30_000, "tokens of one turn relayed to 16 subscribers"),
    _low("authorizeP50Ms", "ms", 10, "a shell command judged whole, parser and files, p50"),
    _low("sandboxTrueP50Ms", "ms", 15, "`true` in the sandbox, p50"),
    _low("idleCpuCores200", "cores", 0.1, "CPU of the daemon with 200 idle live sessions"),
    _low("toolOutputGrowthMiB", "MiB", 10, "growth of the daemon over 1.5 GB of tool output"),
    _low("statusMs", "ms", 250, "`netclaw status`, p50"),
    _low("passive1000DaemonPssMiB", "MiB", 85, "PSS of the daemon with 1,000 passive sessions"),
    _low("passive1000Live100PssMiB", "MiB", 1285, "PSS of all with 100 live sessions beside them"),
    _bare(
        "childStartP50Ms20", "ms", "20 child runs at once: accepted until its model request, p50"
    ),
    _bare("childStartP95Ms20", "ms", "the same, p95"),
    _bare("childPssMiB20", "MiB", "PSS of one of them while it waits at the model, mean"),
    _bare("childTurnP50Ms20", "ms", "their turns at once: first token until the end is on record"),
    _bare("childTurnP95Ms20", "ms", "the same, p95"),
    _low(
        "childSpinningRatio", "", 2, "a neighbour's turn p50 beside a run at 100 % CPU, to before"
    ),
    _low("childEatingRatio", "", 2, "the same beside a run that eats memory to its limit"),
    _bare(
        "channelAloneP50Ms", "ms", "a new thread of Slack: message until its answer, one at a time"
    ),
    _bare("channelAtOnceP50Ms", "ms", "200 new threads in one instant (quick: 20), p50"),
    _bare("channelAtOnceP95Ms", "ms", "the same, p95"),
    _bare("channelAtOnceRatio", "", "their p50 to that of one at a time"),
    _low("channelAdapterRssMiB", "MiB", 70, "the adapter's highest resident size after all that"),
    _bare("channelAdapterPssMiB", "MiB", "its PSS then"),
    _bare("signalAppendP50Ms", "ms", "a change of a session that nobody watches, durable, p50"),
    _low("signalAppend100P50Ms", "ms", 5, "the same with 100 watchers"),
    _low("turnStart50AddedMs", "ms", 5, "what 50 notices add to the append that starts a turn"),
    _bare("signalSweep2000Ms", "ms", "the look at boot for notices, with 2,000 open ones"),
    _high("liveSessions500", "", 500, "sessions alive at once after a turn each"),
)
BY_KEY = {figure.key: figure for figure in FIGURES}


def percentile(samples: Sequence[float], share: float) -> float:
    """The nearest-rank percentile; raises on no samples."""
    ordered = sorted(samples)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def render(values: dict[str, float]) -> str:
    """A table for people: measured, target, met or missed."""
    lines = []
    for figure in FIGURES:
        if figure.key not in values:
            continue
        value = values[figure.key]
        met = figure.is_met(value)
        verdict = "" if met is None else ("ok    " if met else "MISSED")
        target = "" if met is None else f"{figure.better.value} {figure.target:g}"
        shown = f"{value:.3g}" if value < 1000 else f"{value:,.0f}"
        lines.append(
            f"{figure.key:31} {shown:>9} {figure.unit:6} {target:10} {verdict:6} {figure.meaning}"
        )
    return "\n".join(lines)
