"""Worlds for process tests; every test gets more time than a unit test."""

from __future__ import annotations

from collections.abc import AsyncIterator, Generator, Iterator

import pytest

from tests.process.lending import Lender, LentWorld
from tests.process.world import World


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Let no test have the daemon of one that failed."""
    report = yield
    if report.failed:
        for value in getattr(item, "funcargs", {}).values():
            if isinstance(value, LentWorld):
                value.has_failed = True
    return report


@pytest.fixture(scope="session")
def lender() -> Iterator[Lender]:
    """The daemons that this test process goes on using."""
    made = Lender()
    yield made
    made.close()


@pytest.fixture
async def world(lender: Lender) -> AsyncIterator[World]:
    """A home with a running daemon."""
    async with lender.lend() as made:
        yield made


@pytest.fixture
async def brief(lender: Lender) -> AsyncIterator[World]:
    """A home with a running daemon that does not wait for turns when it stops."""
    async with lender.lend({"Daemon": {"DrainSeconds": 1}}) as made:
        yield made
