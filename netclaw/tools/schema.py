"""Declares the arguments of a tool once: as JSON schema for the model, and as the check of a call.

A refused call names every wrong argument in one sentence each, so that a model can mend it in one
step. Nothing is guessed: a number in quotes, an unknown name or a doubled name is an error.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from netclaw.tools.faults import ToolFault

MAX_ARGUMENT_CHARS = 2_000_000
"""A call with more text than this is refused before it is parsed."""

Value = str | int | float | bool | tuple[str, ...]


class Kind(StrEnum):
    """The JSON type of an argument."""

    STRING = "string"
    INTEGER = "integer"
    NUMBER = "number"
    BOOLEAN = "boolean"
    WORDS = "array"
    """A list of words, each one of the choices."""


_PYTHON_TYPES: dict[Kind, tuple[type, ...]] = {
    Kind.STRING: (str,),
    Kind.INTEGER: (int,),
    Kind.NUMBER: (int, float),
    Kind.BOOLEAN: (bool,),
    Kind.WORDS: (list,),
}
_ARTICLES = {
    Kind.STRING: "a string",
    Kind.INTEGER: "a whole number",
    Kind.NUMBER: "a number",
    Kind.WORDS: "a list",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One argument; an optional one without a default is simply absent."""

    name: str
    kind: Kind
    description: str
    is_required: bool = False
    minimum: int | None = None
    maximum: int | None = None
    max_chars: int | None = None
    choices: tuple[str, ...] = ()

    def schema(self) -> dict[str, object]:
        """This argument as JSON schema."""
        made: dict[str, object] = {"type": self.kind.value, "description": self.description}
        if self.minimum is not None:
            made["minimum"] = self.minimum
        if self.maximum is not None:
            made["maximum"] = self.maximum
        if self.max_chars is not None:
            made["maxLength"] = self.max_chars
        if self.kind is Kind.WORDS:
            made["items"] = {"type": "string", "enum": list(self.choices)}
        elif self.choices:
            made["enum"] = list(self.choices)
        return made

    def fault(self, value: object) -> str:
        """What is wrong with a value, as a sentence; empty if nothing is."""
        name = f"`{self.name}`"
        is_bool = isinstance(value, bool)
        if not isinstance(value, _PYTHON_TYPES[self.kind]) or is_bool != (
            self.kind is Kind.BOOLEAN
        ):
            return f"{name} must be {_ARTICLES.get(self.kind, 'true or false')}."
        if isinstance(value, list):
            return self._words_fault(name, value)
        if isinstance(value, str):
            return self._text_fault(name, value)
        return self._number_fault(name, value) if isinstance(value, int | float) else ""

    def _words_fault(self, name: str, words: list[object]) -> str:
        if all(isinstance(word, str) and word in self.choices for word in words):
            return ""
        return f"{name} may hold only: {', '.join(self.choices)}."

    def _number_fault(self, name: str, value: float) -> str:
        if self.minimum is not None and value < self.minimum:
            return f"{name} must be at least {self.minimum}."
        if self.maximum is not None and value > self.maximum:
            return f"{name} must be at most {self.maximum}."
        return ""

    def _text_fault(self, name: str, value: str) -> str:
        if self.max_chars is not None and len(value) > self.max_chars:
            return f"{name} has {len(value)} characters; at most {self.max_chars} are allowed."
        if self.choices and value not in self.choices:
            return f"{name} must be one of: {', '.join(self.choices)}."
        try:
            value.encode("utf-8")
        except UnicodeEncodeError:
            return f"{name} is not valid Unicode text."
        return ""


class Arguments:
    """The checked arguments of one call."""

    def __init__(self, values: Mapping[str, Value], source: str = "{}") -> None:
        self._values = dict(values)
        self.source = source
        """JSON text of the one object that the model wrote."""

    def text(self, name: str, default: str = "") -> str:
        """A string argument."""
        value = self._values.get(name, default)
        return value if isinstance(value, str) else default

    def whole(self, name: str, default: int = 0) -> int:
        """A whole number argument."""
        value = self._values.get(name, default)
        return value if isinstance(value, int) else default

    def number(self, name: str, default: float = 0.0) -> float:
        """A number argument."""
        value = self._values.get(name, default)
        return float(value) if isinstance(value, int | float) else default

    def words(self, name: str) -> tuple[str, ...]:
        """A list argument."""
        value = self._values.get(name, ())
        return value if isinstance(value, tuple) else ()

    def flag(self, name: str, default: bool = False) -> bool:
        """A true or false argument."""
        return self._values.get(name, default) is True


def schema_text(fields: Sequence[Field]) -> str:
    """The JSON schema of a tool's arguments, always spelled the same way."""
    required = [field.name for field in fields if field.is_required]
    schema: dict[str, object] = {
        "type": "object",
        "properties": {field.name: field.schema() for field in fields},
        "additionalProperties": False,
    }
    if required:
        schema["required"] = required
    return json.dumps(schema, ensure_ascii=False, separators=(",", ":"))


def parse(fields: Sequence[Field], text: str) -> Arguments:
    """Checks the JSON text of a call. Raises `ToolFault` naming everything that is wrong."""
    found = _object(text)
    known = {field.name: field for field in fields}
    faults = [
        f"There is no argument `{name[:60]}`; known are: {', '.join(known) or 'none'}."
        for name in found
        if name not in known
    ]
    values: dict[str, Value] = {}
    for field in fields:
        value = found.get(field.name)
        if value is None:  # absent, or the null that models send for "absent"
            if field.is_required:
                faults.append(f"`{field.name}` is missing.")
            continue
        if isinstance(value, float) and value.is_integer() and field.kind is Kind.INTEGER:
            value = int(value)
        fault = field.fault(value)
        if fault:
            faults.append(fault)
        elif isinstance(value, list):
            values[field.name] = tuple(map(str, value))
        elif isinstance(value, str | int | float):
            values[field.name] = value
    if faults:
        raise ToolFault.invalid(" ".join(faults) + " The tool was not run.")
    return Arguments(values, text or "{}")


def parse_foreign(text: str) -> Arguments:
    """The arguments of a tool whose own program checks them: one JSON object, whatever it holds.

    Raises `ToolFault` for anything else.
    """
    _object(text)
    return Arguments({}, text or "{}")


def _object(text: str) -> dict[str, object]:
    if len(text) > MAX_ARGUMENT_CHARS:
        raise ToolFault.invalid("The arguments are too large. The tool was not run.")
    try:
        value: object = json.loads(
            text or "{}", object_pairs_hook=_distinct, parse_constant=_no_constant
        )
    except (ValueError, RecursionError):
        raise ToolFault.invalid(
            "The arguments are not one JSON object with distinct names. The tool was not run."
        ) from None
    if not isinstance(value, dict):
        raise ToolFault.invalid("The arguments are not a JSON object. The tool was not run.")
    return value


def _distinct(pairs: list[tuple[str, object]]) -> dict[str, object]:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise ValueError("a name is given twice")
    return made


def _no_constant(name: str) -> object:
    raise ValueError(name)
