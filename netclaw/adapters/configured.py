"""Reads the sections of channels out of the configuration.

For the daemon and the command line. An adapter process gets its section as plain values and never
loads this module, for the sake of its size.
"""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import BaseModel, SecretStr

from netclaw.adapters.channel_config import ChannelConfig, ChannelPlan
from netclaw.config.audiences import attachment_rules
from netclaw.config.schema.channels import Channel, Discord, Mattermost, OtherChannel, Slack
from netclaw.config.schema.root import Config
from netclaw.core.authz.profiles import AttachmentRule

_SHARED = frozenset(Channel.model_fields)
LIVE_EDIT = "live_edit"
"""The option that `live_edit.py` reads."""


def enabled_channels(config: Config) -> dict[str, ChannelConfig]:
    """The channels that are to run, by name."""
    attachments = {audience.value: rule for audience, rule in attachment_rules(config).items()}
    return {
        name: _section(name, section, attachments)
        for name, section in _sections(config)
        if section.enabled
    }


def channel_plan(config: Config) -> ChannelPlan:
    """What is to become of every channel that has a section."""
    given = config.model_fields_set | config.channels.keys()
    return ChannelPlan(
        enabled=enabled_channels(config),
        disabled=tuple(
            name for name, section in _sections(config) if name in given and not section.enabled
        ),
        log_level=config.logging.log_level.default.value,
    )


def _sections(config: Config) -> Iterator[tuple[str, Slack | Discord | Mattermost | OtherChannel]]:
    yield "slack", config.slack
    yield "discord", config.discord
    yield "mattermost", config.mattermost
    yield from config.channels.items()


def _section(
    name: str,
    section: Slack | Discord | Mattermost | OtherChannel,
    attachments: dict[str, AttachmentRule],
) -> ChannelConfig:
    options = _options(section)
    if isinstance(section, OtherChannel):
        options |= section.options
    if section.live_edit:
        options[LIVE_EDIT] = "true"
    return ChannelConfig(
        name=name,
        default_channel_id=section.default_channel_id or "",
        allowed_channel_ids=frozenset(section.allowed_channel_ids),
        allowed_user_ids=frozenset(section.allowed_user_ids),
        allow_direct_messages=section.allow_direct_messages,
        mention_only=section.mention_only,
        mention_required_in_thread=section.mention_required_in_thread,
        mention_required_in_dm=section.mention_required_in_dm,
        channel_audiences={
            place: audience.value for place, audience in section.channel_audiences.items()
        },
        attachments=attachments,
        secrets=_secrets(section),
        options=options,
    )


def _secrets(section: BaseModel) -> dict[str, str]:
    return {
        name: value.get_secret_value()
        for name in type(section).model_fields
        if isinstance(value := getattr(section, name), SecretStr)
    }


def _options(section: BaseModel) -> dict[str, str]:
    """Texts that this channel has and others have not."""
    return {
        name: value
        for name in type(section).model_fields
        if name not in _SHARED and isinstance(value := getattr(section, name), str)
    }
