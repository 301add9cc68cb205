"""What a person reads when the model's service is not there, or has not got the model."""

from __future__ import annotations

import socket
from dataclasses import replace

import pytest

from netclaw.core.settings import ProviderType
from netclaw.models.connections import ModelConnections
from netclaw.models.failures import Secrets, from_status
from netclaw.models.openai_compatible import OpenAICompatibleClient
from tests.models.tools import hear, settings_for


@pytest.mark.requirement("models.names-the-service")
async def test_an_unreachable_service_is_named_with_its_address() -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
        settings = replace(
            settings_for(f"http://127.0.0.1:{port}/v1"),
            provider="kitchen",
            provider_type=ProviderType.OLLAMA,
        )
        connections = ModelConnections()
        heard = await hear(OpenAICompatibleClient(settings, connections), "hi")
        await connections.close()
    assert heard.failure.sentence == (
        f"The model service kitchen at 127.0.0.1:{port} cannot be reached."
        " Start it with `ollama serve`."
    )


@pytest.mark.requirement("models.names-the-service")
def test_a_missing_model_comes_with_the_way_to_get_it() -> None:
    hint = " Fetch it with `ollama pull m1`."
    error = from_status(404, {}, b"", secrets=Secrets(), now_s=0.0, unknown_hint=hint)
    assert error.sentence.endswith("(HTTP 404)." + hint)
    other = from_status(401, {}, b"", secrets=Secrets(), now_s=0.0, unknown_hint=hint)
    assert hint not in other.sentence
