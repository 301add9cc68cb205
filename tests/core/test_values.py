"""Ids, errors, authorities, filters, usage, and the defaults of the settings."""

from __future__ import annotations

from dataclasses import asdict

import pytest

from netclaw.core import errors
from netclaw.core.authority import Principal
from netclaw.core.errors import (
    CATEGORY_CODES,
    ERROR_CLASSES,
    ErrorCategory,
    ErrorCode,
    HeadMovedError,
    InternalError,
    InvalidArgumentError,
    NetclawError,
    RateLimitedError,
)
from netclaw.core.ids import SessionId, may_be_thread, may_create_by_name, parse_session_id
from netclaw.core.messages import Usage
from netclaw.core.session import outputs as out
from netclaw.core.session.outputs import FILTER_OF, OutputFilter, admits
from netclaw.core.settings import (
    DaemonSettings,
    LivenessSettings,
    SessionTuning,
    StorageSettings,
    SupervisionSettings,
    ToolSettings,
    TurnTimeouts,
)


@pytest.mark.requirement("core.session-id")
@pytest.mark.parametrize("text", ["cli/abcdefghij", "C1/17.1", "x", "ü" * 128, "Case/Kept"])
def test_a_session_id_is_kept_exactly(text: str) -> None:
    assert parse_session_id(text) == text


@pytest.mark.requirement("core.session-id")
@pytest.mark.parametrize(
    "text", ["", "x" * 257, "ü" * 129, "a\nb", "a\0", "del\x7f", "c1\x85", "half\ud800"]
)
def test_a_session_id_that_is_none(text: str) -> None:
    with pytest.raises(InvalidArgumentError, match="session id"):
        parse_session_id(text)


@pytest.mark.requirement("core.session-id")
@pytest.mark.parametrize(
    ("text", "may"),
    [
        ("notes", True),
        ("cli/abcdefgh23", True),
        ("cli/ABC", True),
        ("cli/x/y", True),
        ("cli/", False),
        ("cli/x/sub/y", False),
        ("clipper/x", False),
        ("a/sub/b", False),
        ("C1/17.1", False),
    ],
)
def test_a_person_may_create_only_ids_that_are_no_channels_key(text: str, may: bool) -> None:
    assert may_create_by_name(SessionId(text)) is may


@pytest.mark.requirement("core.session-id")
@pytest.mark.parametrize(
    ("text", "may"),
    [
        ("C1/17.1", True),
        ("room/a/b", True),
        ("notes", False),
        ("C1/", False),
        ("/17.1", False),
        ("cli/abcdefgh23", False),
        ("webhook/x", False),
        ("reminder/x", False),
        ("C1/17.1/sub/abcdefghijklmnop", False),
    ],
)
def test_a_channel_may_create_its_threads_and_nothing_of_others(text: str, may: bool) -> None:
    assert may_be_thread(SessionId(text)) is may


@pytest.mark.requirement("core.error-codes")
def test_every_code_has_one_class_and_every_class_says_a_way_out() -> None:
    assert set(ERROR_CLASSES) == set(ErrorCode)
    assert ERROR_CLASSES[ErrorCode.INTERNAL] is InternalError
    for code, cls in ERROR_CLASSES.items():
        error = cls("Sentence.", head=1) if cls is HeadMovedError else cls("Sentence.")
        assert (error.code, str(error), error.reference) == (code, "Sentence.", "")
        assert error.fix


@pytest.mark.requirement("core.error-codes")
def test_every_category_has_a_code() -> None:
    assert set(CATEGORY_CODES) == set(ErrorCategory)


def test_errors_carry_what_callers_branch_on() -> None:
    assert HeadMovedError("Moved.", head=7).head == 7
    assert RateLimitedError("Wait.").retry_after_s == 0.0
    assert NetclawError("S.", fix="Do.", reference="r").fix == "Do."
    assert errors.StorageError.code is ErrorCode.INTERNAL


def test_only_automation_is_no_person() -> None:
    assert [item for item in Principal if not item.is_person] == [Principal.AUTOMATION]


@pytest.mark.requirement("core.output-filter")
def test_each_output_is_admitted_by_its_bit_and_lifecycle_by_any_filter() -> None:
    lifecycle = {
        out.TitleOutput,
        out.ErrorOutput,
        out.NoticeOutput,
        out.CompactionOutput,
        out.ConsentRequestOutput,
        out.ConsentUpdateOutput,
        out.TurnCompletedOutput,
    }
    for kind, needed in FILTER_OF.items():
        assert admits(OutputFilter(0), kind) is (kind in lifecycle)
        assert admits(OutputFilter.ALL, kind)
        if needed is not None:
            assert admits(needed, kind)
            assert not admits(OutputFilter.ALL & ~needed, kind)


def test_usage_adds_up() -> None:
    one = Usage(input_tokens=1, output_tokens=2, cached_input_tokens=3, reasoning_tokens=4)
    assert one.plus(one) == Usage(
        input_tokens=2, output_tokens=4, cached_input_tokens=6, reasoning_tokens=8
    )


@pytest.mark.requirement("core.defaults")
def test_the_defaults_are_the_documented_ones() -> None:
    """Process tests shorten these by configuration, so they are asserted here once."""
    assert asdict(TurnTimeouts()) == {
        "prefill_s": 1800.0,
        "token_gap_s": 600.0,
        "no_progress_s": 1200.0,
        "tool_execution_s": 90.0,
        "sidecar_s": 90.0,
        "thinking_factor": 3.0,
    }
    tuning = SessionTuning()
    assert (tuning.idle_s, tuning.passivation_grace_s) == (3600.0, 5.0)
    assert (tuning.snapshot_interval_events, tuning.max_inline_tool_result_chars) == (20, 12_000)
    assert (tuning.compaction_threshold, tuning.keep_recent_tool_results) == (0.75, 3)
    assert (tuning.keep_recent_messages, tuning.max_tool_iterations_per_turn) == (6, 60)
    assert (tuning.output_flush_s, tuning.output_flush_bytes) == (0.015, 4096)
    assert asdict(SupervisionSettings()) == {
        "backoff_s": (0.0, 1.0, 5.0, 30.0),
        "turn_crash_limit": 3,
        "quarantine_crashes": 5,
        "quarantine_window_s": 600.0,
    }
    daemon = DaemonSettings()
    assert (daemon.max_live_sessions, daemon.start_concurrency) == (500, 8)
    assert (daemon.drain_s, daemon.shutdown_s, daemon.cli_kill_s) == (20.0, 30.0, 45.0)
    assert (daemon.pending_inputs_max, daemon.pending_bytes_max) == (200, 8 * 2**20)
    assert daemon.text_max_bytes == 2**20
    assert (LivenessSettings().ping_interval_s, LivenessSettings().liveness_s) == (5.0, 15.0)
    assert (ToolSettings().max_tool_timeout_s, ToolSettings().max_output_chars) == (600.0, 32_000)


@pytest.mark.requirement("core.defaults")
def test_stop_budgets_nest_and_a_write_fails_after_twice_its_base() -> None:
    daemon = DaemonSettings()
    assert daemon.drain_s < daemon.shutdown_s < daemon.cli_kill_s < 60.0
    assert StorageSettings().write_deadline_s == 20.0
