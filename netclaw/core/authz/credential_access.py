"""Decides which commands are shown the places of credentials that the operator lists.

`Tools.Sandbox.Credentials`, ADR 0043: a person let exactly these commands run, once or by a grant.
What stands beside them unasked must be unable to print what it is shown.
"""

from __future__ import annotations

from collections.abc import Iterable

from netclaw.core.authz.coverage import GRANTED
from netclaw.core.authz.decisions import CoveredCandidate, Decision
from netclaw.core.authz.facts import Candidate
from netclaw.core.authz.reasons import Coverage
from netclaw.core.path_rules import is_below, is_below_any

_HARMLESS = (
    *(("cd",), ("pwd",), ("date",)),
    *(("git", "status"), ("git", "branch"), ("git", "rev-parse")),
)
"""Reviewed-safe phrases that print no contents of files, whatever else their call can see."""

_SERVICES = ("/dev", "/proc", "/sys", "/run", "/var/run")


def is_shown(decision: Decision) -> bool:
    """Whether a call that runs by this decision may see them: somebody consented to it.

    Mode Auto is nobody's consent, and a safe phrase is none either: `cat ~/.ssh/id && git push`
    with a grant for `git push` alone must not print a key.
    """
    found = decision.candidates
    return any(item.coverage in GRANTED for item in found) and all(map(_is_fit, found))


def _is_fit(item: CoveredCandidate) -> bool:
    if item.coverage in GRANTED or item.coverage is Coverage.EXEMPT:
        return True
    return item.coverage is Coverage.REVIEWED_SAFE and _is_harmless(item.candidate)


def _is_harmless(candidate: Candidate) -> bool:
    argv = candidate.argv
    is_listed = any(argv[: len(words)] == words for words in _HARMLESS)
    return is_listed and (argv[:1] == ("cd",) or not candidate.paths)


def may_be_shown(place: str, *, homes: Iterable[str], user_home: str) -> bool:
    """Whether a place can be one of the listed: no home of netclaw, nor a folder around one.

    Neither is the user's home as a whole, what holds it, nor where services run.
    """
    closed = (*homes, user_home)
    if place.count("/") < 2 or any(is_below(path, place) for path in closed):
        return False
    return not is_below_any(place, (*homes, *_SERVICES))
