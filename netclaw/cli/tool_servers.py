"""Asks the configured tool servers how they are, as a session would."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from netclaw.config.loaded import LoadedConfig
    from netclaw.ports.tool_servers import Catalogue


def ask_servers(loaded: LoadedConfig) -> Catalogue:
    """Start or reach every server, read its catalogue and let go of it; takes a bounded time."""
    from netclaw.mcp.link import ToolServerLink

    credentials = {name: item.secret for name, item in loaded.credentials.items()}

    async def ask() -> Catalogue:
        link = ToolServerLink(loaded.session.tools.servers, credentials=credentials)
        try:
            return await link.catalogue()
        finally:
            await link.close()

    return asyncio.run(ask())
