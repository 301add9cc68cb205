"""Where a message is for us."""

from __future__ import annotations

from dataclasses import replace

import pytest

from netclaw.adapters.driver import ChannelConfig, Place
from netclaw.adapters.routing import MENTION_REQUIRED, Verdict, route
from tests.adapters.ingress_world import US, message, thread

PLAIN = ChannelConfig(name="slack")
QUIET = replace(PLAIN, mention_required_in_thread=True, mention_required_in_dm=True)
OPEN = replace(PLAIN, mention_only=False)
START, CONTINUE, IGNORE = Verdict.START_OR_CONTINUE, Verdict.CONTINUE_ONLY, Verdict.IGNORE


@pytest.mark.requirement("channels.routing")
@pytest.mark.parametrize(
    ("config", "is_mention", "in_thread", "has_session", "verdict"),
    [
        (PLAIN, True, False, False, START),
        (PLAIN, True, True, False, START),
        (PLAIN, True, True, True, START),
        (PLAIN, False, False, False, IGNORE),
        (PLAIN, False, True, False, IGNORE),
        (PLAIN, False, True, True, CONTINUE),
        (PLAIN, False, False, True, IGNORE),
        (QUIET, False, True, True, IGNORE),
        (QUIET, True, True, True, START),
        (OPEN, False, False, False, START),
        (OPEN, False, True, False, START),
        (OPEN, False, True, True, CONTINUE),
        (replace(OPEN, mention_required_in_thread=True), False, True, True, IGNORE),
    ],
)
def test_in_channels(
    config: ChannelConfig, is_mention: bool, in_thread: bool, has_session: bool, verdict: Verdict
) -> None:
    text = f"{US} hi" if is_mention else "hi"
    found = route(config, message("e", text, is_in_thread=in_thread), has_session=has_session)
    assert found.verdict is verdict
    assert found.reason == (MENTION_REQUIRED if verdict is IGNORE else "")


@pytest.mark.requirement("channels.routing")
@pytest.mark.parametrize("has_session", [False, True])
def test_direct_messages_need_no_mention_unless_it_is_asked_for(has_session: bool) -> None:
    direct = message("e", "hi", where=thread(channel="D1", place=Place.DIRECT))
    assert route(PLAIN, direct, has_session=has_session).verdict is START
    assert route(QUIET, direct, has_session=has_session).verdict is IGNORE
    named = replace(direct, is_mention=True)
    assert route(QUIET, named, has_session=has_session).verdict is START


@pytest.mark.requirement("channels.routing")
def test_a_file_stands_for_a_mention_where_the_platform_says_so() -> None:
    shared = message("e", "", is_file_share=True)
    assert route(PLAIN, shared, has_session=False).verdict is START
    assert route(PLAIN, message("e", ""), has_session=False).verdict is IGNORE


@pytest.mark.requirement("channels.routing")
def test_the_reason_is_a_stable_word() -> None:
    assert MENTION_REQUIRED == "ChannelMentionRequired"
