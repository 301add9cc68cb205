"""The models this process may ask, made when the first call needs them.

Credentials live in these objects' memory alone: they came by message and go nowhere else.
"""

from __future__ import annotations

from collections.abc import Mapping

from netclaw.core.settings import ModelSettings, SessionSettings
from netclaw.models.connections import ModelConnections
from netclaw.models.factory import open_client
from netclaw.models.retry import RetryPolicy
from netclaw.ports.model import Credential, ModelClient


class ModelClients:
    """The models of each role, over one pool of connections."""

    def __init__(self, settings: SessionSettings, credentials: Mapping[str, str]) -> None:
        self._settings = settings
        self._credentials: dict[str, Credential] = {}
        self._connections = ModelConnections()
        self._turn: tuple[ModelClient, ...] | None = None
        self._sidecars: tuple[ModelClient, ...] | None = None
        self.renew(credentials)

    def renew(self, credentials: Mapping[str, str]) -> None:
        """Use these keys from the next call on; one in flight ends with the key it began with."""
        self._credentials = {name: Credential(secret=key) for name, key in credentials.items()}
        self._turn = self._sidecars = None

    def usable(self) -> tuple[ModelClient, ...]:
        """Main model first, then the fallback; empty when none is configured."""
        if self._turn is None:
            self._turn = self._open(self._settings.main_model, self._settings.fallback_model)
        return self._turn

    def for_sidecars(self) -> tuple[ModelClient, ...]:
        """The Compaction model (unset: Main) first, then the fallback."""
        if self._sidecars is None:
            first = self._settings.compaction_model or self._settings.main_model
            self._sidecars = self._open(first, self._settings.fallback_model)
        return self._sidecars

    def _open(self, *wanted: ModelSettings | None) -> tuple[ModelClient, ...]:
        models = [model for model in wanted if model is not None]
        return tuple(
            open_client(
                model,
                self._connections,
                credential=self._credentials.get(model.provider),
                # Whoever can ask another model does not wait for this one to recover.
                policy=None if model is models[-1] else RetryPolicy(retries=0),
            )
            for model in models
        )

    async def close(self) -> None:
        """Close every connection."""
        await self._connections.close()
