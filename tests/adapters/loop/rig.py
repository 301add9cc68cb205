"""The loop channel as the contract plays it."""

from __future__ import annotations

from netclaw.adapters.driver import ChannelConfig, Driver, Thread
from tests.adapters import rig
from tests.adapters.loop.driver import MENTION, create
from tests.adapters.loop.server import Fault, LoopServer, Message

_FAULTS = {
    rig.Fault.RATE_LIMITED: Fault.RATE_LIMITED,
    rig.Fault.ACCEPTED_THEN_FAILS: Fault.ACCEPTED_THEN_500,
    rig.Fault.FAILS: Fault.ERROR_500,
}


class LoopRig:
    """Implements `rig.Rig`."""

    channel_id = "room"
    user_id = "ann"

    def __init__(self, server: LoopServer) -> None:
        self.server = server
        self.secret = server.token
        self._newest: Message | None = None

    def make(self) -> Driver:
        """See `Rig`."""
        return self._make(self.server.token, self.server.url)

    def make_wrong(self) -> Driver:
        """See `Rig`."""
        return self._make("wrong-token-0123456789", self.server.url)

    def make_unreachable(self) -> Driver:
        """See `Rig`."""
        return self._make(self.server.token, "http://127.0.0.1:1")

    def _make(self, token: str, url: str) -> Driver:
        config = ChannelConfig(
            name="loop", secrets={"bot_token": token}, options={"server_url": url}
        )
        return create(config)

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
        files = [self.server.add_file("notes.txt", "text/plain", file)] if file else None
        self._newest = await self.server.say(
            f"{MENTION} {text}" if is_mention else text,
            room="dm-ann" if is_direct else "room",
            thread=thread_id,
            files=files,
        )
        return self._newest.thread

    async def say_again(self) -> None:
        """See `Rig`."""
        assert self._newest is not None
        await self.server.send_again(self._newest)

    async def press(self, thread: Thread, post_id: str, token: str) -> None:
        """See `Rig`."""
        del thread
        await self.server.press(post_id, token)

    async def drop(self) -> None:
        """See `Rig`."""
        await self.server.drop()

    async def revoke(self) -> None:
        """See `Rig`."""
        await self.server.revoke()

    def fail_next(self, fault: rig.Fault) -> None:
        """See `Rig`."""
        self.server.faults.append(_FAULTS[fault])

    async def remove(self, thread: Thread, post_id: str) -> None:
        """See `Rig`."""
        del thread
        del self.server.messages[post_id]

    def shown(self, thread: Thread) -> tuple[rig.Shown, ...]:
        """See `Rig`."""
        return tuple(
            rig.Shown(
                id=message.id,
                text=message.text,
                tokens=tuple(str(button["token"]) for button in message.buttons),
            )
            for message in self.server.ours(thread.channel_id, thread.thread_id)
        )

    def signs(self, thread: Thread) -> tuple[str, ...]:
        """See `Rig`."""
        return tuple(self.server.signs.get(thread.address, ()))
