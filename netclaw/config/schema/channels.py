"""`Slack`, `Discord`, `Mattermost` and `Webhooks`: how people and machines reach the daemon."""

from __future__ import annotations

import re
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field

from netclaw.config.schema.base import Secret, Section, Text, WebAddress
from netclaw.config.schema.tools import AudienceChoice

_CHANNEL_NAME = re.compile(r"[a-z][a-z0-9-]{0,31}")


def _socket_address(value: str) -> str:
    parts = urlsplit(value)
    if parts.scheme not in ("ws", "wss") or not parts.hostname:
        raise ValueError("an address like wss://gateway.example/")
    return value


def _other_name(value: str) -> str:
    if _CHANNEL_NAME.fullmatch(value) is None or value in ("slack", "discord", "mattermost"):
        raise ValueError("lower-case letters, digits and dashes, and no built-in channel's name")
    return value


ChannelName = Annotated[str, AfterValidator(_other_name)]
"""A channel of another package, as it names itself."""


class Channel(Section):
    """What every chat channel has: who may speak, where, and with which trust."""

    enabled: bool = Field(False, description="Connect to this channel.")
    bot_token: Secret | None = Field(None, description="Set it with `netclaw secrets set`.")
    default_channel_id: Text | None = Field(
        None, description="One more channel that is served, by its id."
    )
    allowed_channel_ids: tuple[Text, ...] = Field(
        (), description="Channels that are served, by id; empty: the default channel alone."
    )
    allowed_user_ids: tuple[Text, ...] = Field(
        (), description="If not empty: only these people, by id."
    )
    allow_direct_messages: bool = Field(False, description="Serve direct messages.")
    channel_audiences: dict[Text, AudienceChoice] = Field(
        default_factory=dict, description='Audience by channel id; "dm" is for direct messages.'
    )
    mention_only: bool = Field(True, description="Answer only when mentioned.")
    mention_required_in_thread: bool = Field(
        False, description="Ask for a mention in a thread that is already being served."
    )
    mention_required_in_dm: bool = Field(False, description="Ask for it in direct messages too.")
    live_edit: bool = Field(
        False, description="Show a reply in one message while it is made, where messages change."
    )


class Slack(Channel):
    """Slack in Socket Mode."""

    app_token: Secret | None = Field(None, description="Set it with `netclaw secrets set`.")
    socket_mode: Literal[True] = Field(True, description="The only mode there is.")
    default_channel_name: Text | None = Field(
        None, description="Read and not used: set DefaultChannelId."
    )
    api_base_url: WebAddress | None = Field(
        None, description="Another server, such as a local one."
    )


class Discord(Channel):
    """Discord through its gateway."""

    api_base_url: WebAddress | None = Field(
        None, description="Another server, such as a local one."
    )
    gateway_url: Annotated[str, AfterValidator(_socket_address)] | None = Field(
        None, description="Another gateway, such as a local one."
    )


class Mattermost(Channel):
    """Mattermost through its WebSocket and REST interfaces."""

    server_url: WebAddress | None = Field(None, description="Address of the server.")
    callback_url: WebAddress | None = Field(
        None, description="Where the server reaches us for buttons; without it letters are used."
    )
    callback_listen: Text | None = Field(
        None, description="Address and port to listen at for buttons: 127.0.0.1:5199 if not set."
    )


class OtherChannel(Channel):
    """A channel of a package that is installed beside netclaw, by the name it offers."""

    app_token: Secret | None = Field(None, description="Set it with `netclaw secrets set`.")
    options: dict[Text, str] = Field(
        default_factory=dict, description="What only this channel has, such as an address."
    )


class Webhooks(Section):
    """Deliveries from other systems; each route has a file of its own."""

    enabled: bool = Field(False, description="Serve webhook routes.")
    execution_timeout_seconds: int = Field(
        300, ge=1, le=3600, description="Time one delivery's run may take."
    )
