"""Discord as the contract plays it."""

from __future__ import annotations

from netclaw.adapters.discord.components import unmarked
from netclaw.adapters.discord.driver import DiscordDriver
from netclaw.adapters.discord.gateway import SILENCE_S
from netclaw.adapters.driver import ChannelConfig, Driver, Thread
from tests.adapters import rig
from tests.fakes.discord import TOKEN, DiscordServer, Fault
from tests.fakes.discord_store import ANN, BOT, CHANNEL, DIRECT

_FAULTS = {
    rig.Fault.RATE_LIMITED: Fault.RATE_LIMITED,
    rig.Fault.ACCEPTED_THEN_FAILS: Fault.ACCEPTED_THEN_500,
    rig.Fault.FAILS: Fault.ERROR_500,
}


def make_driver(
    server: DiscordServer,
    secrets: dict[str, str] | None = None,
    *,
    silence_s: float = SILENCE_S,
) -> DiscordDriver:
    """A driver of the fake's bot."""
    return DiscordDriver(
        ChannelConfig(
            name="discord", secrets=server.secrets | (secrets or {}), options=server.options
        ),
        silence_s=silence_s,
    )


class DiscordRig:
    """Implements `rig.Rig`."""

    channel_id = CHANNEL
    user_id = ANN
    secret = TOKEN

    def __init__(self, server: DiscordServer) -> None:
        self.server = server

    def make(self) -> Driver:
        """See `Rig`."""
        return make_driver(self.server)

    def make_wrong(self) -> Driver:
        """See `Rig`."""
        return make_driver(self.server, {"bot_token": "wrong-0123456789"})

    def make_unreachable(self) -> Driver:
        """See `Rig`."""
        options = {"api_base_url": "http://127.0.0.1:1/api", "gateway_url": "ws://127.0.0.1:1/"}
        return DiscordDriver(
            ChannelConfig(name="discord", secrets=self.server.secrets, options=options)
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
        message = await self.server.say(
            f"<@{BOT}> {text}" if is_mention else text,
            channel=DIRECT if is_direct else CHANNEL,
            thread=thread_id,
            file=file,
        )
        return thread_id or (DIRECT if is_direct else message.id)

    async def say_again(self) -> None:
        """See `Rig`."""
        await self.server.gateway.repeat()

    async def press(self, thread: Thread, post_id: str, token: str) -> None:
        """See `Rig`."""
        del thread
        buttons = self.server.store.messages[post_id].buttons
        (custom_id,) = [
            found for button in buttons if (found := str(button["custom_id"])).endswith(token)
        ]
        await self.server.press(post_id, custom_id)

    async def drop(self) -> None:
        """See `Rig`."""
        await self.server.gateway.drop()

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
        """See `Rig`; characters without width are not seen."""
        return tuple(
            rig.Shown(
                id=message.id,
                text=unmarked(message.content),
                tokens=tuple(
                    str(button["custom_id"]).rpartition("|")[2] for button in message.buttons
                ),
            )
            for message in self.server.ours(thread.channel_id, thread.thread_id)
        )

    def signs(self, thread: Thread) -> tuple[str, ...]:
        """See `Rig`; Discord shows no words."""
        places = thread.thread_id, thread.channel_id
        return tuple("typing" for seen in self.server.store.typing if seen in places)
