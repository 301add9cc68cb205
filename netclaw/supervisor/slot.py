"""One session inside the supervisor: who watches it, which process it has, what it waits for.

A slot exists while its session has a process, a subscriber or a reason to wait; the database
knows the rest.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from enum import StrEnum

from netclaw.core.errors import InvalidArgumentError, StorageError
from netclaw.core.ids import InputId, SessionId, is_child_key
from netclaw.core.session.outputs import NoticeOutput
from netclaw.core.session.phase import Phase
from netclaw.ports.journal import Commit
from netclaw.supervisor.consents import Asker
from netclaw.supervisor.fanout import SessionHub
from netclaw.supervisor.live_session import LiveSession
from netclaw.supervisor.services import Services
from netclaw.supervisor.start_gate import Urgency
from netclaw.wire.convert import recorded_of
from netclaw.wire.jobs import SLOT_KINDS
from netclaw.wire.outputs import output_to_proto
from netclaw.wire.replay import Replay, number_outputs
from netclaw.wire.v1.common_pb2 import Output, OutputBatch
from netclaw.wire.v1.session_host_pb2 import HostCommand

ENDS_A_TURN = frozenset({"TurnRecorded", "TurnFailed"})
BEGINS_A_TURN = frozenset({"TurnStarted"})
ENDS_ALL_THAT_IS_DUE = ENDS_A_TURN | {"SessionReset"}
AT_WORK = frozenset({Phase.PROCESSING, Phase.COMPACTING})


class SlotState(StrEnum):
    """What a session's process is doing, as far as it is the supervisor's business."""

    PASSIVE = "passive"
    QUEUED = "queued"
    """Waits for a place, a permit or the database."""
    STARTING = "starting"
    LIVE = "live"
    ENDING = "ending"
    BACKOFF = "backoff"
    """Waits after a crash (decision 4)."""


class Hold(StrEnum):
    """Why a session is not started, whatever waits for it."""

    QUARANTINE = "quarantine"
    """Crashed too often (decision 5)."""
    UNREADABLE = "unreadable"
    """What is stored of it cannot be read; after a restart of the daemon a plain quarantine."""
    START_KILLS_DAEMON = "start-kills-daemon"
    """Its start was in progress at two deaths of the supervisor in a row."""
    NEWER_LAYOUT = "newer-layout"
    """A newer program made its folders; this one leaves them alone."""


HOLD_NOTICE = {
    Hold.QUARANTINE: (
        "This session crashed repeatedly and is quarantined. Your message is kept and will run"
        " after `netclaw sessions restart`."
    ),
    Hold.UNREADABLE: (
        "What is stored of this session cannot be read, so it is quarantined. Your message is kept"
        " and will run once a netclaw that can read it runs."
    ),
    Hold.START_KILLS_DAEMON: (
        "This session is held, because the daemon died twice while starting it. Your message is"
        " kept and will run after `netclaw sessions restart`."
    ),
    Hold.NEWER_LAYOUT: (
        "This session was made by a newer netclaw. Your message is kept and will run there."
    ),
}


_WITHOUT_A_VOICE = (SlotState.PASSIVE, SlotState.BACKOFF)
"""States that no process can tell of: who shows somebody typing must hear that nobody does."""


class Slot:
    """The supervisor's side of one session; implements the live session's `Listener`."""

    def __init__(
        self, session_id: SessionId, services: Services, *, on_phase: Callable[[Slot], None]
    ) -> None:
        self.session_id = session_id
        self.hub = SessionHub(self._on_interest)
        self.live: LiveSession | None = None
        self._state = SlotState.PASSIVE
        self._state_waiters: list[asyncio.Future[None]] = []
        self.asker: Asker | None = None
        """As whom its process asks questions; set with the start point."""
        self.hold: Hold | None = None
        self.keeper: asyncio.Task[None] | None = None
        self.urgency = Urgency.WORK
        self.is_wanted = False
        """Something was admitted since the keeper last looked."""
        self.is_forced = False
        """Start it even without runnable work (an operator's restart)."""
        self.is_child = is_child_key(session_id)
        """Whether it is the session of a child run."""
        self.is_awaited = False
        """Of a child run: its parent waits for what its process reports. It has a process just as
        long as that is so."""
        self.blocks = 0
        """Changes under way that must not meet a process: no start while there are any."""
        self.change = asyncio.Lock()
        """Held by the one of them whose turn it is."""
        self.is_resting = False
        """Stopped by the operator: what waits runs when something new arrives."""
        self.is_told_to_leave = False
        """Asked to passivate because somebody else needs its place."""
        self._stop_wish: HostCommand | None = None
        """A person wants a turn ended that no process works on yet."""
        self._has_begun = False
        """Whether that turn is open already."""
        self.early_ends = 0
        """Ends in a row that are no crash and yet were not asked for."""
        self._services = services
        self._on_phase_change = on_phase

    @property
    def state(self) -> SlotState:
        """What its process is doing, as far as it is the supervisor's business."""
        return self._state

    @state.setter
    def state(self, state: SlotState) -> None:
        if state is not self._state:
            self._state = state
            waiters, self._state_waiters = self._state_waiters, []
            for waiter in waiters:
                if not waiter.done():
                    waiter.set_result(None)
            if state in _WITHOUT_A_VOICE:
                self.hub.publish(
                    OutputBatch(outputs=[Output(type="processing", phase=self.display_phase)])
                )

    async def until_state(self, *wanted: SlotState) -> None:
        """Return once the state is one of these."""
        while self._state not in wanted:
            waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._state_waiters.append(waiter)
            await waiter

    @property
    def display_phase(self) -> str:
        """The phase as people see it (protocol "Phase")."""
        if self.hold is not None:
            return "quarantined"
        match self.state:
            case SlotState.LIVE if self.live is not None:
                return self.live.phase.value
            case SlotState.STARTING:
                return Phase.RECOVERING.value
            case SlotState.ENDING:
                return Phase.PASSIVATING.value
            case SlotState.BACKOFF:
                return "backoff"
            case _:
                return "passive"

    @property
    def pid(self) -> int:
        """Process id of its live process, 0 without one."""
        live = self.live
        if live is None or live.process is None or not live.process.is_alive:
            return 0
        return live.process.pid

    @property
    def is_blocked(self) -> bool:
        """Whether a change is under way that must not meet a process."""
        return self.blocks > 0

    @property
    def is_forgettable(self) -> bool:
        """Whether nothing is lost when the slot is dropped."""
        return (
            self.keeper is None
            and self.hold is None
            and not (self.is_wanted or self.is_forced or self.is_awaited)
            and self._stop_wish is None
            and not self.is_blocked
            and not self.is_resting
            and not self.hub.has_subscribers
        )

    @property
    def is_idle(self) -> bool:
        """Whether its process could leave without disturbing anybody."""
        live = self.live
        return (
            self.state is SlotState.LIVE
            and live is not None
            and live.phase is Phase.READY
            and live.end_reason is None
            and not live.is_sealed
            and not self.is_told_to_leave
        )

    def stop_turn(self, command: HostCommand, *, is_open: bool, is_due: bool) -> bool:
        """End the turn in flight; False if there is none and none is due.

        A process that is not at work yet could not know what is to be stopped: the wish is kept
        until the turn that is open goes on or waits for a person, or the one that is due has
        begun, and forgotten with its end (decision 26). The caller starts a session whose turn is
        open, because one that waits for a person is not started by itself.
        """
        live = self.live
        if live is not None and live.phase in AT_WORK:
            live.command(command)
            return True
        if not (is_open or is_due) or self.hold is not None or self.is_resting:
            return False
        self._stop_wish = command
        self._has_begun = is_open
        if is_open and live is not None and live.phase is not Phase.RECOVERING:
            # Kept as well: the process may know less of that turn than the database by now.
            live.command(command)
        return True

    def _deliver_stop(self) -> None:
        if self._stop_wish is not None and self.live is not None:
            self.live.command(self._stop_wish)
            self._stop_wish = None

    # Commits ------------------------------------------------------------------------------

    def on_commit(self, commit: Commit) -> None:
        """Publish what a commit releases and send it to the process, in commit order."""
        live = self.live
        outputs = None
        if commit.append_id is not None and live is not None:
            outputs = live.take_outputs(commit.append_id)
        self._release(commit, outputs)
        if live is not None:
            live.forward(commit)
        if self._has_begun and any(row.type in ENDS_A_TURN for row in commit.rows):
            self._stop_wish = None
        if any(row.type in BEGINS_A_TURN for row in commit.rows):
            self._deliver_stop()
        if commit.rows[-1].type in ENDS_ALL_THAT_IS_DUE:
            self._stop_wish = None
        self.hub.head = commit.rows[-1].seq

    def _release(self, commit: Commit, outputs: list[Output] | None) -> None:
        if outputs is None:
            outputs = self._replayed(commit)
        if outputs:
            number_outputs(outputs, tuple((row.seq, row.type) for row in commit.rows))
            self.hub.publish(OutputBatch(outputs=outputs))

    def _replayed(self, commit: Commit) -> list[Output]:
        """What a commit shows that no live process handed outputs in for."""
        if commit.append_id is None and not any(row.type in ENDS_A_TURN for row in commit.rows):
            return []
        replay = Replay(redact=self._services.redact)
        return [
            output_to_proto(output)
            for row in commit.rows
            for output in replay.feed(recorded_of(row))
        ]

    def notify(self, sentence: str, kind: str, input_ids: tuple[InputId, ...] = ()) -> None:
        """Tell whoever watches, outside any turn; nothing will answer these inputs by itself."""
        notice = NoticeOutput(sentence=sentence, kind=kind, input_ids=input_ids)
        output = output_to_proto(notice)
        self.hub.publish(OutputBatch(outputs=[output]))

    # Listener of the live session ---------------------------------------------------------

    def on_output(self, batch: OutputBatch) -> None:
        """Pass ephemeral outputs on."""
        self.hub.publish(batch)

    def on_phase(self, phase: Phase) -> None:
        """Note that it is up, at work, or idle."""
        if phase is not Phase.RECOVERING and self._has_begun:
            self._deliver_stop()
        if self.state is SlotState.STARTING and phase is not Phase.RECOVERING:
            self.state = SlotState.LIVE
        if phase is not Phase.PASSIVATING:
            self.is_told_to_leave = False
        self._on_phase_change(self)

    def on_storage_error(self, error: StorageError) -> None:
        """Let starts wait until the database takes writes again."""
        self._services.health.note(error)

    async def on_ask(self, kind: str, payload: bytes) -> bytes:
        """Answer a question of the process."""
        if self.asker is None:
            raise InvalidArgumentError("A process asks nothing before it was welcomed.")
        if kind in SLOT_KINDS and self.live is not None:
            return await self._services.job_slots.answer(self.live, kind, payload)
        for desk in self._services.desks:
            if desk.takes(kind):
                return await desk.answer(self.asker, kind, payload)
        return await self._services.consents.answer(self.asker, kind, payload)

    def _on_interest(self, interest: int) -> None:
        if self.live is not None:
            self.live.set_interest(interest)
