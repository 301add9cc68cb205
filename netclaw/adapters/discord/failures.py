"""What a failed call to Discord means: wrong for good, wrong for now, or wrong for this one thing.

Discord answers with a number; sentences here name that and nothing else of the answer, which may
hold anything.
"""

from __future__ import annotations

from discord.errors import HTTPException

from netclaw.adapters.driver import DriverFailure, FatalFailure, RefusedFailure, TransientFailure

UNREACHABLE = "Discord cannot be reached."
WRONG_TOKEN = "Discord refuses the bot token."  # noqa: S105 - a sentence
TOKEN_FIX = "Run `netclaw secrets set Discord.BotToken` with the token of the bot."  # noqa: S105
INTENT_FIX = "Switch it on there, then run `netclaw daemon restart`."
NO_CONTENT_INTENT = (
    "The Message Content intent is not switched on for the Discord application"
    " (Developer Portal, Bot, Privileged Gateway Intents)."
)

UNKNOWN_CHANNEL = 10003
UNKNOWN_MESSAGE = 10008
TOO_LARGE = 40005
NO_ACCESS = 50001
NOT_A_PERSON = 50033
BAD_FORM = 50035
THREAD_EXISTS = 160004

_HINTS = {
    UNKNOWN_CHANNEL: "There is no such Discord channel",
    UNKNOWN_MESSAGE: "The Discord message is gone",
    TOO_LARGE: "The file is too large for Discord",
    NO_ACCESS: "netclaw does not see that Discord channel",
    50007: "The person takes no direct messages from netclaw",
    50013: "netclaw lacks a permission in that Discord channel",
    50024: "That kind of Discord channel has no threads",
    50083: "The Discord thread is locked",
}
_BAD_TRY = frozenset({408, 425, 429})


def failure_of(error: HTTPException) -> DriverFailure:
    """What a failed call means.

    A permission that is missing belongs to one place and is never fatal: other channels go on.
    """
    status, code = error.status, error.code
    if status == 429:
        return TransientFailure("Discord is rate limiting.", retry_after_s=_retry_after_s(error))
    if status in _BAD_TRY or status >= 500:
        return TransientFailure(f"Discord failed ({status}).")
    if status == 401:
        return FatalFailure(WRONG_TOKEN, fix=TOKEN_FIX)
    if code:
        return RefusedFailure(f"{_HINTS.get(code, 'Discord does not do that')} ({code}).")
    if status == 404:
        return FatalFailure(
            "Discord's interface is not at this address (Discord.ApiBaseUrl).",
            fix="Run `netclaw config unset Discord.ApiBaseUrl`, or correct it.",
        )
    if status == 403:
        # Discord names a reason; what stands in front of it, and turns callers away, does not.
        return TransientFailure("Discord turns netclaw's address away (403).")
    return RefusedFailure(f"Discord does not do that ({status}).")


def closed(code: int | None) -> DriverFailure:
    """What the gateway's last word means."""
    if code == 4004:
        return FatalFailure(WRONG_TOKEN, fix=TOKEN_FIX)
    if code == 4014:
        return FatalFailure(NO_CONTENT_INTENT, fix=INTENT_FIX)
    if code in (4010, 4011, 4012, 4013):
        return FatalFailure(f"Discord's gateway does not serve netclaw ({code}).")
    return TransientFailure("Discord's event connection was lost.")


def has_code(failure: DriverFailure, *codes: int) -> bool:
    """Whether a refusal is one of these."""
    return any(failure.sentence.endswith(f"({code}).") for code in codes)


def _retry_after_s(error: HTTPException) -> float | None:
    try:
        return max(float(error.response.headers.get("Retry-After", "")), 0.0)
    except ValueError:
        return None
