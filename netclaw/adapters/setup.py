"""Carries a channel's section between the daemon and its adapter process."""

from __future__ import annotations

from pathlib import Path

from netclaw.adapters.channel_config import ChannelConfig
from netclaw.adapters.names import source_kind_of
from netclaw.core.authz.profiles import AttachmentCategory, AttachmentRule
from netclaw.wire.v1.gateway_pb2 import AttachmentPolicy, ChannelSetup


def to_setup(
    config: ChannelConfig, *, staging: Path | None = None, log_level: str = ""
) -> ChannelSetup:
    """A section for the wire, secrets included; raises `ValueError` for what is no channel's name.

    `staging` is where files on their way are kept; None for a process that takes none. `log_level`
    is a value of `Logging.LogLevel.Default`.
    """
    return ChannelSetup(
        name=config.name,
        source_kind=source_kind_of(config.name).value,
        default_channel_id=config.default_channel_id,
        allowed_channel_ids=sorted(config.allowed_channel_ids),
        allowed_user_ids=sorted(config.allowed_user_ids),
        allow_direct_messages=config.allow_direct_messages,
        mention_only=config.mention_only,
        mention_required_in_thread=config.mention_required_in_thread,
        mention_required_in_dm=config.mention_required_in_dm,
        channel_audiences=config.channel_audiences,
        secrets=config.secrets,
        options=config.options,
        staging=str(staging) if staging is not None else "",
        log_level=log_level,
        attachments={
            audience: AttachmentPolicy(
                categories=sorted(rule.categories),
                max_file_bytes=rule.max_file_bytes,
                max_files_per_message=rule.max_files_per_message,
            )
            for audience, rule in config.attachments.items()
        },
    )


def from_setup(setup: ChannelSetup) -> ChannelConfig:
    """A section from the wire."""
    return ChannelConfig(
        name=setup.name,
        default_channel_id=setup.default_channel_id,
        allowed_channel_ids=frozenset(setup.allowed_channel_ids),
        allowed_user_ids=frozenset(setup.allowed_user_ids),
        allow_direct_messages=setup.allow_direct_messages,
        mention_only=setup.mention_only,
        mention_required_in_thread=setup.mention_required_in_thread,
        mention_required_in_dm=setup.mention_required_in_dm,
        channel_audiences=dict(setup.channel_audiences),
        secrets=dict(setup.secrets),
        options=dict(setup.options),
        attachments={
            audience: AttachmentRule(
                categories=frozenset(map(AttachmentCategory, policy.categories)),
                max_file_bytes=policy.max_file_bytes,
                max_files_per_message=policy.max_files_per_message,
            )
            for audience, policy in setup.attachments.items()
        },
    )
