"""Secrets that belong to nothing: kept in their file, left out of what is in force.

A credential may outlive its provider (`netclaw init --force` with another one) or arrive before
it. Neither may stop a daemon, so such entries are a warning.
"""

from __future__ import annotations

from netclaw.config.jsonc_tree import Json
from netclaw.config.tree import (
    Items,
    JsonObject,
    KeyPath,
    Keys,
    Leaf,
    Named,
    Node,
    dotted,
    root,
    secret_paths,
)


def drop_orphans(document: JsonObject) -> tuple[JsonObject, tuple[KeyPath, ...]]:
    """A merged canonical document without entries that hold nothing but secrets, and those secrets.

    Entries are named things (providers, servers) and numbered ones (feeds); a section that always
    exists, such as Slack, is not an entry.
    """
    found: list[KeyPath] = []
    kept = _walk(document, root(), (), found)
    assert isinstance(kept, dict)  # noqa: S101 - the root is a section
    return kept, tuple(found)


def orphan_warning(path: KeyPath) -> str:
    """One sentence about a secret that nothing uses."""
    owner = dotted(path[:2])
    return (
        f"The secret {dotted(path)} is not used: {owner} is not configured."
        f" `netclaw secrets unset {dotted(path)}` removes a stored one."
    )


def _walk(value: Json, node: Node, path: KeyPath, found: list[KeyPath]) -> Json:
    if isinstance(value, dict) and isinstance(node, Keys):
        return {
            key: _walk(item, node.children[key], (*path, key), found) for key, item in value.items()
        }
    if isinstance(value, dict) and isinstance(node, Named):
        return {
            key: _walk(item, node.child, (*path, key), found)
            for key, item in value.items()
            if not _is_orphan(item, node.child, (*path, key), found)
        }
    if isinstance(value, list) and isinstance(node, Items):
        return [
            _walk(item, node.child, (*path, str(at)), found)
            for at, item in enumerate(value)
            if not _is_orphan(item, node.child, (*path, str(at)), found)
        ]
    return value


def _is_orphan(value: Json, node: Node, path: KeyPath, found: list[KeyPath]) -> bool:
    if not isinstance(node, Keys) or not value or not _is_secrets_only(value, node):
        return False
    found.extend(secret_paths(value, node, path))
    return True


def _is_secrets_only(value: Json, node: Node) -> bool:
    if isinstance(node, Leaf):
        return node.is_secret
    if isinstance(value, dict) and isinstance(node, Keys):
        return all(_is_secrets_only(item, node.children[key]) for key, item in value.items())
    if isinstance(value, dict) and isinstance(node, Named):
        return all(_is_secrets_only(item, node.child) for item in value.values())
    return False
