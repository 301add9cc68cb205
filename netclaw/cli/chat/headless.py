"""`netclaw chat -p`: one message, its turn, and an exit code a script can rely on."""

from __future__ import annotations

import math
import os
import pwd
import secrets
import shlex
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from netclaw.cli.app import App, JsonRow, compact
from netclaw.cli.chat.feed import GONE, SessionFeed
from netclaw.cli.chat.interrupts import Interrupts
from netclaw.cli.chat.lookout import Lookout, gone, held_back, left_alone
from netclaw.cli.chat.printer import PlainPrinter
from netclaw.cli.chat.turns import TurnFollower
from netclaw.cli.chat.verdict import as_error, exit_code, failure_of
from netclaw.cli.client import DaemonClient
from netclaw.cli.failure import error_row, print_failure
from netclaw.core.errors import (
    DaemonDownError,
    DeliveryUnconfirmedError,
    InvalidArgumentError,
    NetclawError,
    NotFoundError,
    TooLargeError,
)
from netclaw.core.ids import parse_session_id

if TYPE_CHECKING:
    from netclaw.wire.v1 import gateway_pb2
    from netclaw.wire.v1.common_pb2 import Output

MAX_TEXT_BYTES = 1024 * 1024
FILTER_BITS = 1 | 2 | 8 | 16 | 32 | 64
"""Everything but thinking, which goes to logs alone."""
STOP_TIMEOUT_S = 2.0
POLL_S = 0.2
"""How soon a Ctrl-C is noticed."""
RESEND_FOR_S = 60.0
"""How long a message without a definite answer is sent again, under its own id (decision 33)."""
STOP_KINDS = ("stopping", "restarting")
"""Notices of a drain that ends the turn for good."""
IDLE_PHASES = ("passive", "ready", "recovering", "passivating")


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """What to send: `message_id` makes a resend safe; empty means that one is made up."""

    text: str
    resume: str = ""
    message_id: str = ""
    is_to_channel: bool = False


def check_text(text: str) -> None:
    """Refuse what the daemon would refuse anyway, before it travels."""
    if not text.strip():
        raise InvalidArgumentError("The message is empty.", fix="Pass some text after -p.")
    try:
        size = len(text.encode())
    except UnicodeEncodeError:  # typed or pasted in another encoding than the terminal's
        raise InvalidArgumentError("The message is not valid UTF-8.") from None
    if size > MAX_TEXT_BYTES:
        raise TooLargeError(f"The message has {size} bytes; the limit is {MAX_TEXT_BYTES}.")


def local_sender_id() -> str:
    """The name of the person at this terminal."""
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return str(os.getuid())


class HeadlessChat:
    """Sends one message and follows it to its answer."""

    def __init__(self, app: App, message: Message) -> None:
        self._app = app
        self._message = message
        self._message_id = message.message_id or f"cli-{secrets.token_hex(8)}"
        self._follower = TurnFollower()
        self._printer = PlainPrinter(app)
        self._session_id = ""
        self._sent_at = 0.0
        self._first_text_at = 0.0
        self._shown_at = -math.inf
        self._input_id = ""
        self._is_duplicate = False
        self._is_live = False
        """Whether nobody else's words can be among those that come now."""
        self._held: dict[str, list[Output]] = {}
        """By turn, what is shown once it is known to be this message's."""
        self._seen: set[tuple[int | str, ...]] = set()
        """Durable outputs that came before: the record may be read a second time."""
        self._stop_told = ""
        self._has_asked_to_stop = False

    def run(self) -> int:
        """The whole run; returns the exit code. Raises what prevented an answer."""
        check_text(self._message.text)
        if self._message.resume:
            parse_session_id(self._message.resume)
        home = self._app.home
        client = DaemonClient(home)
        feed: SessionFeed | None = None
        try:
            row = self._ensure(client)
            self._session_id = row.id
            feed = SessionFeed(
                client,
                home,
                row.id,
                filter_bits=FILTER_BITS,
                after_seq=row.head_seq,
                tell=self._app.note,
            )
            # From before it is sent: the turn may begin before the answer to the sending is read.
            connected = feed
            with Interrupts(lambda: connected.is_connected) as interrupts:
                self._send_and_follow(feed, row, interrupts)
            return self._finish()
        finally:
            if feed is not None:
                feed.close()
            else:
                client.__exit__(None, None, None)

    def _send_and_follow(
        self, feed: SessionFeed, row: gateway_pb2.SessionRow, interrupts: Interrupts
    ) -> None:
        admitted = self._send(feed, row)
        if admitted.duplicate:
            feed.restart_from(max(admitted.seq - 1, 0))
        # Until others' messages are out of the way, nobody knows whose text this is.
        is_alone = row.phase in IDLE_PHASES and not row.pending_inputs
        self._is_live = is_alone and not admitted.duplicate
        self._follow(feed, admitted, interrupts)

    def _ensure(self, client: DaemonClient) -> gateway_pb2.SessionRow:
        from netclaw.wire.v1 import gateway_pb2 as pb

        made = client.call(
            client.gateway.EnsureSession, pb.EnsureSessionRequest(session_id=self._message.resume)
        )
        found = client.call(
            client.gateway.GetSession, pb.GetSessionRequest(session_id=made.session_id)
        )
        return found.row

    def _send(
        self, feed: SessionFeed, row: gateway_pb2.SessionRow
    ) -> gateway_pb2.SendUserMessageResponse:
        request = self._request(row)
        self._sent_at = time.monotonic()
        admitted = self._deliver(feed, request)
        self._input_id = admitted.input_id
        self._is_duplicate = admitted.duplicate
        self._follower.expect(admitted.input_id)
        if admitted.notice:
            self._app.note(f"[notice] {admitted.notice}")
            self._check_quarantine(feed.client, admitted.notice)
        return admitted

    def _deliver(
        self, feed: SessionFeed, request: gateway_pb2.SendUserMessageRequest
    ) -> gateway_pb2.SendUserMessageResponse:
        """Send, and after a lost connection send again to the daemon that comes back.

        The message's id makes that safe: what was admitted already is not admitted twice. Raises
        `DeliveryUnconfirmedError` when no daemon confirmed it in time.
        """
        unconfirmed: DeliveryUnconfirmedError | None = None
        while True:
            client = feed.client
            lost: NetclawError
            try:
                return client.call(client.gateway.SendUserMessage, request, is_send=True)
            except DeliveryUnconfirmedError as error:
                unconfirmed, lost = error, error
            except GONE as error:
                lost = error
            is_late = time.monotonic() - self._sent_at >= RESEND_FOR_S
            try:
                if is_late:
                    raise lost
                feed.reconnect(lost)
            except (DeliveryUnconfirmedError, *GONE):
                if unconfirmed is not None:
                    raise self._unconfirmed(unconfirmed) from None
                raise

    def _request(self, row: gateway_pb2.SessionRow) -> gateway_pb2.SendUserMessageRequest:
        from netclaw.wire.v1 import gateway_pb2 as pb
        from netclaw.wire.v1.common_pb2 import DeliveryTarget, Sender

        targets = []
        if self._message.is_to_channel:
            if row.channel == "cli":
                raise InvalidArgumentError(
                    f"The session {row.id} is bound to no channel.", fix="Leave --to-channel out."
                )
            targets = [DeliveryTarget(channel=row.channel, address=row.id)]
        return pb.SendUserMessageRequest(
            session_id=row.id,
            text=self._message.text,
            sender=Sender(
                sender_id=local_sender_id(), source_kind="cli", authenticity="LocalProcess"
            ),
            source_message_id=self._message_id,
            delivery_targets=targets,
        )

    def _check_quarantine(self, client: DaemonClient, notice: str) -> None:
        """Raise when the session is held back: a message there is kept, not run."""
        from netclaw.wire.v1.gateway_pb2 import GetSessionRequest

        found = client.call(
            client.gateway.GetSession, GetSessionRequest(session_id=self._session_id)
        )
        if found.row.quarantined:
            raise held_back(notice, self._session_id)

    def _unconfirmed(self, error: DeliveryUnconfirmedError) -> DeliveryUnconfirmedError:
        resume = f"--resume {self._session_id} --message-id {self._message_id}"
        return DeliveryUnconfirmedError(
            f"Delivery unconfirmed: {error.sentence}",
            fix=f"Look it up with `netclaw ledger {self._session_id}`;"
            f" `netclaw chat -p ... {resume}` sends it again without doubling it.",
        )

    def _follow(
        self,
        feed: SessionFeed,
        admitted: gateway_pb2.SendUserMessageResponse,
        interrupts: Interrupts,
    ) -> None:
        lookout = Lookout(feed, self._follower, admitted, self._session_id, self._app.note)
        try:
            self._watch(feed, lookout, interrupts)
        except DaemonDownError as error:
            raise self._admitted_only(error) from None
        except NotFoundError:
            raise gone(self._session_id) from None
        finally:
            self._printer.end()

    def _watch(self, feed: SessionFeed, lookout: Lookout, interrupts: Interrupts) -> None:
        heard_at = time.monotonic()
        for output in feed.watch(lambda: min(POLL_S, lookout.patience_s())):
            if interrupts.count and not self._has_asked_to_stop:
                self._stop(feed, lookout)
            if output is not None:
                heard_at = time.monotonic()
                self._take(output)
            silence_s = time.monotonic() - heard_at
            if not self._follower.is_done and lookout.is_due_after(silence_s):
                lookout.look(time.monotonic() - self._shown_at)
                heard_at = time.monotonic()
            if self._follower.is_done:
                return

    def _take(self, output: Output) -> None:
        self._follower.feed(output)
        if output.type == "notice":
            self._notice(output)
        if output.type in ("text_delta", "text") and not self._first_text_at:
            self._first_text_at = time.monotonic()
        if self._app.is_json or self._is_repeated(output):
            return
        if self._is_live or not output.turn_id:
            self._shown_at = time.monotonic()
            self._printer.show(output)
        else:
            self._held.setdefault(output.turn_id, []).append(output)
        if output.type == "turn_completed":
            held = self._held.pop(output.turn_id, [])
            if self._follower.is_mine(output.turn_id):
                self._show_held(held)
                self._is_live = False  # other people's turns may come before those of the runs

    def _is_repeated(self, output: Output) -> bool:
        """Whether a replay says what was said before; what has no seq is never said again."""
        if not output.seq:
            return False
        part = (output.turn_id, output.round, output.call_id, output.path, output.run_id)
        what = (output.seq, output.type, *part)
        is_repeated = what in self._seen
        self._seen.add(what)
        return is_repeated

    def _show_held(self, held: list[Output]) -> None:
        for output in held:
            if output.type != "text_delta":
                self._printer.show(output)

    def _notice(self, output: Output) -> None:
        """A notice that names the message ends the wait: nothing answers it by itself."""
        if self._input_id in output.input_ids:
            if output.outcome == "quarantined":
                raise held_back(output.text, self._session_id)
            if output.outcome == "stopped":
                raise left_alone(output.text, self._session_id)
        if output.outcome in STOP_KINDS:
            self._stop_told = output.text

    def _admitted_only(self, error: NetclawError) -> NetclawError:
        if self._stop_told:
            sentence = f"{self._stop_told} The daemon is gone."
        elif self._follower.awaited:
            sentence = "The daemon is gone, and the sub-agents of this turn have not reported."
        else:
            sentence = (
                f"The message is admitted (input {self._input_id}) and will be answered, but the"
                f" daemon is gone: {error.sentence}"
            )
        return DaemonDownError(
            sentence,
            fix="Run `netclaw daemon start`, then read the answer with"
            f" `netclaw sessions history {self._session_id}`.",
        )

    def _stop(self, feed: SessionFeed, lookout: Lookout) -> None:
        """Ctrl-C: the message's turn ends at its next safe point.

        Only its own: while it waits behind others' turns, or for sub-agents, this terminal leaves.
        """
        self._has_asked_to_stop = True
        if self._follower.mine or not lookout.is_running():
            self._app.note("[left] the session goes on by itself; the message is kept")
            raise KeyboardInterrupt
        from netclaw.wire.v1.gateway_pb2 import StopTurnRequest

        self._app.note("[stopping] at the next safe point; Ctrl-C again leaves at once")
        with suppress(NetclawError):
            feed.client.call(
                feed.client.gateway.StopTurn,
                StopTurnRequest(session_id=self._session_id),
                timeout_s=STOP_TIMEOUT_S,
            )

    def _finish(self) -> int:
        usage = self._follower.usage()
        if usage is not None and not self._app.is_json:
            self._printer.total(usage)
        last = self._follower.mine[-1]
        if last.outcome == "guard-ended":
            self._app.note("[notice] the turn was ended: the model repeated itself or kept failing")
        failure = failure_of(last, self._stop_told)
        error = as_error(failure) if failure is not None else None
        if error is not None:
            print_failure(self._app.command, error.sentence, error.fix, error.reference)
        if self._app.is_json:
            self._app.emit(self._row(error, failure.category if failure else ""))
        self._tell_way_back()
        return exit_code(failure, is_interrupted=self._has_asked_to_stop)

    def _tell_way_back(self) -> None:
        """Name the new session to a person, who has no other way to learn its id from here."""
        if not (self._message.resume or self._app.is_json) and sys.stderr.isatty():
            self._app.note(f"go on with: netclaw chat --resume {shlex.quote(self._session_id)}")

    def _row(self, error: NetclawError | None, category: str) -> JsonRow:
        now = time.monotonic()
        first = self._first_text_at
        return compact(
            self._follower.result(self._session_id)
            | {
                "inputId": self._input_id,
                "duplicate": self._is_duplicate or None,
                "ttftMs": round((first - self._sent_at) * 1000, 1) if first else None,
                "totalMs": round((now - self._sent_at) * 1000, 1),
                "error": error_row(error, category=category) if error is not None else None,
            }
        )
