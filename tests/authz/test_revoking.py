"""Which grants an operator's words choose, and that nothing is guessed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from netclaw.core.authority import Audience
from netclaw.core.authz.grants import Grant, GrantForm
from netclaw.core.authz.revoking import GrantChoice, chosen, place_of
from netclaw.core.errors import InvalidArgumentError, NotFoundError
from tests.authz.world import AT

PUSH = Grant(
    audience=Audience.PERSONAL,
    tool="shell_execute",
    form=GrantForm.TOKENS,
    words=("git", "push"),
    created_at=AT,
)
HERE = replace(PUSH, directory="/p")
SHARED = replace(PUSH, repository="/r/.git", worktree="/r")
TEAM = replace(PUSH, audience=Audience.TEAM)
WRITE = replace(PUSH, tool="file_write", form=GrantForm.TOOL, words=("file_write",))
LEGACY = replace(PUSH, form=GrantForm.LEGACY_EXACT, words=("git push",), directory="/p")
BOUND = replace(HERE, digest="sha256:" + "0" * 64)


@pytest.mark.requirement("approvals.revoke")
@pytest.mark.parametrize(
    ("choice", "grants", "expected"),
    [
        (GrantChoice(label="git push"), [PUSH, WRITE], (PUSH,)),
        (GrantChoice(label="git push", directory="/p"), [PUSH, HERE, SHARED], (HERE,)),
        (GrantChoice(label="git push", directory="/r/.git"), [PUSH, HERE, SHARED], (SHARED,)),
        (GrantChoice(label="git push", is_everywhere=True), [PUSH, HERE, SHARED], (PUSH,)),
        (GrantChoice(label="git push", audience=Audience.TEAM), [PUSH, TEAM], (TEAM,)),
        (GrantChoice(label="git push", tool="shell_execute"), [PUSH], (PUSH,)),
        (GrantChoice(label="git push"), [HERE, LEGACY, BOUND], (HERE, LEGACY, BOUND)),
        (
            GrantChoice(is_all=True, tool="shell_execute", audience=Audience.PERSONAL),
            [PUSH, HERE, TEAM, WRITE],
            (PUSH, HERE),
        ),
    ],
)
def test_a_clear_choice_takes_what_it_names(
    choice: GrantChoice, grants: list[Grant], expected: tuple[Grant, ...]
) -> None:
    assert chosen(choice, grants) == expected


@pytest.mark.requirement("approvals.revoke")
@pytest.mark.parametrize(
    "choice",
    [
        GrantChoice(label="git push"),
        GrantChoice(label="git push", audience=Audience.PERSONAL),
        GrantChoice(),
        GrantChoice(label="git push", directory="/p", is_everywhere=True),
        GrantChoice(is_all=True),
        GrantChoice(is_all=True, tool="shell_execute"),
        GrantChoice(is_all=True, audience=Audience.PERSONAL),
        GrantChoice(is_all=True, label="x", tool="t", audience=Audience.PERSONAL),
        GrantChoice(is_all=True, directory="/p", tool="t", audience=Audience.PERSONAL),
        GrantChoice(is_all=True, is_everywhere=True, tool="t", audience=Audience.PERSONAL),
    ],
)
def test_a_choice_that_is_not_clear_is_refused(choice: GrantChoice) -> None:
    with pytest.raises(InvalidArgumentError):
        chosen(choice, [PUSH, HERE, SHARED, TEAM])


@pytest.mark.requirement("approvals.revoke")
def test_an_ambiguous_label_is_told_its_places() -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        chosen(GrantChoice(label="git push"), [PUSH, HERE, SHARED, TEAM])
    for place in ("everywhere", "in /p", "in the repository /r/.git", "Team shell_execute"):
        assert place in caught.value.sentence


@pytest.mark.requirement("approvals.revoke")
@pytest.mark.parametrize(
    "choice",
    [
        GrantChoice(label="git"),
        GrantChoice(label="git push", tool="other"),
        GrantChoice(is_all=True, tool="shell_execute", audience=Audience.PUBLIC),
    ],
)
def test_what_is_not_granted_is_not_found(choice: GrantChoice) -> None:
    with pytest.raises(NotFoundError):
        chosen(choice, [PUSH, HERE])


def test_a_place_is_said_in_words() -> None:
    assert place_of(PUSH) == "everywhere"
    assert place_of(HERE) == "in /p"
    assert place_of(SHARED) == "in the repository /r/.git"
