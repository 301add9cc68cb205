"""Makes the client that fits a model's settings."""

from __future__ import annotations

from netclaw.core.settings import ModelSettings, ProviderType
from netclaw.models.anthropic import AnthropicClient
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
    """A client with retries for one model; cheap, and nothing to close but `connections`."""
    kind = _CLIENTS.get(settings.provider_type, OpenAICompatibleClient)
    client = kind(settings, connections, credential=credential)
    return RetryingClient(client, policy=policy)


_CLIENTS: dict[ProviderType, type[OpenAICompatibleClient | AnthropicClient]] = {
    ProviderType.ANTHROPIC: AnthropicClient,
}
"""Provider types with a dialect of their own; all others speak chat completions."""
