"""Slack in Socket Mode: threads that are sessions, native markdown, buttons, files.

The only package that loads Slack's libraries, and only the process of this channel loads it.
"""

from __future__ import annotations

from netclaw.adapters.slack.driver import create

__all__ = ["create"]
