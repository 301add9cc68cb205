"""One channel's section, as the daemon hands it to the process that serves it.

Beside the driver's contract, which the daemon does not load: most daemons have no channel.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from netclaw.core.authz.profiles import AttachmentRule


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelConfig:
    """One channel's section of the configuration as plain values; secrets only in memory."""

    name: str
    """slack, discord, mattermost, ..."""
    default_channel_id: str = ""
    allowed_channel_ids: frozenset[str] = frozenset()
    allowed_user_ids: frozenset[str] = frozenset()
    allow_direct_messages: bool = False
    mention_only: bool = True
    mention_required_in_thread: bool = False
    mention_required_in_dm: bool = False
    channel_audiences: dict[str, str] = field(default_factory=dict)
    attachments: dict[str, AttachmentRule] = field(default_factory=dict)
    """Which files are taken, by audience; an audience that is missing takes none."""
    secrets: dict[str, str] = field(default_factory=dict, repr=False)
    """bot_token, app_token."""
    options: dict[str, str] = field(default_factory=dict)
    """What only this channel has: api_base_url, gateway_url, server_url, callback_url."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelPlan:
    """Which channels run, and which do not although they have a section."""

    enabled: Mapping[str, ChannelConfig] = field(default_factory=dict)
    disabled: tuple[str, ...] = ()
    log_level: str = ""
    """A value of `Logging.LogLevel.Default`; empty: as an adapter has it by itself."""
