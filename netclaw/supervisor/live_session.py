"""One live process of a session as the supervisor sees it: its stream, its appends, its trees.

It is made when the start begins, so that commits which happen between the start point (snapshot
and tail) and the process's Hello are kept and forwarded in commit order after the Welcome.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Protocol

from netclaw.core.errors import (
    HeadMovedError,
    InternalError,
    InvalidArgumentError,
    NetclawError,
    StorageError,
)
from netclaw.core.ids import AppendId, SessionId
from netclaw.core.session.phase import Phase
from netclaw.core.signals.cursors import NoticeChange
from netclaw.ports.journal import AppendRequest, Commit, JournalStore, SnapshotDraft
from netclaw.ports.spawner import SessionProcess
from netclaw.supervisor.frames import FrameQueue
from netclaw.supervisor.tasks import Tasks
from netclaw.supervisor.tool_trees import ToolTrees
from netclaw.wire.convert import draft_from_proto, outbox_from_proto, row_to_proto
from netclaw.wire.notices import change_to_proto, put_into
from netclaw.wire.v1 import session_host_pb2 as pb
from netclaw.wire.v1.common_pb2 import Output, OutputBatch

_log = logging.getLogger(__name__)


class EndReason(Enum):
    """Why the supervisor itself ended a process; none of these is the session's crash."""

    OPERATOR = "operator"
    """Killed on request (decision 5: does not count)."""
    DRAIN = "drain"
    """Told to drain, and killed only if it did not in time."""
    DAEMON_STOP = "daemon-stop"


class Listener(Protocol):
    """What the owner of a live session wants to know."""

    def on_output(self, batch: OutputBatch) -> None:
        """Outputs that need no commit."""

    def on_phase(self, phase: Phase) -> None:
        """The process is doing something else now."""

    def on_storage_error(self, error: StorageError) -> None:
        """An append could not be stored."""

    async def on_ask(self, kind: str, payload: bytes) -> bytes:
        """A question of the process; raises a `NetclawError` to refuse."""


@dataclass(slots=True)
class _Refusal:
    """A refused append that must wait until the commits up to its head were sent."""

    append_id: str
    head: int


class LiveSession:
    """One incarnation. Everything runs on the event loop; nothing here blocks."""

    def __init__(
        self,
        session_id: SessionId,
        *,
        store: JournalStore,
        tasks: Tasks,
        listener: Listener,
        now_s: float,
    ) -> None:
        self.session_id = session_id
        self.incarnation = 0
        self.phase = Phase.RECOVERING
        self.process: SessionProcess | None = None
        self.token = ""
        """By which the process introduces itself, once."""
        self.trees = ToolTrees()
        self.end_reason: EndReason | None = None
        self.is_sealed = False
        """Its Passivated is committed: nothing more is sent to it."""
        self.is_hung = False
        self.heard_at = now_s
        """When the process last said anything, on the loop's clock."""
        self.pinged_at: float | None = None
        """When it was last asked for a sign of life that has not come yet."""
        self.is_connected = False
        """Whether its Hello was accepted."""
        self.stream_ended_at: float | None = None
        self.active_at = now_s
        """When it last did something for somebody; decides who passivates first."""
        self.failing_sentence = ""
        self.ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Resolved when it left Recovering."""
        self.buried = asyncio.Event()
        """Set when the process and everything it left behind are gone."""
        self._store = store
        self._tasks = tasks
        self._listener = listener
        self._frames = FrameQueue()
        self._early: list[Commit] | None = []
        self._early_commands: list[pb.HostCommand] = []
        self._early_notices: list[NoticeChange] = []
        self._sent_head = 0
        self._is_awaited = False
        """Something was sent that calls for an answer of some kind."""
        self._outputs: dict[AppendId, list[Output]] = {}
        self._phases: dict[AppendId, Phase] = {}
        """What it will do once an append of its own is committed."""
        self._refusal: _Refusal | None = None
        self._handlers: dict[str, Callable[[pb.ToHost], None]] = {
            "append": lambda frame: self._on_append(frame.append),
            "output": lambda frame: self._listener.on_output(frame.output),
            "pong": lambda _frame: None,
            "phase": lambda frame: self._on_phase(frame.phase.phase),
            "tool_tree": lambda frame: self._on_tool_tree(frame.tool_tree),
            "ask": lambda frame: self._on_ask(frame.ask),
            "failing": lambda frame: self._on_failing(frame.failing),
        }

    @property
    def pid(self) -> int:
        """Process id, 0 before it exists."""
        return self.process.pid if self.process is not None else 0

    @property
    def _is_busy(self) -> bool:
        """Whether a new input makes no difference before the process's next append."""
        return self.phase in (Phase.PROCESSING, Phase.COMPACTING)

    # The stream ---------------------------------------------------------------------------

    def welcome(self, welcome: pb.Welcome, head: int) -> None:
        """Queue the Welcome, then every commit after `head` that came meanwhile.

        Notices that changed meanwhile are part of the Welcome: each change says how it is by now,
        so one that the start point knew of already does no harm.
        """
        self.incarnation = welcome.incarnation
        put_into(welcome, self._early_notices)
        self._sent_head = head
        self._frames.send(pb.ToSession(welcome=welcome))
        early, self._early = self._early or [], None
        for commit in early:
            if commit.rows[-1].seq > head:
                self.forward(commit)
        for command in self._early_commands:
            self.command(command)

    def forward(self, commit: Commit) -> None:
        """Send a commit of this session on, in the order of the calls."""
        if self._early is not None:
            self._early.append(commit)
            return
        if self.is_sealed:
            return
        rows = [row_to_proto(row) for row in commit.rows]
        if commit.append_id is None and self._is_busy and commit.rows[-1].type == "InputAdmitted":
            self._frames.postpone(rows)
        else:
            self._send_awaited(
                pb.ToSession(committed=pb.Committed(append_id=commit.append_id or "", rows=rows))
            )
        self._sent_head = commit.rows[-1].seq
        phase = self._phases.pop(commit.append_id, None) if commit.append_id else None
        if phase is not None:
            self._set_phase(phase)
        if self._refusal is not None:
            self._refuse(self._refusal)
        if commit.rows[-1].type == "Passivated":
            self.is_sealed = True

    def take_outputs(self, append_id: AppendId) -> list[Output] | None:
        """The outputs that wait for this append's commit, once."""
        return self._outputs.pop(append_id, None)

    def command(self, command: pb.HostCommand) -> None:
        """Tell the process that a person or the daemon wants something."""
        if self._early is not None:
            self._early_commands.append(command)
        elif not self.is_sealed:
            self._send_awaited(pb.ToSession(command=command))

    def notice(self, change: NoticeChange) -> None:
        """Tell the process of a notice; it answers nothing, and is as idle as it was."""
        if self._early is not None:
            self._early_notices.append(change)
        elif not self.is_sealed:
            self._frames.send(pb.ToSession(notice=change_to_proto(change)))

    def report(self, report: pb.ChildReport) -> bool:
        """Tell the process what a child run of its session says; False: it takes no more.

        One that was not welcomed yet is told after its Welcome of all that is held then.
        """
        if self._early is None and not self.is_sealed:
            self._send_awaited(pb.ToSession(child_report=report))
        return not self.is_sealed

    def set_interest(self, interest: int) -> None:
        """Tell the process what its subscribers want to see."""
        if self._early is None and not self.is_sealed:
            self._send_awaited(pb.ToSession(interest=pb.OutputInterest(filter=interest)))

    def renew_credentials(self, credentials: Mapping[str, str], redactions: Iterable[str]) -> None:
        """Hand the process other keys; one that was not welcomed yet finds them in its Welcome."""
        if self._early is None and not self.is_sealed:
            self._frames.send(
                pb.ToSession(
                    credentials=pb.Credentials(credentials=credentials, redactions=redactions)
                )
            )

    def _send_awaited(self, frame: pb.ToSession) -> None:
        """Send what somebody waits for: until it says anything the process is not idle."""
        self._is_awaited = True
        self._frames.send(frame)

    @property
    def is_idle(self) -> bool:
        """Whether nobody waits for anything it could do."""
        return self.phase is Phase.READY and not self._is_awaited

    def give_time(self, late_s: float) -> None:
        """Do not hold against it that the supervisor itself was late."""
        self.heard_at += late_s
        if self.pinged_at is not None:
            self.pinged_at += late_s

    def ping(self, number: int, now_s: float) -> None:
        """Ask for a sign of life."""
        self.pinged_at = now_s
        self._frames.send(pb.ToSession(ping=pb.Ping(number=number)))

    def close_stream(self) -> None:
        """End the stream after what is queued; the process then exits by itself."""
        self._frames.close()

    @property
    def frames(self) -> FrameQueue:
        """What the stream's writer sends."""
        return self._frames

    def handle(self, frame: pb.ToHost, now_s: float) -> None:
        """Act on one frame; raises `InvalidArgumentError` for one that may not come here."""
        self.heard_at = now_s
        self.pinged_at = None
        self._is_awaited = False
        body = frame.WhichOneof("body")
        handler = self._handlers.get(body or "")
        if handler is None:
            raise InvalidArgumentError(f"A session process may not send {body!r}.")
        if body != "pong":
            self.active_at = now_s
        handler(frame)

    # Frames of the process ----------------------------------------------------------------

    def _on_append(self, append: pb.Append) -> None:
        self._tasks.start(self._append(append), name=f"append of {self.session_id}")

    async def _append(self, append: pb.Append) -> None:
        append_id = AppendId(append.append_id)
        self._outputs[append_id] = list(append.outputs)
        try:
            if append.phase:
                self._phases[append_id] = _phase_of(append.phase)
            rows = await self._store.append(self._request(append))
        except HeadMovedError as error:
            self._forget(append_id)
            self._refuse(_Refusal(append.append_id, error.head))
        except NetclawError as error:
            self._forget(append_id)
            self._fail(append.append_id, error)
        except Exception as fault:
            self._forget(append_id)
            self._fail(append.append_id, InternalError("The append could not be stored."))
            raise fault from None
        else:
            if append_id in self._outputs:
                # A repeat of an append that was committed before: nobody published it again.
                self.forward(Commit(session_id=self.session_id, append_id=append_id, rows=rows))
                self._forget(append_id)

    def _forget(self, append_id: AppendId) -> None:
        self._outputs.pop(append_id, None)
        self._phases.pop(append_id, None)

    def _request(self, append: pb.Append) -> AppendRequest:
        snapshot = None
        if append.HasField("snapshot"):
            snapshot = SnapshotDraft(
                codec=append.snapshot.codec,
                payload=append.snapshot.payload,
                is_mandatory=append.snapshot.mandatory,
            )
        return AppendRequest(
            session_id=self.session_id,
            append_id=AppendId(append.append_id),
            incarnation=append.incarnation,
            expected_head=append.expected_head,
            events=tuple(draft_from_proto(event) for event in append.events),
            at=append.at_ms,
            cause=append.cause,
            outbox=tuple(outbox_from_proto(row) for row in append.outbox),
            snapshot=snapshot,
        )

    def _refuse(self, refusal: _Refusal) -> None:
        if self._sent_head < refusal.head:
            self._refusal = refusal
            return
        self._refusal = None
        self._frames.send(
            pb.ToSession(refused=pb.Refused(append_id=refusal.append_id, head=refusal.head))
        )

    def _fail(self, append_id: str, error: NetclawError) -> None:
        _log.warning("append of %s failed: %s", self.session_id, error.code.value)
        if isinstance(error, StorageError):
            self._listener.on_storage_error(error)
        self._frames.send(
            pb.ToSession(
                append_failed=pb.AppendFailed(
                    append_id=append_id, code=error.code.value, sentence=error.sentence
                )
            )
        )

    def _on_phase(self, word: str) -> None:
        self._set_phase(_phase_of(word))

    def _set_phase(self, phase: Phase) -> None:
        self.phase = phase
        if not self._is_busy:
            self._frames.flush()
        if self.phase is not Phase.RECOVERING and not self.ready.done():
            self.ready.set_result(None)
        self._listener.on_phase(self.phase)

    def _on_tool_tree(self, tree: pb.ToolTree) -> None:
        if not tree.opened:
            self.trees.closed(tree.pid)
            return
        self.trees.opened(tree.pid, tree.start_ticks)
        self._send_awaited(pb.ToSession(tool_tree_ack=pb.ToolTreeAck(call_id=tree.call_id)))

    def _on_ask(self, ask: pb.Ask) -> None:
        self._tasks.start(self._answer(ask), name=f"question of {self.session_id}")

    async def _answer(self, ask: pb.Ask) -> None:
        answer = pb.Answer(number=ask.number)
        try:
            answer.payload = await self._listener.on_ask(ask.kind, ask.payload)
        except NetclawError as error:
            answer.error_code, answer.sentence = error.code.value, error.sentence
        except Exception:
            failed = InternalError("The question could not be answered.")
            answer.error_code, answer.sentence = failed.code.value, failed.sentence
            self._frames.send(pb.ToSession(answer=answer))
            raise
        self._frames.send(pb.ToSession(answer=answer))

    def _on_failing(self, failing: pb.Failing) -> None:
        self.failing_sentence = failing.sentence
        _log.error(
            "session %s (pid %d) says it fails: %s", self.session_id, self.pid, failing.sentence
        )


def _phase_of(word: str) -> Phase:
    try:
        return Phase(word)
    except ValueError:
        raise InvalidArgumentError(f"{word!r} is no phase.") from None
