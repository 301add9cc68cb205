"""What an operator may trust ahead of any call, and what is refused."""

from __future__ import annotations

import pytest

from netclaw.core.authority import Audience
from netclaw.core.authz.grants import Grant, GrantForm, GrantStore
from netclaw.core.authz.requests import Consents
from netclaw.core.authz.trust import grant_of_phrase, trusted_phrase
from netclaw.core.errors import InvalidArgumentError
from netclaw.core.session.rulings import Outcome
from tests.authz.world import AT, Shell, facts_of


@pytest.mark.requirement("authz.trust")
@pytest.mark.parametrize(
    ("text", "phrase"),
    [
        ("git push", ("git", "push")),
        ("git push origin dev", ("git", "push", "origin", "dev")),
        ("curl", ("curl",)),
        ("/usr/bin/git push", ("/usr/bin/git", "push")),
        ("'git' \"push\"", ("git", "push")),
    ],
)
def test_the_words_of_one_command_can_be_trusted(text: str, phrase: tuple[str, ...]) -> None:
    facts, _ = facts_of(text)
    assert trusted_phrase(facts) == phrase
    grant = Grant(
        audience=Audience.PERSONAL,
        tool="shell_execute",
        form=GrantForm.TOKENS,
        words=phrase,
        created_at=AT,
    )
    given = Consents(store=GrantStore(grants=(grant,)))
    assert Shell(text, is_attended=False).decide(given).outcome is Outcome.ALLOWED


@pytest.mark.requirement("authz.trust")
@pytest.mark.parametrize(
    "text",
    [
        "git push --force",
        "curl https://x",
        "git add README.md",
        "git push > f",
        "CI=1 npm test",
        "export CI=1; npm test",
        "git push; ls",
        "git push && ls",
        "echo $(git push)",
        "bash -c 'git push'",
        '"$x" push',
        "git $x",
        "rm *.tmp",
        "./run.sh",
        "~/bin/tool",
        "git push 'unterminated",
        "# nothing",
        "x=1",
        "{ git push; }",
    ],
)
def test_more_than_that_is_refused(text: str) -> None:
    facts, _ = facts_of(text)
    with pytest.raises(InvalidArgumentError):
        trusted_phrase(facts)


@pytest.mark.requirement("authz.trust")
def test_a_trusted_phrase_becomes_a_grant_for_everywhere() -> None:
    grant = grant_of_phrase(("git", "push"), Audience.TEAM, created_at=AT)
    assert (grant.audience, grant.tool, grant.directory) == (Audience.TEAM, "shell_execute", None)
    assert grant.form is GrantForm.TOKENS
    for words in ((), ("",), ("git", "a\u202eb"), ("a\nb",)):
        with pytest.raises(InvalidArgumentError):
            grant_of_phrase(words, Audience.TEAM, created_at=AT)
