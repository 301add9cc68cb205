"""What a call that may start now was judged on; made right before its start."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from netclaw.core.authz.decisions import Decision
from netclaw.core.authz.requests import AuthorizationRequest, Policy
from netclaw.core.authz.sandbox_access import SandboxAccess


@dataclass(frozen=True, slots=True, kw_only=True)
class Clearance:
    """An allowed decision with everything it rests on."""

    request: AuthorizationRequest
    decision: Decision
    policy: Policy
    access: SandboxAccess
    again: Callable[[], Awaitable[Clearance]]
    """Judges the call once more, with facts of that moment, and compares where its paths lead.

    For a tool that takes a while between being called and starting something. Raises `ToolFault`
    if the call may not start any more."""
