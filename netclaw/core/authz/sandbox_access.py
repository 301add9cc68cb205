"""What the kernel lets one authorized command write and reach: derived from what was judged.

Decisions 44 and 45, ADR 0039. What may be read is the sandbox's own rule (decision 83); a call
adds only what it was judged to read in places that a sandbox leaves empty. Consent never widens a
Roots or None profile.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass

from netclaw.core.authz import credential_access, safe_catalogue
from netclaw.core.authz.decisions import Decision
from netclaw.core.authz.facts import Candidate, PathKind, PathUse
from netclaw.core.authz.path_access import FileMode, Root
from netclaw.core.authz.profiles import reach_of
from netclaw.core.authz.protected import DEFAULT_NAME, HIDDEN, READ_ONLY, ProtectedPaths
from netclaw.core.authz.protected_catalogue import CONFIGURATION
from netclaw.core.authz.requests import AuthorizationRequest, Policy, ShellCall
from netclaw.core.credential_places import PLACES
from netclaw.core.path_rules import is_below_any, may_be_writable
from netclaw.core.settings import SandboxNetwork, ShellMode, ToolSettings
from netclaw.core.storage_layout import is_job_definition
from netclaw.core.tool_call import FileOperation

_MOVERS = frozenset({"mv", "rm", "rmdir"})
"""Programs that change the name of an operand, and so the folder that holds it."""

MAX_WRITABLE = 64
MAX_READABLE = 256
"""Places of one call; each costs the sandbox a look and maybe a mount. Further ones stay shut."""

_SERVICES = ("/dev", "/run", "/var/run")
"""Places of running services, which no command sees for naming them."""

_AREAS = frozenset({"workspace", "artifacts", "worktrees"})
_KEPT_AREAS = frozenset({"attachment-staging", "tool-calls"})
"""Of a session: what others of the operator may look into, and what nobody may (decision 45)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxAccess:
    """The part of a sandbox profile that depends on the decision; shown by `netclaw authorize`."""

    writable: tuple[str, ...]
    """Folders, absolute and resolved, beside those that every call of the session may write."""
    configured: tuple[str, ...] = ()
    """The operator's writable folders, as configured: left out while they are not there."""
    readable: tuple[str, ...] = ()
    """Files and folders, resolved, that the call names or works in: shown where a backend would
    not show them, and never more writable for that."""
    credentials: tuple[str, ...] = ()
    """Places that the operator lists, as configured: shown read-only although they hold what lets
    in elsewhere, because somebody consented to this call."""
    has_network: bool = False
    is_confined: bool = True
    """False where the operator lets commands run as they are (`ShellMode` HostAllowed)."""


NOTHING = SandboxAccess(writable=())
"""What a call that starts no command is given."""


def access_of(
    request: AuthorizationRequest, decision: Decision, policy: Policy, settings: ToolSettings
) -> SandboxAccess:
    """What an allowed call may write and reach. `decision` is the one that lets it run.

    Pure; equal input gives an equal answer. Anything but a shell call is given nothing.
    """
    call = request.call
    if not isinstance(call, ShellCall) or call.facts is None:
        return NOTHING
    if policy.shell_mode is ShellMode.HOST_ALLOWED:
        return SandboxAccess(writable=(), has_network=True, is_confined=False)
    mode, places = policy.profile.write.mode, _Places.of(policy, settings.credentials)
    configured = dict.fromkeys(_configured(policy, settings))
    named = _written(call, policy) if mode is FileMode.ALL else ()
    writable = _outermost(path for path in named if places.may_write(path))
    opened = frozenset(writable)
    seen = _outermost(_readable(call, places))
    return SandboxAccess(
        writable=writable[:MAX_WRITABLE],
        configured=tuple(filter(places.may_be_configured, configured)),
        readable=tuple(path for path in seen if not _is_within(path, opened))[:MAX_READABLE],
        credentials=_credentials(places, decision, settings),
        has_network=_has_network(settings.sandbox_network, decision),
    )


def is_covered(given: SandboxAccess, now: SandboxAccess) -> bool:
    """Whether what a call was given is no more than what it would be given now."""
    return (
        set(given.writable) <= set(now.writable)
        and set(given.configured) <= set(now.configured)
        and set(given.readable) <= set(now.readable)
        and set(given.credentials) <= set(now.credentials)
        and given.has_network <= now.has_network
        and given.is_confined >= now.is_confined
    )


def _configured(policy: Policy, settings: ToolSettings) -> Iterator[str]:
    rule = policy.profile.write
    if rule.mode is not FileMode.NONE:
        yield from (
            root.canonical for root in rule.roots if not (root.is_read_only or root.is_file)
        )
    if rule.mode is FileMode.ALL:
        yield from settings.writable_roots


def _credentials(places: _Places, decision: Decision, settings: ToolSettings) -> tuple[str, ...]:
    if not (settings.credentials and credential_access.is_shown(decision)):
        return ()
    return tuple(filter(places.may_be_credential, dict.fromkeys(settings.credentials)))


def _has_network(setting: SandboxNetwork, decision: Decision) -> bool:
    if setting is SandboxNetwork.GRANTED:
        return decision.has_network
    return setting is SandboxNetwork.ALWAYS


@dataclass(frozen=True, slots=True, kw_only=True)
class _Places:
    """Places that no command is given because of what its text says."""

    protected: ProtectedPaths
    homes: tuple[str, ...]
    closed: frozenset[str]
    """The homes, every session's temporary folders, and where programs keep credentials."""
    around: frozenset[str]
    """Every folder above a closed place, and the shared temporary folders."""
    temporary: tuple[str, ...]
    given: frozenset[str]
    """What every call of the session may write."""
    shared: tuple[str, ...]
    """Folders of the home with other sessions' files that the audience may read."""
    common: tuple[str, ...]
    """Folders of the home that the audience may read whole."""

    @classmethod
    def of(cls, policy: Policy, credentials: Iterable[str]) -> _Places:
        """The places of one policy; `credentials` are those that the operator lists."""
        user_home = policy.protected.user_home
        own = [root.resolved for root in policy.roots.own]
        others = tuple(_parent(path) for path in own if is_below_any(path, policy.temporary))
        homes = (*policy.protected.homes, f"{user_home}/{DEFAULT_NAME}")
        secrets = (f"{user_home}/{name}" for name in PLACES)
        project = policy.roots.project
        if project is not None and not project.is_read_only:
            own.append(project.resolved)
        closed = frozenset((*homes, *others, *secrets, *credentials))
        return cls(
            protected=policy.protected,
            homes=homes,
            closed=closed,
            around=frozenset((*policy.temporary, *(up for path in closed for up in _above(path)))),
            temporary=policy.temporary,
            given=frozenset(own),
            shared=_resolved(policy, policy.roots.shared),
            common=_resolved(policy, policy.roots.global_read),
        )

    def may_write(self, folder: str) -> bool:
        """Whether a folder is opened for writing because a command names something in it.

        A folder around a closed place is not: the place could be moved away with what is above it.
        """
        if _is_within(folder, self.given) or _is_within(folder, self.closed):
            return False
        is_around = folder in self.around
        return not is_around and may_be_writable(
            folder, user_home=self.protected.user_home, protected=self.temporary
        )

    def may_be_configured(self, folder: str) -> bool:
        """Whether a folder may be writable because the operator says so.

        Never one of the home that no tool may write, nor one in it.
        """
        kept = tuple(f"{home}/{name}" for home in self.homes for name in (*HIDDEN, *READ_ONLY))
        return not is_below_any(folder, kept) and may_be_writable(
            folder, user_home=self.protected.user_home, protected=(*self.homes, *kept)
        )

    def may_be_credential(self, place: str) -> bool:
        """Whether a place of credentials may be shown because the operator says so."""
        return credential_access.may_be_shown(
            place, homes=self.homes, user_home=self.protected.user_home
        )

    def may_see(self, path: str) -> bool:
        """Whether a folder or file is shown because a command names it or works in it."""
        is_open = not (_is_within(path, self.closed) or _is_within(path, self.given))
        return is_open and not is_below_any(path, _SERVICES)

    def shown(self, use: PathUse) -> Iterator[str]:
        """What of a named path is shown, where a sandbox would not: its target, if it has one.

        In a shared temporary folder single files, for whole folders are not known to hold no
        secrets; of the netclaw home ordinary configuration and what the audience's roots hold.
        There a link is not followed: the sandbox does not have it.
        """
        fact, path = use.fact, use.fact.resolved
        is_file = fact.kind is PathKind.FILE and path == fact.canonical
        if path is None or fact.kind not in (PathKind.FILE, PathKind.FOLDER):
            return
        if is_below_any(path, self.homes):
            is_shown = path == fact.canonical and self._is_open(use, path)
        else:
            is_hidden = is_below_any(path, self.temporary)
            is_shown = self.may_see(path) and (is_file or not is_hidden)
        if is_shown:
            yield path

    def _is_open(self, use: PathUse, path: str) -> bool:
        """Whether a file or folder of the netclaw home is shown."""
        if self.protected.is_protected(use.fact, use.operation):
            return False
        is_file = use.fact.kind is PathKind.FILE
        configurations = (f"{home}/{CONFIGURATION}" for home in self.homes)
        if is_below_any(path, self.common) or (is_file and is_below_any(path, configurations)):
            return True
        for root in self.shared:
            if is_below_any(path, (root,)):
                inside = path.removeprefix(root).strip("/").split("/")
                if is_job_definition(inside[1:]):
                    return False
                parts = set(inside)
                return parts.isdisjoint(_KEPT_AREAS) and (is_file or not parts.isdisjoint(_AREAS))
        return False

    def may_work_in(self, folder: str) -> bool:
        """Whether the folder of a command is shown, where a sandbox would not."""
        return self.may_see(folder) and folder not in self.temporary


def _resolved(policy: Policy, roots: Iterable[Root]) -> tuple[str, ...]:
    """Those of the home's folders that the audience's profile lets it read."""
    held = reach_of(policy.profile, FileOperation.READ, policy.roots).roots
    return tuple(root.resolved for root in roots if root in held)


def _written(call: ShellCall, policy: Policy) -> Iterator[str]:
    """Folders in which the judged commands work or may change something."""
    for candidate in call.facts.candidates if call.facts is not None else ():
        if _only_reads(candidate, policy):
            continue
        for cwd in candidate.cwds:
            yield from _worked_in(call, candidate, cwd)
        for use in candidate.paths:
            if use.operation is FileOperation.WRITE and not _is_program(candidate, use):
                yield from filter(None, _folders(candidate, use))


def _worked_in(call: ShellCall, candidate: Candidate, cwd: str) -> Iterator[str]:
    """The folder a command runs in; Git works on the whole repository around it."""
    folder = call.paths[cwd].resolved
    if folder is not None:
        yield folder
    repository = call.repositories.get(cwd)
    if repository is not None and candidate.phrase[:1] == ("git",):
        yield from (repository.worktree, repository.common)


def _folders(candidate: Candidate, use: PathUse) -> Iterator[str | None]:
    """The folders that must be writable for a command to change one path.

    Always folders, never a file alone: programs replace a file by renaming a new one over it,
    which a mount over the file itself refuses, and a file is removed from its folder.
    """
    yield use.fact.folder
    is_moved = candidate.argv[:1] and candidate.argv[0] in _MOVERS
    if use.fact.is_link or (is_moved and not use.path.endswith("/")):
        yield use.fact.holder


def _only_reads(candidate: Candidate, policy: Policy) -> bool:
    """Whether a candidate was let through, or could have been, because it changes nothing."""
    if candidate.unresolved is not None or candidate.has_redirect or candidate.assignments:
        return False
    return candidate.is_exempt or safe_catalogue.find(candidate.argv, policy.safe) is not None


def _is_program(candidate: Candidate, use: PathUse) -> bool:
    """Whether a use is the program itself, which runs and is not written."""
    return candidate.phrase[:1] == (use.fact.canonical,)


def _readable(call: ShellCall, places: _Places) -> Iterator[str]:
    """Everything that exists and is named, and the folders that commands run in."""
    for candidate in call.facts.candidates if call.facts is not None else ():
        for use in candidate.paths:
            yield from places.shown(use)
        for cwd in candidate.cwds:
            yield from filter(places.may_work_in, _worked_in(call, candidate, cwd))


def _outermost(folders: Iterable[str]) -> tuple[str, ...]:
    """Without those inside another: a folder that is a mount of its own cannot be moved."""
    found = dict.fromkeys(folders)
    return tuple(path for path in found if not any(up in found for up in _above(path)))


def _is_within(path: str, folders: Container[str]) -> bool:
    """Whether a path is or lies in one of many folders; time in proportion to its depth alone."""
    return path in folders or any(up in folders for up in _above(path))


def _above(path: str) -> Iterator[str]:
    while path != "/":
        path = _parent(path)
        yield path


def _parent(path: str) -> str:
    return path.rpartition("/")[0] or "/"
