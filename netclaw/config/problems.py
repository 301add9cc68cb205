"""Says in one sentence what is wrong with a value, without showing the value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from netclaw.config.tree import KeyPath, dotted
from netclaw.core.errors import InvalidArgumentError

_EXPECTED = {
    "missing": "is missing",
    "string_type": "must be text",
    "bool_type": "must be true or false",
    "bool_parsing": "must be true or false",
    "int_type": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_parsing_size": "is too large a number",
    "int_from_float": "must be a whole number",
    "float_type": "must be a number",
    "float_parsing": "must be a number",
    "finite_number": "must be a finite number",
    "tuple_type": "must be a list in square brackets",
    "dict_type": "must be a section in curly brackets",
    "model_type": "must be a section in curly brackets",
    "greater_than": "must be greater than {gt}",
    "greater_than_equal": "must be at least {ge}",
    "less_than": "must be less than {lt}",
    "less_than_equal": "must be at most {le}",
    "enum": "must be {expected}",
    "literal_error": "must be {expected}",
    "too_short": "needs at least {min_length} entries",
    "too_long": "takes at most {max_length} entries",
}
WAY_OUT = "`netclaw config schema` says what is allowed."


@dataclass(frozen=True, slots=True)
class Problem:
    """One wrong value: its key and a sentence."""

    key: str
    sentence: str


def _sentence(details: ErrorDetails, key: str) -> str:
    context = details.get("ctx", {})
    if details["type"] == "value_error":
        said = str(context["error"])
        rule = said if " must " in said else f"{key} must be {said}"
        return f"{rule}."
    template = _EXPECTED.get(details["type"])
    rule = template.format(**context) if template else f"is not valid ({details['msg']})"
    return f"{key} {rule}."


def find_problems(error: ValidationError, origins: Mapping[KeyPath, str]) -> tuple[Problem, ...]:
    """Every problem of a validation, in the order of the schema.

    `origins` names environment variables by the key path they set.
    """
    problems = []
    for details in error.errors(include_url=False, include_input=False):
        path = tuple(str(part) for part in details["loc"] if part != "[key]")
        key = dotted(path) or "The configuration"
        sentence = _sentence(details, key)
        source = next((name for at, name in origins.items() if path[: len(at)] == at), None)
        if source:
            sentence = f"{sentence[:-1]} (set by the environment variable {source})."
        problems.append(Problem(key, sentence))
    return tuple(problems)


def as_error(problems: tuple[Problem, ...]) -> InvalidArgumentError:
    """The first problem as an error that says how many more there are."""
    first = problems[0].sentence
    more = len(problems) - 1
    if more:
        first += f" {more} more value{'s are' if more > 1 else ' is'} wrong."
    fix = f"`netclaw config validate` lists every problem. {WAY_OUT}" if more else WAY_OUT
    return InvalidArgumentError(first, fix=fix)
