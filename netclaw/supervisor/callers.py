"""Says who is calling: capability tokens, and what each of them may claim (decision 40).

The socket is no identity, because tools and adapters run under the operator's user. A token is
looked up by its digest and then compared in constant time, so neither answer times nor the table
tell anything about a token.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable
from dataclasses import dataclass

from netclaw.core.authority import (
    Audience,
    Authenticity,
    Authority,
    DeliveryTarget,
    Principal,
    Provenance,
    Requester,
    SourceKind,
    narrower,
)
from netclaw.core.errors import (
    DeniedByPolicyError,
    InvalidArgumentError,
    NotFoundError,
    UnauthenticatedError,
)
from netclaw.core.ids import SessionId
from netclaw.core.settings import DaemonSettings
from netclaw.supervisor.ids import new_token
from netclaw.wire.v1.common_pb2 import Sender

AUTHORIZATION = "authorization"
_BEARER = "Bearer "
MAX_TEXT_FIELD = 512
"""Bytes of a sender id, boundary or source message id."""
MAX_POSITION = 2**63 - 1
"""The database counts no further; the protocol does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """What a token allows: the most authority a message that comes with it may claim."""

    name: str
    """For the log; never the token."""
    max_principal: Principal
    max_audience: Audience
    max_authenticity: Authenticity = Authenticity.LOCAL_PROCESS
    """The surest that its transport can know a sender."""
    channels: frozenset[SourceKind] | None = None
    """Sources it may speak for, and whose sessions it may see; None: any."""
    adapter: str = ""
    """The channel whose adapter it is; empty for everybody else."""
    is_operator: bool = False
    """Whether it may call the Admin service and create sessions by name."""


OPERATOR = Caller(
    name="operator",
    max_principal=Principal.OPERATOR,
    max_audience=Audience.PERSONAL,
    is_operator=True,
)

_PRINCIPAL_RANK = {
    Principal.OPERATOR: 3,
    Principal.TRUSTED: 2,
    Principal.UNTRUSTED: 1,
    Principal.AUTOMATION: 0,
}
_AUTHENTICITY_RANK = {
    Authenticity.LOCAL_PROCESS: 2,
    Authenticity.VERIFIED: 1,
    Authenticity.UNVERIFIED: 0,
}
_AUTHENTICITY_OF_CLI = Authenticity.LOCAL_PROCESS


class TokenBook:
    """The capability tokens in force."""

    def __init__(self) -> None:
        self._by_digest: dict[bytes, tuple[bytes, Caller]] = {}

    def issue(self, caller: Caller) -> str:
        """Make a token for a caller."""
        token = new_token()
        self._by_digest[_digest(token)] = (token.encode("ascii"), caller)
        return token

    def revoke(self, token: str) -> None:
        """Forget a token; its connections stay, their next call is refused."""
        self._by_digest.pop(_digest(token), None)

    def authenticate(self, metadata: Iterable[tuple[str, str | bytes]] | None) -> Caller:
        """Find the caller of a call by its metadata; raises `UnauthenticatedError`."""
        for key, value in metadata or ():
            if key != AUTHORIZATION:
                continue
            text = value.decode("latin-1") if isinstance(value, bytes) else value
            if text.startswith(_BEARER):
                return self._find(text[len(_BEARER) :])
        raise UnauthenticatedError("The call carries no capability token.")

    def _find(self, token: str) -> Caller:
        known = self._by_digest.get(_digest(token))
        if known is None or not hmac.compare_digest(known[0], token.encode("utf-8", "replace")):
            raise UnauthenticatedError("The capability token is not valid.")
        return known[1]


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "replace")).digest()


def may_see(caller: Caller, channel: SourceKind) -> bool:
    """Whether a session of this channel is any business of the caller's."""
    return caller.channels is None or channel in caller.channels


def check_channel(caller: Caller, channel: SourceKind) -> None:
    """Refuse what belongs to a session of a channel that the token does not speak for.

    Raises `NotFoundError`: of other channels' sessions it may not even know that they exist.
    """
    if not may_see(caller, channel):
        raise NotFoundError("There is no such session for this connection.")


def check_targets(caller: Caller, targets: Iterable[DeliveryTarget]) -> None:
    """Refuse a reply to a channel that the token does not speak for.

    Raises `DeniedByPolicyError`: a channel's adapter could otherwise post through another one.
    """
    for target in targets:
        if not may_see(caller, target.channel):
            raise DeniedByPolicyError(
                f"This connection may not have replies posted to {target.channel.value}."
            )


def parse_audience(text: str) -> Audience:
    """Read an audience; an unknown value denies (decision 39)."""
    try:
        return Audience(text)
    except ValueError:
        raise DeniedByPolicyError(
            f"{text!r} is no audience.", fix="Use Personal, Team or Public."
        ) from None


def parse_source(text: str) -> SourceKind:
    """Read a source kind; empty means the command line."""
    try:
        return SourceKind(text) if text else SourceKind.CLI
    except ValueError:
        raise InvalidArgumentError(f"{text!r} is no source of messages.") from None


def check_short_text(text: str, what: str) -> str:
    """Refuse an id or scope that is too long or holds control characters."""
    if len(text.encode("utf-8", "replace")) > MAX_TEXT_FIELD:
        raise InvalidArgumentError(f"The {what} has more than {MAX_TEXT_FIELD} bytes.")
    if any(ord(char) < 0x20 or ord(char) == 0x7F for char in text):
        raise InvalidArgumentError(f"The {what} holds a control character.")
    return text


def stored_position(number: int) -> int:
    """Where to read on, as far as the database can count: behind that there is nothing."""
    return min(number, MAX_POSITION)


def audience_for_new_session(caller: Caller, sender: Sender, daemon: DaemonSettings) -> Audience:
    """The audience a session is created with: nothing defaults upward (decision 39).

    The operator's own terminal is Personal; a channel is what is configured for the place in it,
    else Team for listed people and Public for everybody else, unless the sender names one that
    the token allows. No channel is wider than the posture.
    """
    is_own = parse_source(sender.source_kind) is SourceKind.CLI
    if sender.audience:
        wanted = parse_audience(sender.audience)
    elif is_own:
        wanted = caller.max_audience
    else:
        wanted = _audience_of_place(caller, sender, daemon)
    most = caller.max_audience if is_own else narrower(caller.max_audience, daemon.posture)
    return narrower(most, wanted)


def _audience_of_place(caller: Caller, sender: Sender, daemon: DaemonSettings) -> Audience:
    """The audience of a channel's place by its id, the last part of the boundary."""
    places = daemon.channel_audiences.get(sender.source_kind, {})
    configured = places.get(sender.boundary.rpartition("/")[2])
    if configured is not None:
        return configured
    is_known = _principal(caller, sender) in (Principal.OPERATOR, Principal.TRUSTED)
    return Audience.TEAM if is_known else Audience.PUBLIC


def authority_for(
    caller: Caller,
    session_id: SessionId,
    session_audience: Audience,
    sender: Sender,
    targets: tuple[DeliveryTarget, ...],
    adopted_context: tuple[str, ...] = (),
) -> Authority:
    """Freeze the authority of one message: what it claims, capped by the token it came with.

    Raises `DeniedByPolicyError` when it claims a source the token may not speak for or an
    audience that does not exist, `InvalidArgumentError` for a malformed field.
    """
    source = parse_source(sender.source_kind)
    if caller.channels is not None and source not in caller.channels:
        raise DeniedByPolicyError(f"This connection may not speak for {source.value}.")
    audience = narrower(caller.max_audience, session_audience)
    if sender.audience:
        audience = narrower(audience, parse_audience(sender.audience))
    sender_id = check_short_text(sender.sender_id, "sender id")
    return Authority(
        requester=Requester(
            session_id=session_id,
            audience=audience,
            boundary=_boundary(sender, source),
            channel_type=source,
            sender_id=sender_id or None,
            principal=_principal(caller, sender),
        ),
        provenance=Provenance(
            source_kind=source, authenticity=_authenticity(caller, sender, source)
        ),
        delivery_targets=targets,
        adopted_context=adopted_context,
    )


def _principal(caller: Caller, sender: Sender) -> Principal:
    if not sender.principal:
        return caller.max_principal
    try:
        claimed = Principal(sender.principal)
    except ValueError:
        raise InvalidArgumentError(f"{sender.principal!r} is no principal.") from None
    return min(claimed, caller.max_principal, key=_PRINCIPAL_RANK.__getitem__)


def _boundary(sender: Sender, source: SourceKind) -> str:
    if sender.boundary:
        return check_short_text(sender.boundary, "boundary")
    return "local" if source is SourceKind.CLI else f"{source.value}:unnamed"


def _authenticity(caller: Caller, sender: Sender, source: SourceKind) -> Authenticity:
    claimed = Authenticity.UNVERIFIED
    if sender.authenticity:
        try:
            claimed = Authenticity(sender.authenticity)
        except ValueError:
            raise InvalidArgumentError(f"{sender.authenticity!r} is no authenticity.") from None
    elif source is SourceKind.CLI:
        claimed = _AUTHENTICITY_OF_CLI
    return min(claimed, caller.max_authenticity, key=_AUTHENTICITY_RANK.__getitem__)
