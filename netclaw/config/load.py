"""Loads the effective configuration: netclaw.json < secrets.json < credentials < environment."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace

from pydantic import ValidationError

from netclaw.config.build import build
from netclaw.config.documents import read_document
from netclaw.config.home import Home, find_home
from netclaw.config.jsonc_tree import Json, JsoncError, parse, plain
from netclaw.config.loaded import LoadedConfig, stamp_of
from netclaw.config.orphans import drop_orphans, orphan_warning
from netclaw.config.problems import WAY_OUT, as_error, find_problems
from netclaw.config.schema.root import Config
from netclaw.config.secret_store import open_secrets, read_credentials, read_secrets
from netclaw.config.tool_servers import drop_unreadable, drop_unusable
from netclaw.config.tree import (
    JsonObject,
    KeyPath,
    Leaf,
    Node,
    canonical_key,
    canonicalise,
    merge,
    secret_paths,
)
from netclaw.core.errors import InvalidArgumentError

PREFIX = "NETCLAW_"
SEPARATOR = "__"


@dataclass(frozen=True, slots=True)
class Layers:
    """The merged canonical document and where parts of it come from."""

    document: JsonObject
    origins: Mapping[KeyPath, str]
    """Environment variables by the key path they set."""
    warnings: tuple[str, ...]


def load_config(home: Home | None = None, environ: Mapping[str, str] | None = None) -> LoadedConfig:
    """The effective configuration of a home (default: the one the environment names).

    A home without a configuration loads with defaults and a `degraded_reason`. Raises
    `InvalidArgumentError` with one sentence for anything that is not valid; nothing is changed
    on disk, except that plain values in secrets.json are encrypted.
    """
    environ = os.environ if environ is None else environ
    home = home or find_home(environ)
    stamp = stamp_of(home)
    written, unreadable = drop_unreadable(home)
    layers = read_layers(home, environ, document=written)
    document, unusable = drop_unusable(layers.document, layers.origins)
    config = validate(replace(layers, document=document))
    refused = unreadable | unusable
    return replace(build(home, config, layers.warnings, refused_servers=refused), stamp=stamp)


def validate(layers: Layers) -> Config:
    """The layers as a checked model. Raises `InvalidArgumentError`."""
    try:
        return Config.model_validate(layers.document)
    except ValidationError as error:
        raise as_error(find_problems(error, layers.origins)) from None


def read_layers(
    home: Home, environ: Mapping[str, str], *, document: JsonObject | None = None
) -> Layers:
    """All layers merged; `document` stands in for netclaw.json when an edit is being tried."""
    warnings: list[str] = []
    if document is None:
        found = read_document(home.config_file)
        document = canonicalise(found.value) if found else {}
    if secret_paths(document):
        warnings.append(
            "netclaw.json holds secrets; move them to secrets.json with `netclaw secrets set`."
        )
    secrets, more = read_secrets(home)
    overrides, origins = read_environment(environ)
    merged = open_secrets(home, merge({}, document))
    for layer in (secrets, read_credentials(environ), overrides):
        merged = merge(merged, layer)
    merged, orphans = drop_orphans(merged)
    return Layers(merged, origins, (*warnings, *more, *map(orphan_warning, orphans)))


def read_environment(environ: Mapping[str, str]) -> tuple[JsonObject, dict[KeyPath, str]]:
    """Overrides from `NETCLAW_Section__Key`, as a canonical document and by key path.

    Variables without a double underscore (NETCLAW_HOME and the like) are no configuration.
    Raises `InvalidArgumentError` for a variable that names no key.
    """
    document: JsonObject = {}
    origins: dict[KeyPath, str] = {}
    for name in sorted(environ):
        if not name.startswith(PREFIX) or SEPARATOR not in name:
            continue
        parts = tuple(name.removeprefix(PREFIX).split(SEPARATOR))
        try:
            path, node = canonical_key(parts)
        except InvalidArgumentError as error:
            raise InvalidArgumentError(
                f"The environment variable {name} sets no known key: {error.sentence}",
                fix=error.fix,
            ) from None
        overlay: Json = read_value(environ[name], node)
        for part in reversed(path):
            overlay = {part: overlay}
        assert isinstance(overlay, dict)  # noqa: S101 - a path has at least one part
        document = merge_overlays(document, overlay)
        origins[path] = name
    return canonicalise(document), origins


def merge_overlays(low: JsonObject, high: JsonObject) -> JsonObject:
    """Two sparse overlays as one: objects join whatever the schema says."""
    result = dict(low)
    for key, value in high.items():
        old = result.get(key)
        if isinstance(old, dict) and isinstance(value, dict):
            result[key] = merge_overlays(old, value)
        else:
            result[key] = value
    return result


def read_value(text: str, node: Node) -> Json:
    """A value given as text: JSON where the key takes more than text, the text itself otherwise."""
    if isinstance(node, Leaf) and node.is_text:
        return text
    try:
        value = plain(parse(text))
    except JsoncError:
        return text
    is_container = isinstance(value, dict | list)
    if isinstance(node, Leaf) and not node.is_free and is_container:
        return text
    return value


def list_problems(home: Home, environ: Mapping[str, str]) -> tuple[tuple[str, str, str], ...]:
    """Every problem as (key, sentence, way out), for `config validate`; none when it would load."""
    try:
        layers = read_layers(home, environ)
        try:
            build(home, Config.model_validate(layers.document), ())
        except ValidationError as error:
            found = find_problems(error, layers.origins)
            return tuple((problem.key, problem.sentence, WAY_OUT) for problem in found)
    except InvalidArgumentError as error:
        return (("", error.sentence, error.fix),)
    return ()


def list_warnings(home: Home, environ: Mapping[str, str]) -> tuple[str, ...]:
    """What `config validate` says beyond problems; empty where the layers cannot be read."""
    try:
        layers = read_layers(home, environ)
        return build(home, validate(layers), layers.warnings).warnings
    except InvalidArgumentError:
        return ()
