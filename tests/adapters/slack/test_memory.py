"""What the process of this channel holds."""

from __future__ import annotations

import asyncio
import json
import sys

import pytest

from tests.fakes.slack import SlackServer

LIMIT_MIB = 70.0
MESSAGES = 200
CHILD = """
import asyncio, json, sys
import netclaw.adapters.process  # what the process has beside its driver, gRPC among it
from netclaw.adapters.driver import ChannelConfig
from netclaw.adapters.registry import make_driver

async def main():
    config = ChannelConfig(name="slack", **json.loads(sys.argv[1]))
    driver = make_driver(config)
    seen = 0
    async for incoming in driver.events():
        await incoming.acknowledge()
        seen += 1
        if seen == int(sys.argv[2]):
            break
    status = open("/proc/self/status").read().split("VmRSS:")[1]
    loaded = sorted(set(sys.modules) & {"discord", "pydantic", "apsw", "netclaw.supervisor"})
    print(json.dumps({"mib": int(status.split()[0]) / 1024, "loaded": loaded}))
    await driver.close()

asyncio.run(main())
"""


@pytest.mark.requirement("channels_slack.memory")
async def test_an_adapter_at_work_holds_little(slack: SlackServer) -> None:
    config = json.dumps({"secrets": slack.secrets, "options": slack.options})
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-c", CHILD, config, str(MESSAGES), stdout=asyncio.subprocess.PIPE
    )
    try:
        for number in range(MESSAGES):
            await slack.say(f"{number} " + "x" * 2000)
        answer, _ = await child.communicate()
    finally:
        if child.returncode is None:
            child.kill()
            await child.wait()
    found = json.loads(answer)
    assert found["loaded"] == []
    assert found["mib"] < LIMIT_MIB
