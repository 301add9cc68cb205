"""What channels are called, and what their messages come from."""

from __future__ import annotations

import re

from netclaw.core.authority import SourceKind

BUILT_IN = ("slack", "discord", "mattermost")
_NAME = re.compile(r"[a-z][a-z0-9-]{0,31}")


def is_name(name: str) -> bool:
    """Whether a channel can be called so: it is part of paths, ids and process titles."""
    return _NAME.fullmatch(name) is not None


def source_kind_of(name: str) -> SourceKind:
    """What the messages of a channel come from; raises `ValueError` for what is no name."""
    return SourceKind(name) if name in BUILT_IN else SourceKind.of_channel(name)
