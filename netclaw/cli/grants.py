"""Reaches stored grants for a command: through the daemon, or in the file when none runs.

The file has one writer: the daemon, or whoever holds the home's lock in its place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, TypeVar

from netclaw.cli.client import DaemonClient
from netclaw.cli.holder import UnreachableDaemonError
from netclaw.core.authority import Audience
from netclaw.core.errors import ApprovalStoreError, DaemonDownError, NotFoundError

if TYPE_CHECKING:
    from netclaw.config.home import Home
    from netclaw.core.authz.revoking import GrantChoice
    from netclaw.store.grants_file import GrantsFile
    from netclaw.wire.v1 import admin_pb2 as pb

T = TypeVar("T")
Rows = list["pb.GrantRow"]


def listed(home: Home, *, audience: str, tool: str, patience_s: float | None = None) -> Rows:
    """What is kept, chats included while a daemon runs.

    Raises `ApprovalStoreError` if the file cannot be used.
    """

    def online(client: DaemonClient) -> Rows:
        from netclaw.wire.v1.admin_pb2 import ListGrantsRequest

        request = ListGrantsRequest(audience=audience, tool=tool)
        response = client.call(client.admin.ListGrants, request)
        return _usable(response.grants, response.problem)

    def offline(file: GrantsFile) -> Rows:
        from netclaw.wire.grants import grant_row

        store = file.read()
        rows = [
            grant_row(grant)
            for grant in store.grants
            if audience in ("", grant.audience.value) and tool in ("", grant.tool)
        ]
        return _usable(rows, store.fault or "")

    return _with_grants(home, online, offline, patience_s=patience_s)


def _usable(rows: Iterable[pb.GrantRow], problem: str) -> Rows:
    if problem:
        raise ApprovalStoreError(f"The grants file cannot be used: {problem}.")
    return [*rows]


def revoke(home: Home, choice: GrantChoice) -> Rows:
    """Remove stored grants; raises as `chosen` does, and `ApprovalStoreError`."""

    def online(client: DaemonClient) -> Rows:
        from netclaw.wire.v1.admin_pb2 import RevokeGrantsRequest

        request = RevokeGrantsRequest(
            label=choice.label,
            audience=choice.audience.value if choice.audience is not None else "",
            tool=choice.tool,
            directory=choice.directory,
            everywhere=choice.is_everywhere,
            all=choice.is_all,
        )
        return [*client.call(client.admin.RevokeGrants, request).revoked]

    def offline(file: GrantsFile) -> Rows:
        from netclaw.core.authz.revoking import chosen
        from netclaw.wire.grants import grant_row

        return [grant_row(grant) for grant in file.remove(lambda there: chosen(choice, there))]

    return _with_grants(home, online, offline)


def revoke_of_chat(home: Home, session_id: str, *, label: str, is_all: bool) -> Rows:
    """Take consents of one chat back; only a running daemon has any."""
    with DaemonClient(home) as client:
        from netclaw.wire.v1.admin_pb2 import RevokeGrantsRequest

        request = RevokeGrantsRequest(session_id=session_id, label=label, all=is_all)
        return [*client.call(client.admin.RevokeGrants, request).revoked]


def trust(home: Home, words: tuple[str, ...], audience: Audience) -> tuple[pb.GrantRow, bool]:
    """Store a grant for shell words; answers it and whether it added anything."""

    def online(client: DaemonClient) -> tuple[pb.GrantRow, bool]:
        from netclaw.wire.v1.admin_pb2 import TrustPhraseRequest

        request = TrustPhraseRequest(words=words, audience=audience.value)
        response = client.call(client.admin.TrustPhrase, request)
        return response.grant, response.added

    def offline(file: GrantsFile) -> tuple[pb.GrantRow, bool]:
        from netclaw.core.authz.trust import grant_of_phrase
        from netclaw.wire.grants import grant_row

        grant = grant_of_phrase(words, audience, created_at=datetime.now(UTC).isoformat())
        return grant_row(grant), bool(file.add((grant,)))

    return _with_grants(home, online, offline)


def _with_grants(
    home: Home,
    online: Callable[[DaemonClient], T],
    offline: Callable[[GrantsFile], T],
    *,
    patience_s: float | None = None,
) -> T:
    """Ask the daemon; when none runs, work on the file under the home's lock.

    Raises `AlreadyRunningError` if a daemon begins to run just then.
    """
    try:
        with DaemonClient(home, patience_s=patience_s) as client:
            return online(client)
    except UnreachableDaemonError:
        raise
    except DaemonDownError:
        pass
    from netclaw.store.grants_file import GrantsFile
    from netclaw.store.lock import HomeLock

    if not home.root.is_dir():
        raise NotFoundError(f"There is no netclaw home at {home.root}.", fix="Run `netclaw init`.")
    with HomeLock.acquire(home.lock):
        return offline(GrantsFile(home.grants_file))
