"""What the parts of a session process need of the stream: to send, in order, without waiting."""

from __future__ import annotations

from typing import Protocol

from netclaw.core.errors import ProgrammingError
from netclaw.wire.v1.session_host_pb2 import ToHost


class HostFault(ProgrammingError):
    """The supervisor and this process disagree about the protocol; the process cannot go on."""


class FrameSink(Protocol):
    """Queues frames to the supervisor; they leave in the order given."""

    def send(self, frame: ToHost) -> None:
        """Queue a frame; never blocks, and is ignored once the stream has ended."""
