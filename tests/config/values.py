"""Every key of the configuration with values that it takes, derived from the schema itself."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from enum import StrEnum
from typing import Literal, get_args, get_origin

from annotated_types import Ge, Gt, Le
from hypothesis import strategies as st
from pydantic import SecretStr
from pydantic.fields import FieldInfo

from netclaw.config.jsonc_tree import Json
from netclaw.config.schema.base import Section
from netclaw.config.schema.root import Config

Values = st.SearchStrategy[Json]

words = st.text("abcdefghijklmnopqrstuvwxyzäß -_/\\\"'{}", min_size=1, max_size=12).filter(
    lambda text: bool(text.strip())
)
folders = words.map(lambda text: f"/srv/{text}")
FOLDERS = ("Roots", "Credentials")
"""How keys end whose values are lists of folders."""
addresses = st.sampled_from(["http://127.0.0.1:8080/v1", "https://example.test", "http://[::1]:9/"])
spans = st.sampled_from(["00:00:00", "00:00:01.5000000", "01:30:00", "2.00:00:00"])

TOGETHER: dict[str, Values] = {
    "Daemon.DrainSeconds": st.floats(0, 30).map(lambda value: round(value, 3)),
    "Daemon.ShutdownSeconds": st.floats(20, 600).map(lambda value: round(value, 3)),
    "Discord.GatewayUrl": st.sampled_from(["ws://127.0.0.1:1/", "wss://gateway.test"]),
    "Slack.SocketMode": st.just(True),
    "configVersion": st.just(1),
}
"""Keys whose values follow a rule that no annotation shows."""
SKIPPED = ("$schema", "Models", "Providers", "McpServers", "Webhooks[]")

ORDERED = frozenset(
    (
        *("ToolsMode", "AllowedTools", "McpServersMode", "AllowedMcpServers"),
        *("ReadFiles", "WriteFiles", "AttachFiles", "AllowedCategories"),
    )
)
"""Keys of an audience that cannot be changed alone: no audience is wider than the next."""


def _inner(annotation: object) -> object:
    """The type without None and without the metadata around it."""
    while True:
        if hasattr(annotation, "__metadata__"):
            annotation = get_args(annotation)[0]
        elif type(None) in get_args(annotation):
            annotation = next(each for each in get_args(annotation) if each is not type(None))
        else:
            return annotation


def _bounds(info: FieldInfo) -> tuple[float, float]:
    low, high = -1000.0, 1000.0
    for rule in info.metadata:
        match rule:
            case Ge(ge=bound) if isinstance(bound, int | float):
                low = bound
            case Gt(gt=bound) if isinstance(bound, int | float):
                low = bound + 0.5
            case Le(le=bound) if isinstance(bound, int | float):
                high = bound
    return low, high


def _values(name: str, info: FieldInfo) -> Values | None:
    kind = _inner(info.annotation)
    low, high = _bounds(info)
    simple: dict[object, Values] = {
        bool: st.booleans(),
        int: st.integers(int(low), int(high)),
        float: st.floats(low, high).map(lambda value: round(value, 3)),
        timedelta: spans,
        str: addresses if name.endswith(("Url", "Endpoint")) else words,
    }
    if kind in simple:
        return folders if name == "Directory" else simple[kind]
    if isinstance(kind, type) and issubclass(kind, StrEnum):
        return st.sampled_from([member.value for member in kind])
    if get_origin(kind) is tuple:
        return _lists(name, _inner(get_args(kind)[0]))
    return st.sampled_from(get_args(kind)) if get_origin(kind) is Literal else None


def _lists(name: str, item: object) -> Values | None:
    if item is float:
        return st.lists(st.sampled_from([0.0, 0.5, 3.0]), min_size=1, max_size=4).map(list)
    if item is str:
        return st.lists(folders if name.endswith(FOLDERS) else words, max_size=3).map(list)
    return None


def leaves(model: type[Section] = Config, prefix: str = "") -> Iterator[tuple[str, Values]]:
    """(dotted key, strategy) of every leaf with a name of its own."""
    for attribute, info in model.model_fields.items():
        name = info.alias or attribute
        key = f"{prefix}{name}"
        kind = _inner(info.annotation)
        if key in SKIPPED or name in ORDERED or kind is SecretStr:
            continue
        if isinstance(kind, type) and issubclass(kind, Section):
            yield from leaves(kind, f"{key}.")
            continue
        found = TOGETHER[key] if key in TOGETHER else _values(name, info)
        if found is not None:
            yield key, found
