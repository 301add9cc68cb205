"""Deny rules: commands that no consent and no grant lets run (glossary "deny rule").

Rules are data with their own examples, checked when they are loaded. They match the words of every
command occurrence that can be found, wrapped, nested and half-parsed ones included; case does not
count. Operator rules only add.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from netclaw.core.authz.decoding import STAR, shown
from netclaw.core.authz.facts import Invocation, ShellFacts, Surroundings
from netclaw.core.authz.scan import unwrapped
from netclaw.core.authz.shell_paths import absolute, normal
from netclaw.core.authz.vocabulary import VALUED_GLOBALS


class DenyCategory(StrEnum):
    """Why a rule exists; part of its reason code `hard_deny_<category>`."""

    CUSTOM_DENY = "custom_deny"
    SELF_DESTRUCTIVE = "self_destructive"
    SYSTEM_DESTRUCTIVE = "system_destructive"
    PRIVILEGE_ESCALATION = "privilege_escalation"


class FirstPath(StrEnum):
    """What the first path of a command has to be for a rule to match."""

    ANY = "any"
    ROOT_OR_HOME = "root-or-home"


class CatalogueError(ValueError):
    """A catalogue contradicts its own examples, or an entry cannot be read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DenyRule:
    """One rule; every condition that is given has to hold.

    `programs` are base names, `prefix` the start of one. `words` are the plain words after the
    program, each with its alternatives. `flags` are groups of which each needs one member; a
    single letter is found in joined short options too. `mentions` are looked for in the texts of
    the operands, `raw` in the whole source without its white space.
    """

    category: DenyCategory
    reason: str
    programs: frozenset[str] = frozenset()
    prefix: str = ""
    words: tuple[frozenset[str], ...] = ()
    flags: tuple[frozenset[str], ...] = ()
    mentions: tuple[str, ...] = ()
    first_path: FirstPath = FirstPath.ANY
    raw: str = ""
    match: tuple[str, ...] = ()
    not_match: tuple[str, ...] = ()


Words = Sequence[tuple[str, ...]]


def check(rules: Iterable[DenyRule]) -> tuple[DenyRule, ...]:
    """The rules, if each agrees with its examples. Raises `CatalogueError`."""
    checked = tuple(rules)
    home = Surroundings(
        cwd="/example", user_home="/home/op", shell_home="/home/op", netclaw_home="/home/op/nc"
    )
    for rule in checked:
        if not (rule.programs or rule.prefix or rule.raw or rule.flags):
            raise CatalogueError(f"the deny rule {rule.reason!r} would match everything")
        for text, expected in _examples(rule):
            if _matches_example(rule, text, home) is not expected:
                raise CatalogueError(f"the deny rule {rule.reason!r} fails its example {text!r}")
    return checked


def _examples(rule: DenyRule) -> list[tuple[str, bool]]:
    return [*((text, True) for text in rule.match), *((text, False) for text in rule.not_match)]


def _matches_example(rule: DenyRule, text: str, surroundings: Surroundings) -> bool:
    words = tuple(text.split())
    invocation = Invocation(
        words=tuple((word.replace("~", surroundings.user_home),) for word in words),
        texts=words,
        cwds=(surroundings.cwd,),
    )
    facts = ShellFacts(source=text, invocations=(invocation,))
    return denial(facts, (rule,), surroundings) is rule


def denial(
    facts: ShellFacts, rules: Iterable[DenyRule], surroundings: Surroundings
) -> DenyRule | None:
    """The first rule that a command meets; None if it meets none."""
    occurrences = [
        (words, invocation)
        for invocation in facts.invocations
        for words in unwrapped(invocation.words)
        if words
    ]
    source = re.sub(r"\s", "", facts.source).lower()
    for rule in rules:
        if rule.raw and rule.raw in source:
            return rule
        if not rule.raw and any(
            _matches(rule, words, invocation, surroundings) for words, invocation in occurrences
        ):
            return rule
    return None


def _matches(
    rule: DenyRule, words: Words, invocation: Invocation, surroundings: Surroundings
) -> bool:
    return (
        _is_program(rule, words[0])
        and _has_words(rule, words[1:])
        and all(_has_flag(group, words[1:]) for group in rule.flags)
        and _has_mention(rule, words, invocation)
        and _has_path(rule, words[1:], invocation, surroundings)
    )


def _is_program(rule: DenyRule, shapes: tuple[str, ...]) -> bool:
    if not rule.programs and not rule.prefix:
        return True
    names = {shown(shape).rpartition("/")[2].lower() for shape in shapes}
    if rule.prefix:
        return any(name.startswith(rule.prefix) for name in names)
    return not rule.programs.isdisjoint(names)


def _has_words(rule: DenyRule, words: Words) -> bool:
    """Whether the first words that are neither options nor their values are the rule's."""
    plain: list[set[str]] = []
    valued = frozenset[str]().union(*(VALUED_GLOBALS.get(name, ()) for name in rule.programs))
    rest = iter(words)
    for shapes in rest:
        if not shapes[0].startswith("-"):
            plain.append({shown(shape).lower() for shape in shapes})
        elif shapes[0] in valued:
            next(rest, None)
    if len(plain) < len(rule.words):
        return False
    return all(
        not wanted.isdisjoint(found) for wanted, found in zip(rule.words, plain, strict=False)
    )


def _has_flag(group: frozenset[str], words: Words) -> bool:
    for shape in (shown(shape).lower() for shapes in words for shape in shapes):
        name = shape.partition("=")[0]
        # Programs accept the start of a long option for the whole of it.
        is_long = name.startswith("--") and len(name) > 2
        if name in group or (is_long and any(flag.startswith(name) for flag in group)):
            return True
        is_short = shape.startswith("-") and not shape.startswith("--")
        if is_short and any(len(flag) == 2 and flag[1] in shape[1:] for flag in group):
            return True
    return False


def _has_mention(rule: DenyRule, words: Words, invocation: Invocation) -> bool:
    if not rule.mentions:
        return True
    texts = [shown(shape).lower() for shapes in words[1:] for shape in shapes]
    texts.extend(text.lower() for text in invocation.texts[1:])
    return any(mention in text for mention in rule.mentions for text in texts)


def _has_path(
    rule: DenyRule, words: Words, invocation: Invocation, surroundings: Surroundings
) -> bool:
    if rule.first_path is FirstPath.ANY:
        return True
    homes = {surroundings.user_home, surroundings.shell_home, surroundings.netclaw_home}
    forbidden = {"/", *(normal(home).lower() for home in homes)}
    for shape in (shape for shapes in words for shape in shapes if not shape.startswith("-")):
        text = _without_last_glob(shape)
        if text.lower() in ("~", "~/", "$home", "${home}", "$home/", "${home}/"):
            return True
        if any(normal(path).lower() in forbidden for path in absolute(text, invocation.cwds)):
            return True
    return False


def _without_last_glob(shape: str) -> str:
    """`/` for `/*`: everything in a folder is the folder."""
    folder, _, last = shape.rpartition("/")
    is_everything = bool(last) and set(last) == {STAR}
    return f"{folder}/" if is_everything else shown(shape)


def read_operator_rules(texts: Iterable[str], overrides: Iterable[object]) -> tuple[DenyRule, ...]:
    """The rules of `Tools.HardDenyPatterns` and of `hard-deny-overrides.json`.

    Raises `CatalogueError` for an entry that cannot be read: a rule that somebody wrote to forbid
    something is never dropped in silence.
    """
    made = [_from_text(text) for text in texts]
    made.extend(map(_from_entry, overrides))
    return check(made)


def _from_text(text: str) -> DenyRule:
    words = text.lower().split()
    if not words:
        raise CatalogueError("an empty deny rule would match everything")
    return DenyRule(
        category=DenyCategory.CUSTOM_DENY,
        reason=text,
        programs=frozenset(words[:1]),
        words=_plain(words[1:]),
        flags=tuple(group for word in words[1:] for group in _option(word)),
    )


def _plain(words: Sequence[str]) -> tuple[frozenset[str], ...]:
    return tuple(frozenset({word}) for word in words if not word.startswith("-"))


def _option(word: str) -> Iterator[frozenset[str]]:
    """The flags of an operator's word: `-rf` are two, in any order and joined with others."""
    if word.startswith("--") and len(word) > 2:
        yield frozenset({word.partition("=")[0]})
    elif word.startswith("-"):
        yield from (frozenset({f"-{letter}"}) for letter in word[1:] if letter.isalnum())


_ENTRY_KEYS = frozenset(
    (
        *("verb", "verbs", "verbPrefix", "rawText", "argFlags", "firstPath", "reason", "category"),
        *("match", "notMatch"),
    )
)


def _from_entry(entry: object) -> DenyRule:
    if not isinstance(entry, Mapping) or not _ENTRY_KEYS.issuperset(entry):
        raise CatalogueError("a deny rule is an object with known members only")
    try:
        category = DenyCategory(entry.get("category", DenyCategory.CUSTOM_DENY))
        first_path = FirstPath(entry.get("firstPath", FirstPath.ANY))
    except ValueError as fault:
        raise CatalogueError(f"a deny rule has an unknown value: {fault}") from None
    leading = _texts(entry, "verb")
    return DenyRule(
        category=category,
        reason=_text(entry, "reason"),
        programs=frozenset([*leading[:1], *_texts(entry, "verbs")]),
        words=_plain(leading[1:]),
        prefix=_text(entry, "verbPrefix", is_optional=True),
        flags=tuple(frozenset({flag}) for flag in _texts(entry, "argFlags")),
        first_path=first_path,
        raw=re.sub(r"\s", "", _text(entry, "rawText", is_optional=True)),
        match=tuple(_texts(entry, "match")),
        not_match=tuple(_texts(entry, "notMatch")),
    )


def _text(entry: Mapping[object, object], key: str, *, is_optional: bool = False) -> str:
    value = entry.get(key, "" if is_optional else None)
    if not isinstance(value, str) or not (value or is_optional):
        raise CatalogueError(f"a deny rule's {key} is a text")
    return value if key == "reason" else value.lower()


def _texts(entry: Mapping[object, object], key: str) -> list[str]:
    value = entry.get(key, [])
    if not isinstance(value, list) or not all(isinstance(item, str) and item for item in value):
        raise CatalogueError(f"a deny rule's {key} is a list of texts")
    return [str(item).lower() for item in value]
