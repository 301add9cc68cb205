"""What subscribers are shown beside a rule's own effects."""

from __future__ import annotations

from netclaw.core.session.effects import Emit
from netclaw.core.session.outputs import ProcessingOutput
from netclaw.core.session.phase import Phase


def queue(waiting: int, phase: Phase = Phase.PROCESSING) -> Emit:
    """So many inputs wait now, for the status line of whoever watches."""
    return Emit(output=ProcessingOutput(phase=phase, buffered_inputs=waiting))
