"""The root of netclaw.json."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from netclaw.config.schema.base import Section, Text
from netclaw.config.schema.channels import (
    ChannelName,
    Discord,
    Mattermost,
    OtherChannel,
    Slack,
    Webhooks,
)
from netclaw.config.schema.features import (
    ExternalSkills,
    Logging,
    McpServer,
    Memory,
    Notifications,
    Scheduling,
    Search,
    Signals,
    SkillFeeds,
    SkillSync,
    SubAgents,
    Telemetry,
    Workspaces,
)
from netclaw.config.schema.models import Models, Provider
from netclaw.config.schema.session import Daemon, Session, Storage, Supervision
from netclaw.config.schema.tools import Security, Tools

CONFIG_VERSION: Literal[1] = 1


class Config(Section):
    """Everything that can be configured, with every default filled in."""

    config_version: Literal[1] = Field(
        CONFIG_VERSION, alias="configVersion", description="Version of this file's layout."
    )
    editor_schema: str | None = Field(
        None, alias="$schema", description="For editors; netclaw does not read it."
    )
    providers: dict[Text, Provider] = Field(
        default_factory=dict, description="Model services by a name of your choice."
    )
    models: Models = Field(default_factory=Models)
    session: Session = Field(default_factory=Session)
    tools: Tools = Field(default_factory=Tools)
    security: Security = Field(default_factory=Security)
    daemon: Daemon = Field(default_factory=Daemon)
    supervision: Supervision = Field(default_factory=Supervision)
    storage: Storage = Field(default_factory=Storage)
    signals: Signals = Field(default_factory=Signals)
    logging: Logging = Field(default_factory=Logging)
    slack: Slack = Field(default_factory=Slack)
    discord: Discord = Field(default_factory=Discord)
    mattermost: Mattermost = Field(default_factory=Mattermost)
    channels: dict[ChannelName, OtherChannel] = Field(
        default_factory=dict, description="Channels of other packages, by name."
    )
    webhooks: Webhooks = Field(default_factory=Webhooks)
    memory: Memory = Field(default_factory=Memory)
    search: Search = Field(default_factory=Search)
    sub_agents: SubAgents = Field(default_factory=SubAgents)
    skill_sync: SkillSync = Field(default_factory=SkillSync)
    external_skills: ExternalSkills = Field(default_factory=ExternalSkills)
    skill_feeds: SkillFeeds = Field(default_factory=SkillFeeds)
    scheduling: Scheduling = Field(default_factory=Scheduling)
    notifications: Notifications = Field(default_factory=Notifications)
    telemetry: Telemetry = Field(default_factory=Telemetry)
    workspaces: Workspaces = Field(default_factory=Workspaces)
    mcp_servers: dict[Text, McpServer] = Field(
        default_factory=dict, description="Servers that offer tools, by a name of your choice."
    )


LIVE_SECTIONS = frozenset(
    {
        *("Logging", "SkillSync", "ExternalSkills", "SkillFeeds", "Signals"),
        # Only the adapter of the channel that changed is started anew.
        *("Slack", "Discord", "Mattermost", "Channels"),
    }
)
"""Sections whose change never restarts anything (protocol, "Configuration")."""
