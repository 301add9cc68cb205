"""The schema as a tree of keys, so that any letter case finds a key and a wrong one its neighbour.

Documents are canonicalised before they are validated: keys get their canonical letters, legacy
places move to their new ones, unknown keys are refused with the nearest known one.
"""

from __future__ import annotations

import types
from collections.abc import Iterator
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cache
from typing import Annotated, Union, get_args, get_origin

from pydantic import JsonValue, SecretStr

from netclaw.config.jsonc_tree import Json
from netclaw.config.schema.base import Section
from netclaw.config.schema.root import Config
from netclaw.config.schema.session import LEGACY_TUNING_KEYS
from netclaw.core.errors import InvalidArgumentError

JsonObject = dict[str, Json]
KeyPath = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Leaf:
    """A value without keys that we know."""

    is_secret: bool = False
    is_free: bool = False
    """Any JSON may stand here, so any key may follow."""
    is_text: bool = False
    """Only text may stand here."""
    unset: str = ""
    """What holds while there is no value, as the description says it; empty if it does not."""


@dataclass(frozen=True, slots=True)
class Keys:
    """A section: a fixed set of keys, found by their folded form."""

    names: dict[str, str]
    children: dict[str, Node]


@dataclass(frozen=True, slots=True)
class Named:
    """Entries under names that the operator chooses."""

    child: Node


@dataclass(frozen=True, slots=True)
class Items:
    """A list."""

    child: Node


Node = Leaf | Keys | Named | Items


@cache
def root() -> Keys:
    """The tree of the whole configuration."""
    return _section(Config)


def _section(model: type[Section]) -> Keys:
    children = {
        (info.alias or name): _described(_node(info.annotation), info.description or "")
        for name, info in model.model_fields.items()
    }
    return Keys({name.casefold(): name for name in children}, children)


def _described(node: Node, description: str) -> Node:
    _, mark, unset = description.replace("Unset: ", "unset: ").partition("unset: ")
    return replace(node, unset=unset) if mark and isinstance(node, Leaf) else node


def _node(annotation: object) -> Node:
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _node(arguments[0])
    if origin in (Union, types.UnionType):
        return _node(next(each for each in arguments if each is not type(None)))
    if origin is dict:
        is_free = arguments[1] is JsonValue
        return Leaf(is_free=True) if is_free else Named(_node(arguments[1]))
    if origin is tuple:
        return Items(_node(arguments[0]))
    if isinstance(annotation, type) and issubclass(annotation, Section):
        return _section(annotation)
    return Leaf(is_secret=annotation is SecretStr, is_text=annotation in (str, SecretStr))


def dotted(path: KeyPath) -> str:
    """A path as people write it, on one line; a segment with a dot in it is quoted."""
    text = ".".join(f'"{part}"' if "." in part else part for part in path)
    return text if text.isprintable() else "".join(c if c.isprintable() else "\ufffd" for c in text)


def split_dotted(text: str) -> KeyPath:
    """The segments of a dotted key. Raises `InvalidArgumentError`."""
    parts: list[str] = []
    rest = text
    while True:
        if rest.startswith('"') and '"' in rest[1:]:
            part, _, rest = rest[1:].partition('"')
            if rest and not rest.startswith("."):
                part = ""
            rest = rest[1:] if rest else ""
            is_last = not rest
        else:
            part, dot, rest = rest.partition(".")
            is_last = not dot
        parts.append(part)
        if is_last:
            break
    if not all(parts):
        raise InvalidArgumentError(
            f"{text!r} is not a dotted key.", fix="Write it like Session.IdleTimeout."
        )
    return tuple(parts)


def unknown_key(path: KeyPath, known: Iterator[str] | list[str]) -> InvalidArgumentError:
    """The error for a key that does not exist, naming the nearest that does."""
    names = {name.casefold(): name for name in known}
    near = get_close_matches(path[-1].casefold(), names, n=1, cutoff=0.5)
    place = dotted(path[:-1])
    if near:
        fix = f"Did you mean {dotted((*path[:-1], names[near[0]]))}?"
    else:
        listed = ", ".join(sorted(names.values())[:30])
        fix = f"Known {f'keys of {place}' if place else 'sections'}: {listed}."
    return InvalidArgumentError(f"{dotted(path)} is not a known key.", fix=fix)


def persistence_error() -> InvalidArgumentError:
    """A supplied Persistence section: there is one database path and no in-memory mode."""
    return InvalidArgumentError(
        "The section Persistence must not be supplied: there is one database, in the home.",
        fix="Remove the section; NETCLAW_HOME chooses where the home is.",
    )


def canonical_key(path: KeyPath) -> tuple[KeyPath, Node]:
    """A key path with canonical letters and what stands there. Raises `InvalidArgumentError`."""
    node: Node = root()
    found: list[str] = []
    for part in _without_legacy(path):
        match node:
            case Keys():
                name = node.names.get(part.casefold())
                if name is None:
                    if not found and part.casefold() == "persistence":
                        raise persistence_error()
                    raise unknown_key((*found, part), list(node.children))
                node = node.children[name]
                found.append(name)
            case Named():
                node = node.child
                found.append(part)
            case Items():
                node = _item(node, (*found, part))
                found.append(part)
            case Leaf(is_free=True):
                found.append(part)
            case Leaf():
                raise InvalidArgumentError(
                    f"{dotted((*found, part))} is not a known key.",
                    fix=f"{dotted(tuple(found))} is a value and has no keys.",
                )
    return tuple(found), node


def _item(node: Items, path: KeyPath) -> Node:
    if not path[-1].isascii() or not path[-1].isdigit() or len(path[-1]) > 4:
        raise InvalidArgumentError(
            f"{dotted(path)} is not a known key.",
            fix=f"{dotted(path[:-1])} is a list; its entries are numbered from 0.",
        )
    return node.child


def _without_legacy(path: KeyPath) -> KeyPath:
    """Session.<key> of older files, as Session.Tuning.<key>."""
    if len(path) == 2 and path[0].casefold() == "session":
        for name in LEGACY_TUNING_KEYS:
            if path[1].casefold() == name.casefold():
                return ("Session", "Tuning", name)
    return path


def canonicalise(document: JsonObject) -> JsonObject:
    """The document with canonical keys in canonical places. Raises `InvalidArgumentError`."""
    return _Canonical().section(document, root(), ())


class _Canonical:
    """Walks document and schema side by side."""

    def value(self, value: Json, node: Node, path: KeyPath) -> Json:
        match node:
            case Keys():
                return self.section(_object(value, path), node, path)
            case Named():
                return self._named(_object(value, path), node, path)
            case Items() if isinstance(value, list):
                return [
                    self.value(item, node.child, (*path, str(index)))
                    for index, item in enumerate(value)
                ]
            case Items() if isinstance(value, dict):
                return {
                    key: self.value(item, _item(node, (*path, key)), (*path, key))
                    for key, item in value.items()
                }
            case _:
                return value

    def section(self, document: JsonObject, node: Keys, path: KeyPath) -> JsonObject:
        result: JsonObject = {}
        legacy: JsonObject = {}
        for key, value in document.items():
            moved = _without_legacy((*path, key))
            if moved[:-1] != path and len(moved) == 3:
                _put(legacy, moved[-1], value, (*path, key))
                continue
            name = node.names.get(key.casefold())
            if name is None:
                if not path and key.casefold() == "persistence":
                    raise persistence_error()
                raise unknown_key((*path, key), list(node.children))
            child = node.children[name]
            if value is None and isinstance(child, Keys | Named):
                continue
            _put(result, name, self.value(value, child, (*path, name)), (*path, key))
        if legacy:
            tuning = result.get("Tuning")
            result["Tuning"] = legacy | (tuning if isinstance(tuning, dict) else {})
        return result

    def _named(self, document: JsonObject, node: Named, path: KeyPath) -> JsonObject:
        result: JsonObject = {}
        seen: set[str] = set()
        for name, value in document.items():
            if fold_name(name, node) in seen:
                raise InvalidArgumentError(
                    f"{dotted((*path, name))} is named twice; letter case makes no difference."
                )
            seen.add(fold_name(name, node))
            if value is not None or isinstance(node.child, Leaf):
                result[name] = self.value(value, node.child, (*path, name))
        return result


def fold_name(name: str, node: Named) -> str:
    """What makes two names the same: letters of any case for entries, exact text for values.

    Names of providers, models and servers are ours; those of headers, variables and channel ids
    belong to others.
    """
    return name.casefold() if isinstance(node.child, Keys) else name


def merge(low: JsonObject, high: JsonObject) -> JsonObject:
    """Two canonical documents as one; `high` wins, sections join, lists and values replace.

    An object whose keys are numbers changes single entries of a list, as environment variables
    and secrets do (`SkillFeeds.Feeds.0.ApiKey`).
    """
    return _Join(keeps_sparse=False).whole(low, high)


def merge_sparse(low: JsonObject, high: JsonObject) -> JsonObject:
    """The same for two layers that will be merged onto a third: numbered entries stay numbered."""
    return _Join(keeps_sparse=True).whole(low, high)


class _Join:
    """Walks two documents and the schema side by side."""

    def __init__(self, *, keeps_sparse: bool) -> None:
        self._keeps_sparse = keeps_sparse

    def whole(self, low: JsonObject, high: JsonObject) -> JsonObject:
        joined = self._value(low, high, root())
        assert isinstance(joined, dict)  # noqa: S101 - the root is a section
        return joined

    def _value(self, low: Json, high: Json, node: Node) -> Json:
        if isinstance(node, Leaf) or not isinstance(high, dict):
            return high
        if isinstance(node, Items):
            return self._items(low, high, node)
        result = dict(low) if isinstance(low, dict) else {}
        spelled = (
            {fold_name(name, node): name for name in result} if isinstance(node, Named) else {}
        )
        for key, value in high.items():
            name = spelled.get(fold_name(key, node), key) if isinstance(node, Named) else key
            child = node.child if isinstance(node, Named) else node.children[key]
            result[name] = self._value(result.get(name), value, child)
        return result

    def _items(self, low: Json, high: JsonObject, node: Items) -> Json:
        if self._keeps_sparse and not isinstance(low, list):
            old = low if isinstance(low, dict) else {}
            return old | {
                key: self._value(old.get(key), item, node.child) for key, item in high.items()
            }
        items = list(low) if isinstance(low, list) else []
        for key in sorted(high, key=int):
            index = min(int(key), len(items))
            before = items[index] if index < len(items) else None
            items[index : index + 1] = [self._value(before, high[key], node.child)]
        return items


def _object(value: Json, path: KeyPath) -> JsonObject:
    if not isinstance(value, dict):
        raise InvalidArgumentError(f"{dotted(path)} must be a section in curly brackets.")
    return value


def _put(target: JsonObject, name: str, value: Json, path: KeyPath) -> None:
    if name in target:
        raise InvalidArgumentError(
            f"{dotted(path)} is given twice; letter case makes no difference."
        )
    target[name] = value


def secret_paths(document: Json, node: Node | None = None, path: KeyPath = ()) -> list[KeyPath]:
    """Where a canonical document holds values that belong into secrets.json."""
    node = root() if node is None else node
    match node:
        case Leaf(is_secret=True):
            return [path]
        case Keys() if isinstance(document, dict):
            entries = [(key, value, node.children[key]) for key, value in document.items()]
        case Named() if isinstance(document, dict):
            entries = [(key, value, node.child) for key, value in document.items()]
        case Items() if isinstance(document, dict):
            entries = [(key, value, node.child) for key, value in document.items()]
        case Items() if isinstance(document, list):
            entries = [(str(at), value, node.child) for at, value in enumerate(document)]
        case _:
            return []
    return [
        found for key, value, child in entries for found in secret_paths(value, child, (*path, key))
    ]
