"""Asks a model service whether it is there and what it offers."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass

from netclaw.core.settings import ModelSettings, ProviderType

PROBE_TIMEOUT_S = 10.0
MAX_BODY_BYTES = 4 * 1024 * 1024
ANTHROPIC_VERSION = "2023-06-01"

_START = {ProviderType.OLLAMA: "Start it with `ollama serve`"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """What a service answered: a sentence, and a way out when it is not well."""

    is_reachable: bool
    sentence: str
    fix: str = ""
    models: tuple[str, ...] = ()


def models_url(kind: ProviderType, endpoint: str) -> str:
    """Where a service lists its models."""
    base = endpoint.rstrip("/")
    is_anthropic = kind is ProviderType.ANTHROPIC and not base.endswith("/v1")
    return f"{base}/v1/models" if is_anthropic else f"{base}/models"


def headers_for(kind: ProviderType, secret: str | None) -> dict[str, str]:
    """How a service knows us."""
    if secret is None:
        return {}
    if kind is ProviderType.ANTHROPIC:
        return {"x-api-key": secret, "anthropic-version": ANTHROPIC_VERSION}
    return {"Authorization": f"Bearer {secret}"}


def probe_service(
    kind: ProviderType, endpoint: str, secret: str | None, *, timeout_s: float = PROBE_TIMEOUT_S
) -> Probe:
    """List the models of a service, within 10 seconds."""
    return asyncio.run(_probe(kind, endpoint, secret, timeout_s))


async def _probe(kind: ProviderType, endpoint: str, secret: str | None, timeout_s: float) -> Probe:
    import aiohttp

    url = models_url(kind, endpoint)
    try:
        async with (
            aiohttp.ClientSession(
                timeout=aiohttp.ClientTimeout(total=timeout_s),
                trust_env=False,
                cookie_jar=aiohttp.DummyCookieJar(),
            ) as http,
            http.get(url, headers=headers_for(kind, secret), allow_redirects=False) as answer,
        ):
            body = await answer.content.read(MAX_BODY_BYTES)
            return _judge(answer.status, body, endpoint)
    except TimeoutError:
        return Probe(
            is_reachable=False,
            sentence=f"{endpoint} did not answer within {timeout_s:.0f} s.",
            fix="Check that the service runs and that the address is right.",
        )
    except (aiohttp.ClientError, OSError, ValueError):
        return Probe(
            is_reachable=False,
            sentence=f"{endpoint} cannot be reached.",
            fix=f"{_START.get(kind, 'Start the service')}, or correct Providers.<name>.Endpoint.",
        )


def _judge(status: int, body: bytes, endpoint: str) -> Probe:
    if status in (401, 403):
        return Probe(
            is_reachable=False,
            sentence=f"{endpoint} refuses the credential (HTTP {status}).",
            fix="Store a valid one with `netclaw secrets set Providers.<name>.ApiKey`.",
        )
    if status == 404:
        is_bare = endpoint.count("/") < 3
        hint = f"Many services answer below {endpoint}/v1." if is_bare else "Check its path."
        return Probe(is_reachable=True, sentence=f"{endpoint} lists no models (404).", fix=hint)
    if status >= 400:
        return Probe(
            is_reachable=False,
            sentence=f"{endpoint} answers with HTTP {status}.",
            fix="Look at the service's own log.",
        )
    return Probe(is_reachable=True, sentence=f"{endpoint} answers.", models=_model_ids(body))


def _model_ids(body: bytes) -> tuple[str, ...]:
    import json

    try:
        data = json.loads(body)
    except ValueError:
        return ()
    rows = data.get("data") if isinstance(data, Mapping) else None
    found = (row.get("id") for row in rows or () if isinstance(row, Mapping))
    return tuple(name for name in found if isinstance(name, str))


def judge_model(probe: Probe, model: ModelSettings) -> Probe:
    """Whether the service that was probed has the model that is configured."""
    if not probe.is_reachable or not probe.models:
        return probe
    names = {name.removesuffix(":latest") for name in probe.models} | set(probe.models)
    if model.model_id in names:
        return Probe(is_reachable=True, sentence=f"{probe.sentence[:-1]} and has {model.model_id}.")
    is_ollama = model.provider_type is ProviderType.OLLAMA
    pull = f"Fetch it with `ollama pull {model.model_id}`. " if is_ollama else ""
    some = ", ".join(probe.models[:5])
    return Probe(
        is_reachable=True,
        sentence=f"{probe.sentence[:-1]} but does not list {model.model_id}.",
        fix=f"{pull}It lists: {some}.",
    )
