"""Finds the stored grants that an operator wants revoked, and refuses to guess (reference 5)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from netclaw.core.authority import Audience
from netclaw.core.authz.grants import Grant, GrantScope
from netclaw.core.errors import InvalidArgumentError, NotFoundError

_FIX = "Add --audience, --tool, --in FOLDER or --everywhere until one place is left."


@dataclass(frozen=True, slots=True, kw_only=True)
class GrantChoice:
    """What is to be revoked: one phrase in one place, or with `is_all` every grant of a tool."""

    label: str = ""
    audience: Audience | None = None
    tool: str = ""
    directory: str = ""
    """A folder, or the common directory of a repository; empty for any place."""
    is_everywhere: bool = False
    """Only what applies everywhere."""
    is_all: bool = False


def place_of(grant: Grant) -> str:
    """Where a grant applies, as people read it."""
    match grant.scope:
        case GrantScope.REPOSITORY:
            return f"in the repository {grant.repository}"
        case GrantScope.FOLDER:
            return f"in {grant.directory}"
        case _:
            return "everywhere"


def chosen(choice: GrantChoice, grants: Sequence[Grant]) -> tuple[Grant, ...]:
    """The grants to revoke, at least one.

    Entries of one phrase that differ in form or in what they are bound to go together: nobody can
    name one of them alone. Raises `InvalidArgumentError` for a choice that is not clear, and
    `NotFoundError` if nothing is chosen.
    """
    if choice.is_all:
        return _all_of_tool(choice, grants)
    if not choice.label:
        raise InvalidArgumentError(
            "Name the grant to revoke.", fix="See the labels with `netclaw approvals list`."
        )
    if choice.is_everywhere and choice.directory:
        raise InvalidArgumentError("A grant applies everywhere or in a folder, not both.")
    found = tuple(grant for grant in grants if _matches(choice, grant))
    places = list(dict.fromkeys((grant.audience, grant.tool, place_of(grant)) for grant in found))
    if not places:
        raise NotFoundError(
            f'There is no such grant for "{choice.label}".',
            fix="See what there is with `netclaw approvals list`.",
        )
    if len(places) > 1:
        listed = "; ".join(f"{audience.value} {tool} {place}" for audience, tool, place in places)
        raise InvalidArgumentError(
            f'"{choice.label}" is granted more than once: {listed}.', fix=_FIX
        )
    return found


def _all_of_tool(choice: GrantChoice, grants: Sequence[Grant]) -> tuple[Grant, ...]:
    if not choice.tool or choice.audience is None:
        raise InvalidArgumentError(
            "All grants are revoked for one tool and one audience at a time.",
            fix="Name both with --tool and --audience.",
        )
    if choice.label or choice.directory or choice.is_everywhere:
        raise InvalidArgumentError("Either all grants of a tool are revoked, or one by its label.")
    found = tuple(
        grant for grant in grants if (grant.tool, grant.audience) == (choice.tool, choice.audience)
    )
    if not found:
        raise NotFoundError(
            f"{choice.audience.value} has no grant for {choice.tool}.",
            fix="See what there is with `netclaw approvals list`.",
        )
    return found


def _matches(choice: GrantChoice, grant: Grant) -> bool:
    return (
        grant.label == choice.label
        and choice.audience in (None, grant.audience)
        and choice.tool in ("", grant.tool)
        and choice.directory in ("", grant.repository, grant.directory)
        and (not choice.is_everywhere or grant.scope is GrantScope.EVERYWHERE)
    )
