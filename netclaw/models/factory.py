"""Makes the client that fits a model's settings."""

from __future__ import annotations

from netclaw.core.errors import NoModelError
from netclaw.core.settings import ModelSettings, ProviderType
from netclaw.models.connections import ModelConnections
from netclaw.models.openai_compatible import OpenAICompatibleClient
from netclaw.models.retry import RetryingClient, RetryPolicy
from netclaw.ports.model import Credential, ModelClient


def open_client(
    settings: ModelSettings,
    connections: ModelConnections,
    *,
    credential: Credential | None = None,
    policy: RetryPolicy | None = None,
) -> ModelClient:
    """A client with retries for one model; cheap, and nothing to close but `connections`.

    Raises `NoModelError` for a provider type that cannot be spoken to.
    """
    if settings.provider_type is ProviderType.ANTHROPIC:
        raise NoModelError(
            "The provider type anthropic is not spoken yet.",
            fix="Use the provider type openai-compatible with https://api.anthropic.com/v1.",
        )
    client = OpenAICompatibleClient(settings, connections, credential=credential)
    return RetryingClient(client, policy=policy)
