"""Looking back: pages, gaps and what is kept."""

from __future__ import annotations

import pytest

from netclaw.core.signals import history
from netclaw.core.signals.history import Head
from netclaw.ports.signals import CHANGES_LIMIT


@pytest.mark.requirement("signals.exact-gap")
def test_a_gap_is_exact() -> None:
    head = Head(last=40).without(13)
    assert head.last == 40
    assert head.has_gap_after(12)
    assert not head.has_gap_after(13)
    assert not Head(last=40).has_gap_after(0)


@pytest.mark.requirement("signals.exact-gap")
def test_what_is_gone_only_grows() -> None:
    assert Head(last=40).without(13).without(9) == Head(last=40, gone=13)


@pytest.mark.requirement("signals.exact-gap")
def test_every_version_of_a_former_life_has_a_gap() -> None:
    reborn = Head(last=40, gone=13).of_next_life()
    assert reborn.last == 0
    assert reborn.has_gap_after(0)
    assert reborn.has_gap_after(40)
    assert not reborn.has_gap_after(41)
    assert reborn.of_next_life() == reborn, "a life without changes hides no earlier one"


@pytest.mark.requirement("signals.pages")
def test_the_earliest_that_is_kept_is_named() -> None:
    assert Head(last=40, gone=13).earliest_available(20) == 20
    assert Head(last=40, gone=40).earliest_available(None) == 41
    assert Head().earliest_available(None) == 0


@pytest.mark.requirement("signals.pages")
def test_an_answer_ends_at_its_limit_and_says_so() -> None:
    assert CHANGES_LIMIT == 200
    assert history.page(range(201), 200) == (tuple(range(200)), True)
    assert history.page(range(200), 200) == (tuple(range(200)), False)
    assert history.page((), 200) == ((), False)
