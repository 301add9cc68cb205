"""What a session process of the state machine holds: everything that dies with a kill."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from netclaw.core.ids import DispatchToken
from netclaw.core.messages import Message
from netclaw.core.session import commands as c
from netclaw.core.session import effects as fx
from netclaw.core.session import events as ev
from netclaw.core.session.state import Runtime, SessionState
from netclaw.core.signals.cursors import NoticeChange


@dataclass
class Append:
    """An append on its way to the writer."""

    incarnation: int
    expected_head: int
    events: tuple[ev.SessionEvent, ...]
    at: int


@dataclass
class Process:
    """One incarnation: what dies with a kill."""

    incarnation: int
    state: SessionState
    runtime: Runtime
    mailbox: deque[c.SessionCommand] = field(default_factory=deque)
    inbound: deque[tuple[str, tuple[ev.Recorded, ...]] | NoticeChange] = field(
        default_factory=deque
    )
    in_flight: tuple[c.SessionCommand, fx.Decision, int] | None = None
    timers: dict[c.TimerKind, str] = field(default_factory=dict)
    model_calls: dict[DispatchToken, tuple[Message, ...]] = field(default_factory=dict)
    tools: dict[DispatchToken, fx.RunTool] = field(default_factory=dict)
    rechecks: list[fx.RecheckCall] = field(default_factory=list)
    notes: list[DispatchToken] = field(default_factory=list)
    titles: list[DispatchToken] = field(default_factory=list)
    distillations: list[DispatchToken] = field(default_factory=list)
    held_text: set[DispatchToken] = field(default_factory=set)
    old_tokens: list[DispatchToken] = field(default_factory=list)
    has_exited: bool = False
