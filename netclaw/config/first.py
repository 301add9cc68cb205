"""The first netclaw.json of a home."""

from __future__ import annotations

import json
from collections.abc import Mapping

from netclaw.config.build import build
from netclaw.config.documents import (
    editing,
    parse_document,
    read_document,
    read_regular,
    write_private,
)
from netclaw.config.home import Home
from netclaw.config.jsonc_tree import Json
from netclaw.config.load import read_layers, validate
from netclaw.config.schema.root import CONFIG_VERSION
from netclaw.config.secret_store import set_secret
from netclaw.config.tree import canonicalise
from netclaw.core.errors import InvalidArgumentError

MAIN = "main"
_HEAD = """\
// The configuration of netclaw. Comments and trailing commas are allowed; `netclaw config schema`
// explains every key, `netclaw config validate` checks this file. Credentials do not belong here:
// `netclaw secrets set Providers.<name>.ApiKey`.
"""


def first_document(
    *, provider: str, endpoint: str, model: str, context_window: int | None, workspaces: str = ""
) -> dict[str, Json]:
    """A configuration with one provider, named like its type, and one model in role Main.

    An empty `workspaces` leaves projects to the folder in the home.
    """
    service: dict[str, Json] = {"Type": provider}
    if endpoint:
        service["Endpoint"] = endpoint
    definition: dict[str, Json] = {"Provider": provider, "ModelId": model}
    if context_window is not None:
        definition["ContextWindow"] = context_window
    document: dict[str, Json] = {
        "configVersion": CONFIG_VERSION,
        "Providers": {provider: service},
        "Models": {"Definitions": {MAIN: definition}, "Roles": {"Main": MAIN}},
    }
    if workspaces:
        document["Workspaces"] = {"Directory": workspaces}
    return document


def write_first(
    home: Home,
    environ: Mapping[str, str],
    document: dict[str, Json],
    *,
    secret_key: str,
    secret: str,
) -> None:
    """Write the document (and a secret, if given) once it is sure that both would load.

    What was there before is kept as netclaw.json.bak. Raises `InvalidArgumentError` with nothing
    changed.
    """
    text = _HEAD + json.dumps(document, indent=2, ensure_ascii=False) + "\n"
    checked = parse_document(home.config_file, text)
    trial = dict(environ)
    if secret:
        trial["NETCLAW_" + secret_key.replace(".", "__")] = secret
    with editing(home):
        layers = read_layers(home, trial, document=canonicalise(checked.value))
        build(home, validate(layers), ())
        _keep_old(home)
        if secret:
            set_secret(home, secret_key, secret)
        write_private(home.config_file, text.encode())


def workspaces_before(home: Home) -> str:
    """The folder of projects that the configuration names which is about to be replaced."""
    try:
        old = read_document(home.config_file)
        section = canonicalise(old.value).get("Workspaces") if old is not None else None
    except InvalidArgumentError:
        return ""
    folder = section.get("Directory") if isinstance(section, dict) else None
    return folder if isinstance(folder, str) else ""


def _keep_old(home: Home) -> None:
    try:
        old = read_document(home.config_file)
        data = old.text.encode() if old is not None else None
    except InvalidArgumentError:
        # Malformed, and worth keeping all the more.
        data = read_regular(home.config_file, limit=-1)
    if data is not None:
        write_private(home.config_file.with_suffix(".json.bak"), data)
