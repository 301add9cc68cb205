"""Files to and from Slack, and where the token goes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from aiohttp import web

from netclaw.adapters.driver import (
    Attachment,
    RefusedFailure,
    TransientFailure,
)
from netclaw.adapters.slack.client import API_URL
from netclaw.adapters.slack.driver import SlackDriver
from netclaw.adapters.slack.files import is_trusted as may_send_token
from tests.adapters.slack.threads import THREAD
from tests.fakes.slack import BOT_TOKEN, Fault, SlackServer

CONTENT = b"0123456789" * 100


@pytest.fixture
def attachment(slack: SlackServer) -> Attachment:
    """A file at Slack."""
    facts = slack.store.add_file("a.txt", "text/plain", CONTENT, slack.url)
    return Attachment(
        handle=str(facts["id"]), name="a.txt", media_type="text/plain", size_bytes=len(CONTENT)
    )


@pytest.mark.requirement("channels_slack.files")
async def test_a_file_is_fetched_with_the_token(
    slack: SlackServer, driver: SlackDriver, attachment: Attachment, tmp_path: Path
) -> None:
    await driver.download(attachment, tmp_path / "a", len(CONTENT))
    assert (tmp_path / "a").read_bytes() == CONTENT
    assert slack.file_tokens == [f"Bearer {BOT_TOKEN}"]


@pytest.mark.requirement("channels_slack.files")
@pytest.mark.parametrize(
    "address", ["http://127.0.0.1:1/x", "https://files.slack.com.evil.example/x", "", "file:///x"]
)
async def test_the_token_goes_to_no_other_host(
    slack: SlackServer, driver: SlackDriver, attachment: Attachment, tmp_path: Path, address: str
) -> None:
    slack.store.file_facts[attachment.handle]["url_private_download"] = address
    with pytest.raises(RefusedFailure):
        await driver.download(attachment, tmp_path / "a", len(CONTENT))
    assert slack.file_tokens == []
    assert not (tmp_path / "a").exists()


@pytest.mark.requirement("channels_slack.files")
@pytest.mark.parametrize(
    ("scheme", "place", "is_trusted"),
    [
        ("https", "files.slack.com/files-pri/T1-F1/download/a.txt", True),
        ("https", "workspace.slack.com/a", True),
        ("http", "files.slack.com/a", False),
        ("https", "evilslack.com/a", False),
        ("https", "slack.com@evil.example/a", False),
        ("https", "files.slack.com.evil.example/a", False),
    ],
)
def test_only_slacks_own_hosts_are_trusted(scheme: str, place: str, is_trusted: bool) -> None:
    assert may_send_token(f"{scheme}://{place}", API_URL) is is_trusted


def _redirect(to: str) -> Callable[[], web.Response]:
    return lambda: web.Response(status=302, headers={"Location": to})


@pytest.mark.requirement("channels_slack.files")
async def test_a_redirect_is_not_followed(
    slack: SlackServer, driver: SlackDriver, attachment: Attachment, tmp_path: Path
) -> None:
    slack.file_answer = _redirect(f"{slack.url}/files/F9999")
    with pytest.raises(RefusedFailure):
        await driver.download(attachment, tmp_path / "a", len(CONTENT))
    assert len(slack.file_tokens) == 1


@pytest.mark.requirement("channels_slack.files")
async def test_a_page_to_sign_in_is_no_file(
    slack: SlackServer, driver: SlackDriver, attachment: Attachment, tmp_path: Path
) -> None:
    slack.file_answer = lambda: web.Response(text="<html>sign in", content_type="text/html")
    with pytest.raises(RefusedFailure, match="files:read"):
        await driver.download(attachment, tmp_path / "a", len(CONTENT))
    slack.file_answer = lambda: web.Response(status=503)
    with pytest.raises(TransientFailure):
        await driver.download(attachment, tmp_path / "a", len(CONTENT))


@pytest.mark.requirement("channels_slack.files")
async def test_a_file_that_is_larger_than_it_says_leaves_nothing(
    driver: SlackDriver, attachment: Attachment, tmp_path: Path
) -> None:
    honest = Attachment(
        handle=attachment.handle, name="a.txt", media_type="text/plain", size_bytes=5
    )
    with pytest.raises(RefusedFailure):
        await driver.download(honest, tmp_path / "a", 10)
    assert not (tmp_path / "a").exists()


async def test_an_existing_file_is_not_touched(
    driver: SlackDriver, attachment: Attachment, tmp_path: Path
) -> None:
    (tmp_path / "a").write_bytes(b"mine")
    with pytest.raises(FileExistsError):
        await driver.download(attachment, tmp_path / "a", len(CONTENT))
    assert (tmp_path / "a").read_bytes() == b"mine"


async def test_a_file_that_was_deleted_is_refused(driver: SlackDriver, tmp_path: Path) -> None:
    gone = Attachment(handle="F404", name="a", media_type="", size_bytes=1)
    with pytest.raises(RefusedFailure):
        await driver.download(gone, tmp_path / "a", 10)


async def test_a_file_is_sent_and_shared(
    slack: SlackServer, driver: SlackDriver, tmp_path: Path
) -> None:
    path = tmp_path / "r.txt"
    path.write_bytes(CONTENT)
    file_id = await driver.upload(THREAD, path, "report.txt", "3.0")
    assert slack.store.files[file_id] == CONTENT
    (message,) = slack.ours(THREAD.channel_id, THREAD.thread_id)
    assert message.files[0]["name"] == "report.txt"


@pytest.mark.requirement("channels_slack.once")
async def test_a_file_whose_answer_was_lost_is_shared_once(
    slack: SlackServer, driver: SlackDriver, tmp_path: Path
) -> None:
    path = tmp_path / "r.txt"
    path.write_bytes(CONTENT)
    slack.faults.append(Fault.ACCEPTED_THEN_500)
    with pytest.raises(TransientFailure):
        await driver.upload(THREAD, path, "report.txt", "3.0")
    assert await driver.upload(THREAD, path, "report.txt", "3.0")
    assert len(slack.ours(THREAD.channel_id, THREAD.thread_id)) == 1
    slack.faults.append(Fault.ERROR_500)
    with pytest.raises(TransientFailure):
        await driver.upload(THREAD, path, "report.txt", "4.0")
    await driver.upload(THREAD, path, "report.txt", "4.0")
    assert len(slack.ours(THREAD.channel_id, THREAD.thread_id)) == 2
