"""Every row of the decision tables: without a grant, with one of each scope, and unattended."""

from __future__ import annotations

import pytest

from netclaw.core.session.rulings import Outcome
from tests.authz.table import Row, described, rows
from tests.authz.world import Shell, grants_for

REFERENCE = rows("reference_table.txt")
OWN = rows("own_table.txt")
BUGS = rows("bug_table.txt")
ALL = [*REFERENCE, *OWN, *BUGS]

KEYS_OF_LETTERS = {
    "C": "approve_session",
    "F": "approve_always",
    "R": "approve_repository",
    "A": "approve_everywhere",
}


def every_row(given: list[Row]) -> pytest.MarkDecorator:
    """Runs a test once for each row."""
    return pytest.mark.parametrize("row", given, ids=str)


@pytest.mark.requirement("authz.table", "authz.grant-scopes", "authz.upstream-bugs")
@pytest.mark.requirement("authz.options", "authz.unresolved-once")
@every_row(ALL)
def test_a_command_that_somebody_can_be_asked_about(row: Row) -> None:
    shell = Shell(row.command)
    asked = shell.decide()
    assert described(asked) == row.expected
    allowed = [
        letter
        for letter in "CFRA"
        if shell.decide(grants_for(letter, asked)).outcome is Outcome.ALLOWED
    ]
    if asked.outcome is Outcome.ALLOWED:
        assert allowed == list("CFRA")
    else:
        assert ("".join(allowed) or "-") == row.letters
    if asked.outcome is Outcome.REQUIRES_CONSENT:
        keys = [
            option.key.replace("assignment_", "").removesuffix("_v1") for option in asked.options
        ]
        lasting = [KEYS_OF_LETTERS[letter] for letter in allowed]
        assert keys == ["approve_once", *lasting, "deny"], "offered is what would cover the call"


@pytest.mark.requirement("authz.table", "authz.attended-is-unattended")
@every_row(ALL)
def test_a_command_when_nobody_can_answer(row: Row) -> None:
    expected = row.expected
    if row.expected.startswith("ask"):
        assert row.unattended in ("DU", "DU/P")
        expected = "deny approval_required_unattended"
    else:
        assert row.unattended in ("ok", "deny", "not run")
    assert described(Shell(row.command, is_attended=False).decide()) == expected


@pytest.mark.requirement("authz.table", "authz.upstream-bugs")
def test_the_tables_hold_what_they_promise() -> None:
    assert {int(row.number) for row in BUGS} >= {1, *range(7, 24)}
    numbers = {int(row.number) for row in REFERENCE}
    assert {1, 2, 4, 5, 7, 8, 9, 81} <= numbers
    assert len(OWN) >= 150
    for table in (REFERENCE, OWN, BUGS):
        assert len({(row.number, row.command) for row in table}) == len(table)
