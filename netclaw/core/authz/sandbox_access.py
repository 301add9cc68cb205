"""What the kernel lets one authorized command write and reach: derived from what was judged.

Decisions 44 and 45. The read set is the sandbox's own (decision 83); consent never widens a Roots
or None profile.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxAccess:
    """The part of a sandbox profile that depends on the decision; shown by `netclaw authorize`."""

    writable: tuple[str, ...]
    """Folders, absolute and resolved, beside those that every call of the session may write."""
    has_network: bool = False
