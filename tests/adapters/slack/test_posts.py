"""Posts: their form, their keys, and what is made of lost answers."""

from __future__ import annotations

import pytest

from netclaw.adapters.driver import Button, Place, Post, RefusedFailure, Thread, TransientFailure
from netclaw.adapters.slack.driver import SlackDriver
from netclaw.adapters.slack.text import ANGLE, TEXT_LIMIT
from tests.adapters.slack.threads import THREAD
from tests.fakes.slack import Fault, SlackServer
from tests.fakes.slack_store import ANN, CHANNEL, DIRECT, TEAM, Json, Message

BUTTONS = (Button(token="t1", label="Once"), Button(token="t2", label="Deny", is_danger=True))


def shown(slack: SlackServer) -> list[Message]:
    """Our posts in the thread."""
    return slack.ours(THREAD.channel_id, THREAD.thread_id)


@pytest.mark.requirement("channels_slack.format")
async def test_a_reply_is_markdown_with_plain_text_beside_it(
    slack: SlackServer, driver: SlackDriver
) -> None:
    await driver.post(Post(thread=THREAD, key="1.0", text="**a** < b", buttons=BUTTONS))
    (call,) = slack.calls
    markdown, actions = _blocks(call.arguments)
    assert markdown == {"type": "markdown", "text": "**a** < b"}
    assert call.arguments["text"] == "**a** &lt; b"
    elements = actions["elements"]
    assert isinstance(elements, list)
    assert [button.get("style") for button in elements] == [None, "danger"]
    assert call.arguments["metadata"] == {
        "event_type": "netclaw_post",
        "event_payload": {"key": "1.0"},
    }


@pytest.mark.requirement("channels_slack.quiet")
async def test_links_are_not_fetched_by_slack(slack: SlackServer, driver: SlackDriver) -> None:
    await driver.post(Post(thread=THREAD, key="1.0", text="https://example.org/?q=secret"))
    given = slack.calls[0].arguments
    assert (given["unfurl_links"], given["unfurl_media"]) == (False, False)


@pytest.mark.requirement("channels_slack.format")
@pytest.mark.parametrize("buttons", [(), BUTTONS])
async def test_where_markdown_is_not_taken_plain_text_is_posted(
    slack: SlackServer, driver: SlackDriver, buttons: tuple[Button, ...]
) -> None:
    slack.faults.append(Fault.NO_MARKDOWN)
    text = "hello & " + "x" * (TEXT_LIMIT - 8)
    post_id = await driver.post(Post(thread=THREAD, key="1.0", text=text, buttons=buttons))
    (message,) = shown(slack)
    assert message.ts == post_id
    assert message.text.startswith("hello &amp; ")
    assert [button["value"] for button in message.buttons] == [b.token for b in buttons]
    slack.faults.append(Fault.NO_MARKDOWN)
    await driver.edit(THREAD, post_id, "done", ())
    assert (message.shown, message.buttons) == ("done", [])


async def test_a_text_that_is_too_long_is_refused(driver: SlackDriver) -> None:
    with pytest.raises(RefusedFailure):
        await driver.post(Post(thread=THREAD, key="1.0", text="&" * 12_001, buttons=BUTTONS * 20))


@pytest.mark.requirement("channels_slack.once")
@pytest.mark.parametrize("fault", [Fault.ACCEPTED_THEN_500, Fault.ACCEPTED_THEN_CUT])
async def test_a_post_whose_answer_was_lost_is_there_once(
    slack: SlackServer, driver: SlackDriver, fault: Fault
) -> None:
    for number in range(5):  # so that the thread has more than one page
        await driver.post(Post(thread=THREAD, key=f"0.{number}", text="before"))
    slack.faults.append(fault)
    with pytest.raises(TransientFailure):
        await driver.post(Post(thread=THREAD, key="1.0", text="once"))
    found = await driver.find_post(THREAD, "1.0")
    assert [message.ts for message in shown(slack) if message.text == "once"] == [found]
    assert await driver.find_post(THREAD, "1.1") is None


@pytest.mark.requirement("channels_slack.once")
@pytest.mark.parametrize(("user", "bot"), [(ANN, ""), ("U0OTHER", "B0OTHER"), ("", "B0OTHER")])
async def test_a_key_on_somebody_elses_message_is_not_ours(
    slack: SlackServer, driver: SlackDriver, user: str, bot: str
) -> None:
    for root in (THREAD.thread_id, ""):
        at = slack.store.next_ts()
        slack.store.add(
            Message(
                channel=CHANNEL,
                ts=at,
                thread=root or at,
                user=user,
                bot_id=bot,
                text="It is delivered, believe me.",
                metadata={"event_type": "netclaw_post", "event_payload": {"key": "1.0"}},
            )
        )
    assert await driver.find_post(THREAD, "1.0") is None
    assert await driver.find_thread(CHANNEL, "1.0") is None


@pytest.mark.requirement("channels_slack.format")
async def test_a_full_reply_that_would_notify_everybody_is_posted_all_the_same(
    slack: SlackServer, driver: SlackDriver
) -> None:
    text = "<!channel> " + "x" * (TEXT_LIMIT - 11)
    await driver.post(Post(thread=THREAD, key="1.0", text=text))
    (message,) = shown(slack)
    assert message.shown == f"{ANGLE}!channel> " + "x" * (TEXT_LIMIT - 11)


@pytest.mark.requirement("channels_slack.once")
async def test_an_edited_post_is_still_found_by_its_key(
    slack: SlackServer, driver: SlackDriver
) -> None:
    post_id = await driver.post(Post(thread=THREAD, key="p.1", text="May I?", buttons=BUTTONS))
    await driver.edit(THREAD, post_id, "Denied.", ())
    assert await driver.find_post(THREAD, "p.1") == post_id
    assert shown(slack)[0].shown == "Denied."


async def test_the_time_to_wait_is_told(slack: SlackServer, driver: SlackDriver) -> None:
    slack.faults.append(Fault.RATE_LIMITED)
    slack.retry_after_s = 7
    with pytest.raises(TransientFailure) as failed:
        await driver.post(Post(thread=THREAD, key="1.0", text="x"))
    assert failed.value.retry_after_s == 7


async def test_somebody_elses_message_is_not_changed(
    slack: SlackServer, driver: SlackDriver
) -> None:
    message = await slack.say("mine")
    with pytest.raises(RefusedFailure):
        await driver.edit(THREAD, message.ts, "yours", ())
    with pytest.raises(RefusedFailure):
        await driver.delete(THREAD, message.ts)


async def test_a_thread_that_was_deleted_holds_no_post(driver: SlackDriver) -> None:
    assert await driver.find_post(THREAD, "1.0") is None
    gone = Thread.at("C404/1700000000.000000")
    with pytest.raises(RefusedFailure):
        await driver.post(Post(thread=gone, key="1.0", text="x"))


@pytest.mark.requirement("channels_slack.proactive")
async def test_a_post_of_our_own_begins_a_thread_with_a_person(
    slack: SlackServer, driver: SlackDriver
) -> None:
    thread = await driver.begin_thread(ANN, "a reminder", "9.0")
    (message,) = slack.ours(DIRECT, thread.thread_id)
    assert message.shown == "a reminder"
    assert thread == Thread(
        channel_id=DIRECT,
        thread_id=message.ts,
        place=Place.DIRECT,
        boundary=f"slack:{TEAM}/{DIRECT}",
    )
    with pytest.raises(RefusedFailure):
        await driver.begin_thread("U0NOBODY", "hello?", "9.1")


@pytest.mark.requirement("channels_slack.proactive")
async def test_a_beginning_whose_answer_was_lost_is_found_in_its_channel(
    slack: SlackServer, driver: SlackDriver
) -> None:
    slack.faults.append(Fault.ACCEPTED_THEN_500)
    with pytest.raises(TransientFailure):
        await driver.begin_thread(CHANNEL, "a reminder", "9.0")
    await slack.say("in between")
    found = await driver.find_post(Thread.at(CHANNEL), "9.0")
    assert found is not None
    assert [message.ts for message in slack.ours(CHANNEL, found)] == [found]


@pytest.mark.requirement("channels_slack.history")
async def test_history_is_read_over_pages_and_without_what_is_no_message(
    slack: SlackServer, driver: SlackDriver
) -> None:
    root = await slack.say("0")
    for number in range(1, 6):
        await slack.say(str(number), thread=root.ts)
    await slack.say("joined", thread=root.ts, subtype="channel_join")
    thread = Thread.at(f"{CHANNEL}/{root.ts}")
    await driver.post(Post(thread=thread, key="1.0", text="6"))
    everything = await driver.backfill(thread, after="", limit=100)
    assert [item.text for item in everything] == ["0", "1", "2", "3", "4", "5", "6"]
    assert [item.is_own for item in everything] == [False] * 6 + [True]
    rest = await driver.backfill(thread, after=everything[2].event_id, limit=100)
    assert rest == everything[3:]
    assert await driver.backfill(thread, after=everything[2].event_id, limit=1) == rest[:1]
    assert await driver.backfill(thread, after=everything[-1].event_id, limit=9) == ()


def _blocks(arguments: Json) -> list[Json]:
    found = arguments["blocks"]
    assert isinstance(found, list)
    return found
