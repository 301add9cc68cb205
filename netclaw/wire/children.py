"""What is said of child runs in `Ask` and `Answer` frames and in the frame `child_report`.

JSON of the values in `netclaw.ports.children`. All sides run the same program, so there is no
version; a payload that is not of its form is refused.
"""

from __future__ import annotations

from typing import TypeVar

import msgspec

from netclaw.core.errors import InvalidArgumentError
from netclaw.ports.children import (
    ChildAck,
    ChildCancelled,
    ChildDrain,
    ChildOrder,
    ChildReport,
    ChildWord,
)
from netclaw.wire.v1 import session_host_pb2 as pb

ASK_START = "child_start"
"""Parent, `ChildOrder`: answered, empty, once the run's session and its answers are durable."""
ASK_CLOSE = "child_close"
"""Parent, `ChildWord`: close the run's gate, in each process of it from now on."""
ASK_DRAIN = "child_drain"
"""Parent, `ChildDrain`: park in time; without a process the park is reported at once."""
ASK_KILL = "child_kill"
"""Parent, `ChildWord`: end the process; whatever it would still say is nobody's."""
ASK_ACK = "child_ack"
"""Parent, `ChildAck`: lets go of a report and answers the run's `child_report`."""
ASK_CANCELLED = "child_cancelled"
"""Parent, `ChildCancelled`: the outcome of a command `cancel_child`."""
ASK_REPORT = "child_report"
"""Run, `ChildReport`: answered, empty, when its parent acknowledged it, however long that takes."""

COMMAND_CLOSE_GATE = "close_gate"
"""Command to a run's process: start nothing any more, report that and the end."""
COMMAND_CANCEL = "cancel_child"
"""Command to a parent: an operator wants the run `run_id` ended."""

Said = ChildOrder | ChildWord | ChildDrain | ChildReport | ChildAck | ChildCancelled

_Value = TypeVar("_Value", ChildOrder, ChildWord, ChildDrain, ChildReport, ChildAck, ChildCancelled)

_encoder = msgspec.json.Encoder()


def encode(value: Said) -> bytes:
    """The payload. Raises `InvalidArgumentError` for invalid Unicode."""
    try:
        return _encoder.encode(value)
    except UnicodeEncodeError:
        raise InvalidArgumentError("A text of the run is not valid Unicode.") from None


def decode(payload: bytes, kind: type[_Value]) -> _Value:
    """Raises `InvalidArgumentError` for what is not of the form that `encode` makes."""
    try:
        return msgspec.json.decode(payload, type=kind)
    except msgspec.MsgspecError:
        raise InvalidArgumentError("What was said of a child run cannot be read.") from None


def report_frame(report: ChildReport) -> pb.ChildReport:
    """A run's report as its parent's process is told of it."""
    return pb.ChildReport(
        run_id=report.run_id,
        start=report.start,
        kind=report.kind.value,
        payload=encode(report),
    )
