"""What a failed call to Mattermost means: wrong for good, wrong for now, or wrong for this one.

Mattermost answers with a status and an id of the error; sentences here name the id and nothing else
of the answer, which may hold anything.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from http import HTTPStatus

from netclaw.adapters.driver import (
    DriverFailure,
    FatalFailure,
    RefusedFailure,
    TransientFailure,
)

UNREACHABLE = "Mattermost cannot be reached."
SENSELESS = "Mattermost's answer makes no sense."
TOO_LONG = "Mattermost's answer is longer than netclaw reads."
ELSEWHERE_FIX = (
    "Run `netclaw config set Mattermost.ServerUrl ADDRESS`: the one with which people open"
    " Mattermost, with its path if it has one."
)
ELSEWHERE = "Mattermost's interface is not at this address (Mattermost.ServerUrl)."
AWAY = "Something else answers in Mattermost's place just now (Mattermost.ServerUrl)."

_HINTS: dict[int, str] = {
    HTTPStatus.FORBIDDEN: "netclaw may not do that at Mattermost",
    HTTPStatus.NOT_FOUND: "That is not at Mattermost, or not any more",
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: "Mattermost takes nothing so large",
}
_CODE = re.compile(r"[a-z0-9_.]{1,128}")
_PASSING = frozenset({HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_EARLY})
_NOBODYS = frozenset({HTTPStatus.NOT_FOUND, HTTPStatus.METHOD_NOT_ALLOWED, HTTPStatus.GONE})
_EPOCH_S = 1_000_000_000.0
_LONGEST_S = 3600.0


class GoneFailure(RefusedFailure):
    """What was asked for is not there."""


def failure_of(
    status: int, body: object, headers: Mapping[str, str], *, now_s: float, is_found: bool = False
) -> DriverFailure:
    """What an answer that is no success means; `now_s` is the time of day, since the epoch.

    `is_found`: Mattermost is known to be at this address. What a proxy says for it, while it is
    restarted, ends nothing for good then.
    """
    code = _code_of(body)
    if status == HTTPStatus.TOO_MANY_REQUESTS:
        wait_s = _wait_s(headers, now_s)
        return TransientFailure("Mattermost is rate limiting.", retry_after_s=wait_s)
    if status == HTTPStatus.UNAUTHORIZED:
        return FatalFailure(
            f"Mattermost refuses the token{f' ({code})' if code else ''}.",
            fix="Run `netclaw secrets set Mattermost.BotToken` with the token of the bot account.",
        )
    if status in _PASSING or (status >= 500 and status != HTTPStatus.NOT_IMPLEMENTED):
        return TransientFailure(f"Mattermost failed ({code or status}).")
    if status < 400 or (status in _NOBODYS and not code):
        # A redirect is not followed: the token would go along.
        return TransientFailure(AWAY) if is_found else FatalFailure(ELSEWHERE, fix=ELSEWHERE_FIX)
    return _refusal(status, code)


def _refusal(status: int, code: str) -> DriverFailure:
    too_large = status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE
    if not code and not too_large:
        return TransientFailure(SENSELESS)
    hint = _HINTS.get(status, "Mattermost does not do that")
    kind = GoneFailure if status == HTTPStatus.NOT_FOUND else RefusedFailure
    return kind(f"{hint} ({code or status}).")


def _code_of(body: object) -> str:
    found = body.get("id") if isinstance(body, dict) else None
    return found if isinstance(found, str) and _CODE.fullmatch(found) else ""


def _wait_s(headers: Mapping[str, str], now_s: float) -> float | None:
    """Seconds to wait: what is said plainly, else when the limit begins anew.

    The latter is a number of seconds, or for some proxies a time of day.
    """
    for name in ("Retry-After", "X-Ratelimit-Reset"):
        try:
            found = float(headers.get(name, ""))
        except ValueError:
            continue
        if found > _EPOCH_S:
            found -= now_s
        if 0.0 <= found <= _LONGEST_S:
            return found
    return None
