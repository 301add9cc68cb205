"""Which session a question of a turn means, and whether that turn may know of it (decision 62).

A process is believed no more than the record of its session says. A session of a broader audience
is answered like one that does not exist: nobody learns of it by asking. Where only the asking
session's visibility stands between them, the answer names that policy.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass

from netclaw.core.authority import Audience, Authority, narrower
from netclaw.core.errors import DeniedByPolicyError, InvalidArgumentError, NotFoundError
from netclaw.core.ids import SessionId, chat_key, is_child_key, parse_session_id
from netclaw.core.session.inter_session import capped
from netclaw.core.signals.visibility import Party, Visibility, default_for, may_see
from netclaw.ports.journal import SessionRecord
from netclaw.ports.sessions import OWN, Asking
from netclaw.supervisor.consents import Asker
from netclaw.supervisor.router import Router
from netclaw.supervisor.services import Services

PAGE = 1000
NAMED = 5
"""How many sessions of one title an answer names."""

_SIGHT = {
    Visibility.SELF: "a conversation of this audience sees itself alone",
    Visibility.TREE: "a run sees itself and the runs below it alone",
    Visibility.AGENT: "it sees sessions of its own agent alone",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Viewer:
    """A turn that asks, as far as its session's record bears it out."""

    record: SessionRecord
    authority: Authority
    visibility: Visibility

    @property
    def session_id(self) -> SessionId:
        """The asking session."""
        return self.record.session_id

    def sees(self, target: SessionRecord) -> bool:
        """Whether the turn may know of a session."""
        return may_see(self._party, _party_of(target), self.visibility)

    def saw(self, run: SessionId, audience: Audience) -> bool:
        """The same of a run that is gone, and was of no wider audience than this."""
        return may_see(self._party, Party(session_id=run, audience=audience), self.visibility)

    def is_blind_to(self, target: SessionRecord) -> bool:
        """Whether the turn may not even know that the session exists."""
        asking = self._party
        is_own = target.session_id == self.session_id
        return not is_own and narrower(asking.audience, target.audience) is not target.audience

    @property
    def _party(self) -> Party:
        return Party(session_id=self.session_id, audience=self.authority.requester.audience)


class SessionSight:
    """Finds sessions for turns."""

    def __init__(self, services: Services, router: Router) -> None:
        self._services = services
        self._router = router

    async def viewer(self, asker: Asker, asking: Asking) -> Viewer:
        """Who asks. Raises `InvalidArgumentError` for a turn that is not the open one."""
        record = await self._router.record(asker.session_id)
        if asking.turn_id != record.open_turn:
            raise InvalidArgumentError("The turn that asks is over.")
        authority = capped(asking.authority, session_id=record.session_id, audience=record.audience)
        is_public = authority.requester.audience is Audience.PUBLIC
        return Viewer(
            record=record,
            authority=authority,
            visibility=Visibility.SELF if is_public else default_for(record.session_id),
        )

    async def find(self, viewer: Viewer, key: str) -> SessionRecord:
        """The session of this key.

        Raises `NotFoundError` for one that there is not, as far as the viewer may know, and
        `DeniedByPolicyError` for one that its visibility does not reach.
        """
        if key in ("", OWN) or key == viewer.session_id:
            return viewer.record
        found = await self._services.store.get_session(parse_session_id(key))
        if found is None or viewer.is_blind_to(found):
            raise NotFoundError(f'There is no session "{key}".')
        if not viewer.sees(found):
            raise DeniedByPolicyError(
                f'Session "{key}" may not be reached: this session\'s visibility is'
                f' "{viewer.visibility.value}", so {_SIGHT[viewer.visibility]}.'
            )
        return found

    async def former_run(self, viewer: Viewer, key: str) -> SessionId | None:
        """The removed child run of this key, if there may have been one that the viewer saw.

        What audience it had nobody knows any more; it was no wider than that of the conversation
        that it was begun in.
        """
        session_id = root = parse_session_id(key)
        while is_child_key(root):
            root = chat_key(root)
        conversation = await self._services.store.get_session(root)
        if root == session_id or conversation is None:
            return None
        return session_id if viewer.saw(session_id, conversation.audience) else None

    async def by_label(self, viewer: Viewer, label: str) -> SessionRecord:
        """The one session of this title that the viewer sees.

        Raises `NotFoundError` if there is none, `InvalidArgumentError` if there are several.
        """
        wanted = label.strip().casefold()
        found = [item async for item in self.all_of(viewer) if item.title.casefold() == wanted]
        if not found:
            raise NotFoundError(f'There is no session with the title "{label}".')
        if len(found) > 1:
            keys = ", ".join(f'"{item.session_id}"' for item in found[:NAMED])
            raise InvalidArgumentError(
                f'{len(found)} sessions have the title "{label}": {keys}. Name one by its key.'
            )
        return found[0]

    async def all_of(self, viewer: Viewer) -> AsyncIterator[SessionRecord]:
        """Every session that the viewer sees, in the order of their keys."""
        after = ""
        while True:
            page = await self._services.store.list_sessions(limit=PAGE, after_id=after)
            for record in page:
                if viewer.sees(record):
                    yield record
            if len(page) < PAGE:
                return
            after = page[-1].session_id


def _party_of(record: SessionRecord) -> Party:
    return Party(session_id=record.session_id, audience=record.audience)
