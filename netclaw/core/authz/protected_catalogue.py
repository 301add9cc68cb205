"""The protected places of a netclaw home; data only (reference 4 "Protected").

`protected` checks the examples when it loads. An operator cannot take a place away.
"""

from __future__ import annotations

from dataclasses import dataclass

CONFIGURATION = "config"
"""Ordinary configuration: readable where roots and audience allow it, never written by a tool."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProtectedPlace:
    """One file or folder below the home.

    A hidden place is neither read nor written, attached or named in a shell command; any other is
    not written. Examples are paths below the home, for reading or for writing accordingly.
    """

    name: str
    match: tuple[str, ...]
    not_match: tuple[str, ...] = ()
    is_hidden: bool = True


PROTECTED_PLACES = (
    ProtectedPlace(
        name="config/secrets.json",
        match=("config/secrets.json", "CONFIG/Secrets.JSON"),
        not_match=("config/netclaw.json", "secrets.json"),
    ),
    ProtectedPlace(
        name="config/webhooks",
        match=("config/webhooks", "config/webhooks/one.json"),
        not_match=("config/webhooks.json",),
    ),
    ProtectedPlace(name="keys", match=("keys", "keys/ring.xml"), not_match=("keyshop",)),
    ProtectedPlace(name="run", match=("run/operator.token",), not_match=("runs",)),
    ProtectedPlace(name="client", match=("client/token",)),
    ProtectedPlace(name="trash", match=("trash/2026-11-30/x",)),
    ProtectedPlace(name="netclaw.db", match=("netclaw.db",), not_match=("netclaw.db.txt",)),
    ProtectedPlace(name="netclaw.db-wal", match=("netclaw.db-wal",)),
    ProtectedPlace(name="netclaw.db-shm", match=("netclaw.db-shm",)),
    ProtectedPlace(name="netclaw.db-journal", match=("netclaw.db-journal",)),
    ProtectedPlace(name="netclaw.lock", match=("netclaw.lock",)),
    ProtectedPlace(name="netclaw.pid", match=("netclaw.pid",)),
    ProtectedPlace(
        name=CONFIGURATION,
        is_hidden=False,
        match=("config", "config/netclaw.json", "config/new.json"),
        not_match=("configuration", "sessions/one/workspace/config"),
    ),
    ProtectedPlace(name="logs", is_hidden=False, match=("logs/daemon.log",)),
    ProtectedPlace(
        name="agents",
        is_hidden=False,
        match=("agents", "agents/helper.md", "Agents/new.md"),
        not_match=("agents.md", "sessions/one/workspace/agents/helper.md"),
    ),
    ProtectedPlace(
        name="identity",
        is_hidden=False,
        match=("identity/SOUL.md", "identity/AGENTS.md", "identity/new.md"),
        not_match=("sessions/one/workspace/identity/SOUL.md",),
    ),
)
