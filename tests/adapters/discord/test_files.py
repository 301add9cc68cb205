"""Files from and to Discord."""

from __future__ import annotations

from pathlib import Path

import pytest

from netclaw.adapters.discord.client import API_URL
from netclaw.adapters.discord.driver import DiscordDriver
from netclaw.adapters.discord.files import is_discords
from netclaw.adapters.driver import Attachment, RefusedFailure, TransientFailure
from tests.adapters.discord.rig import DiscordRig
from tests.adapters.rig import Inbox, thread_of
from tests.fakes.discord import DiscordServer, Fault
from tests.fakes.discord_store import CHANNEL


def at(url: str, size: int = 1) -> Attachment:
    """A file by its address."""
    return Attachment(handle=url, name="a", media_type="text/plain", size_bytes=size)


@pytest.mark.requirement("channels_discord.files")
@pytest.mark.parametrize(
    ("scheme", "place", "is_theirs"),
    [
        ("https", "cdn.discordapp.com/attachments/1/2/a.txt?ex=1", True),
        ("https", "media.discordapp.net/attachments/1/2/a.png", True),
        ("http", "cdn.discordapp.com/attachments/1/2/a.txt", False),
        ("https", "cdn.discordapp.com.evil.example/a", False),
        ("https", "evil.example/cdn.discordapp.com", False),
        ("file", "/etc/passwd", False),
    ],
)
def test_files_come_from_discord_alone(scheme: str, place: str, is_theirs: bool) -> None:
    url = f"{scheme}://{place}"
    assert is_discords(url, API_URL) is is_theirs
    assert not is_discords(url, "http://127.0.0.1:80/api")


@pytest.mark.requirement("channels_discord.files")
async def test_a_file_that_is_gone_or_elsewhere_is_refused(
    server: DiscordServer, driver: DiscordDriver, tmp_path: Path
) -> None:
    for url in (f"{server.url}/files/404", "http://127.0.0.1:1/a"):
        with pytest.raises(RefusedFailure):
            await driver.download(at(url), tmp_path / "a", 10)
    server.store.files["1"] = b"0123456789"
    with pytest.raises(RefusedFailure, match="larger"):
        await driver.download(at(f"{server.url}/files/1"), tmp_path / "a", 9)
    assert not (tmp_path / "a").exists()


@pytest.mark.requirement("channels_discord.files")
async def test_a_file_whose_answer_was_lost_is_sent_once(
    server: DiscordServer, driver: DiscordDriver, inbox: Inbox, tmp_path: Path
) -> None:
    thread = await thread_of(DiscordRig(server), inbox)
    path = tmp_path / "report.txt"
    path.write_bytes(b"a report")
    server.faults.append(Fault.ACCEPTED_THEN_CUT)
    with pytest.raises(TransientFailure):
        await driver.upload(thread, path, "report.txt", "5.0")
    post_id = await driver.upload(thread, path, "report.txt", "5.0")
    (message,) = server.ours(CHANNEL, thread.thread_id)
    assert message.id == post_id
    (file,) = message.attachments
    assert server.store.files[str(file["id"])] == b"a report"
    assert await driver.find_post(thread, "5.0") == post_id
