"""What a session and the supervisor say of background jobs, in `Ask` and `Answer` frames.

The daemon has a few slots for running jobs (decision 85). A session asks for one, waits for its
turn if none is free, and gives it back, or its place in the queue. The payload is the job's id.
"""

from __future__ import annotations

from netclaw.core.errors import InvalidArgumentError
from netclaw.core.ids import JobId

ASK_SLOT = "job_slot"
"""Asks for a slot; answered at once: `GRANTED`, or `QUEUED` with a place in the queue."""
ASK_TURN = "job_slot_turn"
"""Asks to be told when the job has its slot; answered then, however long it takes."""
ASK_BACK = "job_slot_back"
"""Gives back the slot, or the place in the queue; answered at once."""
SLOT_KINDS = frozenset({ASK_SLOT, ASK_TURN, ASK_BACK})

GRANTED = b"granted"
QUEUED = b"queued"

_MAX_ID_BYTES = 64


def encode_job_id(job_id: JobId) -> bytes:
    """The payload of every question."""
    return job_id.encode()


def decode_job_id(payload: bytes) -> JobId:
    """Raises `InvalidArgumentError` for what is no job's id."""
    if not 0 < len(payload) <= _MAX_ID_BYTES or not payload.isalnum():
        raise InvalidArgumentError("A job's id is letters and digits.")
    return JobId(payload.decode("ascii"))
