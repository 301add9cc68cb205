"""The channel's section as this driver uses it; what is wrong with it is said with the way out."""

from __future__ import annotations

from dataclasses import dataclass, field
from urllib.parse import urlsplit

from netclaw.adapters.driver import ChannelConfig, FatalFailure

ACTION_PATH = "/api/mattermost/actions"
DEFAULT_LISTEN = "127.0.0.1:5199"


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """One server and one bot account."""

    server_url: str
    """Without a slash at the end; a path below which the server lives belongs to it."""
    token: str = field(repr=False)
    action_url: str = ""
    """Where the server tells of a pressed button; empty: there are no buttons."""
    listen_host: str = ""
    listen_port: int = 0

    @property
    def host(self) -> str:
        """The server as people name it."""
        return urlsplit(self.server_url).hostname or ""


def read_settings(config: ChannelConfig) -> Settings:
    """Raises `FatalFailure` for an address that is none and for a token that is missing."""
    server = _web_address(config.options.get("server_url", ""))
    if not server:
        raise FatalFailure(
            "Mattermost's address is not set, or is none: set Mattermost.ServerUrl to something"
            " like https://chat.example.com.",
            fix="Run `netclaw config set Mattermost.ServerUrl https://chat.example.com`, with the"
            " address of your server.",
        )
    token = config.secrets.get("bot_token", "")
    if not token.isascii() or not token.isalnum():
        raise FatalFailure(
            "Mattermost's bot token is not set, or is none:"
            " netclaw secrets set Mattermost.BotToken.",
            fix="Run `netclaw secrets set Mattermost.BotToken` with the token of the bot account.",
        )
    host, port = _listen(config.options.get("callback_listen", "") or DEFAULT_LISTEN)
    return Settings(
        server_url=server,
        token=token,
        action_url=_action_url(config.options.get("callback_url", "")),
        listen_host=host,
        listen_port=port,
    )


def _action_url(given: str) -> str:
    if not given:
        return ""
    address = _web_address(given)
    if not address:
        raise FatalFailure(
            "The address for Mattermost's buttons is none: set Mattermost.CallbackUrl to something"
            " like http://netclaw.example.com:5199, or leave it out.",
            fix="Run `netclaw config unset Mattermost.CallbackUrl`, or correct it.",
        )
    return address if address.endswith(ACTION_PATH) else address + ACTION_PATH


def _web_address(given: str) -> str:
    """Without what does not belong into one; empty for what is none."""
    try:
        parts = urlsplit(given.strip())
        _ = parts.port
    except ValueError:
        return ""
    is_whole = parts.scheme in ("http", "https") and parts.hostname and not parts.username
    if not is_whole or parts.query or parts.fragment:
        return ""
    return f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}"


def _listen(given: str) -> tuple[str, int]:
    host, _, port = given.rpartition(":")
    if not host or not port.isascii() or not port.isdigit() or not 0 < int(port) < 65536:
        raise FatalFailure(
            "The address to listen at for Mattermost's buttons is none: set"
            f" Mattermost.CallbackListen to something like {DEFAULT_LISTEN}.",
            fix="Run `netclaw config unset Mattermost.CallbackListen`, or correct it.",
        )
    return host.removeprefix("[").removesuffix("]"), int(port)
