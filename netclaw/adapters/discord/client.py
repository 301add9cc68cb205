"""Discord's REST interface through Discord's own library, with its failures made ours."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import TypeVar

import aiohttp
import discord
from discord.errors import HTTPException, LoginFailure, RateLimited
from discord.gateway import DiscordWebSocket
from discord.http import Route
from discord.state import ConnectionState

from netclaw.adapters.discord.failures import TOKEN_FIX, UNREACHABLE, WRONG_TOKEN, failure_of
from netclaw.adapters.driver import ChannelConfig, FatalFailure, RefusedFailure, TransientFailure

API_URL = "https://discord.com/api/v10"
CALL_TIMEOUT_S = 60.0
"""The library repeats calls that Discord failed, at most for 25 seconds."""
LONGEST_WAIT_S = 5.0
"""A rate limit that lasts longer is not slept through but told to the host, which waits better."""

Json = dict[str, object]
Answer = TypeVar("Answer")

# What the library says may hold addresses with tickets and pieces of messages.
logging.getLogger("discord").setLevel(logging.CRITICAL)


class State(ConnectionState["Library"]):
    """The library's picture of Discord, switched off: it keeps nothing, and events come as sent."""

    socket: DiscordWebSocket | None = None
    """The newest connection, known before it is greeted: one that fails then can be closed."""

    def clear(self, *, views: bool = True) -> None:
        """Begin with nothing, and with no parsers but those of a connection (`gateway.py`)."""
        super().clear(views=views)
        self.parsers = {}

    def _update_references(self, ws: DiscordWebSocket) -> None:
        self.socket = ws


class Library(discord.Client):
    """The library's client, of which the REST part and single connections are used."""

    state: State

    def __init__(self) -> None:
        intents = discord.Intents.none()
        intents.guilds = intents.guild_messages = intents.dm_messages = True
        intents.message_content = True
        super().__init__(
            intents=intents,
            max_messages=None,
            chunk_guilds_at_startup=False,
            member_cache_flags=discord.MemberCacheFlags.none(),
        )
        self.http.max_ratelimit_timeout = LONGEST_WAIT_S

    def _get_state(self, **options: object) -> State:
        self.state = State(
            dispatch=self.dispatch,
            handlers=self._handlers,
            hooks=self._hooks,
            http=self.http,
            **options,
        )
        return self.state

    def dispatch(self, event: str, /, *args: object, **kwargs: object) -> None:
        """Nobody listens to the library's own events."""

    async def enter(self, token: str) -> None:
        """Make the pool of connections and show the token."""
        await self._async_setup_hook()
        await self.http.static_login(token)

    def free(self) -> None:
        """Let others go on that wait for the end of a rate limit whose waiter was cancelled."""
        self.http._global_over.set()

    async def leave(self) -> None:
        """Give back the connections."""
        await self.http.close()


class DiscordClient:
    """One application's REST interface; `library` is there once somebody needed it."""

    def __init__(self, config: ChannelConfig) -> None:
        self.api_url = (config.options.get("api_base_url") or API_URL).rstrip("/")
        self.gateway_url = config.options.get("gateway_url") or ""
        self._token = config.secrets.get("bot_token", "").strip().removeprefix("Bot ")
        self._library: Library | None = None
        self._entering = asyncio.Lock()

    async def library(self) -> Library:
        """The library, with the token shown to Discord."""
        if not self._token:
            raise FatalFailure("Discord's bot token is not set.", fix=TOKEN_FIX)
        async with self._entering:
            if self._library is None:
                self._library = await self._enter()
            return self._library

    async def ask(
        self,
        method: str,
        path: str,
        *,
        body: Json | None = None,
        query: Mapping[str, str | int] | None = None,
        **ids: str,
    ) -> object:
        """The answer to a call; raises the `DriverFailure` that it means (`failure_of`)."""

        async def work(library: Library) -> object:
            route = Route(method, path, **ids)
            request = library.http.request
            if body is not None:
                return await request(route, json=body)
            return await request(route, params=query)

        return await self.call(work)

    async def call(
        self,
        work: Callable[[Library], Awaitable[Answer]],
        *,
        timeout_s: float = CALL_TIMEOUT_S,
    ) -> Answer:
        """What the library answers; raises the `DriverFailure` that it means."""
        library = await self.library()
        return await _made_ours(library, work, timeout_s)

    async def close(self) -> None:
        """Give back the connections."""
        library, self._library = self._library, None
        if library is not None:
            await library.leave()

    async def _enter(self) -> Library:
        # The library knows one address per process; a process serves one channel.
        Route.BASE = self.api_url
        library = Library()
        try:
            await _made_ours(library, lambda found: found.enter(self._token), CALL_TIMEOUT_S)
        except RefusedFailure as failure:
            await library.leave()
            raise TransientFailure(failure.sentence) from None
        except BaseException:
            await library.leave()
            raise
        return library


async def _made_ours(
    library: Library, work: Callable[[Library], Awaitable[Answer]], timeout_s: float
) -> Answer:
    try:
        async with asyncio.timeout(timeout_s):
            return await _freeing(library, work)
    except RateLimited as error:
        raise TransientFailure(
            "Discord is rate limiting.", retry_after_s=error.retry_after
        ) from None
    except LoginFailure:
        raise FatalFailure(WRONG_TOKEN, fix=TOKEN_FIX) from None
    except HTTPException as error:
        raise failure_of(error) from None
    except (aiohttp.ClientError, OSError, TimeoutError):
        raise TransientFailure(UNREACHABLE) from None
    except (AttributeError, KeyError, RuntimeError, TypeError, ValueError):
        # The library's way with an answer that is not Discord's, and with a closed pool.
        raise TransientFailure("Discord's answer makes no sense.") from None


async def _freeing(library: Library, work: Callable[[Library], Awaitable[Answer]]) -> Answer:
    try:
        return await work(library)
    except asyncio.CancelledError:
        library.free()
        raise


def fields(answer: object) -> Json:
    """An object; empty if it is none."""
    return answer if isinstance(answer, dict) else {}


def items(answer: object) -> list[Json]:
    """The objects of a list."""
    return [item for item in answer if isinstance(item, dict)] if isinstance(answer, list) else []


def text(answer: Mapping[str, object], name: str) -> str:
    """A text in an answer; empty if there is none."""
    found = answer.get(name)
    return found if isinstance(found, str) else ""
