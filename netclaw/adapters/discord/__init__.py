"""Discord through its gateway: threads that are sessions, native markdown, buttons, files.

The only package that loads Discord's library, and only the process of this channel loads it.

The application at Discord has a bot with the Message Content intent switched on, invited with the
permissions View Channels, Send Messages, Create Public Threads, Send Messages in Threads, Read
Message History and Attach Files. Manage Threads is not needed: threads of our own may be renamed.
"""

from __future__ import annotations

from netclaw.adapters.discord.driver import create

__all__ = ["create"]
