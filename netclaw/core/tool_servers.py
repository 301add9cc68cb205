"""The configured servers of tools (`McpServers`), as plain values without their secrets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolServerSettings:
    """One server. What its environment and headers hold travels apart, with the credentials."""

    name: str
    transport: str
    """`stdio`, `http` or `sse`."""
    command: str = ""
    arguments: tuple[str, ...] = ()
    url: str = ""
    environment: tuple[str, ...] = ()
    """Names of the variables that are configured."""
    headers: tuple[str, ...] = ()
    """Names of the headers that are configured."""
    is_enabled: bool = True
    fault: str = ""
    """Why the entry cannot be used, as a sentence; it disables this server alone."""

    @property
    def is_usable(self) -> bool:
        """Whether it is worth asking."""
        return self.is_enabled and not self.fault

    def environment_from(self, credentials: Mapping[str, str]) -> dict[str, str]:
        """The configured variables with their values."""
        return self._valued("env", self.environment, credentials)

    def headers_from(self, credentials: Mapping[str, str]) -> dict[str, str]:
        """The configured headers with their values."""
        return self._valued("header", self.headers, credentials)

    def _valued(
        self, kind: str, names: tuple[str, ...], credentials: Mapping[str, str]
    ) -> dict[str, str]:
        keyed = {name: credential_key(self.name, kind, name) for name in names}
        return {name: credentials[key] for name, key in keyed.items() if key in credentials}


def credential_key(server: str, kind: str, name: str) -> str:
    """Under which key a value travels among the credentials; `kind` is `env` or `header`."""
    return f"mcp:{server}:{kind}:{name}"
