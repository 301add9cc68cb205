"""What the clients and the model of a soak saw; the checker holds the database against it.

Plain data without any code of netclaw. A soak that failed writes it beside the database, so that
`python -m tests.soak.check HOME` can look again.
"""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

FILE_NAME = "soak-evidence.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ack:
    """An admission that a sender was told of: from then on the input must never be lost."""

    session: str
    input_id: str
    seq: int
    message_id: str = ""
    is_duplicate: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """One output at a subscriber: a durable one with its seq, or a phase (seq 0)."""

    attachment: int
    """Number of the subscription; within one the order of outputs says something."""
    kind: str
    seq: int = 0
    incarnation: int = 0
    phase: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One request of a session to the main model, by the model's own account."""

    session: str
    at_ms: int
    tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Posted:
    """A reply that an adapter took from the outbox and posted, whether it could say so or not."""

    row_id: int
    address: str
    text: str


@dataclass(slots=True, kw_only=True)
class Evidence:
    """Everything that was noted during a soak."""

    window: int = 0
    """Tokens that the model can see, by its own count."""
    effects_file: str = ""
    """Name of the file in each session's workspace to which every tool call appends its tag."""
    acks: list[Ack] = field(default_factory=list)
    seen: dict[str, list[Seen]] = field(default_factory=lambda: defaultdict(list))
    """By session, in the order of arrival."""
    asked: list[Asked] = field(default_factory=list)
    posted: list[Posted] = field(default_factory=list)
    cut_markers: list[str] = field(default_factory=list)
    """Texts that only replies cut at the output limit held."""
    complaints: list[str] = field(default_factory=list)
    """What a strict provider refused in requests: calls without results, results without calls."""

    def save(self, folder: Path) -> None:
        """Write it for a later look."""
        plain = replace(self, seen=dict(self.seen))  # asdict cannot copy a defaultdict
        (folder / FILE_NAME).write_text(json.dumps(asdict(plain)))

    @classmethod
    def load(cls, folder: Path) -> Evidence:
        """Read what `save` wrote."""
        raw: dict[str, Any] = json.loads((folder / FILE_NAME).read_text())
        raw["acks"] = [Ack(**item) for item in raw["acks"]]
        raw["asked"] = [Asked(**item) for item in raw["asked"]]
        raw["posted"] = [Posted(**item) for item in raw["posted"]]
        raw["seen"] = {key: [Seen(**item) for item in seen] for key, seen in raw["seen"].items()}
        return cls(**raw)
