"""Who asks, how surely we know it, and where answers go; frozen for a whole turn.

Terms are the glossary's: six facts identify a requester; turn authority adds what can differ
between two messages of the same requester (decision 41).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from netclaw.core.ids import SessionId


class Audience(StrEnum):
    """The trust level of who talks to netclaw; profiles narrow from Personal to Public."""

    PERSONAL = "Personal"
    TEAM = "Team"
    PUBLIC = "Public"


_WIDTH = {Audience.PERSONAL: 2, Audience.TEAM: 1, Audience.PUBLIC: 0}


def narrower(first: Audience, second: Audience) -> Audience:
    """The one of two audiences that allows less."""
    return min(first, second, key=_WIDTH.__getitem__)


class Principal(StrEnum):
    """The class of the sender."""

    OPERATOR = "operator"
    """The person who runs this host."""
    TRUSTED = "trusted"
    """A listed person of a channel."""
    UNTRUSTED = "untrusted"
    """An external person."""
    AUTOMATION = "automation"
    """A verified machine source: reminder, webhook, job result, child notice, signal wake."""

    @property
    def is_person(self) -> bool:
        """Whether a human being sent it (decision 56: missing provenance is never "human")."""
        return self is not Principal.AUTOMATION


class SourceKind(StrEnum):
    """The kind of thing an input came from.

    Beside the members there is `channel:<name>` for every chat channel that is installed from
    elsewhere, so that it needs no word of its own here. Such values are equal by text and not
    identical.
    """

    CLI = "cli"
    SLACK = "slack"
    DISCORD = "discord"
    MATTERMOST = "mattermost"
    WEBHOOK = "webhook"
    REMINDER = "reminder"
    SESSION = "session"
    SIGNAL = "signal"
    JOB = "job"
    CHILD = "child"

    @classmethod
    def of_channel(cls, name: str) -> SourceKind:
        """The kind of a channel from elsewhere; raises `ValueError` for what is no name of one."""
        return cls(f"{_FROM_ELSEWHERE}{name}")

    @classmethod
    def _missing_(cls, value: object) -> SourceKind | None:
        if not isinstance(value, str) or _CHANNEL.fullmatch(value) is None:
            return None
        # Kept nowhere: names come from outside, and nothing may grow with them.
        found = str.__new__(cls, value)
        found._name_ = found._value_ = value
        return found

    @property
    def is_chat_channel(self) -> bool:
        """Whether it is a platform on which several people may write."""
        return self in _CHAT_CHANNELS or self.startswith(_FROM_ELSEWHERE)

    @property
    def is_of_people(self) -> bool:
        """Whether people write there; elsewhere a machine speaks, whoever set it going."""
        return self is SourceKind.CLI or self.is_chat_channel


_FROM_ELSEWHERE = "channel:"
_CHANNEL = re.compile(r"channel:[a-z][a-z0-9-]{0,31}")
_CHAT_CHANNELS = frozenset({SourceKind.SLACK, SourceKind.DISCORD, SourceKind.MATTERMOST})


class Authenticity(StrEnum):
    """How surely the transport knows the sender."""

    LOCAL_PROCESS = "LocalProcess"
    VERIFIED = "Verified"
    UNVERIFIED = "Unverified"


@dataclass(frozen=True, slots=True, kw_only=True)
class Requester:
    """The six facts that say whether two turns have the same requester (glossary)."""

    session_id: SessionId
    audience: Audience
    boundary: str
    """Scope of origin: `local`, `slack:<team>/<channel>`, `webhook:<route>`, ..."""
    channel_type: SourceKind
    sender_id: str | None
    principal: Principal


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """Where one input came from; required on every input, internal ones included."""

    source_kind: SourceKind
    authenticity: Authenticity


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryTarget:
    """A place an answer is posted to beside the attached subscribers."""

    channel: SourceKind
    address: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Authority:
    """Everything a turn may rely on about who asked; a turn keeps the one it started with."""

    requester: Requester
    provenance: Provenance
    delivery_targets: tuple[DeliveryTarget, ...] = ()
    adopted_context: tuple[str, ...] = ()
    relays: int = 0
    """How many messages between sessions led to this, one after the other; 0 where none did."""

    @property
    def is_of_person(self) -> bool:
        """Whether a human being wrote what this stands for (decision 56).

        What another session sends runs under its person's requester and is a machine's all the
        same.
        """
        return self.requester.principal.is_person and self.provenance.source_kind.is_of_people

    def is_same_sender(self, other: Authority) -> bool:
        """Whether both were sent by the same one: requester, and person or machine."""
        return self.requester == other.requester and self.is_of_person == other.is_of_person
