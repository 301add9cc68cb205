"""Each Session setting of the sessions document: its default, its bounds, and where it arrives."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from netclaw.core.errors import InvalidArgumentError
from netclaw.core.settings import SessionSettings
from tests.config.homes import ONE_MODEL, TempHome

Value = str | int | float
Look = Callable[[SessionSettings], float]


@dataclass(frozen=True)
class Row:
    """One line of the table: a key, its default, its least and greatest value, where it arrives."""

    key: str
    default: float
    least: Value
    most: Value
    look: Look
    tuning: bool = False


ROWS = (
    Row("PrefillTimeoutSeconds", 1800, 60, 7200, lambda s: s.timeouts.prefill_s),
    Row("FirstTokenTimeoutSeconds", 600, 10, 1800, lambda s: s.timeouts.token_gap_s),
    Row("NoProgressTimeoutSeconds", 1200, 1, 86_400, lambda s: s.timeouts.no_progress_s),
    Row("ToolExecutionTimeoutSeconds", 90, 1, 86_400, lambda s: s.timeouts.tool_execution_s),
    Row("MaxToolIterationsPerTurn", 60, 1, 500, lambda s: s.tuning.max_tool_iterations_per_turn),
    Row("SidecarLlmTimeoutSeconds", 90, 1, 3600, lambda s: s.timeouts.sidecar_s),
    Row("CompactionThreshold", 0.75, 0.1, 1, lambda s: s.tuning.compaction_threshold, tuning=True),
    Row("KeepRecentToolResults", 3, 0, 100, lambda s: s.tuning.keep_recent_tool_results, True),
    Row("KeepRecentMessages", 6, 2, 1000, lambda s: s.tuning.keep_recent_messages, True),
    Row("SnapshotInterval", 20, 1, 10_000, lambda s: s.tuning.snapshot_interval_events, True),
)


def load(temp: TempHome, row: Row, value: Value) -> SessionSettings:
    """The settings of a home that sets this key alone."""
    section = {"Tuning": {row.key: value}} if row.tuning else {row.key: value}
    temp.write(ONE_MODEL.replace("{\n", f'{{"Session": {json.dumps(section)},\n', 1))
    return temp.load().session


@pytest.mark.requirement("config.session-settings")
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.key)
def test_a_setting_has_its_default_and_arrives_within_its_bounds(temp: TempHome, row: Row) -> None:
    temp.write(ONE_MODEL)
    assert row.look(temp.load().session) == row.default
    for value in (row.least, row.most):
        assert row.look(load(temp, row, value)) == value


@pytest.mark.requirement("config.session-settings")
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.key)
def test_a_value_beyond_its_bounds_is_refused_by_its_name(temp: TempHome, row: Row) -> None:
    step = 0.01 if row.default < 1 else 1
    for value in (float(row.least) - step, float(row.most) + step, -1):
        with pytest.raises(InvalidArgumentError, match=row.key):
            load(temp, row, value if step < 1 else int(value))


@pytest.mark.requirement("config.session-settings")
@pytest.mark.parametrize(("seconds", "gap_s"), [(1, 1), (180, 600), (86_400, 86_400)])
def test_the_legacy_turn_timeout_is_the_silence_limit_unless_it_has_its_default(
    temp: TempHome, seconds: int, gap_s: float
) -> None:
    row = Row("TurnLlmTimeoutSeconds", 600, 1, 86_400, lambda s: s.timeouts.token_gap_s)
    assert row.look(load(temp, row, seconds)) == gap_s
    with pytest.raises(InvalidArgumentError, match="TurnLlmTimeoutSeconds"):
        load(temp, row, 0)


@pytest.mark.requirement("config.session-settings")
def test_the_idle_timeout_is_an_hour_and_zero_is_never(temp: TempHome) -> None:
    temp.write(ONE_MODEL)
    assert temp.load().session.tuning.idle_s == 3600
    row = Row("IdleTimeout", 3600, "00:00:00", "00:00:00", lambda s: s.tuning.idle_s)
    assert load(temp, row, "00:00:00").tuning.idle_s == 0
    for wrong in ("-00:00:01", "60", "01:00"):
        with pytest.raises(InvalidArgumentError, match="IdleTimeout"):
            load(temp, row, wrong)
