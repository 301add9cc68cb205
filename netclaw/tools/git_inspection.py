"""Looks at the Git repository of a project directory, without letting it run anything.

A repository brings its own configuration and so names programs: hooks, a file system monitor,
filters, an SSH command. Every one that `git status` could start is switched off, in an order that
the repository cannot outdo, and all of it runs in a sandbox that can write nothing there.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field

from netclaw.core.context.git_facts import GitFacts, parse_status
from netclaw.core.ids import CallId
from netclaw.core.path_rules import protected_paths
from netclaw.core.settings import SessionStorage, ShellMode, ToolSettings
from netclaw.ports.shell_runner import (
    SandboxFacts,
    SandboxProfile,
    ShellEnd,
    ShellLimits,
    ShellRequest,
    ShellRunner,
)
from netclaw.ports.tool import ToolTrees
from netclaw.tools.git_worktree import common_directory
from netclaw.tools.places import Root
from netclaw.tools.shell_program import shell_program

BUDGET_S = 2.0
"""For everything together (S0 Git context)."""
OUTPUT_MAX_BYTES = 256 * 1024

_MEMORY_MIB = 512
_PROCESSES = 32

SCRIPT = r"""
exec 2>/dev/null
export GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null GIT_ATTR_NOSYSTEM=1
export GIT_OPTIONAL_LOCKS=0 GIT_TERMINAL_PROMPT=0 GIT_NO_LAZY_FETCH=1 GIT_PAGER=cat
export GIT_ALLOW_PROTOCOL=none
export GIT_CONFIG_COUNT=0
put() {
    export "GIT_CONFIG_KEY_$GIT_CONFIG_COUNT=$1" "GIT_CONFIG_VALUE_$GIT_CONFIG_COUNT=$2"
    GIT_CONFIG_COUNT=$((GIT_CONFIG_COUNT + 1))
}
mark=netclaw.mark-$RANDOM-$RANDOM-$RANDOM is_heard=
put "$mark" seen
put core.fsmonitor false
put core.hooksPath /dev/null
put core.sshCommand false
put core.pager cat
put credential.helper ""
put status.submoduleSummary false
while IFS= read -r key; do
    if [[ $key == "$mark" ]]; then is_heard=1; else put "$key" ""; fi
done < <(git config --name-only --get-regexp \
    '^(netclaw\.mark-.*|filter\..*\.(clean|smudge|process|required))$')
[[ $is_heard ]] || exit 1
exec git status --porcelain=v2 --branch -z --untracked-files=normal --ignore-submodules=all \
    --no-renames
"""
"""Configuration from the environment wins over the repository's own; filters are named by the
repository, so their names are asked first (reading configuration starts nothing). The mark proves
that this Git reads the environment at all: one before 2.31 does not and is not used. Objects that a
repository lacks are fetched from nowhere: its `protocol.NAME.allow` outdoes `protocol.allow`, but
not GIT_ALLOW_PROTOCOL, and a Git before 2.45 need not know GIT_NO_LAZY_FETCH."""


class _EnoughError(Exception):
    """More output than is read; ends the command."""


@dataclass(slots=True)
class _Output:
    parts: list[bytes] = field(default_factory=list)
    size: int = 0

    def take(self, piece: bytes) -> None:
        room = OUTPUT_MAX_BYTES - self.size
        self.parts.append(piece[:room])
        self.size += min(room, len(piece))
        if len(piece) > room:
            raise _EnoughError


class GitInspection:
    """Inspects one project directory at a time; keeps nothing."""

    def __init__(self, facts: SandboxFacts, shell: ShellRunner) -> None:
        self._facts = facts
        self._shell = shell

    async def inspect(
        self,
        project: Root,
        *,
        name: CallId,
        storage: SessionStorage,
        settings: ToolSettings,
        trees: ToolTrees,
    ) -> GitFacts | None:
        """The facts, or None where there is no repository, no Git, or nothing to run it in.

        `name` tells its process tree from those of tool calls. Never raises for what Git does;
        cancelling it kills the tree.
        """
        is_confined = self._facts.backend is not None
        if not is_confined and settings.shell_mode is not ShellMode.HOST_ALLOWED:
            return None
        request = ShellRequest(
            argv=(shell_program(), "--norc", "--noprofile", "-c", SCRIPT),
            cwd=project.real,
            environment={"HOME": "/nonexistent"},
            profile=_profile(project, storage) if is_confined else None,
            limits=ShellLimits(
                memory_mib=_MEMORY_MIB,
                processes=_PROCESSES,
                file_size_mib=1,
                cpu_seconds=round(BUDGET_S) + 1,
                total_s=BUDGET_S,
            ),
        )
        return await self._run(request, name, trees)

    async def _run(self, request: ShellRequest, name: CallId, trees: ToolTrees) -> GitFacts | None:
        output = _Output()
        is_announced = False

        async def announce(pid: int, start_ticks: int) -> None:
            nonlocal is_announced
            is_announced = True
            await trees.opened(name, pid, start_ticks)

        is_gone, is_whole, is_cut = True, False, False
        try:
            outcome = await self._shell.run(request, on_started=announce, sink=output.take)
            is_gone = outcome.is_tree_gone
            is_whole = outcome.end is ShellEnd.EXITED and outcome.exit_code == 0
        except _EnoughError:
            is_cut = True
        finally:
            if is_announced and is_gone:
                await trees.closed(name)
        if not (is_whole or is_cut):
            return None
        return parse_status(b"".join(output.parts), is_cut=is_cut)


def _profile(project: Root, storage: SessionStorage) -> SandboxProfile:
    """Nothing to write, no network, and of hidden places only the project to read."""
    home = os.path.realpath(storage.home)
    common = common_directory(project.real)
    readable = (project.real,) if common is None else (project.real, common)
    return SandboxProfile(
        home=home,
        writable=(),
        readable=readable,
        masked=(*protected_paths(home), os.path.realpath(storage.staging)),
    )
