"""Reads the JSON of stored events without the codec; raises `TypeError` for another form."""

from __future__ import annotations

Json = dict[str, object]


def text_of(content: Json, name: str) -> str:
    """A text of an object."""
    value = content[name]
    if not isinstance(value, str):
        raise TypeError(name)
    return value


def number_of(content: Json, name: str) -> int:
    """A whole number of an object."""
    value = content[name]
    if not isinstance(value, int):
        raise TypeError(name)
    return value


def texts_of(content: Json, name: str) -> tuple[str, ...]:
    """A list of texts of an object."""
    value = content[name]
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise TypeError(name)
    return tuple(value)


def objects_of(content: Json, name: str) -> tuple[Json, ...]:
    """A list of objects of an object."""
    value = content[name]
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise TypeError(name)
    return tuple(value)


def object_of(content: Json, name: str) -> Json:
    """An object in an object."""
    value = content[name]
    if not isinstance(value, dict):
        raise TypeError(name)
    return value


def optional_text_of(content: Json, name: str) -> str | None:
    """A text of an object, or None where it is null or not there."""
    return None if content.get(name) is None else text_of(content, name)
