"""What a change of the files means, and how it is noticed."""

from __future__ import annotations

import asyncio

import pytest

from netclaw.config.reload import Effect, config_changes, effect_of
from netclaw.config.secret_store import set_secret
from tests.config.homes import ONE_MODEL, TempHome


@pytest.mark.requirement("config.reload-effects")
@pytest.mark.parametrize(
    ("text", "effect"),
    [
        (ONE_MODEL.replace("// how", "// other words about how"), Effect.NOTHING),
        (ONE_MODEL.replace('"Providers"', '"Session": {}, "providers"'), Effect.NOTHING),
        (ONE_MODEL.replace("{\n", '{"Session": {"IdleTimeout": "01:00:00"},\n', 1), Effect.NOTHING),
        (ONE_MODEL.replace("{\n", '{"Session": {"IdleTimeout": "02:00:00"},\n', 1), Effect.RESTART),
        (
            ONE_MODEL.replace("{\n", '{"Logging": {"LogLevel": {"Default": "Debug"}},\n', 1),
            Effect.LIVE,
        ),
        (ONE_MODEL.replace("{\n", '{"Slack": {"Enabled": true},\n', 1), Effect.LIVE),
        (ONE_MODEL.replace("{\n", '{"Channels": {"loop": {}},\n', 1), Effect.LIVE),
        (ONE_MODEL.replace("m1", "m2"), Effect.RESTART),
    ],
)
def test_the_effect_of_a_change(temp: TempHome, text: str, effect: Effect) -> None:
    temp.write(ONE_MODEL)
    before = temp.load()
    assert text != ONE_MODEL
    temp.write(text)
    assert effect_of(before, temp.load()) is effect


def test_a_changed_secret_counts_and_a_new_encryption_of_it_does_not(temp: TempHome) -> None:
    temp.write(ONE_MODEL)
    set_secret(temp.home, "Providers.fake.ApiKey", "first-key")
    before = temp.load()
    set_secret(temp.home, "Providers.fake.ApiKey", "first-key")
    assert effect_of(before, temp.load()) is Effect.NOTHING
    set_secret(temp.home, "Providers.fake.ApiKey", "other-key")
    assert effect_of(before, temp.load()) is Effect.LIVE


@pytest.mark.requirement("config.watched")
async def test_a_burst_of_writes_is_noticed_once(temp: TempHome) -> None:
    temp.write(ONE_MODEL)
    stop = asyncio.Event()
    noticed: asyncio.Queue[None] = asyncio.Queue()

    async def watch() -> None:
        async for _ in config_changes(temp.home, stop):
            noticed.put_nowait(None)

    watching = asyncio.create_task(watch())
    await asyncio.sleep(0)  # the watch is set up in the first step of its task
    try:
        for burst in ("a", "b"):
            (temp.home.config_dir / "unrelated.txt").write_text(burst)
            for number in range(5):
                temp.write(ONE_MODEL.replace("m1", f"{burst}{number}"))
            await asyncio.wait_for(noticed.get(), 10)
    finally:
        stop.set()
        await asyncio.wait_for(watching, 10)
    assert noticed.empty()
