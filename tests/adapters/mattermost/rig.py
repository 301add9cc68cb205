"""Mattermost as the contract plays it."""

from __future__ import annotations

import socket

from netclaw.adapters.driver import ChannelConfig, Driver, Thread
from netclaw.adapters.mattermost.driver import MattermostDriver
from tests.adapters import rig
from tests.fakes.mattermost import BOT_TOKEN, Fault, MattermostServer
from tests.fakes.mattermost_store import ANN, CHANNEL, DIRECT, Json

_FAULTS = {
    rig.Fault.RATE_LIMITED: Fault.RATE_LIMITED,
    rig.Fault.ACCEPTED_THEN_FAILS: Fault.ACCEPTED_THEN_500,
    rig.Fault.FAILS: Fault.ERROR_500,
}
PING_S = 0.5


def free_port() -> int:
    """A port that nobody has."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
    return port


def buttons_at(port: int) -> dict[str, str]:
    """The options of a driver with buttons."""
    address = f"127.0.0.1:{port}"
    return {"callback_url": f"http://{address}", "callback_listen": address}


def make_driver(
    server: MattermostServer,
    *,
    token: str = BOT_TOKEN,
    options: dict[str, str] | None = None,
    ping_s: float = PING_S,
) -> MattermostDriver:
    """A driver of the fake's bot."""
    return MattermostDriver(
        ChannelConfig(
            name="mattermost",
            secrets={"bot_token": token},
            options=server.options | (options or {}),
        ),
        ping_s=ping_s,
    )


def tokens_of(post: Json) -> tuple[str, ...]:
    """The tokens of a post's buttons, which only the server sees."""
    return tuple(
        action["integration"]["context"]["token"]
        for part in post["props"].get("attachments", [])
        for action in part["actions"]
    )


class MattermostRig:
    """Implements `rig.Rig`."""

    channel_id = CHANNEL
    user_id = ANN
    secret = BOT_TOKEN

    def __init__(self, server: MattermostServer) -> None:
        self.server = server
        self._newest: Json = {}
        self._options = buttons_at(free_port())

    def make(self) -> Driver:
        """See `Rig`."""
        return make_driver(self.server, options=self._options)

    def make_wrong(self) -> Driver:
        """See `Rig`."""
        return make_driver(self.server, token="wrongtoken0123456789")

    def make_unreachable(self) -> Driver:
        """See `Rig`."""
        return make_driver(self.server, options={"server_url": "http://127.0.0.1:1"})

    async def say(
        self,
        text: str,
        *,
        thread_id: str = "",
        is_mention: bool = False,
        is_direct: bool = False,
        file: bytes | None = None,
    ) -> str:
        """See `Rig`."""
        files = [self.server.store.add_file("notes.txt", file)] if file else None
        self._newest = await self.server.say(
            f"@netclaw {text}" if is_mention else text,
            channel=DIRECT if is_direct else CHANNEL,
            root=thread_id,
            files=files,
        )
        return str(self._newest["root_id"] or self._newest["id"])

    async def say_again(self) -> None:
        """See `Rig`."""
        await self.server.events.send_again()

    async def press(self, thread: Thread, post_id: str, token: str) -> None:
        """See `Rig`."""
        del thread
        status, answer = await self.server.press(post_id, token)
        assert (status, answer) == (200, {})

    async def drop(self) -> None:
        """See `Rig`."""
        await self.server.events.drop()

    async def revoke(self) -> None:
        """See `Rig`."""
        await self.server.revoke()

    def fail_next(self, fault: rig.Fault) -> None:
        """See `Rig`."""
        self.server.faults.append(_FAULTS[fault])

    async def remove(self, thread: Thread, post_id: str) -> None:
        """See `Rig`."""
        del thread
        self.server.store.posts[post_id]["delete_at"] = self.server.store.now_ms()

    def shown(self, thread: Thread) -> tuple[rig.Shown, ...]:
        """See `Rig`."""
        return tuple(
            rig.Shown(id=post["id"], text=post["message"], tokens=tokens_of(post))
            for post in self.server.ours(thread.channel_id, thread.thread_id)
        )

    def signs(self, thread: Thread) -> tuple[str, ...]:
        """See `Rig`: there are none."""
        del thread
        return ()
