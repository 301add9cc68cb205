"""Every protected file by every spelling: through the real judge, then in the real sandbox."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from netclaw.core.authority import Audience
from netclaw.core.authz.decide import decide
from netclaw.core.authz.decisions import Decision
from netclaw.core.authz.facts import Surroundings
from netclaw.core.authz.grants import ChatGrant
from netclaw.core.authz.path_access import Root
from netclaw.core.authz.profiles import ConsentModes, SessionRoots
from netclaw.core.authz.protected import ProtectedPaths
from netclaw.core.authz.protected_catalogue import PROTECTED_PLACES
from netclaw.core.authz.reasons import DenyReason
from netclaw.core.authz.requests import AuthorizationRequest, Consents, Policy
from netclaw.core.session.rulings import Outcome
from netclaw.core.settings import ShellMode
from netclaw.ports.shell_runner import ShellEnd, ShellLimits
from netclaw.sandbox.path_facts import HostPaths
from netclaw.sandbox.shell_parser import ShfmtParser
from netclaw.tools.authorization.fact_gathering import shell_call
from tests.authz import world
from tests.sandbox.rig import PROVED, SECRET, WORKING, Rig, visible_folder
from tests.sandbox.spellings import COMPUTED, ESSENTIAL, NAMED, WALKS, Target

FILES = tuple(
    {"config/webhooks": "config/webhooks/one.json", "keys": "keys/ring.xml"}.get(
        place.match[0], place.match[0]
    )
    for place in PROTECTED_PLACES
    if place.is_hidden
)
"""One file for each place that nobody may read."""

WORDS = (
    *(
        "cat",
        "ln",
        "cp",
        "mv",
        "tar",
        "grep",
        "find",
        "diff",
        "dd",
        "sort",
        "python3",
        "curl",
        "rev",
    ),
    *("sh", "bash", "base64", "printf", "xargs", "awk", "mount", "cd", "echo", "read", "git diff"),
)
GRANTED = Consents(
    chat=frozenset(
        ChatGrant(audience=Audience.PERSONAL, tool="shell_execute", words=tuple(words.split()))
        for words in WORDS
    )
)
DENIED = {DenyReason.SHELL_PROTECTED_PATH}
APPROVAL, AUTO = "Approval", "Auto"


def policies(rig: Rig) -> dict[str, Policy]:
    """What a Personal session may be judged by: consent or none of it, confined or not."""
    own = Root(canonical=str(rig.workspace), resolved=str(rig.workspace))
    made = {}
    for consent in (APPROVAL, AUTO):
        profile = world.profile(modes=ConsentModes(tools={"shell_execute": consent}))
        for shell_mode in (ShellMode.SANDBOX_ONLY, ShellMode.HOST_ALLOWED):
            made[f"{consent} {shell_mode.value}"] = replace(
                world.policy(profile, shell_mode=shell_mode),
                protected=ProtectedPaths(homes=(str(rig.home),), user_home="/home/nobody-here"),
                roots=SessionRoots(own=(own,)),
            )
    return made


async def request_of(rig: Rig, command: str) -> AuthorizationRequest:
    """The request of a Personal session at which somebody sits."""
    surroundings = Surroundings(
        cwd=str(rig.workspace),
        user_home="/home/nobody-here",
        shell_home=str(rig.tmp),
        netclaw_home=str(rig.home),
    )
    return AuthorizationRequest(
        attempt_id="auth-1",
        tool="shell_execute",
        arguments="{}",
        audience=Audience.PERSONAL,
        call=await shell_call(command, surroundings, ShfmtParser(), HostPaths()),
        requester=world.REQUESTER,
        is_attended=True,
    )


@pytest.fixture
def filled(escape_rig: Rig) -> Iterator[Rig]:
    """A home in which every protected file holds the secret, where only its own rules hide it."""
    with visible_folder() as folder:
        rig = replace(escape_rig, folder=folder.resolve())
        for name in FILES:
            path = rig.home / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(SECRET)
        (rig.folder / "outside").unlink()  # anybody may read it
        (rig.workspace / "s").mkdir()
        yield rig


def target(rig: Rig, name: str) -> Target:
    """One of its files, as a command in the workspace would name it."""
    return Target(
        home=str(rig.home), name=name, cwd=str(rig.workspace), scratch=str(rig.workspace / "s")
    )


async def judged(rig: Rig, commands: dict[str, str]) -> dict[str, list[Decision]]:
    """Each command under every policy, without a grant and with all of them."""
    found = {}
    for name, command in commands.items():
        request = await request_of(rig, command)
        found[name] = [
            decide(request, policy, consents)
            for policy in policies(rig).values()
            for consents in (Consents(), GRANTED)
        ]
    return found


@pytest.mark.parametrize("name", FILES)
@pytest.mark.requirement("escape.spellings")
async def test_the_judge_denies_every_text_that_names_a_protected_file(
    filled: Rig, name: str
) -> None:
    """Whatever was granted, whatever the mode, confined or not."""
    texts = {key: target(filled, name).write(template) for key, template in NAMED.items()}
    decisions = await judged(filled, texts)
    passed = {key for key, found in decisions.items() if {one.deny for one in found} != DENIED}
    assert passed == set(), {key: texts[key] for key in passed}


@pytest.mark.requirement("escape.spellings")
async def test_the_judge_asks_for_what_computes_a_path(filled: Rig) -> None:
    """Nobody is spared the question, except by a grant; unproved words have no grant."""
    texts = {key: target(filled, FILES[0]).write(template) for key, template in COMPUTED.items()}
    for key, found in (await judged(filled, texts)).items():
        confined, granted, on_host, _ = found[:4]
        for decision in (confined, on_host):
            assert decision.outcome is Outcome.REQUIRES_CONSENT, key
        assert (granted.outcome is Outcome.ALLOWED) is (key in LET_THROUGH), key


LET_THROUGH = {"base64-file", "python-joined", "script-file"}
"""Only the sandbox stands between these and the file, once their programs were granted."""


@pytest.mark.requirement("escape.spellings")
async def test_without_a_sandbox_nothing_reads_a_tree_with_a_home_in_it_unasked(
    filled: Rig,
) -> None:
    texts = {key: target(filled, FILES[0]).write(template) for key, template in WALKS.items()}
    on_host = policies(filled)[f"{APPROVAL} {ShellMode.HOST_ALLOWED.value}"]
    for key, text in texts.items():
        decision = decide(await request_of(filled, text), on_host, Consents())
        assert decision.outcome is not Outcome.ALLOWED, key


RUN_ALL = """
shopt -s nullglob dotglob
for text in "$@"; do
  /bin/bash --norc --noprofile -c "$text" 2>&1
  left=(s/*)
  [ ${#left[@]} = 0 ] || rm -rf "${left[@]}"
  echo; echo tried
done
"""


@pytest.mark.timeout(90)
@pytest.mark.escape
@pytest.mark.requirement("escape.spellings")
async def test_no_spelling_of_any_protected_file_reads_it(filled: Rig) -> None:
    """All of them, though the judge would let but a few come so far."""
    every = {**NAMED, **COMPUTED}
    texts = [target(filled, name).write(every[key]) for name in FILES[1:] for key in ESSENTIAL]
    texts += [target(filled, FILES[0]).write(template) for template in every.values()]
    texts += [target(filled, FILES[0]).write(template) for template in WALKS.values()]
    request = filled.request(RUN_ALL, *texts, bounds=ShellLimits(total_s=80))
    python = os.path.dirname(os.path.realpath(sys.executable))  # not a program that looks for it
    environment = {**request.environment, "PATH": f"{python}:{os.environ['PATH']}"}
    ran = await filled.run(replace(request, environment=environment))
    assert ran.outcome.end is ShellEnd.EXITED, ran.outcome
    assert ran.output.count("\ntried\n") == len(texts)
    assert SECRET not in ran.output
    assert [name for name in FILES if (filled.home / name).read_text() != SECRET] == []


@pytest.mark.requirement("escape.spellings")
async def test_unconfined_these_spellings_do_read_the_file(short_tmp: Path) -> None:
    """The control: each is a way to the file where nothing stands in it."""
    rig = Rig(facts=PROVED[WORKING[0]], folder=short_tmp.resolve(), is_confined=False)
    (rig.workspace / "s").mkdir()
    (rig.home / "x").mkdir()
    texts = {key: target(rig, FILES[0]).write({**NAMED, **COMPUTED}[key]) for key in ESSENTIAL}
    ran = await rig.bash(RUN_ALL, *(text for key, text in texts.items() if key != "move"))
    answers = ran.output.split("\ntried\n")[:-1]
    silent = [text for text, answer in zip(texts, answers, strict=False) if SECRET not in answer]
    assert len(answers) == len(texts) - 1
    assert silent == []
