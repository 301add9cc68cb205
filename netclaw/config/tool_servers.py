"""Makes plain settings of the configured tool servers. A bad entry disables itself alone."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from pydantic import ValidationError

from netclaw.config.documents import read_document
from netclaw.config.home import Home
from netclaw.config.jsonc_tree import Json
from netclaw.config.problems import find_problems
from netclaw.config.schema.features import McpServer, McpTransport
from netclaw.config.schema.root import Config
from netclaw.config.tree import JsonObject, KeyPath, canonicalise, dotted
from netclaw.core.errors import InvalidArgumentError
from netclaw.core.tool_servers import ToolServerSettings, credential_key
from netclaw.ports.model import Credential

SECTION = "McpServers"
_NAME = re.compile(r"[A-Za-z0-9_.-]{1,48}")
"""What a grant can name (`mcp:<server>:<tool>`), and a model."""


def drop_unreadable(home: Home) -> tuple[JsonObject | None, dict[str, str]]:
    """netclaw.json without server entries that have no canonical form, and what is wrong with each.

    None if there is no such entry. For whoever runs by a configuration, as `drop_unusable`.
    """
    found = read_document(home.config_file)
    document = found.value if found else {}
    place = next((key for key in document if key.casefold() == SECTION.casefold()), None)
    servers = document.get(place) if place is not None else None
    if place is None or not isinstance(servers, dict):
        return None, {}
    refused: dict[str, str] = {}
    for name, entry in servers.items():
        try:
            canonicalise({SECTION: {name: entry}})
        except InvalidArgumentError as error:
            refused[name] = error.sentence
    kept: dict[str, Json] = {name: servers[name] for name in servers if name not in refused}
    return (canonicalise(document | {place: kept}) if refused else None), refused


def drop_unusable(
    document: JsonObject, origins: Mapping[KeyPath, str]
) -> tuple[JsonObject, dict[str, str]]:
    """The document without server entries that are not valid, and what is wrong with each.

    For whoever runs by a configuration. Whoever changes or checks one is told of them as of any
    other mistake.
    """
    try:
        Config.model_validate(document)
    except ValidationError as error:
        named = {str(item["loc"][1]) for item in error.errors() if _is_of_server(item["loc"])}
        problems = find_problems(error, origins)
    else:
        return document, {}
    refused: dict[str, str] = {}
    for name in named:
        place = dotted((SECTION, name))
        found = (item.sentence for item in problems if item.key.startswith(place))
        refused[name] = next(found, "The entry is not valid.")
    section = document.get(SECTION)
    kept: dict[str, Json] = (
        {name: entry for name, entry in section.items() if name not in refused}
        if isinstance(section, dict)
        else {}
    )
    return (document | {SECTION: kept} if refused else document), refused


def _is_of_server(place: tuple[int | str, ...]) -> bool:
    return len(place) > 1 and place[0] == SECTION


def servers_of(config: Config, refused: Mapping[str, str]) -> tuple[ToolServerSettings, ...]:
    """Every configured server, those that cannot be used with the reason."""
    usable = [_server(name, entry) for name, entry in config.mcp_servers.items()]
    rest = [
        ToolServerSettings(name=name, transport="", is_enabled=False, fault=fault)
        for name, fault in refused.items()
    ]
    return tuple(sorted((*usable, *rest), key=lambda server: server.name))


def _server(name: str, entry: McpServer) -> ToolServerSettings:
    return ToolServerSettings(
        name=name,
        transport=entry.transport.value,
        command=entry.command or "",
        arguments=entry.arguments,
        url=entry.url or "",
        environment=tuple(entry.environment_variables),
        headers=tuple(entry.headers),
        is_enabled=entry.enabled,
        fault=_fault(name, entry),
    )


def _fault(name: str, entry: McpServer) -> str:
    place = dotted((SECTION, name))
    if not _NAME.fullmatch(name):
        return "A server's name has up to 48 letters, digits, dots, dashes and underscores."
    if entry.transport is McpTransport.STDIO and not entry.command:
        return f"{place}.Command is missing."
    if entry.transport is not McpTransport.STDIO and not entry.url:
        return f"{place}.Url is missing."
    return ""


def server_credentials(config: Config) -> Iterator[tuple[str, Credential]]:
    """The values of environments and headers, under the keys that sessions look for."""
    for name, entry in config.mcp_servers.items():
        for kind, values in (("env", entry.environment_variables), ("header", entry.headers)):
            for key, value in values.items():
                secret = Credential(secret=value.get_secret_value())
                yield credential_key(name, kind, key), secret


def server_advice(config: Config, servers: tuple[ToolServerSettings, ...]) -> Iterator[str]:
    """Sentences about servers that are disabled by a mistake, and about keys without effect."""
    for server in servers:
        if server.fault:
            yield f"The tool server {server.name!r} is disabled: {server.fault}"
    for name, entry in config.mcp_servers.items():
        if entry.o_auth_client_id or entry.o_auth_scope:
            place = dotted((SECTION, name))
            yield f"{place}: its OAuth keys are accepted and have no effect yet."
