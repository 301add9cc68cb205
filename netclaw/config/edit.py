"""Reads and changes single keys of netclaw.json: checked before it is written, whole or not at all.

Comments and layout survive: only the value's own characters change. If that is not possible the
document is written anew from its content, which loses comments but never a value.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pydantic import SecretStr

from netclaw.config import text_edit
from netclaw.config.build import build
from netclaw.config.documents import (
    Document,
    editing,
    parse_document,
    pretty,
    read_document,
    write_private,
)
from netclaw.config.home import Home
from netclaw.config.jsonc_tree import Json, JsoncError, Node, parse, plain
from netclaw.config.load import read_layers, read_value, validate
from netclaw.config.schema.root import CONFIG_VERSION, Config
from netclaw.config.tree import (
    Items,
    JsonObject,
    KeyPath,
    Keys,
    Leaf,
    Named,
    canonical_key,
    canonicalise,
    dotted,
    root,
    split_dotted,
)
from netclaw.config.tree import Node as SchemaNode
from netclaw.core.errors import InvalidArgumentError, NetclawError, NotFoundError

SET_MARK = "(set)"
"""Stands for a secret wherever configuration is shown."""


@dataclass(frozen=True, slots=True)
class Change:
    """A finished edit: the key, and what netclaw.json held before, to undo it."""

    key: str
    before: str | None
    """None: there was no file."""


def get_key(home: Home, environ: Mapping[str, str], key: str) -> Json:
    """The effective value of a key, defaults included, secrets only as `(set)`.

    Raises `InvalidArgumentError` for an unknown key, `NotFoundError` for an entry that is not
    there.
    """
    path, node = canonical_key(split_dotted(key))
    shown = show(home, environ)
    value: Json = shown
    for at, part in enumerate(path):
        if isinstance(value, dict):
            name = next((each for each in value if each.casefold() == part.casefold()), None)
            if name is None:
                raise _not_set(path[: at + 1], node if at + 1 == len(path) else None)
            value = value[name]
        elif isinstance(value, list) and part.isdigit() and int(part) < len(value):
            value = value[int(part)]
        else:
            raise _not_set(path[: at + 1])
    return value


def try_key(home: Home, environ: Mapping[str, str], key: str) -> Json:
    """The same, None for an entry that is not there."""
    try:
        return get_key(home, environ, key)
    except NotFoundError:
        return None


def _not_set(path: KeyPath, node: SchemaNode | None = None) -> NotFoundError:
    """`node` is that of the path; what holds without a value is told if it knows."""
    meaning = node.unset if isinstance(node, Leaf) else ""
    return NotFoundError(
        f"{dotted(path)} is not set: {meaning}" if meaning else f"{dotted(path)} is not set.",
        fix="`netclaw config show --all` prints what is in force.",
    )


def show(home: Home, environ: Mapping[str, str]) -> JsonObject:
    """The whole effective configuration with canonical keys; secrets only as `(set)`."""
    config = validate(read_layers(home, environ))
    shown = _hide_secrets(config.model_dump(by_alias=True, mode="python", exclude_none=True))
    assert isinstance(shown, dict)  # noqa: S101 - a model dumps to a dict
    return shown


def show_changed(home: Home, environ: Mapping[str, str]) -> JsonObject:
    """The same without what equals its default; sections that this leaves empty are left out."""
    config = validate(read_layers(home, environ))
    dumped = config.model_dump(
        by_alias=True, mode="python", exclude_none=True, exclude_defaults=True
    )
    shown = _without_empty(_hide_secrets(dumped))
    assert isinstance(shown, dict)  # noqa: S101 - a model dumps to a dict
    return shown


def _without_empty(value: Json) -> Json:
    if not isinstance(value, dict):
        return value
    kept = {key: _without_empty(item) for key, item in value.items()}
    return {key: item for key, item in kept.items() if item != {}}


def _hide_secrets(value: object) -> Json:
    if isinstance(value, SecretStr):
        return SET_MARK
    if isinstance(value, dict):
        return {str(key): _hide_secrets(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_hide_secrets(item) for item in value]
    if value is None or isinstance(value, bool | int | float):
        return value
    return str(value)


def json_schema() -> JsonObject:
    """The JSON schema of netclaw.json."""
    schema: JsonObject = Config.model_json_schema(by_alias=True)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema"} | schema


def set_key(home: Home, environ: Mapping[str, str], key: str, text: str) -> Change:
    """Set a key to JSON or plain text, validated with all layers before it is written.

    Raises `InvalidArgumentError` for anything that would not load; the file is then untouched.
    """
    path, node = canonical_key(split_dotted(key))
    _refuse_secret(path, node)
    if path[0] == "$schema":
        raise InvalidArgumentError("$schema is for editors and is not set here.")
    candidates = [read_value(text, node)]
    if candidates[0] != text:
        candidates.append(text)  # a name that happens to look like a number
    first_error: NetclawError | None = None
    for candidate in candidates:
        try:
            return _change(home, environ, path, lambda d, v=candidate: _with(d, path, v))  # type: ignore[misc]
        except InvalidArgumentError as error:
            first_error = first_error or error
    assert first_error is not None  # noqa: S101 - there is at least one candidate
    raise first_error


def unset_key(home: Home, environ: Mapping[str, str], key: str) -> Change:
    """Remove a key from netclaw.json, so that its default is in force.

    Raises `NotFoundError` if the file does not hold it.
    """
    path, _ = canonical_key(split_dotted(key))
    return _change(home, environ, path, lambda document: _without(document, path))


def undo(home: Home, change: Change) -> None:
    """Put back what a change replaced."""
    with editing(home):
        if change.before is None:
            home.config_file.unlink(missing_ok=True)
        else:
            write_private(home.config_file, change.before.encode())


def _refuse_secret(path: KeyPath, node: SchemaNode) -> None:
    if isinstance(node, Leaf) and node.is_secret:
        raise InvalidArgumentError(
            f"{dotted(path)} is a secret and does not belong into netclaw.json.",
            fix=f"Run `netclaw secrets set {dotted(path)}`.",
        )


def _change(
    home: Home,
    environ: Mapping[str, str],
    path: KeyPath,
    edit: Callable[[Document], str],
) -> Change:
    with editing(home):
        found = read_document(home.config_file)
        document = found or parse_document(
            home.config_file, pretty({"configVersion": CONFIG_VERSION})
        )
        changed = parse_document(home.config_file, edit(document))
        layers = read_layers(home, environ, document=canonicalise(changed.value))
        build(home, validate(layers), ())
        write_private(home.config_file, changed.text.encode())
        return Change(dotted(path), found.text if found else None)


def _spelled(document: Document, path: KeyPath) -> text_edit.Path:
    """The path with keys as the document writes them, where it has them, and list positions."""
    node: Node | None = document.tree
    schema: SchemaNode = root()
    spelled: list[str | int] = []
    for part in path:
        is_exact = isinstance(schema, Named) and not isinstance(schema.child, Keys)
        key = text_edit.member_key(node, part) if node is not None and not is_exact else None
        spelled.append(int(part) if isinstance(schema, Items) else key or part)
        node = text_edit.child(node, spelled[-1]) if node is not None else None
        schema = _step(schema, part)
    return tuple(spelled)


def _step(schema: SchemaNode, part: str) -> SchemaNode:
    if isinstance(schema, Keys):
        return schema.children.get(part, Leaf())
    return schema if isinstance(schema, Leaf) else schema.child


def _with(document: Document, path: KeyPath, value: Json) -> str:
    if not _is_json(value):
        raise InvalidArgumentError(f"{dotted(path)} must be a finite number.")
    place = _spelled(document, path)
    wanted = _put(document.value, place, value)
    return _text_of(text_edit.replace(document.text, document.tree, place, value), wanted)


def _is_json(value: Json) -> bool:
    """Whether JSON can say it: it has no number for what is too large for one."""
    try:
        json.dumps(value, allow_nan=False)
    except ValueError:
        return False
    return True


def _without(document: Document, path: KeyPath) -> str:
    places = [_spelled(document, path)]
    if path[:2] == ("Session", "Tuning") and len(path) == 3:
        places.append(_spelled(document, ("Session", path[2])))  # where older files have it
    present = [place for place in places if _has(document.value, place)]
    if not present:
        raise NotFoundError(
            f"{dotted(path)} is not set in netclaw.json.", fix="Its default is in force already."
        )
    for place in present:
        wanted = _drop(document.value, place)
        text = _text_of(text_edit.remove(document.text, document.tree, place), wanted)
        document = parse_document(document.path, text)
    return document.text


def _text_of(edited: str, wanted: Json) -> str:
    """The edited text if it means what was wanted, else the document written anew."""
    try:
        if plain(parse(edited)) == wanted:
            return edited
    except JsoncError:
        pass
    return pretty(wanted)


def _has(value: Json, path: text_edit.Path) -> bool:
    for part in path:
        if isinstance(value, dict) and str(part) in value:
            value = value[str(part)]
        elif isinstance(value, list) and isinstance(part, int) and part < len(value):
            value = value[part]
        else:
            return False
    return True


def _put(at: Json, path: text_edit.Path, value: Json) -> Json:
    if not path:
        return value
    head, rest = path[0], path[1:]
    if isinstance(head, int) and not isinstance(at, dict):
        items = list(at) if isinstance(at, list) else []
        if head > len(items):
            raise InvalidArgumentError(
                f"The list has {len(items)} entries, so the next one is {len(items)}."
            )
        old = items[head] if head < len(items) else None
        items[head : head + 1] = [_put(old, rest, value)]
        return items
    section = at if isinstance(at, dict) else {}
    return section | {str(head): _put(section.get(str(head)), rest, value)}


def _drop(at: Json, path: text_edit.Path) -> Json:
    head, rest = path[0], path[1:]
    if isinstance(at, list) and isinstance(head, int):
        items = list(at)
        items[head : head + 1] = [_drop(items[head], rest)] if rest else []
        return items
    assert isinstance(at, dict)  # noqa: S101 - the path exists
    if not rest:
        return {key: value for key, value in at.items() if key != str(head)}
    return at | {str(head): _drop(at[str(head)], rest)}
