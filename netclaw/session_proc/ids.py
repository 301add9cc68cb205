"""Makes the ids that a session process mints: random 80-bit base32, as the protocol settles."""

from __future__ import annotations

import base64
import os
import uuid


def new_id() -> str:
    """A fresh id of 16 lower-case characters; safe in a forked process."""
    return base64.b32encode(os.urandom(10)).decode("ascii").lower()


def new_attempt_id() -> str:
    """A fresh authorization attempt id; it names one evaluation and grants nothing."""
    return f"auth-{uuid.uuid4()}"


def new_reference() -> str:
    """A short id that ties an error shown to a person to its lines in the logs."""
    return base64.b32encode(os.urandom(5)).decode("ascii").lower()
