"""The limits of state awareness: their defaults, and that none can be turned off."""

from __future__ import annotations

import json

import pytest

from netclaw.core.errors import InvalidArgumentError
from netclaw.core.settings import SignalSettings
from tests.config.homes import ONE_MODEL, TempHome


def write(temp: TempHome, **signals: float | bool | None) -> None:
    """Write the section beside one model."""
    head, _, tail = ONE_MODEL.partition("{")
    temp.write(f'{head}{{ "Signals": {json.dumps(signals)}, {tail}')


@pytest.mark.requirement("signals.limits")
def test_thirty_days_and_fifty_thousand_rows_are_kept_unless_it_says_otherwise(
    temp: TempHome,
) -> None:
    temp.write(ONE_MODEL)
    found = temp.load().signals
    assert found == SignalSettings()
    assert (found.retention_days, found.row_cap, found.prune_interval_s) == (30, 50_000, 3600)
    assert (found.wake_coalesce_s, found.monitor_tick_s, found.wake_replies) == (20, 60, None)


@pytest.mark.requirement("signals.limits")
def test_each_limit_arrives(temp: TempHome) -> None:
    write(
        temp,
        RetentionDays=7,
        RowCap=200,
        PruneIntervalSeconds=60,
        WakeCoalesceSeconds=0,
        MonitorTickSeconds=0.5,
        WakeReplies=True,
    )
    assert temp.load().signals == SignalSettings(
        retention_days=7,
        row_cap=200,
        prune_interval_s=60,
        wake_coalesce_s=0,
        monitor_tick_s=0.5,
        wake_replies=True,
    )


@pytest.mark.requirement("signals.limits")
@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("RetentionDays", 0),
        ("RetentionDays", 3651),
        ("RowCap", 99),
        ("PruneIntervalSeconds", 0),
        ("WakeCoalesceSeconds", -1),
        ("MonitorTickSeconds", 0),
    ],
)
def test_no_limit_can_be_turned_off(temp: TempHome, key: str, value: float) -> None:
    write(temp, **{key: value})
    with pytest.raises(InvalidArgumentError, match=f"Signals.{key}"):
        temp.load()
