"""Takes pressed buttons, which Mattermost's server tells of by a call to us.

Anybody who reaches the address can call it: what is no press of a button of ours is told so and
changes nothing.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable

from aiohttp import web

from netclaw.adapters.driver import Clicked, DriverFailure, TransientFailure
from netclaw.adapters.mattermost.buttons import Tokens, Verdict, handed_on, read_press
from netclaw.adapters.mattermost.places import Places
from netclaw.adapters.mattermost.settings import ACTION_PATH, Settings

_log = logging.getLogger(__name__)

BODY_LIMIT = 64 * 1024
CLOSE_S = 1.0
PATIENCE_S = 10.0
"""For a request to come: who sends none, or one bit by bit, would keep a connection for himself."""
LATER = "netclaw cannot take an answer just now. Press again in a moment."
UNKNOWN = "This is no button of netclaw's."


class Callback:
    """The listener of one channel; `put` gives a press to whoever reads events."""

    def __init__(
        self,
        settings: Settings,
        tokens: Tokens,
        places: Places,
        put: Callable[[Clicked], bool],
        *,
        patience_s: float = PATIENCE_S,
    ) -> None:
        self._settings = settings
        self._tokens = tokens
        self._places = places
        self._put = put
        self._patience_s = patience_s
        self._runner: web.AppRunner | None = None

    async def open(self) -> None:
        """Listen, if there are buttons; safe to repeat.

        Raises `TransientFailure` if the address is taken: whoever has it may leave it.
        """
        if not self._settings.action_url or self._runner is not None:
            return
        app = web.Application(client_max_size=BODY_LIMIT)
        app.router.add_post(ACTION_PATH, self._answer)
        runner = web.AppRunner(
            app,
            access_log=None,
            shutdown_timeout=CLOSE_S,
            keepalive_timeout=self._patience_s,
            lingering_time=self._patience_s,
        )
        await runner.setup()
        try:
            await web.TCPSite(
                runner, self._settings.listen_host, self._settings.listen_port
            ).start()
        except OSError:
            await runner.cleanup()
            raise TransientFailure(
                "The address for Mattermost's buttons is taken or not ours"
                " (Mattermost.CallbackListen)."
            ) from None
        self._runner = runner

    async def close(self) -> None:
        """Listen no more; safe to repeat."""
        runner, self._runner = self._runner, None
        if runner is not None:
            await runner.cleanup()

    async def _answer(self, request: web.Request) -> web.Response:
        answer = await self._press(request)
        # Presses are rare, and one must not meet a connection that is being closed.
        answer.force_close()
        return answer

    async def _press(self, request: web.Request) -> web.Response:
        try:
            async with asyncio.timeout(self._patience_s):
                body: object = json.loads(await request.read())
        except TimeoutError:
            return web.json_response({"error": "too_slow"}, status=408)
        except web.HTTPRequestEntityTooLarge:
            return web.json_response({"error": "too_large"}, status=413)
        except (ValueError, RecursionError):
            body = None
        press = read_press(body)
        if press is None:
            return web.json_response({"error": "not_a_press"}, status=400)
        verdict = self._tokens.judge(press)
        if verdict is Verdict.FORGED:
            _log.warning("a press was refused: it is %s", verdict.value)
            return web.json_response({"ephemeral_text": UNKNOWN}, status=403)
        try:
            channel = await self._places.channel(press.channel_id)
        except DriverFailure as failure:
            _log.info("a press was not taken: %s", failure.sentence)
            return web.json_response({"ephemeral_text": LATER})
        is_taken = self._put(
            Clicked(
                token=handed_on(press, verdict),
                sender_id=press.user_id,
                post_id=press.post_id,
                thread=channel.thread(press.root),
            )
        )
        return web.json_response({} if is_taken else {"ephemeral_text": LATER})
