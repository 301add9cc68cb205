"""The watchdogs' arithmetic, as histories of what was seen when (seconds)."""

from __future__ import annotations

import pytest

from netclaw.core.session.deadlines import (
    Expiry,
    Limit,
    ModelWatch,
    ToolWatch,
    clamp_tool_total,
    effective_token_gap,
    model_expiry,
    model_next_check,
    tool_expiry,
    tool_next_check,
)
from netclaw.core.settings import TurnTimeouts

T = TurnTimeouts()
"""1800 prefill, 600 silence, 1200 no progress, 3600 thinking only, 90 tool."""


def watch(*seen: tuple[str, float]) -> ModelWatch:
    """A call that began at 0 and of which this was seen."""
    result = ModelWatch(started_at=0)
    for what, at_s in seen:
        getattr(result, f"saw_{what}")(round(at_s * 1000))
    return result


def every(what: str, step_s: int, until_s: int) -> list[tuple[str, float]]:
    return [(what, at) for at in range(step_s, until_s + 1, step_s)]


def expires(seen: ModelWatch, limit: Limit, limit_s: float, at_s: float) -> None:
    """It expires exactly then, and says when to look."""
    at_ms = round(at_s * 1000)
    assert model_expiry(seen, at_ms - 1, T) is None
    assert model_expiry(seen, at_ms, T) == Expiry(limit=limit, limit_s=limit_s)
    assert model_next_check(seen, T) == at_ms


@pytest.mark.requirement("core.watchdog-prefill")
def test_a_silent_call_is_cut_at_the_prefill_limit() -> None:
    expires(watch(), Limit.PREFILL, 1800, 1800)


@pytest.mark.requirement("core.watchdog-prefill")
@pytest.mark.requirement("upstream.long-prefill")
def test_a_keepalive_starts_the_prefill_limit_anew() -> None:
    timeouts = TurnTimeouts(prefill_s=10, no_progress_s=100)
    seen = watch(("keepalive", 9))
    assert model_expiry(seen, 18_999, timeouts) is None
    assert model_expiry(seen, 19_000, timeouts) == Expiry(limit=Limit.PREFILL, limit_s=10)


@pytest.mark.requirement("core.watchdog-no-progress")
def test_a_call_of_keepalives_alone_is_cut_off_for_no_progress() -> None:
    seen = watch(*every("keepalive", 10, 1200))
    expires(seen, Limit.NO_PROGRESS, 1200, 1210)


@pytest.mark.requirement("core.watchdog-gap")
def test_silence_between_deltas_is_cut_and_keepalives_do_not_help() -> None:
    seen = watch(("output", 1000), ("keepalive", 1500))
    expires(seen, Limit.SILENCE, 600, 1600)


@pytest.mark.requirement("core.watchdog-gap")
def test_every_delta_starts_the_silence_limit_anew() -> None:
    expires(watch(("thinking", 1), ("output", 500), ("output", 900)), Limit.SILENCE, 600, 1500)


@pytest.mark.requirement("core.watchdog-thinking")
def test_thinking_alone_is_cut_at_three_times_the_no_progress_limit() -> None:
    seen = watch(*every("thinking", 100, 3600))
    expires(seen, Limit.THINKING_ONLY, 3600, 3700)


@pytest.mark.requirement("core.watchdog-thinking")
def test_thinking_after_output_is_measured_from_the_output() -> None:
    seen = watch(("output", 50), *every("thinking", 100, 3600))
    expires(seen, Limit.THINKING_ONLY, 3600, 3650)


def test_output_after_long_thinking_starts_over() -> None:
    seen = watch(*every("thinking", 100, 3500), ("output", 3550))
    expires(seen, Limit.SILENCE, 600, 4150)


def test_with_a_longer_silence_limit_no_progress_still_binds() -> None:
    timeouts = TurnTimeouts(token_gap_s=9000)
    seen = watch(("output", 10))
    assert model_expiry(seen, 1_210_000, timeouts) == Expiry(limit=Limit.NO_PROGRESS, limit_s=1200)


@pytest.mark.requirement("core.watchdog-tool")
def test_a_tool_must_give_its_first_result_in_time() -> None:
    seen = ToolWatch(started_at=1000)
    assert tool_expiry(seen, 90_999, T) is None
    assert tool_expiry(seen, 91_000, T) == Expiry(limit=Limit.TOOL_EXECUTION, limit_s=90)
    assert tool_next_check(seen, T) == 91_000


@pytest.mark.requirement("core.watchdog-tool")
def test_each_streamed_item_resets_the_clock_of_a_tool() -> None:
    seen = ToolWatch(started_at=0)
    seen.saw_item(89_000)
    assert tool_next_check(seen, T) == 179_000


@pytest.mark.requirement("core.watchdog-tool")
def test_a_total_that_the_model_asked_for_is_not_reset_by_items() -> None:
    seen = ToolWatch(started_at=0, total_s=100.0)
    for at in range(10, 100, 10):
        seen.saw_item(at * 1000)
    assert tool_expiry(seen, 100_000, T) == Expiry(limit=Limit.TOOL_TOTAL, limit_s=100)


@pytest.mark.requirement("core.watchdog-tool")
@pytest.mark.parametrize(
    ("asked", "total"),
    [(None, None), (30.0, 30.0), (9000.0, 600.0), (0.0, None), (-1.0, None), (float("nan"), None)],
)
def test_a_total_is_clamped(asked: float | None, total: float | None) -> None:
    assert clamp_tool_total(asked, 600.0) == total


@pytest.mark.requirement("core.watchdog-names")
@pytest.mark.parametrize(
    ("expiry", "sentence"),
    [
        (
            Expiry(limit=Limit.PREFILL, limit_s=1800.0),
            "The model sent nothing for 1800 s (Session.PrefillTimeoutSeconds).",
        ),
        (
            Expiry(limit=Limit.TOOL_EXECUTION, limit_s=0.5),
            "The tool gave no result for 0.5 s (Session.ToolExecutionTimeoutSeconds).",
        ),
    ],
)
def test_an_expiry_names_its_limit_and_seconds(expiry: Expiry, sentence: str) -> None:
    assert expiry.sentence == sentence


@pytest.mark.parametrize("limit", list(Limit))
def test_every_limit_has_a_sentence(limit: Limit) -> None:
    assert "7 s" in Expiry(limit=limit, limit_s=7.0).sentence


@pytest.mark.requirement("core.watchdog-legacy")
@pytest.mark.parametrize(
    ("first_token_s", "turn_llm_s", "gap"),
    [
        (None, 180.0, 600.0),
        (None, 300.0, 300.0),
        (None, 60.0, 60.0),
        (600.0, 300.0, 600.0),
        (120.0, 180.0, 120.0),
    ],
)
def test_the_legacy_timeout_is_the_silence_limit_only_without_the_new_one(
    first_token_s: float | None, turn_llm_s: float, gap: float
) -> None:
    assert effective_token_gap(first_token_s, turn_llm_s) == gap


def test_the_next_check_is_never_before_a_fractional_limit() -> None:
    timeouts = TurnTimeouts(prefill_s=0.0005)
    seen = watch()
    assert model_next_check(seen, timeouts) == 1
    assert model_expiry(seen, 1, timeouts) is not None
