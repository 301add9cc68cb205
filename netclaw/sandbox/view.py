"""Works out what a command may see: an ordered list of mounts, the same for every backend.

The rules are decision 83's. The whole file system is read-only; the netclaw home, `/run`, the
temporary places, every folder known to hold sockets and what is private (see `private_places`)
become empty; only the profile's roots come back. Mounts are ordered by depth, so that nothing
bound later covers what was hidden inside it, and a root inside a masked place is refused. Whole
folders are hidden where that can be, not files: a mask over a file vanishes when somebody renames
another file over it.

Sockets are masked as a second wall only. One in a bound folder, and one made after this was
planned, stays in sight: what keeps it out of reach is the filter, which opens no Unix socket.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from enum import IntEnum

from netclaw.core.path_rules import is_below, is_below_any, may_be_writable
from netclaw.ports.shell_runner import SandboxProfile
from netclaw.sandbox.errors import ViewError
from netclaw.sandbox.homes import homes_of_daemons
from netclaw.sandbox.identity import Identity, identity_of
from netclaw.sandbox.private_places import PrivatePlaces, find_private_places

TEMPORARY_BYTES = 64 * 1024 * 1024
"""Size of each private temporary file system; they live in memory."""


class Mount(IntEnum):
    """What happens at a place; the value orders mounts at the same place."""

    HIDE = 1
    """An empty read-only folder."""
    TEMPORARY = 2
    """An empty writable folder of bounded size."""
    READ_IF_THERE = 3
    """Shown again read-only; one that is gone meanwhile is no fault."""
    READ = 4
    WRITE = 5
    MASK = 6
    """Like HIDE, for the profile's protected places."""
    MASK_FILE = 7
    """The null device over a single file or socket."""


COVERS = frozenset({Mount.HIDE, Mount.TEMPORARY, Mount.MASK, Mount.MASK_FILE})
"""Mounts that only take away: what is gone before they are made needs none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One mount. `path` is absolute and resolved; the binding ones bind the same host path."""

    mount: Mount
    path: str
    identity: Identity | None = None
    """What a root was when it was planned; the mount must show the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HostPlaces:
    """Places of this host that no command may see, and the few it needs back."""

    temporary: tuple[str, ...]
    hidden: tuple[str, ...]
    sockets: tuple[str, ...]
    needed: tuple[str, ...]
    daemons: tuple[str, ...]
    """Homes in which a netclaw daemon listens."""
    user_home: str


_SOCKET_FOLDERS = (".docker/run", ".docker/desktop", ".colima", ".lima", ".rd", ".gnupg")
_SOCKET_VARIABLES = ("DOCKER_HOST", "CONTAINER_HOST", "SSH_AUTH_SOCK", "DBUS_SESSION_BUS_ADDRESS")


def _depth(path: str) -> int:
    return 0 if path == "/" else path.count("/")


def host_places(environ: Mapping[str, str]) -> HostPlaces:
    """Looks around this host once per command (about 0.2 ms): sockets come and go."""
    user_home = os.path.realpath(os.path.expanduser("~"))
    temporary = _folders(("/tmp", "/var/tmp"))  # noqa: S108 - hidden, not used
    wanted = ["/run", "/var/run", environ.get("XDG_RUNTIME_DIR", "")]
    wanted += [os.path.join(user_home, name) for name in _SOCKET_FOLDERS]
    hidden = _folders(wanted)
    hidden = tuple(path for path in hidden if not is_below_any(path, temporary))
    gone = (*temporary, *hidden, "/dev", "/proc")
    listening = list(_listening())
    sockets = [*filter(_is_socket, listening), *_named_sockets(environ)]
    needed = (os.path.realpath("/etc/resolv.conf"), os.path.realpath("/run/current-system"))
    return HostPlaces(
        temporary=temporary,
        hidden=hidden,
        sockets=tuple(sorted({path for path in sockets if not is_below_any(path, gone)})),
        needed=tuple(
            path for path in needed if is_below_any(path, hidden) and os.path.exists(path)
        ),
        daemons=tuple(homes_of_daemons(listening)),
        user_home=user_home,
    )


def _folders(paths: Iterable[str]) -> tuple[str, ...]:
    found = {os.path.realpath(path) for path in paths if path.startswith("/")}
    return tuple(sorted(path for path in found if path != "/" and os.path.isdir(path)))


def _is_socket(path: str) -> bool:
    try:
        return stat.S_ISSOCK(os.lstat(path).st_mode)
    except OSError:
        return False


def _listening() -> Iterator[str]:
    """Path names of sockets that somebody of this network namespace listens on."""
    try:
        with open("/proc/net/unix", encoding="utf-8", errors="surrogateescape") as table:
            rows = table.read().splitlines()[1:]
    except OSError:
        return
    for row in rows:
        fields = row.split(maxsplit=7)
        if len(fields) == 8 and fields[3] == "00010000" and fields[7].startswith("/"):
            yield os.path.realpath(fields[7])


def _named_sockets(environ: Mapping[str, str]) -> Iterator[str]:
    for name in _SOCKET_VARIABLES:
        for part in environ.get(name, "").replace("unix:path=", "unix://").split(";"):
            path = part.removeprefix("unix://").split(",")[0]
            if path.startswith("/") and _is_socket(os.path.realpath(path)):
                yield os.path.realpath(path)


def _identity(path: str) -> Identity:
    """What a root is. Raises `ViewError` for one that is not the folder it was judged to be."""
    try:
        found = identity_of(path)
    except NotADirectoryError:
        message = f"The folder {path} is not what it was judged to be."
        raise ViewError(message) from None
    except OSError:
        found = None
    if found is None or not os.path.isdir(path):
        message = f"The folder {path} does not exist."
        raise ViewError(message)
    return found


def _roots(profile: SandboxProfile, places: HostPlaces, private: PrivatePlaces) -> Iterator[Step]:
    home = os.path.realpath(profile.home)
    closed = (*places.hidden, *profile.writable, *profile.named)
    shown = [
        path
        for path in profile.shown
        if not is_below_any(path, closed)
        and (os.path.isfile(path) or not is_below_any(path, profile.masked))
    ]
    protected = (home, *profile.masked, *private.default_homes)
    for path in (*profile.readable, *private.opened, *private.of_named(shown, home)):
        with suppress(OSError):  # neither there nor a link: left out
            yield Step(mount=Mount.READ_IF_THERE, path=path, identity=identity_of(path))
    named = private.of_named(profile.named, home)
    for path in filter(None, (*profile.writable, *named, profile.tmp)):
        identity = _identity(path)
        allowed = may_be_writable(path, user_home=places.user_home, protected=protected)
        yield Step(mount=Mount.WRITE if allowed else Mount.READ, path=path, identity=identity)


def _worth_binding(roots: list[Step], hidden: tuple[str, ...]) -> Iterator[Step]:
    """Leaves out what is there anyway.

    Read-only roots that the read-only file system shows, and writable ones inside another: a
    folder that is a mount of its own can be neither removed nor renamed.
    """
    writable = [step.path for step in roots if step.mount is Mount.WRITE]
    for step in roots:
        if step.mount is not Mount.WRITE:
            if is_below_any(step.path, (*hidden, *writable)):
                yield step
        elif not any(_shows(outer, step.path, hidden) for outer in writable):
            yield step


def _shows(outer: str, path: str, hidden: tuple[str, ...]) -> bool:
    """Whether a bound folder holds a path with nothing hidden on the way to it."""
    if path == outer or not is_below(path, outer):
        return False
    return not any(is_below(path, place) and is_below(place, outer) for place in hidden)


def _masks(profile: SandboxProfile, bound: list[str]) -> Iterator[Step]:
    for path in profile.masked:
        inside = [root for root in bound if is_below(root, path) and root not in profile.shown]
        if inside:
            message = f"The folder {inside[0]} lies in a protected place."
            raise ViewError(message)
        if not any(is_below(path, root) for root in bound):
            continue  # not visible anyway
        if not os.path.isdir(path) or os.path.islink(path):
            message = f"The protected path {path} lies inside a folder bound for the command."
            raise ViewError(message)
        yield Step(mount=Mount.MASK, path=path)


def _private(private: PrivatePlaces, gone: tuple[str, ...], bound: list[str]) -> Iterator[Step]:
    """Hides what would be seen: what lies in an empty place is not there, unless it is bound."""

    def is_seen(path: str) -> bool:
        return not is_below_any(path, gone) or is_below_any(path, bound)

    for path in filter(is_seen, private.every_folder):
        yield Step(mount=Mount.HIDE, path=path)
    for path in filter(is_seen, private.files):
        yield Step(mount=Mount.MASK_FILE, path=path)


def _pins(private: PrivatePlaces, roots: list[Step]) -> Iterator[Step]:
    """Binds the folders between a writable root and what is hidden in it.

    The place of a mount cannot be renamed, the folder around it can: then what is hidden would be
    somewhere else for the next command.
    """
    bound = [step.path for step in roots]
    places = [path for path in (*private.every_folder, *private.files) if path not in bound]
    places += private.opened
    for root in (step.path for step in roots if step.mount is Mount.WRITE):
        for place in (path for path in places if is_below(path, root)):
            folder = os.path.dirname(place)
            while is_below(folder, root) and folder != root:
                if folder not in bound and not is_below_any(folder, private.every_folder):
                    yield Step(mount=Mount.WRITE, path=folder, identity=identity_of(folder))
                folder = os.path.dirname(folder)


def plan_view(profile: SandboxProfile, places: HostPlaces) -> tuple[Step, ...]:
    """The mounts over a read-only `/`, outermost first.

    Raises `ViewError` when a root is not the folder it was judged to be, is missing, or touches a
    protected place in a way no mount can hold.
    """
    home = os.path.realpath(profile.home)
    gone = (*places.temporary, *places.hidden, home)
    private = find_private_places(
        profile, daemons=places.daemons, is_seen=lambda path: not is_below_any(path, gone)
    )
    steps = [Step(mount=Mount.TEMPORARY, path=path) for path in places.temporary]
    steps += [Step(mount=Mount.HIDE, path=path) for path in (*places.hidden, home)]
    steps += [Step(mount=Mount.READ_IF_THERE, path=path) for path in places.needed]
    wanted = list(_roots(profile, places, private))
    roots = list(_worth_binding(wanted, (*gone, *private.every_folder)))
    bound = [step.path for step in roots]
    steps += roots
    steps += _pins(private, roots)
    steps += _private(private, gone, bound)
    steps += [
        Step(mount=Mount.MASK_FILE, path=path)
        for path in places.sockets
        if not is_below_any(path, (home, *private.every_folder, *bound))
    ]
    steps += _masks(profile, bound)
    steps.sort(key=lambda step: (_depth(step.path), step.path, step.mount))
    return tuple(_strongest(steps))


def _strongest(steps: list[Step]) -> Iterator[Step]:
    """Drops all but the last mount of a place: it alone would be seen."""
    for step, following in zip(steps, [*steps[1:], None], strict=True):
        if following is None or following.path != step.path:
            yield step
