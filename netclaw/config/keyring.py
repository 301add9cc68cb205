"""Encrypts secrets at rest with keys that lie apart from them (`keys/`, mode 0600).

This keeps credentials out of backups, searches and screen shares of the configuration; it is no
defence against someone who may read the whole home. A value is bound to its key path, so a
ciphertext that is moved to another key does not open.
"""

from __future__ import annotations

import base64
import binascii
import json
import os
import secrets
from dataclasses import dataclass
from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from netclaw.config.documents import MAX_FILE_BYTES, read_regular, write_private
from netclaw.config.home import Home, make_private_folder
from netclaw.core.errors import InvalidArgumentError

PREFIX = "ENC:"
NONCE_BYTES = 12
KEY_BYTES = 32


@dataclass(frozen=True, slots=True)
class KeyRing:
    """Keys by id; new values are sealed with the current one, old ones open with theirs."""

    current: str
    keys: dict[str, bytes]

    def seal(self, plaintext: str, place: str) -> str:
        """Encrypt a value for the key path `place`."""
        nonce = secrets.token_bytes(NONCE_BYTES)
        sealed = AESGCM(self.keys[self.current]).encrypt(
            nonce, plaintext.encode(), place.casefold().encode()
        )
        return f"{PREFIX}{self.current}:{base64.b64encode(nonce + sealed).decode()}"

    def open(self, sealed: str, place: str) -> str:
        """Decrypt a value of the key path `place`. Raises `InvalidArgumentError`."""
        key_id, _, payload = sealed.removeprefix(PREFIX).partition(":")
        key = self.keys.get(key_id)
        if key is None:
            raise _unreadable(place, "its key is not in the key ring")
        try:
            raw = base64.b64decode(payload, validate=True)
            return (
                AESGCM(key)
                .decrypt(raw[:NONCE_BYTES], raw[NONCE_BYTES:], place.casefold().encode())
                .decode()
            )
        except (InvalidTag, binascii.Error, ValueError):
            raise _unreadable(place, "it was changed, moved or cut") from None


def _unreadable(place: str, why: str) -> InvalidArgumentError:
    return InvalidArgumentError(
        f"The secret {place} cannot be decrypted: {why}.",
        fix=f"Restore the folder keys/ from a backup, or run `netclaw secrets set {place}`.",
    )


def is_sealed(value: str) -> bool:
    """Whether a stored value is encrypted."""
    return value.startswith(PREFIX)


def _ring_file(home: Home) -> Path:
    return home.keys_dir / "ring.json"


def _parse_ring(raw: bytes) -> KeyRing:
    stored = json.loads(raw)
    keys = {name: base64.b64decode(key, validate=True) for name, key in stored["keys"].items()}
    if len(keys[stored["current"]]) != KEY_BYTES:
        raise ValueError("length")
    return KeyRing(stored["current"], keys)


def load_key_ring(home: Home) -> KeyRing | None:
    """The home's key ring, None if it has none yet. Raises `InvalidArgumentError`."""
    path = _ring_file(home)
    try:
        ring = _parse_ring(read_regular(path, MAX_FILE_BYTES))
    except FileNotFoundError:
        return None
    except OSError as error:
        raise InvalidArgumentError(f"{path} cannot be read: {error.strerror}.") from None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise InvalidArgumentError(
            f"The key ring {path} is damaged.", fix="Restore it from a backup of the home."
        ) from None
    return ring


def make_key_ring(home: Home) -> KeyRing:
    """The home's key ring, made if it has none; call while `editing` the configuration."""
    ring = load_key_ring(home)
    if ring is None:
        make_private_folder(home.keys_dir)
        name = secrets.token_hex(4)
        ring = KeyRing(name, {name: secrets.token_bytes(KEY_BYTES)})
        encoded = {key: base64.b64encode(value).decode() for key, value in ring.keys.items()}
        content = {"current": name, "keys": encoded}
        write_private(_ring_file(home), json.dumps(content).encode() + os.linesep.encode())
    return ring
