"""Sentences that rules build from parts: what a person reads must hold all of them."""

from __future__ import annotations

import pytest

from netclaw.core.session import sentences


@pytest.mark.requirement("failover.both-failed")
def test_who_waits_reads_why_the_fallback_is_asked_and_why_it_failed_too() -> None:
    told = sentences.asking_fallback("The model sent nothing for 60 s.")
    assert told.startswith("The model sent nothing for 60 s. ")
    assert "fallback" in told
    both = sentences.fallback_failed("The service was busy.", "The other one timed out.")
    assert both.startswith("The service was busy. ")
    assert both.endswith(" The other one timed out.")


@pytest.mark.requirement("signals.cli-wake")
@pytest.mark.parametrize(
    ("targets", "is_wake", "said"),
    [
        (["a"], True, "Woken because another session changed: a."),
        (["a", "b"], False, "The model is told that 2 other sessions changed: a, b."),
        (list("abcde"), True, "Woken because 5 other sessions changed: a, b, c and 2 more."),
    ],
)
def test_who_looks_on_reads_why_a_turn_began_or_what_it_is_told(
    targets: list[str], is_wake: bool, said: str
) -> None:
    assert sentences.changes_told(targets, is_wake=is_wake) == said
