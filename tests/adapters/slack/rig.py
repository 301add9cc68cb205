"""Slack as the contract plays it."""

from __future__ import annotations

from netclaw.adapters.driver import ChannelConfig, Driver, Thread
from netclaw.adapters.slack.driver import SlackDriver
from tests.adapters import rig
from tests.fakes.slack import BOT_TOKEN, Fault, SlackServer
from tests.fakes.slack_store import ANN, BOT_USER, CHANNEL, DIRECT

_FAULTS = {
    rig.Fault.RATE_LIMITED: Fault.RATE_LIMITED,
    rig.Fault.ACCEPTED_THEN_FAILS: Fault.ACCEPTED_THEN_500,
    rig.Fault.FAILS: Fault.ERROR_500,
}
PING_S = 0.2


def make_driver(
    server: SlackServer, secrets: dict[str, str] | None = None, *, ping_s: float = PING_S
) -> SlackDriver:
    """A driver of the fake's app."""
    return SlackDriver(
        ChannelConfig(
            name="slack", secrets=server.secrets | (secrets or {}), options=server.options
        ),
        ping_s=ping_s,
    )


class SlackRig:
    """Implements `rig.Rig`."""

    channel_id = CHANNEL
    user_id = ANN
    secret = BOT_TOKEN

    def __init__(self, server: SlackServer) -> None:
        self.server = server

    def make(self) -> Driver:
        """See `Rig`."""
        return make_driver(self.server)

    def make_wrong(self) -> Driver:
        """See `Rig`."""
        return make_driver(self.server, {"bot_token": "xoxb-wrong-0123456789"})

    def make_unreachable(self) -> Driver:
        """See `Rig`."""
        options = {"api_base_url": "http://127.0.0.1:1/api/"}
        return SlackDriver(
            ChannelConfig(name="slack", secrets=self.server.secrets, options=options)
        )

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
        kept = self.server.store
        files = [kept.add_file("notes.txt", "text/plain", file, self.server.url)] if file else None
        message = await self.server.say(
            f"<@{BOT_USER}> {text}" if is_mention else text,
            channel=DIRECT if is_direct else CHANNEL,
            thread=thread_id,
            files=files,
        )
        return message.thread

    async def say_again(self) -> None:
        """See `Rig`."""
        await self.server.say_again()

    async def press(self, thread: Thread, post_id: str, token: str) -> None:
        """See `Rig`."""
        del thread
        await self.server.press(post_id, token)

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
        del self.server.store.messages[post_id]

    def shown(self, thread: Thread) -> tuple[rig.Shown, ...]:
        """See `Rig`."""
        return tuple(
            rig.Shown(
                id=message.ts,
                text=message.shown,
                tokens=tuple(str(button["value"]) for button in message.buttons),
            )
            for message in self.server.ours(thread.channel_id, thread.thread_id)
        )

    def signs(self, thread: Thread) -> tuple[str, ...]:
        """See `Rig`."""
        return tuple(self.server.store.signs.get(thread.address, ()))
