"""A typed view of the shell parser's JSON in which only listed kinds and fields count.

The list is what proves a command: a node of another kind, or one that carries a field that is not
listed for its kind, is there but proves nothing (decision 38). It stays in the tree, because
denials look at everything.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

MAX_DEPTH = 120
"""Nesting of nodes; no command that a person could judge comes near."""

MAX_NODES = 40_000

LISTED: Mapping[str, frozenset[str]] = {
    kind: frozenset(fields.split())
    for kind, fields in {
        "File": "Stmts",
        "Stmt": "Cmd Redirs Background",
        "CallExpr": "Args Assigns",
        "Assign": "Name Value Naked Append",
        "Word": "Parts",
        "Lit": "Value",
        "SglQuoted": "Value Dollar",
        "DblQuoted": "Parts",
        "ParamExp": "Short Param Length Exp Repl",
        "Expansion": "Op Word",
        "Replace": "Orig With All",
        "CmdSubst": "Stmts Backquotes",
        "ArithmExp": "X Bracket",
        "BinaryArithm": "Op X Y",
        "UnaryArithm": "Op X",
        "ParenArithm": "X",
        "BinaryCmd": "Op X Y",
        "Subshell": "Stmts",
        "IfClause": "Cond Then Else",
        "WhileClause": "Cond Do Until",
        "ForClause": "Loop Do",
        "WordIter": "Name Items",
        "CaseClause": "Word Items",
        "CaseItem": "Op Patterns Stmts",
        "Redirect": "Op N Word Hdoc",
        "TestClause": "X",
        "UnaryTest": "Op X",
        "BinaryTest": "Op X Y",
        "ParenTest": "X",
        "DeclClause": "Variant Args",
    }.items()
}
"""Every kind of node that can prove something, with the fields it may carry."""

_UNTYPED = {
    "Stmts": "Stmt",
    "Stmt": "Stmt",
    "Cond": "Stmt",
    "Then": "Stmt",
    "Do": "Stmt",
    "Body": "Stmt",
    "X": "Stmt",
    "Y": "Stmt",
    "Args": "Word",
    "Word": "Word",
    "Hdoc": "Word",
    "Value": "Word",
    "Orig": "Word",
    "With": "Word",
    "Patterns": "Word",
    "Items": "Word",
    "Assigns": "Assign",
    "Redirs": "Redirect",
    "Name": "Lit",
    "Param": "Lit",
    "Variant": "Lit",
    "N": "Lit",
    "Exp": "Expansion",
    "Repl": "Replace",
    "Else": "IfClause",
}
"""The kind of a node that names none, by the field that holds it."""

_UNTYPED_IN = {("CaseClause", "Items"): "CaseItem", ("DeclClause", "Args"): "Assign"}

_IGNORED = frozenset({"Type", "Pos", "End", "Comments", "Last", "CondLast", "ThenLast", "DoLast"})


class ShellTreeError(ValueError):
    """The parser's answer is no tree that can be read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """One node; `start` and `end` are byte offsets into the parsed text."""

    kind: str
    start: int
    end: int
    texts: Mapping[str, str] = field(default_factory=dict)
    flags: frozenset[str] = frozenset()
    children: Mapping[str, tuple[Node, ...]] = field(default_factory=dict)

    @property
    def is_listed(self) -> bool:
        """Whether this node itself is one that can prove something."""
        allowed = LISTED.get(self.kind)
        return allowed is not None and allowed.issuperset(
            (*self.texts, *self.flags, *self.children)
        )

    def text(self, name: str = "Value") -> str:
        """A text field, empty if absent."""
        return self.texts.get(name, "")

    def many(self, name: str) -> tuple[Node, ...]:
        """The children of a field."""
        return self.children.get(name, ())

    def one(self, name: str) -> Node | None:
        """The only child of a field."""
        found = self.children.get(name, ())
        return found[0] if found else None

    def every(self) -> Iterator[Node]:
        """This node and all below it, in the order of the text."""
        pending = [self]
        while pending:
            node = pending.pop()
            yield node
            below = [child for group in node.children.values() for child in group]
            pending.extend(sorted(below, key=lambda child: child.start, reverse=True))


def read_tree(text: str) -> Node:
    """The root of the parser's JSON. Raises `ShellTreeError`."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as fault:
        raise ShellTreeError("the parser's answer is no JSON") from fault
    root = _Reader().node(data, "File", 0)
    if root.kind != "File":
        raise ShellTreeError("the parser's answer is no file")
    return root


class _Reader:
    """Counts what it reads, so that no text makes more work than a command is worth."""

    def __init__(self) -> None:
        self._count = 0

    def node(self, data: object, kind: str, depth: int) -> Node:
        """One JSON object as a node."""
        self._count += 1
        if not isinstance(data, dict) or depth > MAX_DEPTH or self._count > MAX_NODES:
            raise ShellTreeError("the command is nested too deeply or too long to be proved")
        named = data.get("Type", kind)
        made_kind = named if isinstance(named, str) else "?"
        texts: dict[str, str] = {}
        flags: set[str] = set()
        children: dict[str, tuple[Node, ...]] = {}
        for name, value in data.items():
            if name in _IGNORED or _is_position(value):
                continue
            if isinstance(value, str):
                texts[name] = value
            elif isinstance(value, dict | list):
                children[name] = self._children(made_kind, name, value, depth + 1)
            elif value:
                flags.add(name)
        return Node(
            kind=made_kind,
            start=_offset(data.get("Pos")),
            end=_offset(data.get("End")),
            texts=texts,
            flags=frozenset(flags),
            children=children,
        )

    def _children(self, parent: str, name: str, value: object, depth: int) -> tuple[Node, ...]:
        kind = _UNTYPED_IN.get((parent, name)) or _UNTYPED.get(name, "?")
        items = value if isinstance(value, list) else [value]
        return tuple(self.node(item, kind, depth) for item in items)


def _is_position(value: object) -> bool:
    return isinstance(value, dict) and "Offset" in value and "Line" in value


def _offset(value: object) -> int:
    found = value.get("Offset", 0) if isinstance(value, dict) else 0
    return found if isinstance(found, int) else 0
