"""`set_working_directory`: declares the project directory that the session works in."""

from __future__ import annotations

import asyncio
import os

from netclaw.core.path_rules import is_below_any, may_be_writable, protected_paths
from netclaw.core.tool_call import FileActivity, FileOperation
from netclaw.ports.tool import ToolContext
from netclaw.tools.faults import ToolFault
from netclaw.tools.places import Places, is_closed_to_projects, places_for, usable_project
from netclaw.tools.project_files import read_instructions
from netclaw.tools.schema import Arguments, Field, Kind
from netclaw.tools.tool import OPERATOR_ONLY, Outcome, Scope


class SetWorkingDirectory:
    """Judges a folder and declares it; the session records the declaration with the result."""

    name = "set_working_directory"
    description = (
        "Declares the project directory: the folder that relative paths begin in, that commands "
        "run in and that can be written. Do this before you work in a project outside the "
        "session's own folders. It stays declared until another one is."
    )
    audiences = OPERATOR_ONLY
    fields: tuple[Field, ...] = (
        Field(
            name="path",
            kind=Kind.STRING,
            description="An existing folder; best as a full path.",
            is_required=True,
        ),
    )

    async def run(self, arguments: Arguments, scope: Scope) -> Outcome:
        """See `Tool`."""
        text = arguments.text("path")
        if not text.strip():
            raise ToolFault.invalid("`path` is empty.")
        places = places_for(scope.context)
        path = places.canonical(text)
        real, instructions = await asyncio.to_thread(_judge, path, places, scope.context)
        said = f"The project directory is now {real}."
        if instructions:
            said += (
                f" It has instructions for agents in {instructions}; you have them from the next "
                "message on. Read that file if you need them before."
            )
        return Outcome(
            text=said,
            activity=(
                FileActivity(
                    path=real, operation=FileOperation.DECLARE_PROJECT_SCOPE, is_folder=True
                ),
            ),
            declared_directory=real,
        )


def _judge(path: str, places: Places, context: ToolContext) -> tuple[str, str]:
    """The resolved folder and the name of its instructions, if any. Raises `ToolFault`."""
    real = os.path.realpath(path)
    if not os.path.exists(real):
        raise ToolFault.missing(f"{path} does not exist.")
    if not os.path.isdir(real):
        raise ToolFault.invalid(f"{path} is no folder.")
    if not real.isprintable():
        raise ToolFault.denied(f"The name of the folder that {path} leads to is not usable.")
    _require_project(path, real, places, context)
    project = usable_project(
        real,
        audience=context.authority.requester.audience,
        storage=context.storage,
        umask=context.settings.umask,
    )
    if project is None or not os.access(real, os.R_OK | os.X_OK):
        raise ToolFault.denied(f"{path} may not be used by this session.")
    found = read_instructions(project, home=places.home, on_fault=lambda _name, _why: None)
    return real, found.path if found is not None else ""


def _require_project(path: str, real: str, places: Places, context: ToolContext) -> None:
    """Refuse what would open more than a project: the system's folders, homes, netclaw's own."""
    storage = context.storage
    own = [os.path.realpath(folder) for folder in (storage.workspace, storage.worktrees)]
    if is_below_any(real, own):
        return
    if is_closed_to_projects(real, storage):
        raise ToolFault.denied(
            f"{path} is no project: it belongs to netclaw itself or holds credentials."
        )
    user_home = os.path.realpath(os.path.expanduser("~"))
    protected = (places.home, *protected_paths(places.home))
    if not may_be_writable(real, user_home=user_home, protected=protected):
        raise ToolFault.denied(
            f"{path} is no project: it is a folder of the system, or holds more than one. Name the "
            "folder of the project itself."
        )
