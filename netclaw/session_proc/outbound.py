"""Puts appends, outputs and phases into frames; few frames, because each costs both ends."""

from __future__ import annotations

from collections.abc import Iterable

from netclaw.core.session.effects import Decision
from netclaw.core.session.outputs import Output
from netclaw.core.session.phase import Phase
from netclaw.session_proc.frames import FrameSink
from netclaw.wire.convert import draft_to_proto, outbox_to_proto
from netclaw.wire.journal_codec import encode_event
from netclaw.wire.outputs import output_to_proto
from netclaw.wire.v1 import common_pb2 as pb
from netclaw.wire.v1.session_host_pb2 import Append, PhaseChanged, Snapshot, ToHost


class Outbound:
    """The sending side of a session. Outputs wait until `flush`, so that they share a frame."""

    def __init__(self, sink: FrameSink, *, incarnation: int) -> None:
        self._sink = sink
        self._incarnation = incarnation
        self._waiting: list[pb.Output] = []

    def append(
        self,
        append_id: str,
        decision: Decision,
        *,
        outputs: Iterable[Output],
        expected_head: int,
        at_ms: int,
        cause: str,
        snapshot: Snapshot | None,
        phase: Phase | None,
    ) -> None:
        """Send one append; outputs emitted before it leave first.

        `phase` is what the process does once it is committed, if that is something else.
        """
        self.flush()
        self._sink.send(
            ToHost(
                append=Append(
                    append_id=append_id,
                    incarnation=self._incarnation,
                    expected_head=expected_head,
                    events=[draft_to_proto(encode_event(event)) for event in decision.events],
                    at_ms=at_ms,
                    cause=cause,
                    outputs=[output_to_proto(output) for output in outputs],
                    outbox=[outbox_to_proto(row) for row in decision.outbox],
                    snapshot=snapshot,
                    phase=phase.value if phase is not None else "",
                )
            )
        )

    def emit(self, outputs: Iterable[Output]) -> None:
        """Add outputs that need no commit to the next frame."""
        self._waiting.extend(output_to_proto(output) for output in outputs)

    def emit_now(self, outputs: Iterable[Output]) -> None:
        """Send outputs in a frame of their own."""
        self.emit(outputs)
        self.flush()

    def flush(self) -> None:
        """Send the outputs that wait."""
        if self._waiting:
            self._sink.send(ToHost(output=pb.OutputBatch(outputs=self._waiting)))
            self._waiting = []

    def phase(self, phase: Phase) -> None:
        """Tell the supervisor what this process is doing."""
        self._sink.send(ToHost(phase=PhaseChanged(phase=phase.value)))
