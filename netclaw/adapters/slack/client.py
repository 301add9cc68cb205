"""Slack's Web API through Slack's own library, with its failures made ours."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Mapping

import aiohttp
from slack_sdk.errors import SlackApiError, SlackClientError
from slack_sdk.web.async_client import AsyncWebClient
from slack_sdk.web.async_slack_response import AsyncSlackResponse

from netclaw.adapters.driver import ChannelConfig, FatalFailure, RefusedFailure, TransientFailure
from netclaw.adapters.slack.failures import UNREACHABLE, TokenKind, failure_of

API_URL = "https://slack.com/api/"
CALL_TIMEOUT_S = 30.0

Json = dict[str, object]

sdk_log = logging.getLogger(f"{__name__}.sdk")
"""What the library says may hold addresses with tickets and pieces of messages."""
sdk_log.setLevel(logging.CRITICAL)


class SlackClient:
    """One workspace's Web API, over one pool of connections."""

    def __init__(self, config: ChannelConfig) -> None:
        self.api_url = config.options.get("api_base_url") or API_URL
        self._bot_token = config.secrets.get("bot_token", "")
        self._app_token = config.secrets.get("app_token", "")
        self._http: aiohttp.ClientSession | None = None
        self._web: AsyncWebClient | None = None

    def require_tokens(self) -> None:
        """Raise `FatalFailure` for tokens that are missing or in each other's place."""
        if not self._bot_token.startswith("xox"):
            raise FatalFailure(
                "Slack's bot token (xoxb-...) is not set, or is no bot token.",
                fix=TokenKind.BOT.fix,
            )
        if not self._app_token.startswith("xapp-"):
            raise FatalFailure(
                "Slack's app token (xapp-...) is not set, or is no app token.",
                fix=TokenKind.APP.fix,
            )

    @property
    def app_token(self) -> str:
        """Opens event connections."""
        return self._app_token

    @property
    def bot_token(self) -> str:
        """Everything else."""
        return self._bot_token

    @property
    def http(self) -> aiohttp.ClientSession:
        """The pool of connections; made by whoever needs it first, in the running loop."""
        if self._http is None or self._http.closed:
            self._http = aiohttp.ClientSession(
                timeout=aiohttp.ClientTimeout(total=CALL_TIMEOUT_S),
            )
            self._web = None
        return self._http

    @property
    def web(self) -> AsyncWebClient:
        """Slack's library. It repeats no call: whether a post was made is looked up first."""
        http = self.http
        if self._web is None:
            self._web = AsyncWebClient(
                token=self._bot_token,
                base_url=self.api_url,
                session=http,
                logger=sdk_log,
                retry_handlers=[],
            )
        return self._web

    async def event_address(self) -> str:
        """Where an event connection may be opened, once; raises `FatalFailure`, `TransientFailure`.

        The one call that shows the app token.
        """
        call = self.web.apps_connections_open(app_token=self._app_token)
        try:
            return text(await self.ask(call, token=TokenKind.APP), "url")
        except RefusedFailure as failure:
            raise TransientFailure(failure.sentence) from None

    async def ask(
        self,
        call: Awaitable[AsyncSlackResponse],
        *,
        is_optional: bool = False,
        token: TokenKind = TokenKind.BOT,
    ) -> Mapping[str, object]:
        """The answer to a call; raises the `DriverFailure` that it means (`failure_of`)."""
        try:
            answer = await call
        except SlackApiError as error:
            raise failure_of(error, is_optional=is_optional, token=token) from None
        except SlackClientError:
            raise RefusedFailure("Slack's library does not send that.") from None
        except (aiohttp.ClientError, OSError, TimeoutError):
            raise TransientFailure(UNREACHABLE) from None
        except (AttributeError, TypeError, ValueError):
            # The library's way with an answer that is no JSON object.
            raise TransientFailure("Slack's answer makes no sense.") from None
        return answer.data if isinstance(answer.data, dict) else {}

    async def close(self) -> None:
        """Give back the connections."""
        http, self._http, self._web = self._http, None, None
        if http is not None:
            await http.close()


def items(answer: Mapping[str, object], name: str) -> list[Json]:
    """The objects of a list in an answer."""
    found = answer.get(name)
    return [item for item in found if isinstance(item, dict)] if isinstance(found, list) else []


def text(answer: Mapping[str, object], name: str) -> str:
    """A text in an answer; empty if there is none."""
    found = answer.get(name)
    return found if isinstance(found, str) else ""


def next_cursor(answer: Mapping[str, object]) -> str:
    """Where the next page begins; empty at the end."""
    found = answer.get("response_metadata")
    return text(found, "next_cursor") if isinstance(found, dict) else ""
