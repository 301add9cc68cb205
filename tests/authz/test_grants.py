"""Grants: what covers what, in which scope; recording an answer; the options of a prompt."""

from __future__ import annotations

from dataclasses import replace

import pytest

from netclaw.core.authority import Audience
from netclaw.core.authz import consent
from netclaw.core.authz.decide import decide
from netclaw.core.authz.facts import Candidate, PathFact, PathUse, RepositoryFact, Surroundings
from netclaw.core.authz.grants import (
    ChatGrant,
    Grant,
    GrantForm,
    GrantScope,
    GrantStore,
    OneTimeKey,
    Places,
    covers,
    is_needed,
    is_within,
    repository_of,
)
from netclaw.core.authz.options import (
    NOTES,
    Offer,
    OptionKey,
    options_of,
    parse_key,
    recorded,
)
from netclaw.core.authz.requests import Consents
from netclaw.core.session.consent_events import ConsentEffect
from netclaw.core.session.rulings import Outcome
from netclaw.core.tool_call import FileOperation
from tests.authz.host import KEY_FOLDER, PROJECT, TMP, USER_HOME
from tests.authz.table import described
from tests.authz.world import AT, POLICY, SURROUNDINGS, Shell, grants_for

PERSONAL = Audience.PERSONAL
PUSH = Grant(
    audience=PERSONAL,
    tool="shell_execute",
    form=GrantForm.TOKENS,
    words=("git", "push"),
    created_at=AT,
)


def granted(*grants: Grant) -> Consents:
    """Persistent grants."""
    return Consents(store=GrantStore(grants=grants))


@pytest.mark.requirement("authz.grant-scopes")
@pytest.mark.parametrize(
    ("grant", "command", "is_allowed"),
    [
        (PUSH, "git push", True),
        (PUSH, "git push --force", True),
        (PUSH, "git push origin dev", False),
        (PUSH, "git status; git push", True),
        (replace(PUSH, words=("git",)), "git push", False),
        (replace(PUSH, words=("gh",)), "gh --help", True),
        (replace(PUSH, words=("gh",)), "gh auth logout", False),
        (replace(PUSH, audience=Audience.TEAM), "git push", False),
        (replace(PUSH, tool="file_write"), "git push", False),
        (replace(PUSH, shell_name="PowerShell"), "git push", False),
        (replace(PUSH, digest="sha256:" + "0" * 64), "git push", False),
        (replace(PUSH, form=GrantForm.LEGACY_EXACT, words=("git push",)), "git push", True),
        (replace(PUSH, form=GrantForm.LEGACY_EXACT, words=("git",)), "git push", False),
        (replace(PUSH, words=("bash",)), 'bash -lc "git push"', False),
        (replace(PUSH, directory="/nowhere"), "git push", False),
        (replace(PUSH, directory=f"{PROJECT}/src"), "git push", False),
        (replace(PUSH, directory=f"{PROJECT}/src"), "cd src && git push", True),
        (replace(PUSH, directory=USER_HOME), "git push", True),
        (replace(PUSH, directory=PROJECT), "cd way-out && git push", False),
        (replace(PUSH, repository="/o.git"), "git push", False),
        (replace(PUSH, repository="/o.git"), "cd ../other && git push", True),
    ],
)
def test_a_grant_covers_equal_words_in_its_scope_only(
    grant: Grant, command: str, is_allowed: bool
) -> None:
    outcome = Shell(command).decide(granted(grant)).outcome
    assert (outcome is Outcome.ALLOWED) is is_allowed


@pytest.mark.requirement("authz.grant-scopes")
@pytest.mark.parametrize(("letter", "is_allowed"), [("C", True), ("F", False), ("A", True)])
def test_row_3_outside_the_folder_of_the_grant(letter: str, is_allowed: bool) -> None:
    elsewhere = Shell("git push", cwd="/ext")
    asked = Shell("git push").decide()
    outcome = elsewhere.decide(grants_for(letter, asked)).outcome
    assert (outcome is Outcome.ALLOWED) is is_allowed


@pytest.mark.requirement("authz.grant-scopes")
def test_row_3_a_chat_grant_of_another_audience_covers_nothing() -> None:
    other = ChatGrant(audience=Audience.TEAM, tool="shell_execute", words=("git", "push"))
    decision = Shell("git push").decide(Consents(chat=frozenset({other})))
    assert described(decision) == "ask git push"


@pytest.mark.requirement("authz.grant-scopes")
def test_sources_of_coverage_compose() -> None:
    command = "git status && git push && npm test && echo done"
    chat = ChatGrant(audience=PERSONAL, tool="shell_execute", words=("npm", "test"))
    both = replace(granted(PUSH), chat=frozenset({chat}))
    decision = Shell(command).decide(both)
    assert described(decision) == "StoredApproval"
    assert [item.coverage.value for item in decision.candidates] == [
        *("reviewed-safe", "persistent-grant", "chat-grant", "exempt")
    ]
    assert described(Shell(command).decide(granted(PUSH))) == "ask npm test"


@pytest.mark.requirement("authz.assignments")
def test_a_changed_assignment_needs_new_consent() -> None:
    asked = Shell("CI=1 npm test").decide()
    assert [option.key for option in asked.options] == [
        "approve_once",
        "approve_assignment_session_v1",
        "approve_assignment_always_v1",
        "approve_assignment_repository_v1",
        "approve_assignment_everywhere_v1",
        "deny",
    ]
    given = grants_for("A", asked)
    assert given.store.grants[0].digest is not None
    for command, is_allowed in (
        ("CI=1 npm test", True),
        ("export CI=1; npm test", True),
        ("CI=2 npm test", False),
        ("npm test", False),
        ("CI=1 X=2 npm test", False),
    ):
        outcome = Shell(command).decide(given).outcome
        assert (outcome is Outcome.ALLOWED) is is_allowed, command


def offer_for(command: str) -> Offer:
    """The offer of a command's consent request."""
    request = Shell(command).request()
    asked = decide(request, POLICY, Consents())
    return consent.offer_of(request, asked.uncovered, POLICY)


@pytest.mark.requirement("authz.recorded")
@pytest.mark.parametrize("command", ["git push", "CI=1 npm test", "git push && npm test"])
@pytest.mark.parametrize("key", [key for key in OptionKey if key is not OptionKey.DENY])
def test_what_an_answer_stores_covers_the_call(command: str, key: OptionKey) -> None:
    request = Shell(command).request()
    made = recorded(key, offer_for(command), audience=PERSONAL, one_time=request.key, created_at=AT)
    one_time = frozenset() if made.one_time is None else frozenset({made.one_time})
    given = Consents(
        one_time=one_time,
        chat=frozenset(made.chat),
        store=GrantStore(grants=made.persistent),
    )
    assert Shell(command).decide(given).outcome is Outcome.ALLOWED
    scopes = {grant.scope for grant in made.persistent}
    expected = {
        OptionKey.ALWAYS: {GrantScope.FOLDER},
        OptionKey.REPOSITORY: {GrantScope.REPOSITORY},
        OptionKey.EVERYWHERE: {GrantScope.EVERYWHERE},
    }
    assert scopes == expected.get(key, set())
    assert key in NOTES


@pytest.mark.requirement("authz.recorded")
def test_a_refusal_stores_nothing_and_what_was_not_offered_is_refused() -> None:
    key = Shell("git push").request().key
    refused = recorded(
        OptionKey.DENY, offer_for("git push"), audience=PERSONAL, one_time=key, created_at=AT
    )
    assert (refused.one_time, refused.chat, refused.persistent) == (None, (), ())
    with pytest.raises(ValueError, match="not offered"):
        recorded(
            OptionKey.SESSION,
            offer_for('eval "$C"'),
            audience=PERSONAL,
            one_time=key,
            created_at=AT,
        )


@pytest.mark.requirement("authz.options")
def test_keys_and_labels_are_stable() -> None:
    options = Shell("git push").decide().options
    assert [(option.key, option.label) for option in options] == [
        ("approve_once", "Once"),
        ("approve_session", "This chat"),
        ("approve_always", "Always here"),
        ("approve_repository", "This repository"),
        ("approve_everywhere", "Always anywhere"),
        ("deny", "Deny"),
    ]
    assert {option.effect for option in options[:-1]} == {ConsentEffect.APPROVE}
    assert options[-1].effect is ConsentEffect.REFUSE
    assert all(len(option.label) <= 76 for option in options)


@pytest.mark.requirement("authz.options")
def test_keys_are_read_back_and_unknown_ones_are_none() -> None:
    assert parse_key("approve_once") is OptionKey.ONCE
    assert parse_key("approve_assignment_always_v1") is OptionKey.ALWAYS
    assert parse_key("approve_nothing") is None


@pytest.mark.requirement("authz.options")
@pytest.mark.parametrize(
    ("cwd", "owned", "has_folder"),
    [
        (PROJECT, (), True),
        (PROJECT, (PROJECT,), False),
        (USER_HOME, (), False),
        ("/home", (), False),
        ("/", (), False),
        ("/ext", (), False),
        (TMP, (KEY_FOLDER,), False),
    ],
)
def test_always_here_is_for_a_folder_that_is_neither_wide_nor_the_sessions(
    cwd: str, owned: tuple[str, ...], has_folder: bool
) -> None:
    shell = Shell("git push", cwd=cwd)
    request = shell.request()
    offer = consent.offer_of(request, decide(request, POLICY, Consents()).uncovered, POLICY)
    keys = [option.key for option in options_of(replace(offer, owned=owned))]
    assert ("approve_always" in keys) is has_folder


@pytest.mark.requirement("authz.options")
def test_a_tool_without_a_shell_has_no_folder_and_a_server_its_own_label() -> None:
    offer = Offer(candidates=[Candidate(text="x", phrase=("x",))], is_shell=False, is_server=True)
    assert [(item.key, item.label) for item in options_of(offer)][2] == (
        "approve_everywhere",
        "Always allow this tool",
    )
    bare = replace(offer, is_shell=True)
    assert len(options_of(bare)) == 4
    made = recorded(
        OptionKey.EVERYWHERE,
        offer,
        audience=PERSONAL,
        one_time=OneTimeKey(tool="mcp:a:x", arguments="{}", cwd=""),
        created_at=AT,
    )
    assert made.persistent[0].form is GrantForm.TOOL


@pytest.mark.requirement("authz.grant-scopes")
def test_a_grant_adds_nothing_below_a_wider_one() -> None:
    here = replace(PUSH, directory=PROJECT)
    below = replace(PUSH, directory=f"{PROJECT}/src")
    shared = replace(PUSH, repository="/r.git")
    assert not is_needed(PUSH, [PUSH])
    assert not is_needed(here, [PUSH])
    assert not is_needed(below, [here])
    assert not is_needed(shared, [shared])
    assert is_needed(here, [below])
    assert is_needed(PUSH, [here])
    assert is_needed(shared, [here])
    assert is_needed(here, [shared])
    assert is_needed(replace(PUSH, words=("git", "pull")), [PUSH])
    assert is_needed(PUSH, [replace(PUSH, shell_name="PowerShell")])
    assert PUSH.label == "git push"
    assert replace(PUSH, words=("echo x",)).label == '"echo x"'
    assert replace(PUSH, form=GrantForm.LEGACY_EXACT, words=("git push",)).label == "git push"
    assert ChatGrant(audience=PERSONAL, tool="shell_execute", words=("a", "b c")).label == 'a "b c"'


NO_PLACES = Places(paths={}, repositories={})
HERE = Candidate(text="git push", phrase=("git", "push"), cwds=(PROJECT,))


@pytest.mark.requirement("authz.grant-scopes")
def test_what_is_not_known_of_a_folder_covers_nothing() -> None:
    known = {PROJECT: PathFact(canonical=PROJECT, resolved=PROJECT)}
    assert is_within(PROJECT, HERE, Places(paths=known, repositories={}))
    assert not is_within(PROJECT, HERE, NO_PLACES)
    assert not is_within(PROJECT, replace(HERE, cwds=()), Places(paths=known, repositories={}))
    elsewhere = replace(HERE, cwds=("/ext",))
    assert not is_within(PROJECT, elsewhere, Places(paths=known, repositories={}))
    broken = {PROJECT: PathFact(canonical=PROJECT, resolved=None)}
    assert not is_within(PROJECT, HERE, Places(paths=broken, repositories={}))
    assert not covers([PUSH], PERSONAL, "shell_execute", replace(HERE, phrase=()), NO_PLACES)


@pytest.mark.requirement("authz.grant-scopes")
def test_a_folder_reached_through_a_link_keeps_to_what_it_resolves_to() -> None:
    linked = PathFact(canonical="/link", resolved="/real")
    below = PathFact(canonical="/link/a", resolved="/real/a")
    top = PathFact(canonical="/", resolved="/")
    places = Places(paths={"/link": linked, "/link/a": below, "/": top}, repositories={})
    assert is_within("/link", replace(HERE, cwds=("/link/a", "/link")), places)
    assert is_within("/", replace(HERE, cwds=("/",)), places)


@pytest.mark.requirement("authz.grant-scopes")
def test_a_repository_is_one_and_holds_every_path() -> None:
    fact = RepositoryFact(common="/r/.git", worktree="/r")
    other = RepositoryFact(common="/s/.git", worktree="/s")
    places = Places(paths={}, repositories={"/r": fact, "/s": other, "/n": None})
    at = replace(HERE, cwds=("/r",))
    assert repository_of(at, places) == "/r/.git"
    assert repository_of(replace(at, cwds=("/r", "/s")), places) is None
    assert repository_of(replace(at, cwds=("/n",)), places) is None
    assert repository_of(replace(at, cwds=()), places) is None
    outside = PathUse(
        path="/x", operation=FileOperation.WRITE, fact=PathFact(canonical="/x", resolved="/x")
    )
    assert repository_of(replace(at, paths=(outside,)), places) is None
    offer = Offer(candidates=[at, replace(at, cwds=("/s",))], is_shell=True, places=places)
    assert "approve_repository" not in [option.key for option in options_of(offer)]


@pytest.mark.requirement("authz.one-time")
def test_a_one_time_consent_is_for_exactly_its_call() -> None:
    shell = Shell('eval "$C"')
    key = shell.request().key
    once = Consents(one_time=frozenset({key}))
    assert described(shell.decide(once)) == "OneTimeConsent"
    assert described(Shell('eval "$C"', cwd="/ext").decide(once)) == "ask1"
    for other in (
        replace(key, arguments="{ }"),
        replace(key, tool="x"),
        replace(key, shell_name="sh"),
    ):
        assert described(shell.decide(Consents(one_time=frozenset({other})))) == "ask1"
    denied = Shell("sudo ls")
    allowed = Consents(one_time=frozenset({denied.request().key}))
    assert denied.decide(allowed).outcome is Outcome.DENIED


def test_surroundings_are_values() -> None:
    assert replace(SURROUNDINGS, cwd="/") == Surroundings(
        cwd="/",
        user_home=USER_HOME,
        shell_home=USER_HOME,
        netclaw_home=SURROUNDINGS.netclaw_home,
        variables=SURROUNDINGS.variables,
    )
