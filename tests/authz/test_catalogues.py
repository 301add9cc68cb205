"""Catalogues: their examples, operator rules, and what is refused when they load."""

from __future__ import annotations

import pytest

from netclaw.core.authz import deny_rules, protected, safe_catalogue, shell_builtins
from netclaw.core.authz.deny_catalogue import BUILT_IN
from netclaw.core.authz.deny_rules import (
    CatalogueError,
    DenyCategory,
    DenyRule,
    FirstPath,
    denial,
    read_operator_rules,
)
from netclaw.core.authz.exempt_catalogue import EXEMPT_COMMANDS, ExemptCommand, ExemptKind
from netclaw.core.authz.protected_catalogue import PROTECTED_PLACES, ProtectedPlace
from netclaw.core.authz.requests import Policy
from netclaw.core.authz.safe_catalogue import REVIEWED_SAFE, SafePhrase, find
from tests.authz.table import described
from tests.authz.world import POLICY, SURROUNDINGS, Shell, facts_of


def rule(**values: object) -> DenyRule:
    """A rule with little in it."""
    given = {"category": DenyCategory.CUSTOM_DENY, "reason": "because", **values}
    return DenyRule(**given)  # type: ignore[arg-type]


@pytest.mark.requirement("authz.catalogue-examples")
def test_every_rule_that_ships_has_examples_of_both_kinds() -> None:
    assert all(item.match and item.not_match for item in BUILT_IN)
    assert all(entry.match for entry in REVIEWED_SAFE)


@pytest.mark.requirement("authz.catalogue-examples")
@pytest.mark.parametrize(
    "bad",
    [
        rule(),
        rule(programs=frozenset({"x"}), match=("y",)),
        rule(programs=frozenset({"x"}), not_match=("x a",)),
    ],
)
def test_a_deny_rule_that_fails_its_examples_does_not_load(bad: DenyRule) -> None:
    with pytest.raises(CatalogueError):
        deny_rules.check([bad])


@pytest.mark.requirement("authz.catalogue-examples")
@pytest.mark.parametrize(
    "bad",
    [
        SafePhrase(words=()),
        SafePhrase(words=("a", "b"), match=("a c",)),
        SafePhrase(words=("a",), not_match=("a c",)),
    ],
)
def test_a_safe_phrase_that_fails_its_examples_does_not_load(bad: SafePhrase) -> None:
    with pytest.raises(CatalogueError):
        safe_catalogue.check([bad])


@pytest.mark.requirement("authz.catalogue-examples")
@pytest.mark.parametrize(
    "bad",
    [
        ExemptCommand(name="rm", kind=ExemptKind.OUTPUT, match=("rm a",), not_match=()),
        ExemptCommand(name="echo", kind=ExemptKind.OUTPUT, match=(), not_match=("echo a",)),
        ExemptCommand(name="echo", kind=ExemptKind.JUMP, match=("echo 1",), not_match=()),
    ],
)
def test_an_exempt_command_that_fails_its_examples_does_not_load(bad: ExemptCommand) -> None:
    with pytest.raises(CatalogueError):
        shell_builtins.check_exempt([bad])


@pytest.mark.requirement("authz.catalogue-examples")
def test_a_protected_place_that_fails_its_examples_does_not_load() -> None:
    with pytest.raises(CatalogueError):
        protected.check_places([ProtectedPlace(name="models", match=("models/x",))])
    assert all(place.match for place in PROTECTED_PLACES)
    assert all(entry.match and entry.not_match for entry in EXEMPT_COMMANDS)


@pytest.mark.requirement("authz.catalogue-examples")
def test_no_phrase_that_changes_things_is_safe() -> None:
    for text in (
        "git push",
        "git fetch",
        "git remote -v",
        "git ls-remote",
        "rm x",
        "sed -n 1p f",
        "find .",
        "awk 1 f",
        "env",
        "xargs ls",
        "sudo ls",
        "curl x",
        "tee f",
        "gh api x",
        "gh pr create",
        "gh pr merge 1",
        "gh pr edit 1",
        "printenv",
        "sort --o=x",
    ):
        assert find(tuple(text.split()), REVIEWED_SAFE) is None, text


def with_rules(*rules: DenyRule) -> Policy:
    """The policy with operator rules beside the built-in ones."""
    return Policy(
        profile=POLICY.profile,
        roots=POLICY.roots,
        protected=POLICY.protected,
        shell_mode=POLICY.shell_mode,
        has_sandbox=True,
        deny_rules=(*BUILT_IN, *rules),
    )


@pytest.mark.requirement("authz.catalogue-examples")
def test_an_operator_text_forbids_its_leading_words_everywhere() -> None:
    made = with_rules(*read_operator_rules(["Terraform Destroy"], []))
    for command in ("terraform destroy -auto-approve", "bash -c 'ls; terraform destroy x'"):
        decision = Shell(command).decide(under=made)
        assert described(decision) == "deny hard_deny_custom_deny"
    assert described(Shell("terraform plan").decide(under=made)) == "ask terraform plan"
    assert described(Shell("terraform x destroy").decide(under=made)).startswith("ask")


@pytest.mark.requirement("authz.catalogue-examples")
def test_operator_overrides_have_all_conditions() -> None:
    entries: list[object] = [
        {"verbs": ["git"], "argFlags": ["--force"], "reason": "no force"},
        {"verbPrefix": "aws", "reason": "no cloud", "category": "system_destructive"},
        {"rawText": "drop  table", "reason": "no drops"},
        {"verbs": ["tar"], "firstPath": "root-or-home", "reason": "not the root"},
        {"verb": ["Docker", "system", "prune", "-a"], "reason": "keep images"},
    ]
    made = with_rules(*read_operator_rules([], entries))
    expected = {
        "git push --force": "deny hard_deny_custom_deny",
        "git push --force=yes": "deny hard_deny_custom_deny",
        "aws-vault exec": "deny hard_deny_system_destructive",
        "psql -c 'DROP TABLE x'": "deny hard_deny_custom_deny",
        "tar c /": "deny hard_deny_custom_deny",
        "tar c src": "ask tar",
        "docker system prune": "deny hard_deny_custom_deny",
        "docker system df": "ask docker system df",
        "git push": "ask git push",
    }
    for command, outcome in expected.items():
        assert described(Shell(command).decide(under=made)) == outcome, command


@pytest.mark.requirement("authz.catalogue-examples")
@pytest.mark.parametrize(
    "entry",
    [
        "text",
        {"verbs": ["x"]},
        {"verbs": ["x"], "reason": ""},
        {"verbs": ["x"], "reason": 7},
        {"verbs": "x", "reason": "r"},
        {"verbs": [""], "reason": "r"},
        {"verbs": ["x"], "reason": "r", "category": "nice"},
        {"verbs": ["x"], "reason": "r", "firstPath": "somewhere"},
        {"verbs": ["x"], "reason": "r", "allow": True},
        {"reason": "everything"},
    ],
)
def test_an_override_that_cannot_be_read_is_an_error(entry: object) -> None:
    with pytest.raises(CatalogueError):
        read_operator_rules([], [entry])


@pytest.mark.requirement("authz.catalogue-examples")
def test_options_of_an_operator_text_count_in_any_order() -> None:
    made = with_rules(*read_operator_rules(["rm -rf --one-file-system=x - /srv"], []))
    for command in (
        "rm -rf --one-file-system /srv",
        "rm --one-file-system=x -r /srv -f",
        "rm -vfr /srv --one-file-system",
    ):
        assert described(Shell(command).decide(under=made)) == "deny hard_deny_custom_deny", command
    assert described(Shell("rm -r --one-file-system /srv").decide(under=made)) == "ask rm"


def test_an_empty_operator_text_is_an_error() -> None:
    with pytest.raises(CatalogueError):
        read_operator_rules(["  "], [])


@pytest.mark.requirement("authz.denials-see-everything")
@pytest.mark.parametrize(
    "spelling", ["/", "//", "~", "$HOME", "${HOME}/", "/home/op/", "/../", "/*"]
)
def test_a_root_or_home_is_known_by_every_spelling(spelling: str) -> None:
    made = (rule(programs=frozenset({"wipe"}), first_path=FirstPath.ROOT_OR_HOME),)
    facts, _ = facts_of(f"wipe -x {spelling}")
    assert denial(facts, made, SURROUNDINGS) is made[0]
    literal, _ = facts_of(f"wipe '{spelling}'")
    if spelling != "/*":  # quoted, the star is a name
        assert denial(literal, made, SURROUNDINGS) is made[0]
