"""`set_working_directory`: declares the project directory that the session works in."""

from __future__ import annotations

import asyncio
import os

from netclaw.core.path_rules import is_below_any, may_be_writable, protected_paths
from netclaw.core.tool_call import FileActivity, FileOperation
from netclaw.ports.tool import ToolContext
from netclaw.tools.beneath import real_path
from netclaw.tools.faults import ToolFault
from netclaw.tools.files import opened_folder
from netclaw.tools.places import is_closed_to_projects, usable_project
from netclaw.tools.project_files import read_instructions
from netclaw.tools.reach import Reach, reach_for
from netclaw.tools.schema import Arguments, Field, Kind
from netclaw.tools.tool import NOT_PUBLIC, Outcome, Scope


class SetWorkingDirectory:
    """Judges a folder and declares it; the session records the declaration with the result."""

    name = "set_working_directory"
    description = (
        "Declares the project directory: the folder that relative paths begin in, that commands "
        "run in. Do this before you work in a project outside the session's own folders. It has to "
        "lie below a folder that the operator trusts: the workspaces folder "
        "(Workspaces.Directory) or a root of the audience's ReadFiles. It stays declared until "
        "another one is."
    )
    audiences = NOT_PUBLIC
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
        real, instructions = await asyncio.to_thread(_judge, text, scope)
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


def _judge(text: str, scope: Scope) -> tuple[str, str]:
    """The folder and the name of its instructions, if any. Raises `ToolFault`.

    It is opened, and judged by where the descriptor really is: that place is declared.
    """
    reach, context = reach_for(scope), scope.context
    located = reach.locate(text, FileOperation.DECLARE_PROJECT_SCOPE)
    with opened_folder(reach, located) as fd:
        real = real_path(fd)
    if not real.isprintable():
        raise ToolFault.denied(f"The name of the folder that {located.path} leads to is unusable.")
    _require_project(located.path, real, reach, context)
    project = usable_project(
        real,
        audience=context.authority.requester.audience,
        storage=context.storage,
        settings=context.settings,
    )
    if project is None or not os.access(real, os.R_OK | os.X_OK):
        raise ToolFault.denied(f"{located.path} may not be used by this session.")
    found = read_instructions(project, home=reach.closed.home, on_fault=lambda _name, _why: None)
    return real, found.path if found is not None else ""


def _require_project(path: str, real: str, reach: Reach, context: ToolContext) -> None:
    """Refuse what would open more than a project: the system's folders, homes, netclaw's own."""
    storage, home = context.storage, reach.closed.home
    own = [os.path.realpath(folder) for folder in storage.project_places]
    if is_below_any(real, own):
        return
    if is_closed_to_projects(real, storage):
        raise ToolFault.denied(
            f"{path} is no project: it belongs to netclaw itself or holds credentials."
        )
    user_home = os.path.realpath(os.path.expanduser("~"))
    if not may_be_writable(real, user_home=user_home, protected=(home, *protected_paths(home))):
        raise ToolFault.denied(
            f"{path} is no project: it is a folder of the system, or holds more than one. Name the "
            "folder of the project itself."
        )
