"""Text in Slack's form and in ours."""

from __future__ import annotations

import pytest

from netclaw.adapters.slack.text import (
    ANGLE,
    FALLBACK_LIMIT,
    from_slack,
    mentions,
    to_fallback,
    to_markdown,
)


@pytest.mark.requirement("channels_slack.text")
@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ("a &lt;b&gt; &amp;amp; c", "a <b> &amp; c"),
        ("<@U1|ann> and <@U2>", "<@U1> and <@U2>"),
        ("in <#C1|general> or <#C2>", "in #general or <#C2>"),
        ("<!here> <!channel|channel> <!subteam^S1|@team>", "@here @channel @team"),
        ("at <!date^1392734382^{date}|Feb 18>", "at Feb 18"),
        ("<https://example.org/a?b=1&amp;c=2>", "https://example.org/a?b=1&c=2"),
        ("<https://example.org|the site>", "[the site](https://example.org)"),
        ("<http://example.org|example.org>", "http://example.org"),
        ("<mailto:a@example.org|a@example.org>", "a@example.org"),
        ("if a &lt; b and c &gt; d", "if a < b and c > d"),
        ("nothing special", "nothing special"),
        ("<>", "<>"),
    ],
)
def test_what_people_write_is_plain_for_the_model(theirs: str, ours: str) -> None:
    assert from_slack(theirs) == ours


@pytest.mark.requirement("channels_slack.text")
def test_only_a_real_mention_addresses_us() -> None:
    assert mentions("hey <@U1> there", "U1")
    assert mentions("hey <@U1|netclaw>", "U1")
    assert not mentions("hey <@U12>", "U1")
    # Typed by hand, so that Slack escaped it; it looks the same once it is plain.
    assert not mentions("hey &lt;@U1&gt;", "U1")
    assert from_slack("hey &lt;@U1&gt;") == "hey <@U1>"


@pytest.mark.requirement("channels_slack.text")
@pytest.mark.parametrize(
    "text", ["a < b & c > d", "&lt; and &amp;", "<@U1> see <#C1>", "```\nx <- y\n```", "<p>hi</p>"]
)
def test_what_we_write_is_read_back_as_it_was(text: str) -> None:
    assert from_slack(to_fallback(text)) == text


def test_plain_text_keeps_mentions_and_escapes_the_rest() -> None:
    assert to_fallback("<@U1> & <b>") == "<@U1> &amp; &lt;b&gt;"


@pytest.mark.requirement("channels_slack.quiet")
@pytest.mark.parametrize(
    "who", ["!here", "!channel", "!everyone", "!group", "!subteam^S1", "!here|here", "!HERE"]
)
def test_nobody_makes_us_notify_everybody(who: str) -> None:
    assert to_markdown(f"psst <{who}>") == f"psst {ANGLE}{who}>"
    assert to_fallback(f"psst <{who}>") == f"psst &lt;{who}&gt;"


def test_markup_that_notifies_nobody_stays() -> None:
    for text in ("<!-- note -->", "<!DOCTYPE html>", "<!grouped>", "<!hereafter>", "<@U1> a < b"):
        assert to_markdown(text) == text


def test_plain_text_is_cut_between_characters() -> None:
    cut = to_fallback("x" + "&" * FALLBACK_LIMIT)
    assert len(cut) <= FALLBACK_LIMIT
    assert from_slack(cut) == "x" + "&" * ((len(cut) - 1) // len("&amp;"))
