"""What is known at one point of a command: its possible directories and proved variables."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from netclaw.core.authz.facts import Surroundings

MAX_DIRECTORIES = 8
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

_SENSITIVE = re.compile(
    r"PATH|IFS|ENV|HOME|PWD|OLDPWD|CDPATH|SHELL|SHELLOPTS|BASHOPTS|GLOBIGNORE|PS[0-9]|"
    r"PROMPT_COMMAND|POSIXLY_CORRECT|FIGNORE|HISTFILE|INPUTRC|TMPDIR|TMP|TEMP|EXECIGNORE|OPTIND|"
    r"FUNCNEST|REPLY|RANDOM|SECONDS|LINENO|UID|EUID|PPID|DIRSTACK|TERMINFO|LOCPATH|NLSPATH|"
    r"GCONV_PATH|HOSTALIASES|RESOLV_HOST_CONF|_|BASH[A-Z0-9_]*|(LD|DYLD|GLIBC|MALLOC|COMP)_[A-Z0-9_]*"
)
"""Names whose value changes what runs, or where; an assignment to one proves nothing."""


def is_sensitive(name: str) -> bool:
    """Whether assigning the name makes everything after it unproved."""
    return _SENSITIVE.fullmatch(name) is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """`directories` is None when unknown; a value of None, or no value, is unproved."""

    directories: tuple[str, ...] | None
    values: Mapping[str, tuple[str, ...] | None] = field(default_factory=dict)
    exports: tuple[tuple[str, str], ...] = ()
    """Assignments that programs started from here will see."""

    def value(self, name: str) -> tuple[str, ...] | None:
        """All values that a variable can have here; None if that is not proved."""
        if name == "PWD":
            return self.directories
        return self.values.get(name)

    def with_value(self, name: str, values: tuple[str, ...] | None) -> State:
        """After an assignment."""
        return replace(self, values={**self.values, name: values})

    def without_values(self, names: frozenset[str]) -> State:
        """After something that may have assigned them."""
        return replace(self, values={**self.values, **dict.fromkeys(names)})

    def at(self, directories: tuple[str, ...] | None) -> State:
        """After a change of directory."""
        if directories is None or len(directories) > MAX_DIRECTORIES:
            return replace(self, directories=None)
        return replace(self, directories=tuple(sorted(set(directories))))

    def unknown(self) -> State:
        """After something that may have assigned anything."""
        return State(directories=self.directories, exports=self.exports)


def start(surroundings: Surroundings) -> State:
    """The state in which a command begins."""
    values = {name: (value,) for name, value in surroundings.variables.items()}
    return State(
        directories=(surroundings.cwd,), values={"HOME": (surroundings.shell_home,), **values}
    )


def inherited(surroundings: Surroundings, outer: State) -> State:
    """The state in which a nested shell begins: it sees the environment, not the variables.

    Of the launch's own variables only those count that nothing can assign and stay proved.
    """
    begun = start(surroundings)
    values = {name: value for name, value in begun.values.items() if is_sensitive(name)}
    return State(directories=outer.directories, values=values, exports=outer.exports)


def join(first: State, second: State) -> State:
    """What is known after either of two ways."""
    if first == second:
        return first
    values = {
        name: _union(first.values.get(name), second.values.get(name))
        for name in {**first.values, **second.values}
    }
    exports = tuple(dict.fromkeys((*first.exports, *second.exports)))
    made = State(directories=None, values=values, exports=exports)
    return made.at(_union(first.directories, second.directories))


def _union(first: tuple[str, ...] | None, second: tuple[str, ...] | None) -> tuple[str, ...] | None:
    if first is None or second is None:
        return None
    return tuple(sorted({*first, *second}))


@dataclass(frozen=True, slots=True, kw_only=True)
class Flow:
    """The state after a command that succeeded, and after one that failed."""

    ok: State
    failed: State

    @property
    def either(self) -> State:
        """After the command, however it ended."""
        return join(self.ok, self.failed)


def same(state: State) -> Flow:
    """After a command that changes nothing of the shell."""
    return Flow(ok=state, failed=state)
