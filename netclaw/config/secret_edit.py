"""Stores a secret on an operator's behalf: only under a key that something configured reads."""

from __future__ import annotations

from collections.abc import Mapping

from netclaw.config.documents import editing, read_document, write_private
from netclaw.config.home import Home
from netclaw.config.load import read_layers
from netclaw.config.secret_store import set_secret, value_at
from netclaw.config.tree import KeyPath, canonical_key, dotted, split_dotted
from netclaw.core.errors import InvalidArgumentError
from netclaw.core.settings import ProviderType

PROVIDERS = "Providers"
_KINDS = frozenset(kind.value for kind in ProviderType)


def store_secret(home: Home, environ: Mapping[str, str], key: str, value: str) -> str:
    """Store a secret encrypted; returns its canonical key.

    A provider that is named like its type may get its credential before it is configured, because
    `netclaw init` names it so and needs the credential. Raises `InvalidArgumentError` with nothing
    written for a key that is no secret, a value that cannot be one, or an unknown provider.
    """
    path, _ = canonical_key(split_dotted(key))
    if path[0] == PROVIDERS and len(path) > 1:
        _check_provider(home, environ, path)
    return set_secret(home, key, value)


def _check_provider(home: Home, environ: Mapping[str, str], path: KeyPath) -> None:
    found = value_at(read_layers(home, environ).document, (PROVIDERS,))
    names = list(found) if isinstance(found, dict) else []
    wanted = path[1].casefold()
    if wanted in _KINDS or any(name.casefold() == wanted for name in names):
        return
    if not names:
        raise InvalidArgumentError(
            f"There is no provider named {path[1]}; none is configured.",
            fix="Run `netclaw init` first.",
        )
    raise InvalidArgumentError(
        f"There is no provider named {path[1]}; you have: {', '.join(names)}.",
        fix=f"Run `netclaw secrets set {dotted((PROVIDERS, names[0], *path[2:]))}`.",
    )


def stored_text(home: Home) -> str | None:
    """The file of secrets as it is, to put back; None if there is none."""
    document = read_document(home.secrets_file)
    return document.text if document is not None else None


def restore(home: Home, before: str | None) -> None:
    """Put the file of secrets back as it was."""
    with editing(home):
        if before is None:
            home.secrets_file.unlink(missing_ok=True)
        else:
            write_private(home.secrets_file, before.encode())
