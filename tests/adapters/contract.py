"""What every channel's driver has to do, whatever its platform is.

A driver's tests subclass `DriverContract` and give a fixture `rig` with a `Rig` (`rig.py`): a
server on loopback that plays the platform, and the strings by which it is made to do things. A test
that a platform cannot be put to says so by an ability of the driver, never by being left out.

    class TestLoop(DriverContract):
        @pytest.fixture
        async def rig(self) -> AsyncIterator[Rig]: ...
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

import pytest

from netclaw.adapters.driver import (
    Attachment,
    Button,
    Driver,
    FatalFailure,
    Health,
    Place,
    Post,
    RefusedFailure,
    Thread,
    TransientFailure,
)
from tests.adapters.rig import (
    PATIENCE_S,
    Fault,
    Inbox,
    Rig,
    open_driver,
    open_inbox,
    thread_of,
)

CODE = (
    "See:\n```python\nif a < b and c > d:\n    say('*not* _bold_ & <not> a tag')\n```\ndone \u00fc"
)
BUTTONS = (
    Button(token="tok-once-1", label="Once"),
    Button(token="tok-deny-2", label="Deny", is_danger=True),
)


@pytest.mark.requirement("channel_host.contract")
class DriverContract:
    """Run against every driver."""

    @pytest.fixture
    async def driver(self, rig: Rig) -> AsyncIterator[Driver]:
        """A driver with the right token."""
        async with open_driver(rig.make()) as made:
            yield made

    @pytest.fixture
    async def inbox(self, driver: Driver) -> AsyncIterator[Inbox]:
        """The driver's events; it is connected."""
        async with open_inbox(driver) as made:
            yield made

    # The account --------------------------------------------------------------------------

    async def test_the_check_tells_who_we_are(self, driver: Driver) -> None:
        account = await driver.check()
        assert account.user_id
        assert account.name

    async def test_a_wrong_token_is_fatal_and_not_told(self, rig: Rig) -> None:
        async with open_driver(rig.make_wrong()) as driver:
            with pytest.raises(FatalFailure) as checked:
                await driver.check()
            inbox = Inbox(driver)
            try:
                failure = await asyncio.wait_for(inbox.failure, PATIENCE_S)
            finally:
                await inbox.close()
        for sentence in (checked.value.sentence, failure.sentence):
            assert sentence.endswith(".")
            assert rig.secret not in sentence

    async def test_a_platform_that_is_down_may_come_back(self, rig: Rig) -> None:
        async with open_driver(rig.make_unreachable()) as driver:
            with pytest.raises(TransientFailure):
                await driver.check()
            assert driver.health() is Health.DISCONNECTED

    async def test_closing_twice_is_fine(self, rig: Rig) -> None:
        driver = rig.make()
        await driver.check()
        await driver.close()
        await driver.close()
        assert driver.health() is Health.DISCONNECTED

    # Messages -----------------------------------------------------------------------------

    async def test_a_message_begins_a_thread_and_replies_are_in_it(
        self, rig: Rig, inbox: Inbox
    ) -> None:
        thread_id = await rig.say("first", is_mention=True)
        first = await inbox.message()
        await rig.say("second", thread_id=thread_id)
        second = await inbox.message()

        assert first.thread.channel_id == rig.channel_id
        assert first.thread.thread_id == thread_id
        assert first.thread.place is Place.CHANNEL
        assert first.thread.boundary.endswith(f"/{rig.channel_id}")
        assert second.thread == first.thread
        assert (first.sender_id, second.sender_id) == (rig.user_id, rig.user_id)
        assert (first.is_in_thread, second.is_in_thread) == (False, True)
        assert (first.is_own, first.is_bot) == (False, False)
        assert first.event_id != second.event_id

    async def test_a_mention_can_be_taken_out_of_the_text(self, rig: Rig, inbox: Inbox) -> None:
        await rig.say("what is up", is_mention=True)
        addressed = await inbox.message()
        await rig.say("nothing for you")
        other = await inbox.message()

        assert addressed.is_mention
        assert addressed.mention
        assert addressed.text.replace(addressed.mention, "").strip() == "what is up"
        assert not other.is_mention
        assert other.text == "nothing for you"

    async def test_a_direct_message_is_told_apart(self, rig: Rig, inbox: Inbox) -> None:
        await rig.say("psst", is_direct=True)
        received = await inbox.message()
        assert received.thread.place is Place.DIRECT
        assert received.text == "psst"
        assert received.sender_id == rig.user_id

    async def test_a_redelivery_has_the_same_id(self, rig: Rig, inbox: Inbox) -> None:
        await rig.say("once", is_mention=True)
        first = await inbox.message()
        await rig.say_again()
        again = await inbox.message()
        assert again.event_id == first.event_id
        assert again.thread == first.thread

    async def test_what_we_post_is_not_taken_for_a_person(
        self, rig: Rig, driver: Driver, inbox: Inbox
    ) -> None:
        thread = await thread_of(rig, inbox)
        await driver.post(Post(thread=thread, key="1.0", text="from us"))
        await rig.say("from them", thread_id=thread.thread_id)
        received = await inbox.message()
        while received.is_own:
            assert received.is_bot
            received = await inbox.message()
        assert received.text == "from them"

    async def test_a_dropped_connection_is_made_anew_and_loses_nothing(
        self, rig: Rig, driver: Driver, inbox: Inbox
    ) -> None:
        await rig.say("before", is_mention=True)
        before = await inbox.message()
        await rig.drop()
        await inbox.until_health(Health.READY)
        await rig.say("after", is_mention=True)
        received = await inbox.message()
        while received.event_id == before.event_id:
            received = await inbox.message()
        assert received.text.endswith("after")
        assert driver.health() is Health.READY

    async def test_a_revoked_token_ends_it_for_good(self, rig: Rig, inbox: Inbox) -> None:
        await rig.revoke()
        failure = await asyncio.wait_for(inbox.failure, PATIENCE_S)
        assert rig.secret not in failure.sentence

    async def test_a_connection_that_is_given_up_is_closed(self, rig: Rig) -> None:
        async with open_driver(rig.make()) as driver:
            async with open_inbox(driver):
                assert driver.health() is Health.READY
            async with asyncio.timeout(PATIENCE_S):
                await driver.close()
            assert driver.health() is Health.DISCONNECTED

    # Posts --------------------------------------------------------------------------------

    async def test_a_post_is_shown_as_it_is_and_found_by_its_key(
        self, rig: Rig, driver: Driver, inbox: Inbox
    ) -> None:
        thread = await thread_of(rig, inbox)
        post_id = await driver.post(Post(thread=thread, key="7.0", text=CODE))
        (shown,) = rig.shown(thread)
        assert (shown.id, shown.text) == (post_id, CODE)
        assert await driver.find_post(thread, "7.0") == post_id
        assert await driver.find_post(thread, "7.1") is None

    async def test_the_longest_post_is_taken_whole(
        self, rig: Rig, driver: Driver, inbox: Inbox
    ) -> None:
        thread = await thread_of(rig, inbox)
        text = "x" * driver.abilities.text_limit
        await driver.post(Post(thread=thread, key="8.0", text=text))
        assert [shown.text for shown in rig.shown(thread)] == [text]

    async def test_a_post_that_was_made_and_not_confirmed_is_known_again(
        self, rig: Rig, driver: Driver, inbox: Inbox
    ) -> None:
        thread = await thread_of(rig, inbox)
        rig.fail_next(Fault.ACCEPTED_THEN_FAILS)
        post = Post(thread=thread, key="9.0", text="just once")
        with suppress(TransientFailure):
            await driver.post(post)
        if await driver.find_post(thread, post.key) is None:
            await driver.post(post)  # the platform itself refuses a second one
        assert [shown.text for shown in rig.shown(thread)] == ["just once"]

    @pytest.mark.parametrize("fault", [Fault.RATE_LIMITED, Fault.FAILS])
    async def test_a_post_that_was_not_made_can_be_made_later(
        self, rig: Rig, driver: Driver, inbox: Inbox, fault: Fault
    ) -> None:
        thread = await thread_of(rig, inbox)
        rig.fail_next(fault)
        post = Post(thread=thread, key="10.0", text="later")
        failed: TransientFailure | None = None
        try:
            await driver.post(post)  # a platform's own library may have waited and tried again
        except TransientFailure as failure:
            failed = failure
        if failed is not None:
            if fault is Fault.RATE_LIMITED:
                assert failed.retry_after_s is not None
                assert failed.retry_after_s >= 0.2
            assert rig.shown(thread) == ()
            await driver.post(post)
        assert [shown.text for shown in rig.shown(thread)] == ["later"]

    async def test_a_place_that_is_not_there_is_refused(self, driver: Driver) -> None:
        gone = Thread(channel_id="gone", thread_id="1", place=Place.CHANNEL, boundary="x:y/gone")
        with pytest.raises(RefusedFailure):
            await driver.post(Post(thread=gone, key="11.0", text="nobody there"))

    async def test_a_post_is_changed_and_removed(
        self, rig: Rig, driver: Driver, inbox: Inbox
    ) -> None:
        if not driver.abilities.has_edit:
            return
        thread = await thread_of(rig, inbox)
        post_id = await driver.post(Post(thread=thread, key="12.0", text="draft"))
        await driver.edit(thread, post_id, "final", ())
        assert [shown.text for shown in rig.shown(thread)] == ["final"]
        await driver.delete(thread, post_id)
        assert rig.shown(thread) == ()
        await driver.delete(thread, post_id)

    async def test_a_post_that_was_removed_under_us_cannot_be_changed(
        self, rig: Rig, driver: Driver, inbox: Inbox
    ) -> None:
        if not driver.abilities.has_edit:
            return
        thread = await thread_of(rig, inbox)
        post_id = await driver.post(Post(thread=thread, key="13.0", text="short-lived"))
        await rig.remove(thread, post_id)
        with pytest.raises(RefusedFailure):
            await driver.edit(thread, post_id, "too late", ())

    async def test_a_button_comes_back_with_its_token(
        self, rig: Rig, driver: Driver, inbox: Inbox
    ) -> None:
        if not driver.abilities.has_buttons:
            return
        thread = await thread_of(rig, inbox)
        post = Post(thread=thread, key="p.1", text="May I?", buttons=BUTTONS)
        post_id = await driver.post(post)
        assert rig.shown(thread)[0].tokens == tuple(button.token for button in BUTTONS)
        await rig.press(thread, post_id, BUTTONS[1].token)
        clicked = await inbox.click()
        assert (clicked.token, clicked.sender_id) == (BUTTONS[1].token, rig.user_id)
        assert (clicked.post_id, clicked.thread) == (post_id, thread)
        await driver.edit(thread, post_id, "Denied.", ())
        assert rig.shown(thread)[0].tokens == ()

    async def test_a_thread_of_our_own_takes_replies(
        self, rig: Rig, driver: Driver, inbox: Inbox
    ) -> None:
        thread = await driver.begin_thread(rig.channel_id, "a reminder", "14.0")
        assert thread.channel_id == rig.channel_id
        await rig.say("thanks", thread_id=thread.thread_id)
        received = await inbox.message()
        while received.is_own:
            received = await inbox.message()
        assert received.thread == thread
        assert await driver.find_post(thread, "14.0") is not None

    async def test_a_thread_of_our_own_is_found_by_its_key(self, rig: Rig, driver: Driver) -> None:
        assert await driver.find_thread(rig.channel_id, "17.0") is None
        thread = await driver.begin_thread(rig.channel_id, "a reminder", "17.0")
        async with open_driver(rig.make()) as after_a_crash:
            assert await after_a_crash.find_thread(rig.channel_id, "17.0") == thread
            assert await after_a_crash.find_thread(rig.channel_id, "17.1") is None

    async def test_a_person_is_written_to_directly(
        self, rig: Rig, driver: Driver, inbox: Inbox
    ) -> None:
        place = await driver.open_direct(rig.user_id)
        assert await driver.open_direct(rig.user_id) == place
        thread = await driver.begin_thread(place, "psst", "18.0")
        assert (thread.channel_id, thread.place) == (place, Place.DIRECT)
        assert [shown.text for shown in rig.shown(thread)] == ["psst"]
        assert await driver.find_thread(place, "18.0") == thread
        await rig.say("yes?", is_direct=True)
        received = await inbox.message()
        while received.is_own:
            received = await inbox.message()
        assert received.thread.channel_id == place

    async def test_nobody_is_not_written_to(self, driver: Driver) -> None:
        with pytest.raises(RefusedFailure):
            await driver.open_direct("nobody-has-this-id")

    async def test_a_sign_of_work_is_set_and_cleared(
        self, rig: Rig, driver: Driver, inbox: Inbox
    ) -> None:
        thread = await thread_of(rig, inbox)
        await driver.set_title(thread, "About hello")
        await driver.set_status(thread, "is thinking...")
        await driver.set_status(thread, "")
        if driver.abilities.has_status:
            assert rig.signs(thread)[0]

    # History, files, names ----------------------------------------------------------------

    @pytest.mark.requirement("channel_sends.backfill")
    async def test_a_thread_is_read_back_with_our_own_part(
        self, rig: Rig, driver: Driver, inbox: Inbox
    ) -> None:
        thread_id = await rig.say("one", is_mention=True)
        first = await inbox.message()
        await driver.post(Post(thread=first.thread, key="15.0", text="two"))
        await rig.say("three", thread_id=thread_id)
        everything = await driver.backfill(first.thread, after="", limit=10)
        assert [item.is_own for item in everything] == [False, True, False]
        assert [item.text for item in everything][1:] == ["two", "three"]
        assert everything[0].event_id == first.event_id
        rest = await driver.backfill(first.thread, after=first.event_id, limit=1)
        assert [item.text for item in rest] == ["two"]
        newest = await driver.backfill(first.thread, after="", limit=2)
        assert [item.text for item in newest] == ["two", "three"]

    async def test_a_file_comes_within_its_limit_alone(
        self, rig: Rig, driver: Driver, inbox: Inbox, tmp_path: Path
    ) -> None:
        content = b"0123456789" * 300
        await rig.say("look at this", is_mention=True, file=content)
        (attachment,) = (await inbox.message()).attachments
        assert isinstance(attachment, Attachment)
        assert attachment.size_bytes == len(content)
        assert attachment.name
        await driver.download(attachment, tmp_path / "fits", len(content))
        assert (tmp_path / "fits").read_bytes() == content
        with pytest.raises(RefusedFailure):
            await driver.download(attachment, tmp_path / "cut", len(content) - 1)

    async def test_a_file_is_sent(
        self, rig: Rig, driver: Driver, inbox: Inbox, tmp_path: Path
    ) -> None:
        if not driver.abilities.file_limit_bytes:
            return
        thread = await thread_of(rig, inbox)
        path = tmp_path / "report.txt"
        path.write_bytes(b"a report")
        assert await driver.upload(thread, path, "report.txt", "16.0")
        assert len(rig.shown(thread)) == 1

    async def test_people_and_places_are_found_by_name(self, rig: Rig, driver: Driver) -> None:
        assert await driver.find_users("nobody-is-called-so") == ()
        assert await driver.find_places("nothing-is-called-so") == ()
        assert rig.user_id in {found.id for found in await driver.find_users("ann")}
        assert rig.channel_id in {found.id for found in await driver.find_places("room")}
