"""People in Slack decide, operators look on: a whole daemon, Slack's adapter and the fake."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable

import pytest
from aiohttp import web

from netclaw.adapters.prompt_text import NOT_YOURS, STALE
from netclaw.core.ids import SessionId
from tests.adapters.process.slack_world import slack_ready, slack_section
from tests.fakes.slack import SlackServer
from tests.fakes.slack_store import ANN, BEN, BOT_USER, CHANNEL, TEAM, Json, Message
from tests.process.run_calls import LOADING, add_agent, in_state, kill, runs, shell, spawn
from tests.process.world import ASKING, World, merge

pytestmark = pytest.mark.timeout(180)
PATIENCE_S = 60.0
COMMAND = "cp /etc/hostname {name}"


@pytest.fixture
async def slack() -> AsyncIterator[SlackServer]:
    """A workspace."""
    async with SlackServer(page_size=50) as server:
        yield server


async def until(condition: Callable[[], bool]) -> None:
    """Wait for what people see; bounded."""
    async with asyncio.timeout(PATIENCE_S):
        while not condition():
            await asyncio.sleep(0.02)


class Room:
    """One thread as its people see it."""

    def __init__(self, slack: SlackServer, root: Message) -> None:
        self._slack = slack
        self._thread = root.thread

    def shown(self) -> list[str]:
        """Our posts, oldest first."""
        return [message.shown for message in self._slack.ours(CHANNEL, self._thread)]

    async def prompt(self, words: str) -> Message:
        """The prompt with these words, once it has buttons."""
        await until(lambda: any(words in m.shown and m.buttons for m in self._ours()))
        return next(m for m in self._ours() if words in m.shown and m.buttons)

    async def says(self, text: str) -> None:
        """Wait for a post that holds a text."""
        await until(lambda: any(text in shown for shown in self.shown()))

    def _ours(self) -> list[Message]:
        return self._slack.ours(CHANNEL, self._thread)


def tokens(prompt: Message) -> dict[str, str]:
    """What the buttons of a prompt carry, by label."""
    found = {}
    for button in prompt.buttons:
        label = button["text"]
        assert isinstance(label, dict)
        found[str(label["text"])] = str(button["value"])
    return found


async def press_as_it_was(slack: SlackServer, shown: Json, button: Json) -> None:
    """A press in a client that still shows an older state of the post."""
    payload: Json = {
        "type": "block_actions",
        "user": {"id": ANN},
        "team": {"id": TEAM},
        "channel": {"id": CHANNEL},
        "message": shown,
        "actions": [{"type": "button", **button}],
    }
    await slack.events.send("interactive", payload)


@pytest.mark.requirement("channels.slack-approval")
@pytest.mark.requirement("channels.slack-child-approval")
async def test_the_person_who_asked_decides_in_the_thread_whoever_dies(slack: SlackServer) -> None:
    section = slack_section(slack, ChannelAudiences={CHANNEL: "Personal"})
    async with World(config=merge(ASKING, section)) as world:
        add_agent(world)
        await world.start()
        row = await slack_ready(world)
        one = COMMAND.format(name="one.txt")
        root = await slack.say(f"<@{BOT_USER}> {shell(one)} [[results]]", as_mention=True)
        room = Room(slack, root)
        prompt = await room.prompt(one)
        first = tokens(prompt)
        await slack.press(prompt.ts, first["Once"], user=BEN)
        await room.says(NOT_YOURS)

        kill(row.pid)
        await until(lambda: tokens(prompt).get("Once") not in (None, first["Once"]))
        second = tokens(prompt)
        await world.kill()
        await world.start()
        await until(lambda: tokens(prompt).get("Once") not in (None, second["Once"]))
        before, buttons = prompt.as_json(), prompt.buttons
        await slack.press(prompt.ts, tokens(prompt)["Once"])
        await room.says("[approval: once]")
        await until(lambda: not prompt.buttons)
        assert prompt.shown.endswith("**Approved**: Once.")
        assert sum(one in shown for shown in room.shown()) == 1, "it was asked twice"
        await press_as_it_was(slack, before, buttons[0])
        await room.says(STALE)

        two = COMMAND.format(name="two.txt")
        task = f"{shell(two)} [[reply:copied]]"
        await slack.say(f"{LOADING} {spawn(task)} [[reply:handed over]]", thread=root.ts)
        asked = await room.prompt("A helper run asks")
        await slack.press(asked.ts, tokens(asked)["Once"])
        await until(lambda: asked.shown.endswith("**Approved**: Once."))
        session = f"{CHANNEL}/{root.ts}"
        (run,) = await runs(world, session)
        await in_state(world, run.run_id, "Completed")
        assert not (await world.peer.detail(session)).open_approvals


@pytest.mark.requirement("channels.ledger")
@pytest.mark.requirement("channels.revoked")
async def test_an_operator_sees_each_message_and_a_token_that_is_revoked(
    slack: SlackServer,
) -> None:
    async with World(config=slack_section(slack)) as world:
        await world.start()
        await slack_ready(world)
        root = await slack.say(f"<@{BOT_USER}> [[reply:the answer]]")
        room = Room(slack, root)
        await room.says("the answer")
        held = await slack.say("[[gate:hold]] [[reply:later]]", thread=root.ts)
        await world.at_gate("hold")
        session = SessionId(f"{CHANNEL}/{root.ts}")
        await until(lambda: not slack.events.waiting)

        done, running = json.loads(await command(world, "ledger", session, "--json"))
        assert (done["source"], done["outcome"]) == ("slack", "completed")
        assert (done["messageId"], running["messageId"]) == (
            f"{CHANNEL}/{root.ts}",
            f"{CHANNEL}/{held.ts}",
        )
        assert done["receivedAt"] <= done["admittedAt"]
        answer = slack.ours(CHANNEL, root.ts)[0]
        (delivery,) = done["deliveries"]
        assert (delivery["channel"], delivery["state"]) == ("slack", "delivered")
        assert delivery["externalId"] == answer.ts
        assert (running["outcome"], running["deliveries"]) == ("running", [])
        human = await command(world, "ledger", session)
        assert "RECEIVED" in human
        assert "slack delivered" in human
        assert "running" in human

        # The token is revoked while nothing can be reached, so that only a new look finds out.
        slack.answer = lambda: web.Response(status=503)
        await slack.events.drop()
        await world.peer.wait_status(lambda found: found.adapters[0].state != "ready")
        slack.is_revoked = True
        slack.answer = None
        status = await world.peer.wait_status(lambda found: found.adapters[0].state == "failed")
        (row,) = status.adapters
        assert (row.pid, row.restarts) == (0, 0)
        assert "token" in row.last_failure
        world.open_gate("hold")
        # Its answer is kept for the time when somebody has put the channel right.
        waiting = await world.peer.wait_status(lambda found: found.outbox_waiting == 1)
        assert waiting.adapters[0].restarts == 0


async def command(world: World, *arguments: str) -> str:
    """What the command line prints."""
    process = await asyncio.create_subprocess_exec(
        str(world.cli), *arguments, env=world.environment(), stdout=asyncio.subprocess.PIPE
    )
    said, _ = await process.communicate()
    assert process.returncode == 0
    return said.decode()
