"""What a failed call to Slack means: wrong for good, wrong for now, or wrong for this one thing.

Slack answers with a code; sentences here name the code and nothing else of the answer, which may
hold anything.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import Enum

from slack_sdk.errors import SlackApiError

from netclaw.adapters.driver import (
    DriverFailure,
    FatalFailure,
    RefusedFailure,
    TransientFailure,
)

UNREACHABLE = "Slack cannot be reached."


class TokenKind(Enum):
    """The two tokens of an app, as sentences name them."""

    BOT = "bot token"
    APP = "app token"

    @property
    def fix(self) -> str:
        """What to do about one that is wrong."""
        key = "Slack.BotToken" if self is TokenKind.BOT else "Slack.AppToken"
        return f"Run `netclaw secrets set {key}` with the {self.value} of the app at Slack."

    @property
    def grant(self) -> str:
        """What to do about one that may too little."""
        if self is TokenKind.APP:
            return (
                "At Slack, make an app-level token with connections:write; then run"
                " `netclaw secrets set Slack.AppToken`."
            )
        return (
            "Add it to the app at Slack and install the app anew; then run"
            " `netclaw secrets set Slack.BotToken` if the token is another one, else"
            " `netclaw daemon restart`."
        )


_WRONG_TOKEN = frozenset(
    {
        "account_inactive",
        "ekm_access_denied",
        "enterprise_is_restricted",
        "forbidden_team",
        "invalid_auth",
        "not_authed",
        "org_login_required",
        "token_expired",
        "token_revoked",
    }
)
_LACKING = frozenset({"missing_scope", "not_allowed_token_type"})
"""Somebody has to change the app at Slack."""
_PASSING = frozenset(
    {
        "external_channel_migrating",
        "fatal_error",
        "internal_error",
        "rate_limited",
        "ratelimited",
        "request_timeout",
        "service_unavailable",
        "team_added_to_org",
    }
)
_HINTS = {
    "channel_not_found": "There is no such Slack channel, or netclaw is not in it",
    "is_archived": "The Slack channel is archived",
    "not_in_channel": "netclaw is not a member of that Slack channel",
    "message_not_found": "The Slack message is gone",
    "thread_not_found": "The Slack thread is gone",
    "file_deleted": "The file was deleted at Slack",
    "file_not_found": "The file is not at Slack any more",
}
_CODE = re.compile(r"[a-z0-9_]{1,64}")
_SCOPE = re.compile(r"[a-z0-9_.:,\-]{1,128}")
_BAD_TRY = frozenset({408, 425, 429})


def code_of(error: SlackApiError) -> str:
    """Slack's code for what went wrong; empty if the answer holds none."""
    return _matching(_CODE, _field(error, "error"))


def failure_of(
    error: SlackApiError, *, is_optional: bool = False, token: TokenKind = TokenKind.BOT
) -> DriverFailure:
    """What a failed call means that showed a `token` of this kind.

    A permission that is missing is fatal, unless the call `is_optional`: netclaw works without a
    thread status or a directory of people.
    """
    code = code_of(error)
    status = _status(error)
    if code in _PASSING or status in _BAD_TRY or status >= 500:
        return _passing(code, status, _headers(error))
    if code in _WRONG_TOKEN:
        return FatalFailure(f"Slack refuses the {token.value} ({code}).", fix=token.fix)
    if code in _LACKING:
        needed = _matching(_SCOPE, _field(error, "needed"))
        sentence = f"The Slack app lacks a permission ({f'{code}: {needed}' if needed else code})."
        return RefusedFailure(sentence) if is_optional else FatalFailure(sentence, fix=token.grant)
    if code:
        return RefusedFailure(f"{_HINTS.get(code, 'Slack does not do that')} ({code}).")
    if status == 404:
        return FatalFailure(
            "Slack's interface is not at this address (Slack.ApiBaseUrl).",
            fix="Run `netclaw config unset Slack.ApiBaseUrl`, or correct it.",
        )
    return TransientFailure("Slack's answer makes no sense.")


def _passing(code: str, status: int, headers: Mapping[str, str]) -> TransientFailure:
    if status == 429 or code in ("ratelimited", "rate_limited"):
        return TransientFailure("Slack is rate limiting.", retry_after_s=_retry_after_s(headers))
    return TransientFailure(f"Slack failed ({code or status}).")


def _retry_after_s(headers: Mapping[str, str]) -> float | None:
    try:
        return max(float(headers.get("Retry-After", "")), 0.0)
    except ValueError:
        return None


def _field(error: SlackApiError, name: str) -> object:
    data = getattr(error.response, "data", None)
    return data.get(name) if isinstance(data, dict) else None


def _status(error: SlackApiError) -> int:
    # The library puts its own answer or that of aiohttp there.
    for name in ("status_code", "status"):
        found = getattr(error.response, name, None)
        if isinstance(found, int):
            return found
    return 0


def _headers(error: SlackApiError) -> Mapping[str, str]:
    headers = getattr(error.response, "headers", None)
    return headers if isinstance(headers, Mapping) else {}


def _matching(pattern: re.Pattern[str], value: object) -> str:
    return value if isinstance(value, str) and pattern.fullmatch(value) else ""
