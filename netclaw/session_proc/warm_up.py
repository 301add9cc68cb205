"""Warms a process that sessions are forked from: what is loaded there is shared and never loaded
again.
"""

from __future__ import annotations


def warm() -> None:
    """Load what a session needs."""
