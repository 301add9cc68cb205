"""What the tools about other sessions share: their arguments, refusals and JSON answers."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Mapping
from typing import TypeVar

from netclaw.core.errors import (
    DeniedByPolicyError,
    ErrorCode,
    InvalidArgumentError,
    NetclawError,
    NotFoundError,
    QueueFullError,
    StorageError,
    TooLargeError,
)
from netclaw.core.ids import SESSION_ID_MAX_BYTES
from netclaw.core.tool_call import OutcomeCategory
from netclaw.tools.faults import ToolFault
from netclaw.tools.schema import Field, Kind

_T = TypeVar("_T")

_CATEGORIES: tuple[tuple[type[NetclawError], OutcomeCategory], ...] = (
    (NotFoundError, OutcomeCategory.NOT_FOUND),
    (DeniedByPolicyError, OutcomeCategory.ACCESS_DENIED),
    (InvalidArgumentError, OutcomeCategory.INVALID_INPUT),
    (TooLargeError, OutcomeCategory.INVALID_INPUT),
    (QueueFullError, OutcomeCategory.TRANSIENT_FAILURE),
    (StorageError, OutcomeCategory.TRANSIENT_FAILURE),
)


def key_field(description: str, *, is_required: bool = False) -> Field:
    """The argument that names a session."""
    return Field(
        name="sessionKey",
        kind=Kind.STRING,
        description=description,
        is_required=is_required,
        max_chars=SESSION_ID_MAX_BYTES,
    )


async def asked(answer: Awaitable[_T]) -> _T:
    """An answer of the supervisor. Raises `ToolFault` with its sentence where it refused."""
    try:
        return await answer
    except NetclawError as error:
        raise ToolFault(category_of(error), error.sentence) from None


def category_of(error: NetclawError) -> OutcomeCategory:
    """The outcome that a refusal is."""
    for kind, category in _CATEGORIES:
        if isinstance(error, kind):
            return category
    is_late = error.code is ErrorCode.TIMEOUT
    return OutcomeCategory.TIMEOUT if is_late else OutcomeCategory.FAILURE


def as_json(answer: Mapping[str, object]) -> str:
    """An answer as the model reads it; what is None is left out."""
    shown = {name: value for name, value in answer.items() if value is not None}
    return json.dumps(shown, ensure_ascii=False, separators=(",", ":"))
