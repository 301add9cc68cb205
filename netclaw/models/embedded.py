"""The model that netclaw fetches by itself (decision 75): its name and its own limits."""

from __future__ import annotations

from netclaw.core.settings import ModelSettings, ProviderType

EMBEDDED_MODEL = "smollm2-135m"
EMBEDDED_MAX_TOKENS = 512
"""Longest answer when nobody named a limit. A model of its size falls into repeating itself, which
only a limit ends, and every other session waits for it meanwhile."""


def default_limit(settings: ModelSettings) -> int | None:
    """Tokens of an answer that nobody limited; None leaves it to the server, as for any file of
    the operator's own.
    """
    is_embedded = (
        settings.provider_type is ProviderType.LOCAL and settings.model_id == EMBEDDED_MODEL
    )
    return EMBEDDED_MAX_TOKENS if is_embedded else None
