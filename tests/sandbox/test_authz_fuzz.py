"""Fuzzes the analysis of commands against bash itself: what is allowed runs only what it names."""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from netclaw.core.authz.facts import Candidate, ShellFacts
from netclaw.core.authz.text_gate import refusal_of
from tests.sandbox.rig import PROVED, WITH_VIEW, Rig
from tests.sandbox.shell_fuzz import EVIL, SHAPES, SHELLS, Field

EXAMPLES = int(os.environ.get("NETCLAW_FUZZ_COMMANDS", "1500"))
"""Generated commands in all; torture asks for more."""

BATCH = 25
"""Commands in one sandbox."""


@pytest.fixture(scope="module")
def field() -> Iterator[Field]:
    """Programs that record, in a sandbox of the strongest backend."""
    folder = Path(tempfile.mkdtemp(prefix="nc-", dir="/tmp")).resolve()
    made = Field(Rig(facts=PROVED[WITH_VIEW[0]], folder=folder))
    made.prepare()
    yield made
    shutil.rmtree(folder)


def is_covered_by_grants(facts: ShellFacts) -> bool:
    """Whether grants for its phrases would let a command run without any further question."""
    return not facts.has_too_many_values and all(
        candidate.unresolved is None and candidate.fix is None for candidate in facts.candidates
    )


def explains(candidate: Candidate, executed: list[str]) -> bool:
    """Whether a candidate is the command that was executed, word for word where it is literal."""
    if candidate.argv[:1] != tuple(executed[:1]):
        # A shell that is given a script runs the script, which here is one of the programs.
        return (
            candidate.argv[:1] != ()
            and candidate.argv[0] in SHELLS
            and executed[0] in candidate.argv
        )
    is_open = any(not word or not {*"*?["}.isdisjoint(word) for word in candidate.argv)
    return is_open or candidate.argv == tuple(executed)


async def surprises(field: Field, commands: list[str]) -> list[str]:
    """What allowed commands executed that their facts do not name."""
    field.fill()
    judged = [(text, await field.facts(text)) for text in commands if refusal_of(text) is None]
    allowed = [(text, facts) for text, facts in judged if is_covered_by_grants(facts)]
    runs = await field.executed([text for text, _ in allowed])
    return [
        f"{text!r} executed {executed}"
        for (text, facts), run in zip(allowed, runs, strict=True)
        for executed in run
        if executed[0] not in SHELLS
        and not any(explains(candidate, executed) for candidate in facts.candidates)
    ]


@pytest.mark.timeout(180)
@pytest.mark.requirement("authz.allowed-runs-what-it-names")
@pytest.mark.parametrize("shape", SHAPES)
def test_an_allowed_command_executes_nothing_that_its_facts_do_not_name(
    field: Field, shape: str
) -> None:
    judged = 0

    @settings(
        max_examples=-(-EXAMPLES // len(SHAPES) // BATCH),
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(commands=st.lists(SHAPES[shape], min_size=BATCH, max_size=BATCH))
    def search(commands: list[str]) -> None:
        nonlocal judged
        judged += len(commands)
        assert asyncio.run(surprises(field, commands)) == []

    search()
    assert judged >= EXAMPLES / len(SHAPES)


@pytest.mark.timeout(60)
@pytest.mark.requirement("authz.allowed-runs-what-it-names", "authz.bash-traps")
def test_the_fuzz_would_see_what_it_looks_for(field: Field) -> None:
    """Bash really runs what these hide, the recorder sees it, and the facts never allow it."""
    hidden = [
        f"[ -v 'a[$({EVIL})]' ]",
        f"x='a[$({EVIL})]'; echo $((x))",
        f"read 'a[$({EVIL})]' < b",
        f"echo \"${{x:-'$({EVIL})'}}\"",
        f"[[ 0 -eq 'a[$({EVIL})]' ]]",
        f"eval '{EVIL}'",
        f"f() {{ {EVIL}; }}; f",
        f"x={EVIL}; $x",
        f"trap {EVIL} EXIT",
        f"PS4='$({EVIL})'; set -x; ls",
        f"mapfile -C {EVIL} -c 1 x < b",
        f"echo ${{x@P}} ${{x:=a}}; ls=x; printf -v 'a[$({EVIL})]' x",
    ]
    runs = asyncio.run(field.executed(hidden))
    for text, run in zip(hidden, runs, strict=True):
        assert EVIL in [executed[0] for executed in run], text
        assert not is_covered_by_grants(asyncio.run(field.facts(text))), text


@pytest.mark.timeout(60)
@pytest.mark.requirement("authz.allowed-runs-what-it-names")
def test_ordinary_commands_execute_what_their_facts_say(field: Field) -> None:
    ordinary = [
        "git status && npm test",
        "x=push; git \"$x\" origin 'a b' $'\\x41' r''m",
        'for f in a.txt b; do cat "$f"; done',
        "cd src && ls || git log",
        "bash -c 'git push' && echo \"$(ls)\"",
        "if git status; then rm ./a.txt; else cp b src; fi | cat",
        "case a in a) tool;; b) npm;; esac",
        "cat <<'E'\n$(evil)\nE\n",
        "[[ -f b ]] && timeout 5 sh -c 'git fetch'",
    ]
    judged = [asyncio.run(field.facts(text)) for text in ordinary]
    assert all(map(is_covered_by_grants, judged))
    runs = asyncio.run(field.executed(ordinary))
    for text, facts, run in zip(ordinary, judged, runs, strict=True):
        names = [executed[0] for executed in run if executed[0] not in SHELLS]
        assert names, text
        for executed in run:
            if executed[0] not in SHELLS:
                assert any(explains(item, executed) for item in facts.candidates), (text, executed)
