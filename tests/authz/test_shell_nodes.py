"""The typed view of the parser's answer: what is listed, what is not, what is refused."""

from __future__ import annotations

import json

import pytest

from netclaw.core.authz.shell_nodes import MAX_DEPTH, MAX_NODES, ShellTreeError, read_tree


def place(offset: int) -> dict[str, int]:
    """A position as the parser writes it."""
    return {"Offset": offset, "Line": 1, "Col": offset + 1}


def tree(command: object, **statement: object) -> str:
    """A file of one statement."""
    return json.dumps({"Type": "File", "Stmts": [{"Cmd": command, **statement}]})


@pytest.mark.requirement("authz.listed-nodes")
def test_a_listed_node_shows_its_parts_and_its_place() -> None:
    call = {
        "Type": "CallExpr",
        "Pos": place(2),
        "End": place(4),
        "Args": [{"Parts": [{"Type": "Lit", "Value": "ls", "ValuePos": place(2)}]}],
    }
    node = read_tree(tree(call, Comments=[{"Text": "x"}], Background=True))
    (statement,) = node.many("Stmts")
    command = statement.one("Cmd")
    assert command is not None
    assert (command.start, command.end, command.is_listed) == (2, 4, True)
    assert [found.kind for found in command.every()] == ["CallExpr", "Word", "Lit"]
    assert command.many("Args")[0].many("Parts")[0].text() == "ls"
    assert statement.flags == {"Background"}
    assert statement.is_listed
    assert statement.one("Redirs") is None
    assert command.text("Nothing") == ""


@pytest.mark.requirement("authz.listed-nodes")
@pytest.mark.parametrize(
    "command",
    [
        {"Type": "FuncDecl"},
        {"Type": "CallExpr", "Novelty": True},
        {"Type": "CallExpr", "Novelty": "text"},
        {"Type": "CallExpr", "Novelty": [{}]},
        {"Type": 7},
    ],
)
def test_an_unknown_kind_or_field_proves_nothing(command: object) -> None:
    found = read_tree(tree(command)).many("Stmts")[0].one("Cmd")
    assert found is not None
    assert not found.is_listed


@pytest.mark.requirement("authz.listed-nodes")
def test_empty_and_false_fields_are_no_fields() -> None:
    found = read_tree(tree({"Type": "CallExpr", "Novelty": False, "Other": None, "Pos": "x"}))
    assert found.many("Stmts")[0].one("Cmd") is not None
    assert all(node.is_listed for node in found.every())
    odd = read_tree(tree({"Type": "CallExpr", "End": {"Offset": "x", "Line": 1}}))
    assert odd.many("Stmts")[0].many("Cmd")[0].end == 0


def nested(depth: int) -> dict[str, object]:
    """Subshells within subshells."""
    made: dict[str, object] = {"Type": "CallExpr"}
    for _ in range(depth):
        made = {"Type": "Subshell", "Stmts": [{"Cmd": made}]}
    return made


@pytest.mark.parametrize(
    "text",
    [
        "no json",
        "[" * 100_000,
        "7",
        '{"Type": "Word"}',
        tree(["list of no objects"]),
        tree(nested(MAX_DEPTH)),
        tree({"Type": "CallExpr", "Args": [{}] * MAX_NODES}),
    ],
)
def test_what_is_no_tree_is_refused(text: str) -> None:
    with pytest.raises(ShellTreeError):
        read_tree(text)
