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
