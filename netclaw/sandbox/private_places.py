"""What a command may not read although its user may: other netclaw homes and credentials.

The rule (ADR 0010): `~/.netclaw` is hidden whatever home this daemon uses, and no root may lie in
it. Another home and a credential folder are hidden too, but a root inside one comes back: whoever
made it a project directory did so on purpose. A credential file is hidden always.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from netclaw.core.path_rules import is_below, is_below_any
from netclaw.linux.user_homes import user_homes
from netclaw.ports.shell_runner import SandboxProfile
from netclaw.sandbox import credentials, homes
from netclaw.sandbox.errors import ViewError


@dataclass(frozen=True, slots=True, kw_only=True)
class PrivatePlaces:
    """Absolute, resolved, existing when they were looked for; none is the profile's own home."""

    default_homes: tuple[str, ...]
    folders: tuple[str, ...]
    """Other homes and credential folders."""
    files: tuple[str, ...]
    opened: tuple[str, ...] = ()
    """Credentials that the call may see: in neither of the two, for reading alone."""

    @property
    def every_folder(self) -> tuple[str, ...]:
        """The default homes too."""
        return (*self.default_homes, *self.folders)

    def of_named(self, paths: Iterable[str], home: str) -> tuple[str, ...]:
        """Those of some named paths that may be bound: not private, and in no home but `home`."""
        private = (*self.every_folder, *self.files)
        return tuple(
            path
            for path in paths
            if not is_below_any(path, private) and homes.home_around(path) in {None, home}
        )


def find_private_places(
    profile: SandboxProfile, *, daemons: Iterable[str], is_seen: Callable[[str], bool]
) -> PrivatePlaces:
    """Looks once per command (about 0.3 ms). `daemons` are homes in which daemons listen.

    Other homes are looked for in the roots, and in the folders around that `is_seen` says a
    command sees. Raises `ViewError` when a root lies in a default home that is not
    the profile's own.
    """
    home = os.path.realpath(profile.home)
    users = user_homes()
    default = tuple(path for path in homes.default_homes(users) if path != home)
    roots = [path for path in profile.writable if not is_below(path, home)]
    for path in roots:
        if is_below_any(path, default):
            message = f"The folder {path} lies in a netclaw home."
            raise ViewError(message)
    roots += profile.named
    around = [os.path.dirname(path) for path in (home, *roots)]
    found = [*daemons]
    for folder in dict.fromkeys((*filter(is_seen, (*around, *users)), *roots)):
        found += homes.homes_in(folder)
    folders = dict.fromkeys(path for path in found if path not in {home, *default})
    opened = tuple(_opened(profile, (home, *default, *folders)))
    files: dict[str, None] = {}
    for path, is_folder in credentials.find_credentials(users):
        if path not in opened:
            (folders if is_folder else files)[path] = None
    return PrivatePlaces(
        default_homes=default, folders=tuple(folders), files=tuple(files), opened=opened
    )


def _opened(profile: SandboxProfile, known: tuple[str, ...]) -> Iterable[str]:
    """Those of the listed credentials that touch no netclaw home, wherever their links lead."""
    for path in profile.credentials:
        is_around = any(is_below(place, path) for place in known)
        if not (is_around or is_below_any(path, known) or homes.home_around(path) is not None):
            yield path
