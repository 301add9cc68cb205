"""JSON as it comes from a model or a provider: perhaps broken, never trusted."""

from __future__ import annotations

from typing import Any

import orjson


def is_json_object(text: str) -> bool:
    """Whether `text` is one whole JSON object."""
    try:
        return isinstance(orjson.loads(text), dict)
    except orjson.JSONDecodeError:
        return False


def parse_lenient(data: bytes) -> Any:
    """The value, or None: bytes that are no UTF-8 cost their character, not the whole."""
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        pass
    try:
        return orjson.loads(data.decode("utf-8", "replace"))
    except orjson.JSONDecodeError:
        return None


def dump_body(body: dict[str, Any]) -> bytes:
    """A request body as UTF-8.

    Lone surrogates cannot cross the wire; they are replaced, so one bad character in an old
    message never makes a session unusable.
    """
    try:
        return orjson.dumps(body)
    except orjson.JSONEncodeError:
        return orjson.dumps(_without_surrogates(body))


def text_of(value: object) -> str:
    """`value` if it is a string, else nothing."""
    return value if isinstance(value, str) else ""


def count_of(holder: object, key: str) -> int:
    """A count in an object that may be none, or hold something odd; never negative."""
    value = holder.get(key) if isinstance(holder, dict) else None
    return max(0, int(value)) if isinstance(value, int | float) else 0


def _without_surrogates(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode("utf-8")
    if isinstance(value, dict):
        return {key: _without_surrogates(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_without_surrogates(item) for item in value]
    return value
