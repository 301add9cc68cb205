"""secrets.json: written once, never shown, encrypted at rest; and credentials of a service manager.

Layers above the file: `$CREDENTIALS_DIRECTORY/netclaw.<Dotted.Key>` as systemd passes them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from netclaw.config.documents import (
    editing,
    pretty,
    read_document,
    read_regular,
    write_private,
)
from netclaw.config.home import Home
from netclaw.config.jsonc_tree import Json
from netclaw.config.tree import (
    JsonObject,
    KeyPath,
    Leaf,
    canonical_key,
    canonicalise,
    dotted,
    merge_sparse,
    secret_paths,
    split_dotted,
)
from netclaw.core.errors import InvalidArgumentError, NotFoundError, StorageError

CREDENTIALS_VARIABLE = "CREDENTIALS_DIRECTORY"
CREDENTIAL_PREFIX = "netclaw."
CREDENTIAL_MAX_BYTES = 64 * 1024


def read_secrets(home: Home) -> tuple[JsonObject, tuple[str, ...]]:
    """The decrypted, canonical content of secrets.json, and warnings.

    Plain values are encrypted in the file on this occasion; if it cannot be written they are
    used all the same and a warning says so.
    """
    document = read_document(home.secrets_file)
    if document is None:
        return {}, ()
    content = canonicalise(document.value)
    warnings: list[str] = []
    if _has_plain(content):
        try:
            with editing(home):
                content = _encrypt_file(home)
        except StorageError as error:
            warnings.append(f"Secrets stay unencrypted in secrets.json: {error.sentence}")
    return open_secrets(home, content), tuple(warnings)


def _has_plain(content: JsonObject) -> bool:
    from netclaw.config.keyring import is_sealed

    values = (value_at(content, path) for path in secret_paths(content))
    return any(isinstance(value, str) and value and not is_sealed(value) for value in values)


def _encrypt_file(home: Home) -> JsonObject:
    """Encrypt what is plain in the file; under the lock, so it is read again."""
    from netclaw.config.keyring import is_sealed, make_key_ring

    document = read_document(home.secrets_file)
    content = canonicalise(document.value) if document else {}
    ring = make_key_ring(home)

    def seal(value: str, place: str) -> str:
        return value if is_sealed(value) or not value else ring.seal(value, place)

    content = _map_secrets(content, seal)
    write_private(home.secrets_file, pretty(content).encode())
    return content


def open_secrets(home: Home, content: JsonObject) -> JsonObject:
    """The content with every encrypted secret decrypted. Raises `InvalidArgumentError`."""
    if not any(
        isinstance(value := value_at(content, path), str) and value.startswith("ENC:")
        for path in secret_paths(content)
    ):
        return content
    from netclaw.config.keyring import KeyRing, is_sealed, load_key_ring

    ring = load_key_ring(home) or KeyRing("", {})
    return _map_secrets(
        content, lambda value, place: ring.open(value, place) if is_sealed(value) else value
    )


def _map_secrets(content: JsonObject, change: Callable[[str, str], str]) -> JsonObject:
    for path in secret_paths(content):
        value = value_at(content, path)
        if isinstance(value, str):
            content = with_value(content, path, change(value, dotted(path)))
    return content


def value_at(document: Json, path: KeyPath) -> Json:
    """The value at a canonical path, None if there is none."""
    for part in path:
        if isinstance(document, dict):
            document = document.get(part)
        elif isinstance(document, list) and part.isdigit() and int(part) < len(document):
            document = document[int(part)]
        else:
            return None
    return document


def with_value(document: JsonObject, path: KeyPath, value: Json) -> JsonObject:
    """A copy of the document with the value at a path, sections made on the way."""

    def put(at: Json, rest: KeyPath) -> Json:
        if not rest:
            return value
        head, tail = rest[0], rest[1:]
        if isinstance(at, list):
            index = int(head)
            if index > len(at):
                raise InvalidArgumentError(
                    f"{dotted(path)}: the list has {len(at)} entries, so the next is {len(at)}."
                )
            items = [*at, None] if index == len(at) else list(at)
            items[index] = put(items[index], tail)
            return items
        section = at if isinstance(at, dict) else {}
        return section | {head: put(section.get(head), tail)}

    changed = put(document, path)
    assert isinstance(changed, dict)  # noqa: S101 - a non-empty path into an object gives an object
    return changed


def set_secret(home: Home, key: str, value: str) -> str:
    """Store a secret encrypted; nothing ever reads it back out. Returns its canonical key.

    Raises `InvalidArgumentError` for a key that is no secret or a value that cannot be one.
    """
    path, node = canonical_key(split_dotted(key))
    if not (isinstance(node, Leaf) and node.is_secret):
        raise InvalidArgumentError(
            f"{dotted(path)} is not a secret.", fix=f"Use `netclaw config set {dotted(path)} ...`."
        )
    if not value or any(ord(char) < 0x20 for char in value):
        raise InvalidArgumentError("A secret is not empty and has no line breaks.")
    from netclaw.config.keyring import make_key_ring

    with editing(home):
        document = read_document(home.secrets_file)
        content = canonicalise(document.value) if document else {}
        single = _single(path, make_key_ring(home).seal(value, dotted(path)))
        write_private(home.secrets_file, pretty(merge_sparse(content, single)).encode())
    return dotted(path)


def secret_names(home: Home) -> tuple[str, ...]:
    """The canonical keys of what secrets.json holds, sorted; never their values."""
    document = read_document(home.secrets_file)
    if document is None:
        return ()
    return tuple(sorted(dotted(path) for path in secret_paths(canonicalise(document.value))))


def unset_secret(home: Home, key: str) -> str:
    """Remove a stored secret. Returns its key. Raises `NotFoundError` if there is none."""
    path, _ = canonical_key(split_dotted(key))
    wanted = dotted(path).casefold()
    with editing(home):
        document = read_document(home.secrets_file)
        content = canonicalise(document.value) if document else {}
        stored = [each for each in secret_paths(content) if dotted(each).casefold() == wanted]
        if not stored:
            raise NotFoundError(
                f"No secret {dotted(path)} is stored.", fix="`netclaw secrets list` names them."
            )
        for each in stored:
            content = _without(content, each)
        write_private(home.secrets_file, pretty(content).encode())
    return dotted(stored[0])


def _without(content: JsonObject, path: KeyPath) -> JsonObject:
    """A copy without the value at a path and without the sections that this leaves empty."""

    def drop(at: Json, rest: KeyPath) -> Json:
        head, tail = rest[0], rest[1:]
        if isinstance(at, list):
            items = list(at)
            items[int(head)] = drop(items[int(head)], tail)
            return items
        assert isinstance(at, dict)  # noqa: S101 - the path was found in the content
        left = {key: item for key, item in at.items() if key != head}
        inner = drop(at[head], tail) if tail else None
        return {key: inner if key == head else at[key] for key in at} if inner else left

    kept = drop(content, path)
    assert isinstance(kept, dict)  # noqa: S101 - the content is an object
    return kept


def _single(path: KeyPath, value: Json) -> JsonObject:
    for part in reversed(path[1:]):
        value = {part: value}
    return {path[0]: value}


def read_credentials(environ: Mapping[str, str]) -> JsonObject:
    """Secrets that the service manager hands over as files, as a canonical document."""
    folder = environ.get(CREDENTIALS_VARIABLE)
    content: JsonObject = {}
    if not folder:
        return content
    try:
        files = sorted(Path(folder).glob(f"{CREDENTIAL_PREFIX}*"))
        for file in files:
            path, _ = canonical_key(split_dotted(file.name.removeprefix(CREDENTIAL_PREFIX)))
            value = read_regular(file, CREDENTIAL_MAX_BYTES).decode("utf-8").rstrip("\r\n")
            content = merge_sparse(content, _single(path, value))
    except (OSError, UnicodeDecodeError):
        raise InvalidArgumentError(
            f"A credential in {folder} cannot be read.",
            fix="Check LoadCredential= in the service unit.",
        ) from None
    return content
