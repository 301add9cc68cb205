"""Turns core values into protocol messages and back.

What subscribers see has a module of its own: `netclaw.wire.outputs`.
"""

from __future__ import annotations

from collections.abc import Iterable

from netclaw.core.authority import DeliveryTarget, SourceKind
from netclaw.core.errors import InvalidArgumentError
from netclaw.core.ids import InputId, TurnId
from netclaw.core.messages import MediaRef, Usage
from netclaw.core.session.events import OutboxRow, Recorded
from netclaw.core.tool_call import Attachment
from netclaw.ports.journal import EventDraft, JournalRow
from netclaw.wire.journal_codec import decode_event
from netclaw.wire.v1 import common_pb2 as pb
from netclaw.wire.v1.session_host_pb2 import NewEvent, OutboxFile, OutboxInsert


def usage_to_proto(usage: Usage) -> pb.Usage:
    """Token counts for the wire."""
    return pb.Usage(
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cached_input_tokens=usage.cached_input_tokens,
        reasoning_tokens=usage.reasoning_tokens,
    )


def usage_from_proto(usage: pb.Usage) -> Usage:
    """Token counts from the wire."""
    return Usage(
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cached_input_tokens=usage.cached_input_tokens,
        reasoning_tokens=usage.reasoning_tokens,
    )


def media_to_proto(media: MediaRef) -> pb.MediaRef:
    """A finished upload for the wire."""
    return pb.MediaRef(
        upload_id=media.upload_id,
        media_type=media.media_type,
        size_bytes=media.size_bytes,
        name=media.name,
    )


def media_from_proto(media: pb.MediaRef) -> MediaRef:
    """A finished upload as a message names it."""
    return MediaRef(
        upload_id=media.upload_id,
        media_type=media.media_type,
        size_bytes=media.size_bytes,
        name=media.name,
    )


def target_to_proto(target: DeliveryTarget) -> pb.DeliveryTarget:
    """A delivery target for the wire."""
    return pb.DeliveryTarget(channel=target.channel.value, address=target.address)


def target_from_proto(target: pb.DeliveryTarget) -> DeliveryTarget:
    """A delivery target from the wire; raises `InvalidArgumentError` for an unknown channel."""
    try:
        channel = SourceKind(target.channel)
    except ValueError:
        raise InvalidArgumentError(f"{target.channel!r} is no channel.") from None
    return DeliveryTarget(channel=channel, address=target.address)


def row_to_proto(row: JournalRow) -> pb.JournalRow:
    """A stored event for the wire."""
    return pb.JournalRow(
        seq=row.seq,
        at_ms=row.at,
        type=row.type,
        version=row.version,
        incarnation=row.incarnation,
        payload=row.payload,
        cause=row.cause,
    )


def row_from_proto(row: pb.JournalRow) -> JournalRow:
    """A stored event from the wire."""
    return JournalRow(
        seq=row.seq,
        at=row.at_ms,
        type=row.type,
        version=row.version,
        incarnation=row.incarnation,
        cause=row.cause,
        payload=row.payload,
    )


def recorded_of(row: JournalRow | pb.JournalRow) -> Recorded:
    """Decode a stored event, of the store or of the wire, for the core."""
    return Recorded(
        seq=row.seq,
        at=row.at if isinstance(row, JournalRow) else row.at_ms,
        incarnation=row.incarnation,
        cause=row.cause,
        event=decode_event(row.type, row.version, row.payload),
    )


def draft_to_proto(draft: EventDraft) -> NewEvent:
    """An encoded event on its way to the store."""
    return NewEvent(type=draft.type, version=draft.version, payload=draft.payload)


def draft_from_proto(event: NewEvent) -> EventDraft:
    """An encoded event as a session process sent it."""
    return EventDraft(type=event.type, version=event.version, payload=event.payload)


def outbox_to_proto(row: OutboxRow) -> OutboxInsert:
    """A reply for a channel, on its way to the store."""
    made = OutboxInsert(
        target=target_to_proto(row.target),
        text=row.text,
        turn_id=row.turn_id,
        input_ids=row.input_ids,
    )
    if row.file is not None:
        made.file.CopyFrom(
            OutboxFile(
                path=row.file.path,
                media_type=row.file.media_type,
                size_bytes=row.file.size_bytes,
                sha256=row.file.sha256,
            )
        )
    return made


def outbox_from_proto(row: OutboxInsert) -> OutboxRow:
    """A reply for a channel, as a session process sent it."""
    return OutboxRow(
        target=target_from_proto(row.target),
        text=row.text,
        turn_id=TurnId(row.turn_id),
        input_ids=input_ids_of(row.input_ids),
        file=_file_of(row.file) if row.HasField("file") else None,
    )


def _file_of(file: OutboxFile) -> Attachment:
    return Attachment(
        path=file.path,
        media_type=file.media_type,
        size_bytes=file.size_bytes,
        sha256=file.sha256,
    )


def input_ids_of(ids: Iterable[str]) -> tuple[InputId, ...]:
    """Input ids as the wire lists them."""
    return tuple(InputId(input_id) for input_id in ids)
