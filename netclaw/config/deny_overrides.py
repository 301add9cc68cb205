"""Reads the operator's deny rules: `Tools.HardDenyPatterns` and `config/hard-deny-overrides.json`.

They only add to the rules that ship. A rule that cannot be read is never dropped in silence: it
was written to forbid something.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from netclaw.config.documents import read_list
from netclaw.config.home import Home
from netclaw.config.jsonc_tree import Json
from netclaw.core.authz.deny_rules import CatalogueError, DenyRule, read_operator_rules
from netclaw.core.errors import InvalidArgumentError

PATTERNS_KEY = "Tools.HardDenyPatterns"


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorRules:
    """The rules that could be read; with a `fault` commands have to stay off."""

    rules: tuple[DenyRule, ...] = ()
    fault: str = ""


def read_operator(home: Home, patterns: Sequence[str]) -> OperatorRules:
    """Every deny rule of the operator.

    Raises `InvalidArgumentError` for a bad pattern, which is a part of netclaw.json. A bad file
    beside it is no reason not to start, so that the daemon can say what is wrong: its fault is
    returned.
    """
    try:
        rules = read_operator_rules(patterns, ())
    except CatalogueError as error:
        raise InvalidArgumentError(
            f"{PATTERNS_KEY} cannot be used: {error}.",
            fix="Write the first words of a command, as they are typed.",
        ) from None
    try:
        return OperatorRules(rules=rules + read_operator_rules((), _entries(home)))
    except CatalogueError as error:
        fault = f"{home.deny_overrides} cannot be used: {error}."
    except InvalidArgumentError as error:
        fault = error.sentence
    return OperatorRules(
        rules=rules, fault=f"{fault} Shell commands are off until the file is correct or gone."
    )


def _entries(home: Home) -> list[Json]:
    found = read_list(home.deny_overrides)
    if found is None and home.deny_overrides.is_symlink():
        raise InvalidArgumentError(f"{home.deny_overrides} is a link that leads nowhere.")
    return found or []
