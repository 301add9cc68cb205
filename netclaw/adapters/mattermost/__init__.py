"""Mattermost over REST and a WebSocket: a root post is a session, buttons by a callback, files.

The bot account needs to be a member of the team and of every channel that it serves, with the
permissions that members have: to read, to post, to upload files, to change its own posts.
"""

from __future__ import annotations

from netclaw.adapters.mattermost.driver import create

__all__ = ["create"]
