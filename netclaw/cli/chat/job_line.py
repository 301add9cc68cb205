"""What became of a background job, in a line of a conversation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from netclaw.cli.words import shorten

if TYPE_CHECKING:
    from netclaw.wire.v1.common_pb2 import Output

COMMAND_WIDTH = 60


def job_line(output: Output) -> str:
    """The job's state, with its exit status if that says more, and what it runs."""
    has_failed = output.HasField("exit_code") and output.exit_code != 0
    state = f"{output.outcome} ({output.exit_code})" if has_failed else output.outcome
    return f"[job] {output.job_id} {state}: {shorten(output.text, COMMAND_WIDTH)}"
