"""Messages between sessions as the journal store keeps them, until their replies are where they go.

A part of the store's port (`netclaw.ports.journal`), apart for its own vocabulary. A message is on
record in the transaction that admits it. Its record goes with the reply: in the transaction that
records the sending call's result, if that holds the reply, else in the one that admits the late
reply. So a reply is told once, wherever a process dies.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from netclaw.core.authority import Authority
from netclaw.core.ids import CallId, InputId, SessionId, TurnId
from netclaw.core.session.inter_session import SendEnd

if TYPE_CHECKING:
    from netclaw.ports.journal import AdmitRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class SendRequest:
    """A message that a call of a turn sends; `message` is the input of the target."""

    sender: SessionId
    turn_id: TurnId
    call_id: CallId
    message: AdmitRequest
    reply_authority: Authority
    """Under what a late reply runs in the sender."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SentMessage:
    """A message whose reply its sender does not have yet."""

    send_id: int
    sender: SessionId
    call_id: CallId
    target: SessionId
    input_id: InputId
    """Of the target."""
    reply_authority: Authority
    end: SendEnd | None = None
    """How the target's turn ended; None before."""
    reply: str = ""
    is_late: bool = False
    """Whether the call is over: from then on the reply comes as an input of the sender."""

    @property
    def is_due(self) -> bool:
        """Whether a late reply is to be delivered."""
        return self.end is not None and self.is_late


class SessionSendStore(Protocol):
    """The part of `JournalStore` about messages between sessions."""

    async def send_message(self, request: SendRequest) -> SentMessage:
        """Admit the message and keep its record, in one commit; a repeat answers the first.

        Raises what `admit` raises, and `InvalidArgumentError` for a call whose reply is settled
        and for a turn that is over.
        """

    async def find_send(self, sender: SessionId, call_id: CallId) -> SentMessage | None:
        """The message of a call, None once its reply is settled."""

    async def open_sends(self) -> tuple[SentMessage, ...]:
        """Every message whose reply is not settled, oldest first."""

    async def deliver_reply(self, send_id: int, reply: AdmitRequest) -> bool:
        """Admit a late reply that is due and drop the record, in one commit.

        False if there is no such record any more. Raises what `admit` raises; the record stays.
        """

    async def drop_send(self, send_id: int) -> None:
        """Let go of a record that nobody waits for."""
