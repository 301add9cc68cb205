"""What a session leaves on disk (S0 "Storage on disk")."""

from __future__ import annotations

from tests.requirements.manifest import Requirement

REQUIREMENTS: tuple[Requirement, ...] = (
    Requirement(
        "storage.unversioned",
        "S0 Storage on disk",
        "A session older than storage layouts keeps its old path; nothing is moved or renamed.",
    ),
    Requirement(
        "storage.newer-layout",
        "S0 Storage on disk",
        "A session of a newer layout is refused with a clear message and left as it is, while"
        " every other session runs.",
    ),
    Requirement(
        "storage.moved-home",
        "S0 Storage on disk",
        "Sessions of a home that was moved or restored elsewhere go on under the new sessions"
        " folder, and one warning names the old and the new path.",
    ),
    Requirement(
        "storage.on-demand",
        "S0 Storage on disk",
        "A session's folders appear as they are needed, each of them its owner's alone.",
    ),
    Requirement(
        "storage.temp-for-tools",
        "S0 Storage on disk",
        "TMPDIR, TMP and TEMP of tools name the session's temporary folder, which nobody but the"
        " system clears.",
    ),
)
