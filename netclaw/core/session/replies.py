"""Where the text of a turn goes beside the attached subscribers (protocol "Where a reply goes")."""

from __future__ import annotations

from netclaw.core.authority import DeliveryTarget
from netclaw.core.ids import InputId, TurnId
from netclaw.core.session.events import OutboxRow
from netclaw.core.session.state import BufferedInput


def rows_for(
    inputs: tuple[BufferedInput, ...], *, turn_id: TurnId, text: str
) -> tuple[OutboxRow, ...]:
    """One reply for each delivery target of these inputs, in the order they first name it."""
    if not text.strip():
        return ()
    wanted: dict[DeliveryTarget, list[InputId]] = {}
    for item in inputs:
        for target in item.admitted.authority.delivery_targets:
            wanted.setdefault(target, []).append(item.admitted.input_id)
    return tuple(
        OutboxRow(target=target, text=text, turn_id=turn_id, input_ids=tuple(input_ids))
        for target, input_ids in wanted.items()
    )
