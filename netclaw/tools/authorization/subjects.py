"""Turns a tool and its checked arguments into what is judged: the core's `Call`.

A tool that is not listed here touches no place of the model's choosing, or judges it by itself.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable
from dataclasses import dataclass

from netclaw.core.authz.facts import Surroundings
from netclaw.core.authz.grants import Grant
from netclaw.core.authz.profiles import SHELL
from netclaw.core.authz.reasons import DENIED_TEXTS, DenyReason
from netclaw.core.authz.requests import Call, FileCall, PlainCall, ServerCall
from netclaw.core.tool_call import FileOperation
from netclaw.ports.shell_parser import PathFacts, ShellParser
from netclaw.ports.tool import ToolContext
from netclaw.tools.authorization import fact_gathering
from netclaw.tools.authorization.policies import user_home
from netclaw.tools.closed import closed_places
from netclaw.tools.faults import ToolFault
from netclaw.tools.places import Places, places_for
from netclaw.tools.schema import Arguments
from netclaw.tools.tool import OfServer, Tool

FILE_OPERATIONS = {
    "file_read": FileOperation.READ,
    "file_list": FileOperation.READ,
    "file_search": FileOperation.READ,
    "file_write": FileOperation.WRITE,
    "file_edit": FileOperation.WRITE,
    "attach_file": FileOperation.ATTACH,
    "set_working_directory": FileOperation.DECLARE_PROJECT_SCOPE,
}
"""Tools that touch the one path in their argument `path`, and what they do there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FactSources:
    """Where facts of the host come from."""

    parser: ShellParser
    paths: PathFacts


def tool_name(tool: Tool) -> str:
    """The name that a request carries: a server's own name for its tool, else the tool's."""
    return tool.server_tool if isinstance(tool, OfServer) else tool.name


async def call_of(
    tool: Tool,
    arguments: Arguments,
    context: ToolContext,
    sources: FactSources,
    grants: Iterable[Grant],
) -> Call:
    """What is judged, with the facts of this moment. Raises `ToolFault` for an unusable path."""
    if isinstance(tool, OfServer):
        return ServerCall(server=tool.server)
    if tool.name == SHELL:
        where = await asyncio.to_thread(_surroundings, arguments, context)
        call = await fact_gathering.shell_call(
            arguments.text("command"), where, sources.parser, sources.paths, grants
        )
        return fact_gathering.with_directory(call, arguments.text("working_directory"))
    operation = FILE_OPERATIONS.get(tool.name)
    if operation is None:
        return PlainCall()
    return await asyncio.to_thread(_file_call, operation, arguments, context, sources.paths)


def _file_call(
    operation: FileOperation, arguments: Arguments, context: ToolContext, paths: PathFacts
) -> FileCall:
    fact = paths.path(places_for(context).canonical(arguments.text("path")))
    closed = closed_places(context.storage)
    if fact.resolved is not None and closed.is_closed(fact.resolved, operation):
        raise ToolFault.denied(DENIED_TEXTS[DenyReason.PATH_PROTECTED])
    return FileCall(operation=operation, fact=fact)


def _surroundings(arguments: Arguments, context: ToolContext) -> Surroundings:
    """Where a command would run: the folder as the kernel will see it, links followed."""
    storage = context.storage
    places = places_for(context)
    return Surroundings(
        cwd=_folder(arguments, places),
        user_home=user_home(),
        shell_home=storage.tmp,
        netclaw_home=os.path.realpath(storage.home),
        variables={"TMPDIR": storage.tmp, "TMP": storage.tmp, "TEMP": storage.tmp},
    )


def _folder(arguments: Arguments, places: Places) -> str:
    return os.path.realpath(places.canonical(arguments.text("working_directory")))
