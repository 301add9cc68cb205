"""Who writes to the session of the state machine, and what."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import strategies as st

from netclaw.core.messages import MediaRef
from netclaw.testing.people import (
    ALICE,
    BOB,
    OPERATOR,
    OTHER_SESSION,
    REMINDER,
    STRANGER,
    WAKE,
    WEBHOOK,
)

SENT_FOR_ALICE = replace(ALICE, provenance=OTHER_SESSION.provenance)
"""By another session in whose turn she is the requester."""
SENDERS = st.sampled_from(
    [ALICE, ALICE, BOB, OPERATOR, STRANGER, REMINDER, WEBHOOK, OTHER_SESSION, SENT_FOR_ALICE, WAKE]
)
POSITION = st.integers(min_value=0, max_value=20)


TOKENS = st.sampled_from([0, 10, 10, 250])
"""What a call reports: nothing, little, or more than the threshold."""


OPTIONS = st.sampled_from(["once", "once", "refuse", "always"])

TEXTS = ["hello"] * 4 + ["/status", "/stop", "/title x", "/compact", "//status"]
"""What people write: mostly words for the model, sometimes commands for netclaw."""
PICTURE = MediaRef(upload_id="u", media_type="image/png", size_bytes=1, name="a.png")
"""Admitted while the main model could still see it."""
