"""One message through the whole order: what is stored, told and acknowledged."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from netclaw.adapters import bounded
from netclaw.adapters.driver import Place, Received, RefusedFailure, TransientFailure
from netclaw.adapters.ingress import BUSY, Recent
from netclaw.core.errors import (
    DaemonDownError,
    DeliveryUnconfirmedError,
    InputIncompatibleError,
    InternalError,
    QueueFullError,
    StorageTimeoutError,
    TooLargeError,
)
from tests.adapters.ingress_world import US, Ingress, message, thread

RESTARTING = "netclaw is restarting. Your message is kept and will run in a moment."


@pytest.fixture
def ingress(tmp_path: Path) -> Ingress:
    """Ingress of a channel that serves C1 and C2."""
    return Ingress(tmp_path)


@pytest.mark.requirement("channels.acknowledge")
async def test_a_message_is_admitted_as_its_sender_and_then_acknowledged(ingress: Ingress) -> None:
    await ingress.take(message("e1", f"{US} hello"))
    admitted = ingress.daemon.input("e1")
    assert (admitted.session_id, admitted.text) == ("C1/1", "hello")
    assert admitted.attended
    assert admitted.create
    sender = admitted.sender
    assert (sender.sender_id, sender.principal, sender.audience) == ("U1", "untrusted", "Team")
    assert (sender.source_kind, sender.authenticity) == ("slack", "Verified")
    assert sender.boundary == "slack:T1/C1"
    (target,) = admitted.delivery_targets
    assert (target.channel, target.address) == ("slack", "C1/1")
    assert ingress.acknowledged == ["e1"]
    counters = ingress.counters
    assert (counters.received, counters.admitted, counters.duplicates) == (1, 1, 0)


@pytest.mark.requirement("channels.acknowledge")
async def test_nothing_is_acknowledged_before_it_is_stored(ingress: Ingress) -> None:
    stored: list[list[tuple[str, str]]] = []

    async def acknowledge() -> None:
        stored.append(list(ingress.daemon.order))

    incoming = replace(ingress.incoming(message("e1")), acknowledge=acknowledge)
    await ingress.pipeline.take(incoming)
    assert stored == [[("C1/1", "e1")]]
    ingress.daemon.before.append(DaemonDownError("The daemon is gone."))
    with pytest.raises(DaemonDownError):
        await ingress.take(message("e2"))
    assert ingress.acknowledged == []
    ingress.restart()
    await ingress.take(message("e2"))
    assert ingress.acknowledged == ["e2"]


@pytest.mark.requirement("channels.dedupe")
@pytest.mark.parametrize("with_restart", [False, True])
async def test_a_message_that_comes_again_is_taken_once(
    ingress: Ingress, with_restart: bool
) -> None:
    await ingress.take(message("e1"))
    if with_restart:
        ingress.restart()
    await ingress.take(message("e1"), message("e1"))
    assert ingress.daemon.order == [("C1/1", "e1")]
    assert ingress.acknowledged == ["e1"] * 3
    assert ingress.counters.duplicates == 2


@pytest.mark.requirement("channels.dedupe")
async def test_a_crash_between_admission_and_acknowledgement_makes_no_second_input(
    ingress: Ingress,
) -> None:
    async def die() -> None:
        raise ConnectionResetError

    with pytest.raises(ConnectionResetError):
        await ingress.pipeline.take(replace(ingress.incoming(message("e1")), acknowledge=die))
    ingress.restart()
    await ingress.take(message("e1"))
    assert ingress.daemon.order == [("C1/1", "e1")]
    assert ingress.acknowledged == ["e1"]


@pytest.mark.requirement("channels.dedupe")
async def test_an_answer_that_was_lost_is_asked_for_again(ingress: Ingress) -> None:
    ingress.daemon.after.append(DeliveryUnconfirmedError("No answer came."))
    await ingress.take(message("e1"))
    assert ingress.daemon.order == [("C1/1", "e1")]
    assert ingress.daemon.calls.count("send") == 2
    assert ingress.counters.admitted == 1


@pytest.mark.requirement("channels.dedupe")
def test_ids_are_remembered_up_to_a_limit_and_the_oldest_goes_first() -> None:
    recent = Recent(3)
    assert [recent.add(item) for item in "aabcd"] == [True, False, True, True, True]
    assert [item in recent for item in "abcd"] == [False, True, True, True]


@pytest.mark.requirement("channels.acl")
@pytest.mark.parametrize(
    ("received", "counted"),
    [
        (message("e1", sender=""), "denied"),
        (message("e1", where=thread(channel="C9")), "denied"),
        (message("e1", "just talk"), "ignored"),
        (message("e1", US), "ignored"),
        (message("e1", is_own=True), "ignored"),
        # By the lists nobody would serve us, and yet nobody was kept out.
        (message("e1", sender="BOT", is_own=True, where=thread(channel="C9")), "ignored"),
        (message("e1", is_bot=True), "ignored"),
    ],
)
async def test_what_is_not_for_us_is_acknowledged_and_nothing_else(
    ingress: Ingress, received: Received, counted: str
) -> None:
    await ingress.take(received)
    assert ingress.daemon.order == []
    assert ingress.daemon.sessions == {}
    assert ingress.told == []
    assert ingress.acknowledged == ["e1"]
    assert getattr(ingress.counters, counted) == 1


@pytest.mark.requirement("channels.bots")
async def test_bots_are_not_answered_in_a_thread_with_a_session_either(ingress: Ingress) -> None:
    await ingress.take(message("e1"))
    await ingress.take(
        message("e2", is_own=True, is_in_thread=True), message("e3", is_bot=True, is_in_thread=True)
    )
    assert ingress.daemon.order == [("C1/1", "e1")]


@pytest.mark.requirement("channels.acl")
async def test_why_a_message_was_not_taken_is_in_the_log(
    ingress: Ingress, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    await ingress.take(
        message("e1", where=thread(channel="C9")),
        message("e2", "talk"),
        message("e3", is_bot=True),
        message("e4", sender=""),
    )
    reasons = [record.getMessage().rpartition(": ")[2] for record in caplog.records]
    assert reasons == ["channel_not_allowed", "ChannelMentionRequired", "bot_message", "no_sender"]


async def test_an_answer_by_letter_is_no_message(ingress: Ingress) -> None:
    ingress.letters.add("A")
    await ingress.take(message("e1"), message("e2", "A", is_in_thread=True))
    assert ingress.daemon.order == [("C1/1", "e1")]
    assert ingress.acknowledged == ["e1", "e2"]


@pytest.mark.requirement("channels.acl")
async def test_nobody_answers_by_letter_who_is_not_served(ingress: Ingress) -> None:
    ingress.letters.add("A")
    await ingress.take(message("e1", "A", where=thread(channel="C9")))
    assert ingress.counters.denied == 1


@pytest.mark.requirement("channels.routing")
async def test_a_thread_with_a_session_goes_on_without_a_mention(ingress: Ingress) -> None:
    await ingress.take(message("e1"), message("e2", "and more", is_in_thread=True, sender="U2"))
    ingress.restart()
    await ingress.take(message("e3", "still there?", is_in_thread=True))
    assert ingress.daemon.texts() == ["hello", "and more", "still there?"]
    assert not ingress.daemon.input("e2").create


@pytest.mark.requirement("channels.routing")
async def test_a_deleted_session_is_not_made_again_by_talk(ingress: Ingress) -> None:
    await ingress.take(message("e1"))
    ingress.daemon.sessions.clear()
    await ingress.take(message("e2", "talk", is_in_thread=True))
    assert ingress.daemon.sessions == {}
    assert ingress.acknowledged == ["e1", "e2"]
    await ingress.take(message("e3", f"{US} back?", is_in_thread=True))
    assert list(ingress.daemon.sessions) == ["C1/1"]


async def test_two_threads_are_two_sessions(ingress: Ingress) -> None:
    await ingress.take(message("e1", f"{US} one"), message("e2", f"{US} two", where=thread("2")))
    assert ingress.daemon.texts("C1/1") == ["one"]
    assert ingress.daemon.texts("C1/2") == ["two"]
    targets = [ingress.daemon.input(event).delivery_targets[0].address for event in ("e1", "e2")]
    assert targets == ["C1/1", "C1/2"]


async def test_a_direct_message_of_somebody_unvetted_is_public(ingress: Ingress) -> None:
    await ingress.take(message("e1", "hi", where=thread(channel="D1", place=Place.DIRECT)))
    assert ingress.daemon.input("e1").sender.audience == "Public"


@pytest.mark.requirement("channels.order")
async def test_two_quick_messages_in_a_new_thread_both_arrive_in_order(ingress: Ingress) -> None:
    ingress.daemon.before.extend([StorageTimeoutError("Too slow."), None])
    await ingress.take(message("e1", f"{US} one"), message("e2", "two", is_in_thread=True))
    assert ingress.daemon.texts() == ["one", "two"]


# Errors ---------------------------------------------------------------------------------------


@pytest.mark.requirement("channels.retry")
async def test_what_may_pass_is_waited_out(ingress: Ingress) -> None:
    ingress.daemon.before.extend(
        [StorageTimeoutError("Too slow."), InternalError("Odd."), StorageTimeoutError("Too slow.")]
    )
    await ingress.take(message("e1"))
    assert ingress.daemon.order == [("C1/1", "e1")]
    assert ingress.acknowledged == ["e1"]
    assert ingress.failures == ["Too slow.", "Odd.", "Too slow."]
    assert ingress.told == []


@pytest.mark.requirement("channels.retry")
async def test_a_full_queue_is_waited_out_and_told_once(ingress: Ingress) -> None:
    full = QueueFullError("Already 200 messages wait.")
    ingress.daemon.before.extend([full, full, full, None, full])
    await ingress.take(message("e1"), message("e2", "more", is_in_thread=True))
    assert ingress.daemon.texts() == ["hello", "more"]
    assert ingress.told == [BUSY]


@pytest.mark.requirement("channels.retry")
async def test_what_will_never_be_taken_is_told_in_fixed_words(ingress: Ingress) -> None:
    ingress.daemon.before.append(TooLargeError("Secret detail."))
    await ingress.take(message("e1"), message("e2", f"{US} next"))
    assert ingress.told == ["netclaw could not take this message (too_large)."]
    assert ingress.acknowledged == ["e1", "e2"]
    assert ingress.counters.denied == 1
    assert ingress.daemon.texts() == ["next"]


async def test_who_cannot_be_told_is_not_told(ingress: Ingress) -> None:
    ingress.daemon.before.append(TooLargeError("No."))
    ingress.platform.post_failures.append(RefusedFailure("The channel is archived."))
    await ingress.take(message("e1"))
    assert ingress.acknowledged == ["e1"]


async def test_who_wrote_is_told_although_the_acknowledgement_was_lost(ingress: Ingress) -> None:
    ingress.daemon.before.append(TooLargeError("No."))
    ingress.acknowledge_failures.append(TransientFailure("The platform cannot be reached."))
    with pytest.raises(TransientFailure):
        await ingress.take(message("e1"))
    await ingress.take(message("e1"))
    assert ingress.told == ["netclaw could not take this message (too_large)."]
    assert ingress.acknowledged == ["e1"]


@pytest.mark.requirement("channels.half-open")
async def test_a_platform_that_answers_nothing_holds_no_message(
    ingress: Ingress, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bounded, "CALL_TIMEOUT_S", 0.01)
    monkeypatch.setattr(bounded, "TRANSFER_TIMEOUT_S", 0.01)
    ingress.platform.is_silent = True
    notes = ingress.platform.file("a.txt", b"x")
    async with asyncio.timeout(10):
        await ingress.take(message("e1", f"{US} look", is_in_thread=True, files=(notes,)))
    assert ingress.daemon.texts() == ["look"]
    assert ingress.acknowledged == ["e1"]


@pytest.mark.requirement("channels.driver-fault")
async def test_a_fault_of_the_driver_loses_no_message(ingress: Ingress) -> None:
    ingress.platform.backfill_failures.append(ZeroDivisionError())
    ingress.platform.post_failures.append(ZeroDivisionError())
    ingress.daemon.notice = RESTARTING
    await ingress.take(message("e1", f"{US} one", is_in_thread=True))
    assert ingress.daemon.texts() == ["one"]
    assert ingress.acknowledged == ["e1"]


@pytest.mark.requirement("channels.driver-fault")
async def test_a_message_that_could_not_be_dealt_with_is_quoted_with_the_next_one(
    ingress: Ingress,
) -> None:
    await ingress.take(message("e1", at_ms=1))
    ingress.letter_faults.append(ZeroDivisionError())
    lost = message("e2", "lost", is_in_thread=True, at_ms=2)
    with pytest.raises(ZeroDivisionError):
        await ingress.take(lost)
    ingress.platform.history["C1/1"] = [lost]
    await ingress.take(message("e3", "next", is_in_thread=True, at_ms=3))
    assert '"text": "lost"' in ingress.daemon.input("e3").text


async def test_a_model_without_eyes_gets_the_picture_as_a_file(ingress: Ingress) -> None:
    picture = ingress.platform.file("cat.png", b"\x89PNG\r\n\x1a\n" + b"x" * 50)
    ingress.daemon.before.append(InputIncompatibleError("The model takes no pictures."))
    await ingress.take(message("e1", f"{US} look", files=(picture,)))
    admitted = ingress.daemon.input("e1")
    assert list(admitted.media) == []
    assert "cat.png" in admitted.text
    assert ingress.told == []


# The drain gate -------------------------------------------------------------------------------


@pytest.mark.requirement("channels.drain-gate")
async def test_while_the_daemon_ends_messages_are_kept_and_people_told_once(
    ingress: Ingress,
) -> None:
    ingress.gate.notice = RESTARTING
    ingress.platform.history["C1/1"] = [message("e0", "before", is_in_thread=True, at_ms=1)]
    await ingress.take(
        message("e1", f"{US} one", is_in_thread=True),
        message("e2", f"{US} two", is_in_thread=True),
        message("e3", f"{US} other", where=thread("2")),
        message("e4", "talk", where=thread("3")),
    )
    assert ingress.daemon.texts() == ["one", "two"]
    assert [(post.thread.address, post.text) for post in ingress.platform.posts] == [
        ("C1/1", RESTARTING),
        ("C1/2", RESTARTING),
    ]
    assert ingress.platform.backfills == []
    # What was not read then is read when there is time.
    ingress.restart()
    await ingress.take(message("e5", "three", is_in_thread=True, at_ms=2000))
    assert '"text": "before"' in ingress.daemon.input("e5").text


@pytest.mark.requirement("channels.drain-gate")
async def test_the_daemon_says_so_before_the_channel_is_told(ingress: Ingress) -> None:
    ingress.daemon.notice = RESTARTING
    await ingress.take(message("e1"), message("e2", "more", is_in_thread=True))
    assert ingress.told == [RESTARTING]
    assert len({post.key for post in ingress.platform.posts}) == 1


@pytest.mark.requirement("channels.drain-gate")
async def test_a_wait_ends_with_the_channel_and_leaves_the_message_to_come_again(
    ingress: Ingress,
) -> None:
    ingress.daemon.before.extend([StorageTimeoutError("Too slow.")] * 1000)
    taking = asyncio.create_task(ingress.take(message("e1")))
    while not ingress.failures:
        await asyncio.sleep(0)
    ingress.gate.notice = RESTARTING
    with pytest.raises(StorageTimeoutError):
        await taking
    assert ingress.acknowledged == []
    assert ingress.told == []


async def test_little_is_asked_of_the_daemon(ingress: Ingress) -> None:
    await ingress.take(message("e1"))
    assert ingress.daemon.calls == ["ensure", "send"]
    ingress.daemon.calls.clear()
    await ingress.take(message("e2", "more", is_in_thread=True), message("e2"))
    assert ingress.daemon.calls == ["find", "send"]
