"""Threads are named by their sessions' titles, where they have names."""

from __future__ import annotations

from dataclasses import replace

import pytest

from netclaw.adapters.driver import Thread, TransientFailure
from netclaw.adapters.titles import Titles
from netclaw.core.errors import NotFoundError
from netclaw.wire.v1 import gateway_pb2
from tests.adapters.scripted import ABILITIES, ScriptedDriver, ScriptedLink, context_of, quiet

pytestmark = [pytest.mark.unit, pytest.mark.requirement("channels_discord.threads")]

HERE = "C1/1"


class TitledLink(ScriptedLink):
    """A daemon whose sessions have a title."""

    title = "About rain"

    async def get_session(
        self, request: gateway_pb2.GetSessionRequest
    ) -> gateway_pb2.SessionDetail:
        """A session with its title; raises `NotFoundError` without one."""
        if not self.title:
            raise NotFoundError("There is no such session.")
        row = gateway_pb2.SessionRow(id=request.session_id, title=self.title)
        return gateway_pb2.SessionDetail(row=row)


class NamingDriver(ScriptedDriver):
    """A platform whose threads have names."""

    def __init__(self, *, has_titles: bool = True, failures: int = 0) -> None:
        super().__init__(replace(ABILITIES, has_titles=has_titles))
        self.names: list[tuple[str, str]] = []
        self._failures = failures

    async def set_title(self, thread: Thread, title: str) -> None:
        """See `Driver`."""
        if self._failures:
            self._failures -= 1
            raise TransientFailure("Not now.", retry_after_s=0.0)
        self.names.append((thread.address, title))


async def names_of(driver: NamingDriver, *sessions: str, title: str = "About rain") -> list[str]:
    """What threads are called after news of their titles."""
    link = TitledLink()
    link.title = title
    titles = Titles(context_of(driver, link), pause_s=0.0)
    for session in sessions:
        titles.look(session)
    await quiet()
    await titles.close()
    return [f"{address} {name}" for address, name in driver.names]


async def test_a_thread_gets_its_sessions_title() -> None:
    assert await names_of(NamingDriver(), HERE) == ["C1/1 About rain"]


async def test_it_is_tried_again_and_given_up_in_time() -> None:
    assert await names_of(NamingDriver(failures=2), HERE) == ["C1/1 About rain"]
    assert await names_of(NamingDriver(failures=3), HERE) == []


async def test_where_threads_have_no_names_nothing_is_asked() -> None:
    assert await names_of(NamingDriver(has_titles=False), HERE) == []
    assert await names_of(NamingDriver(), "not-a-thread") == []
    assert await names_of(NamingDriver(), HERE, title="") == []


async def test_the_newest_title_is_shown_once() -> None:
    assert await names_of(NamingDriver(), HERE, HERE) == ["C1/1 About rain"]
