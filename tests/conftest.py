"""What every test shares: its kind (by folder), seeds, and a short temporary folder for sockets."""

from __future__ import annotations

import os
import random
import shutil
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from tests import hangs
from tests.system_files import SystemFiles

KIND_BY_FOLDER = {
    "process": "process",
    "sandbox": "sandbox",
    "model": "model",
    "adapters": "adapters",
    "mcp": "mcp",
}
"""Folders under tests/ that are not unit tests; `scripts/test` runs each kind as its own stage."""

FIXED_SEEDS = (1, 7, 20_261_130)
"""Seeds that every run tries, so that a failure once found is tried for ever."""

SEED_VARIABLE = "NETCLAW_TEST_SEED"

LONG_TIMEOUT_S = 200
"""A test that may take so long begins before the others."""

settings.register_profile(
    "netclaw",
    deadline=None,  # shared machines are slow at random; time limits are the benchmarks' subject
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("netclaw")


if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A run in the background of a script ignores Ctrl-C, and so would every program it starts.
    signal.signal(signal.SIGINT, signal.default_int_handler)


def random_seed() -> int:
    """The seed that changes from run to run; `NETCLAW_TEST_SEED` pins it to repeat a failure."""
    return int(os.environ.get(SEED_VARIABLE) or random.SystemRandom().randrange(2**32))


def pytest_configure(config: pytest.Config) -> None:
    """Chooses the random seed once, before workers start, so that all of them agree on it.

    Every process of the run tells what hung in it.
    """
    os.environ[SEED_VARIABLE] = str(random_seed())
    config.pluginmanager.register(hangs, "netclaw-hangs")
    config.pluginmanager.register(SystemFiles(), "netclaw-system-files")


def pytest_report_header(config: pytest.Config) -> str:
    """Prints how to repeat this run."""
    del config
    return f"{SEED_VARIABLE}={os.environ[SEED_VARIABLE]}"


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test that takes `seed` runs once for each fixed seed and once for the random one."""
    if "seed" in metafunc.fixturenames:
        values = [*FIXED_SEEDS, int(os.environ[SEED_VARIABLE])]
        names = [*map(str, FIXED_SEEDS), "random"]
        metafunc.parametrize("seed", values, ids=names)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Marks each test with its kind, that of its folder or `unit`; lets the long ones begin.

    A long test that began last would be what everybody waits for.
    """
    # Makes the tables of characters that Hypothesis keeps in a checkout: in no test's time.
    st.text().validate()
    home = Path(str(config.rootpath)) / "tests"
    for item in items:
        parts = item.path.relative_to(home).parts if item.path.is_relative_to(home) else ()
        kind = KIND_BY_FOLDER.get(parts[0], "unit") if len(parts) > 1 else "unit"
        item.add_marker(kind)
    items.sort(key=_is_short)


def _is_short(item: pytest.Item) -> bool:
    mark = item.get_closest_marker("timeout")
    return mark is None or not mark.args or mark.args[0] < LONG_TIMEOUT_S


@pytest.fixture
def short_tmp() -> Iterator[Path]:
    """A folder whose path is short enough for a Unix socket (108 bytes); removed afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="nc-", dir="/tmp"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
