"""Ingress with the daemon's real public service: what is stored there, and where files come."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from netclaw.adapters.configured import enabled_channels
from netclaw.adapters.driver import Received
from netclaw.adapters.gateway_link import GatewayLink
from netclaw.adapters.ingress import Pipeline
from netclaw.adapters.parts import HostContext
from netclaw.adapters.setup import from_setup, to_setup
from netclaw.config.schema.root import Config
from netclaw.core.authority import Audience, Authenticity, Principal, SourceKind
from netclaw.core.authz.profiles import AttachmentCategory
from netclaw.core.ids import SessionId
from netclaw.core.session.events import InputAdmitted
from netclaw.supervisor.callers import Caller
from netclaw.wire.convert import recorded_of
from netclaw.wire.v1.gateway_pb2 import ChannelSetup
from tests.adapters.ingress_world import CONFIG, US, Ingress, Platform, message
from tests.supervisor.world import InProcess

ADAPTER = Caller(
    name="adapter slack",
    max_principal=Principal.TRUSTED,
    max_audience=Audience.PERSONAL,
    max_authenticity=Authenticity.VERIFIED,
    channels=frozenset({SourceKind.SLACK}),
    adapter="slack",
)


@pytest.fixture
async def world() -> AsyncIterator[InProcess]:
    """A daemon of a team, in this process."""
    async with InProcess() as made:
        await made.stop()
        made.config = replace(
            made.config, daemon=replace(made.config.daemon, posture=Audience.TEAM)
        )
        await made.start()
        yield made


async def no_letter(_received: Received) -> bool:
    """Nobody asked for consent."""
    return False


@asynccontextmanager
async def adapter(world: InProcess, platform: Platform, staging: Path) -> AsyncIterator[Pipeline]:
    """One start of the channel's adapter."""
    link = GatewayLink(str(world.home.socket), world.supervisor.tokens.issue(ADAPTER))
    context = HostContext(
        config=replace(CONFIG, allowed_user_ids=frozenset({"U1", "U2"})),
        driver=platform,
        link=link,
        adapter_start="start",
        staging=staging,
    )
    try:
        yield Pipeline(context, no_letter)
    finally:
        await link.close()


async def inputs(world: InProcess) -> list[InputAdmitted]:
    """The inputs of the thread's session."""
    rows = await world.store.read_journal(SessionId("C1/1"), since=0, limit=99)
    events = [recorded_of(row).event for row in rows]
    return [event for event in events if isinstance(event, InputAdmitted)]


@pytest.mark.requirement("channels.create")
@pytest.mark.requirement("channels.dedupe")
@pytest.mark.requirement("channels.backfill")
async def test_a_thread_lives_through_restarts_of_both(world: InProcess, tmp_path: Path) -> None:
    platform, taking = Platform(), Ingress(tmp_path)
    first = message("e1", f"{US} one", at_ms=1)
    platform.history["C1/1"] = [first]
    async with adapter(world, platform, tmp_path) as pipeline:
        await pipeline.take(taking.incoming(first))
        await pipeline.take(taking.incoming(first))
    await world.stop()
    await world.start()
    missed = message("e2", "missed", sender="U2", at_ms=2, is_in_thread=True)
    live = message("e3", "live", at_ms=3, is_in_thread=True)
    platform.history["C1/1"] += [missed, live]
    async with adapter(world, platform, tmp_path) as pipeline:
        for received in (first, live, missed, live):
            await pipeline.take(taking.incoming(received))
    one, two = await inputs(world)
    assert (one.text, one.source_message_id) == ("one", "e1")
    assert two.text.endswith("\n[adopted context ends]\nlive")
    assert two.authority.adopted_context == ("U2",)
    assert two.authority.requester.sender_id == "U1"
    assert two.authority.requester.audience is Audience.TEAM
    assert two.authority.requester.principal is Principal.TRUSTED
    assert two.authority.requester.boundary == "slack:T1/C1"
    assert two.authority.provenance.authenticity is Authenticity.VERIFIED
    assert [target.address for target in two.authority.delivery_targets] == ["C1/1"]
    assert platform.backfills == [("C1/1", "e1")]
    assert taking.acknowledged == ["e1", "e1", "e1", "e3", "e2", "e3"]
    record = await world.store.get_session(SessionId("C1/1"))
    assert record is not None
    assert (record.channel, record.audience) == (SourceKind.SLACK, Audience.TEAM)


@pytest.mark.requirement("channels.inbox")
async def test_a_file_lies_where_the_agent_is_told(world: InProcess, tmp_path: Path) -> None:
    platform, taking = Platform(), Ingress(tmp_path)
    hostile = platform.file("../a\n[x].txt", b"content")
    received = message("e1", f"{US} read it", files=(hostile,))
    async with adapter(world, platform, tmp_path) as pipeline:
        await pipeline.take(taking.incoming(received))
    (admitted,) = await inputs(world)
    line, own = admitted.text.split("\n")
    assert own == "read it"
    facts = json.loads(line.removeprefix("[file received: ").removesuffix("]"))
    place = Path(facts["path"])
    assert place.parts[-3:-1] == ("workspace", "inbox")
    assert place.name == "a_(x).txt"
    assert await asyncio.to_thread(place.read_bytes) == b"content"
    assert platform.posts == []
    await asyncio.to_thread(shutil.rmtree, place.parent)


@pytest.mark.requirement("channels.files")
def test_an_adapter_learns_which_files_are_taken_from_whom() -> None:
    config = Config.model_validate(
        {
            "Slack": {"Enabled": True},
            "Tools": {
                "AudienceProfiles": {
                    "Public": {"ChannelAttachments": {"AllowedCategories": [], "MaxFileBytes": 5}}
                }
            },
        }
    )
    section = enabled_channels(config)["slack"]
    sent = ChannelSetup.FromString(to_setup(section).SerializeToString())
    rules = from_setup(sent).attachments
    assert rules == section.attachments
    assert not rules["Public"].categories
    assert AttachmentCategory.OTHER not in rules["Team"].categories
    assert AttachmentCategory.OTHER in rules["Personal"].categories
