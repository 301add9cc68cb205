"""Slack in Socket Mode: threads that are sessions, native markdown, buttons, files.

The only package that loads Slack's libraries, and only the process of this channel loads it.

The app at Slack has Socket Mode on, an app token with `connections:write`, the bot events
`app_mention`, `message.channels`, `message.groups`, `message.im` and `message.mpim`, and the bot
scopes `app_mentions:read`, `channels:history`, `groups:history`, `im:history`, `mpim:history` and
`chat:write`. Without `assistant:write` there is no thread status, without `files:read` and
`files:write` there are no files, without `channels:read`, `groups:read`, `users:read` and
`im:write` no look-ups and no posts to a person.
"""

from __future__ import annotations

from netclaw.adapters.slack.driver import create

__all__ = ["create"]
