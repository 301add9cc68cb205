"""Proves that an arithmetic expression only computes: it assigns nothing and runs nothing.

bash evaluates the *value* of every variable it meets as an expression again, subscripts with
command substitutions included; so a name is proved only if all its values are plain numbers.
"""

from __future__ import annotations

import re

from netclaw.core.authz.flow import State
from netclaw.core.authz.shell_nodes import Node

_NUMBER = re.compile(r"[0-9]+|0[xX][0-9A-Fa-f]+|[1-9][0-9]?#[0-9A-Za-z@_]+")
_INTEGER = re.compile(r"-?[0-9]+")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_OPERATORS = {
    "BinaryArithm": "+ - * / % ** << >> & | ^ && || < > <= >= == != ? : ,",
    "UnaryArithm": "+ - ! ~",
}


def is_proved(node: Node, state: State) -> bool:
    """Whether an `ArithmExp`, or a part of one, is a computation with known numbers."""
    if not node.is_listed:
        return False
    if node.kind == "Word":
        return _is_number(node, state)
    operators = _OPERATORS.get(node.kind)
    if operators is not None and node.text("Op") not in operators.split():
        return False
    below = [*node.many("X"), *node.many("Y")]
    return bool(below) and all(is_proved(child, state) for child in below)


def _is_number(word: Node, state: State) -> bool:
    parts = word.many("Parts")
    if len(parts) != 1 or not parts[0].is_listed:
        return False
    part = parts[0]
    if part.kind == "Lit":
        text = part.text()
        return _NUMBER.fullmatch(text) is not None or _has_numbers(text, state)
    name = part.one("Param")
    is_plain = part.kind == "ParamExp" and set(part.children) == {"Param"}
    return is_plain and name is not None and _has_numbers(name.text(), state)


def _has_numbers(name: str, state: State) -> bool:
    if name in {"?", "#"}:
        return True
    values = state.value(name) if _NAME.fullmatch(name) else None
    return values is not None and all(map(_INTEGER.fullmatch, values))
