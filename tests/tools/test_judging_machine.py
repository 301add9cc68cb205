"""Whatever is asked, answered, revoked and started in whatever order: only what may run runs."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from netclaw.core.authz.profiles import ConsentModes
from netclaw.core.session.rulings import Outcome
from netclaw.tools.factory import make_tool_runner
from tests.tools.judged import Call, Recorder
from tests.tools.rig import PROVED, SOURCES, Rig

COMMANDS = ("make all", "git push", "npm ci")
OPTIONS = ("approve_once", "approve_session", "approve_everywhere", "deny")
STEPS = st.one_of(
    st.tuples(st.just("propose"), st.integers(0, 2)),
    st.tuples(st.just("answer"), st.integers(0, 2), st.sampled_from(OPTIONS)),
    st.tuples(st.just("run"), st.integers(0, 2)),
    st.tuples(st.just("revoke")),
)


class Expected:
    """What people have allowed, as plainly as it can be said."""

    def __init__(self) -> None:
        self.granted: set[str] = set()
        self.once: set[int] = set()
        """Calls that a person let run once and that did not run yet."""
        self.judged: set[int] = set()
        """Calls whose last judgement allowed them and that did not start since."""

    def may_run(self, number: int) -> bool:
        """Whether the call starts if it is launched now."""
        is_covered = COMMANDS[number] in self.granted or number in self.once
        return number in self.judged and is_covered


async def play(folder: Path, steps: list[tuple[object, ...]]) -> None:
    """Take the steps, and compare after each."""
    shell, expected = Recorder(), Expected()
    rig = Rig(folder=folder, modes=ConsentModes())
    rig.runner = make_tool_runner(PROVED, shell, SOURCES)
    calls = [Call(rig, command=command) for command in COMMANDS]
    for step in steps:
        if step[0] == "revoke":
            rig.consents.revoke_all()
            expected.granted.clear()
            continue
        number = step[1]
        assert isinstance(number, int)
        call = calls[number]
        if step[0] == "run":
            is_expected = expected.may_run(number)
            before = len(shell.ran)
            await call.run()
            assert len(shell.ran) - before == is_expected
            expected.judged.discard(number)
            expected.once.discard(number)
            continue
        expected.judged.discard(number)
        expected.once.discard(number)
        if step[0] == "propose" or call.first is None:
            ruling = await call.propose()
        else:
            option = str(step[2])
            is_asked = call.first.outcome is Outcome.REQUIRES_CONSENT
            ruling = await call.answer(option)
            if is_asked and COMMANDS[number] not in expected.granted:
                if option == "approve_once":
                    expected.once.add(number)
                elif option != "deny":
                    expected.granted.add(COMMANDS[number])
        if ruling.outcome is Outcome.ALLOWED:
            expected.judged.add(number)
        is_free = COMMANDS[number] in expected.granted or number in expected.once
        assert (ruling.outcome is Outcome.ALLOWED) is is_free
    assert {grant.tool for grant in rig.consents.grants} <= {"shell_execute"}


@pytest.mark.requirement("judging.judged-first")
@pytest.mark.timeout(60)
@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(steps=st.lists(STEPS, max_size=14))
def test_only_what_may_run_runs(steps: list[tuple[object, ...]]) -> None:
    with tempfile.TemporaryDirectory(prefix="nc-", dir="/tmp") as folder:
        asyncio.run(play(Path(folder).resolve(), steps))
