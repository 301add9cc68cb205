"""Where the text of a turn goes beside the attached subscribers (protocol "Where a reply goes")."""

from __future__ import annotations

from netclaw.core.authority import DeliveryTarget
from netclaw.core.ids import InputId
from netclaw.core.session.events import OutboxRow
from netclaw.core.session.state import BufferedInput, OpenTurn
from netclaw.core.tool_call import Attachment


def rows_for(
    inputs: tuple[BufferedInput, ...], turn: OpenTurn, *, text: str
) -> tuple[OutboxRow, ...]:
    """One reply for each delivery target of these inputs, in the order they first name it.

    A turn that tells of results has no inputs; it answers where its authority says.
    """
    if not text.strip():
        return ()
    return tuple(
        OutboxRow(target=target, text=text, turn_id=turn.turn_id, input_ids=tuple(input_ids))
        for target, input_ids in _wanted(inputs, turn).items()
    )


def files_for(
    inputs: tuple[BufferedInput, ...], turn: OpenTurn, file: Attachment
) -> tuple[OutboxRow, ...]:
    """An attached file for each place where the turn answers; it is no answer to any input."""
    return tuple(
        OutboxRow(target=target, text="", turn_id=turn.turn_id, input_ids=(), file=file)
        for target in _wanted(inputs, turn)
    )


def _wanted(
    inputs: tuple[BufferedInput, ...], turn: OpenTurn
) -> dict[DeliveryTarget, list[InputId]]:
    wanted: dict[DeliveryTarget, list[InputId]] = {}
    if not turn.input_ids:
        wanted = {target: [] for target in turn.authority.delivery_targets}
    for item in inputs:
        for target in item.admitted.authority.delivery_targets:
            wanted.setdefault(target, []).append(item.admitted.input_id)
    return wanted
