"""Answers what processes ask about sessions: status, list, history, goals, messages to others.

Every question says which turn asks; what that turn may know is judged here (`session_sight`).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine

from netclaw.core.errors import (
    InvalidArgumentError,
    NotFoundError,
    SessionUnreadableError,
    StorageError,
)
from netclaw.core.ids import SessionId
from netclaw.core.session.goal_events import GoalStatus
from netclaw.core.session.goals import Goal, GoalChange
from netclaw.core.signals.events import Actor, ActorType
from netclaw.ports.journal import SessionRecord
from netclaw.ports.sessions import (
    GoalQuestion,
    GoalView,
    HistoryQuestion,
    ListQuestion,
    StatusQuestion,
    StatusView,
)
from netclaw.ports.signals import StateChanges
from netclaw.supervisor import session_views as views
from netclaw.supervisor.consents import Asker
from netclaw.supervisor.crashes import read_state
from netclaw.supervisor.router import Router
from netclaw.supervisor.services import Services
from netclaw.supervisor.session_letters import SessionLetters
from netclaw.supervisor.session_sight import SessionSight, Viewer
from netclaw.wire import sessions as said

_log = logging.getLogger(__name__)

Handler = Callable[[Asker, bytes], Coroutine[None, None, bytes]]


class SessionDesk:
    """All questions about sessions; `letters` are the messages between them."""

    def __init__(self, services: Services, router: Router) -> None:
        self._services = services
        self._router = router
        self._sight = SessionSight(services, router)
        self._goal_change = asyncio.Lock()
        """Held while a goal is looked at and set."""
        self.letters = SessionLetters(services, router, self._sight)
        self._kinds: dict[str, Handler] = {
            said.ASK_STATUS: self._status,
            said.ASK_LIST: self._list,
            said.ASK_HISTORY: self._history,
            said.ASK_GOAL: self._goal,
            said.ASK_SEND: self.letters.send,
            said.ASK_WAIT: self.letters.wait,
        }

    def takes(self, kind: str) -> bool:
        """Whether a question of this kind is about sessions."""
        return kind in self._kinds

    async def answer(self, asker: Asker, kind: str, payload: bytes) -> bytes:
        """Answer one question; raises a `NetclawError` to refuse it."""
        return await self._kinds[kind](asker, payload)

    async def _status(self, asker: Asker, payload: bytes) -> bytes:
        question = said.decode(payload, StatusQuestion)
        viewer = await self._sight.viewer(asker, question.asking)
        try:
            record = await self._sight.find(viewer, question.key)
        except NotFoundError:
            former = await self._former_run(viewer, question)
            if former is None:
                raise
            return said.encode(former)
        is_own = record.session_id == viewer.session_id
        changes = None
        version = record.state_version
        if question.since is not None:
            found = await self._changes(record.session_id, question.since)
            version, changes = found.state_version, views.changes_view(found)
        text = (
            views.own_lines(record) if is_own else views.status_lines(record, self._phase(record))
        )
        return said.encode(
            StatusView(
                key=record.session_id,
                is_own=is_own,
                state_version=version,
                text=text,
                changes=changes,
            )
        )

    async def _former_run(self, viewer: Viewer, question: StatusQuestion) -> StatusView | None:
        """What the log kept of a run that was removed after its end: a notice may still name it."""
        run = await self._sight.former_run(viewer, question.key)
        if run is None:
            return None
        found = await self._changes(run, question.since or 0)
        if not found.state_version:
            return None
        return StatusView(
            key=run,
            is_own=False,
            state_version=found.state_version,
            text=views.former_run_lines(run),
            changes=None if question.since is None else views.changes_view(found),
        )

    async def _changes(self, session_id: SessionId, since: int) -> StateChanges:
        """What the log says, or nothing if it cannot be read: the question is answered anyway."""
        if since < 0:
            raise InvalidArgumentError("A version is 0 or more.")
        try:
            return await self._services.store.changes_since(session_id, since)
        except StorageError as error:
            _log.warning("the signal log cannot be read: %s", error.code.value)
            return StateChanges(state_version=0)

    async def _list(self, asker: Asker, payload: bytes) -> bytes:
        question = said.decode(payload, ListQuestion)
        viewer = await self._sight.viewer(asker, question.asking)
        now_ms = self._services.now_ms()
        found = [
            record
            async for record in self._sight.all_of(viewer)
            if views.is_listed(record, question, now_ms=now_ms)
        ]
        found.sort(key=lambda record: (-record.last_activity_at, record.session_id))
        wanted = found[question.offset : question.offset + question.limit]
        rows: list[views.Json] = []
        size = 0
        for record in wanted:
            messages = await self._last_messages(record, question.message_limit)
            rows.append(views.row(record, self._phase(record), messages))
            size += views.size_of(rows[-1])
            if size > views.PAGE_BYTES:
                break  # the page is full: no history is read for the next one
        return views.page(rows, offset=question.offset, total=len(found))

    async def _last_messages(self, record: SessionRecord, count: int) -> list[views.Json] | None:
        if not count:
            return None
        try:
            state = await read_state(self._services.store, record.session_id)
        except SessionUnreadableError:
            return []
        return await asyncio.to_thread(
            views.last_messages, state.history, count, self._services.redact
        )

    async def _history(self, asker: Asker, payload: bytes) -> bytes:
        question = said.decode(payload, HistoryQuestion)
        viewer = await self._sight.viewer(asker, question.asking)
        record = await self._sight.find(viewer, question.key)
        state = await read_state(self._services.store, record.session_id)
        return await asyncio.to_thread(
            views.history_answer,
            record.session_id,
            state.history,
            question,
            self._services.redact,
        )

    async def _goal(self, asker: Asker, payload: bytes) -> bytes:
        question = said.decode(payload, GoalQuestion)
        viewer = await self._sight.viewer(asker, question.asking)
        async with self._goal_change:
            record = await self._sight.find(viewer, question.key)
            goal = Goal(text=record.goal, status=record.goal_status)
            change = self._change(goal, question)
            if change is not None:
                goal = await self._set_goal(viewer, record, change)
        return said.encode(GoalView(key=record.session_id, text=goal.text, status=goal.status))

    def _change(self, goal: Goal, question: GoalQuestion) -> GoalChange | None:
        """What a model may make of a goal: begin one where there is none, report its end."""
        if question.create is not None:
            if goal.text and goal.status is not GoalStatus.COMPLETE:
                raise InvalidArgumentError(
                    f"There is a goal already ({goal.status.value}): {goal.text}"
                )
            text = self._services.redact(question.create)
            return GoalChange(text=text, status=GoalStatus.ACTIVE)
        if question.status is None:
            return None
        if question.status not in (GoalStatus.COMPLETE, GoalStatus.BLOCKED):
            raise InvalidArgumentError("A model reports a goal as complete or blocked.")
        return GoalChange(status=question.status)

    async def _set_goal(self, viewer: Viewer, record: SessionRecord, change: GoalChange) -> Goal:
        outcome = await self._services.store.set_goal(
            record.session_id,
            change,
            actor=Actor(type=ActorType.AGENT, id=viewer.session_id),
            at=self._services.now_ms(),
        )
        return outcome.goal

    def _phase(self, record: SessionRecord) -> str:
        slot = self._router.find(record.session_id)
        if record.is_quarantined:
            return "quarantined"
        return "passive" if slot is None else slot.display_phase
