"""Says of a stopped daemon's home whether every promise was kept; knows no netclaw.

    python -m tests.soak.check HOME     looks again at the home of a soak that failed

Journals are judged by `journal_checker` and `phase_checker`, all else by `outcome_checker`. Each
problem is one line that names its session.
"""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from tests.soak.evidence import Evidence
from tests.soak.journal_checker import Walk, walk
from tests.soak.outcome_checker import (
    check_acks,
    check_cut_replies,
    check_effects,
    check_outbox,
    check_projections,
    check_requests,
)
from tests.soak.phase_checker import check_phases
from tests.soak.stored import StoredSession, read_sessions


@dataclass(slots=True, kw_only=True)
class Verdict:
    """What was found, and how much there was to look at."""

    problems: list[str] = field(default_factory=list)
    events: Counter[str] = field(default_factory=Counter)
    outcomes: Counter[str] = field(default_factory=Counter)
    """Ends of turns: outcomes, and categories of failures."""
    results: Counter[str] = field(default_factory=Counter)
    """Tool results by category."""


def check_home(home: Path, evidence: Evidence, *, is_settled: bool = True) -> Verdict:
    """Check every session of a home whose daemon has ended."""
    verdict = Verdict()
    verdict.problems.extend(f"a request was malformed: {words}" for words in evidence.complaints)
    sessions = read_sessions(home)
    for ack in evidence.acks:
        if ack.session not in sessions:
            verdict.problems.append(f"{ack.session}: acknowledged to, and not there")
    for session in sessions.values():
        _check_session(session, evidence, verdict, is_settled=is_settled)
    return verdict


def _check_session(
    session: StoredSession, evidence: Evidence, verdict: Verdict, *, is_settled: bool
) -> None:
    walked = walk(session.key, session.rows, is_settled=is_settled)
    _count(session, walked, verdict)
    verdict.problems.extend(walked.problems)
    acks = [ack for ack in evidence.acks if ack.session == session.key]
    for words in (
        *check_projections(session, walked),
        *check_outbox(session, walked, evidence.posted),
        *check_acks(acks, walked),
        *check_effects(session, walked, evidence.effects_file),
        *check_requests(session, evidence),
        *check_cut_replies(session, evidence),
    ):
        verdict.problems.append(f"{session.key}: {words}")
    seen = evidence.seen.get(session.key, [])
    verdict.problems.extend(check_phases(session.key, session.rows, seen))


def _count(session: StoredSession, walked: Walk, verdict: Verdict) -> None:
    verdict.events.update(row.type for row in session.rows)
    for turn in walked.turns.values():
        if turn.end is not None:
            payload = turn.end.payload
            verdict.outcomes[payload.get("outcome") or payload["category"]] += 1
    for call in walked.calls.values():
        if call.result is not None:
            verdict.results[call.result["receipt"]["category"]] += 1


def main() -> int:
    """Check the home named on the command line."""
    home = Path(sys.argv[1])
    verdict = check_home(home, Evidence.load(home))
    print("\n".join(verdict.problems) or "every promise was kept")
    return bool(verdict.problems)


if __name__ == "__main__":
    sys.exit(main())
