"""Turns journal events, session states and settings into bytes and back: the one payload codec.

Payloads are JSON of the core's frozen dataclasses (decision 77). An event is stored under its
class name and a version; reading an older version goes through `UPCASTERS`, one step per version,
on the plain JSON object. Fields may be added with a default without a new version; a field that is
renamed, removed or changes meaning needs a new version in `EVENT_VERSIONS`, an upcaster and a
golden file (`tests/store/golden`).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import get_args, get_type_hints

import msgspec

from netclaw.core.errors import InvalidArgumentError, SessionUnreadableError
from netclaw.core.messages import (
    AssistantMessage,
    Message,
    NoteMessage,
    ToolMessage,
    UserMessage,
)
from netclaw.core.session.events import SessionEvent
from netclaw.core.session.state import SessionState
from netclaw.core.settings import SessionSettings
from netclaw.ports.journal import EventDraft

JsonObject = dict[str, object]
Upcaster = Callable[[JsonObject], JsonObject]
"""Takes the payload of version n and returns that of version n + 1; may change its argument."""

STATE_CODEC = "json/1"
"""Codec name of the snapshots that `encode_state` makes."""

EVENT_VERSIONS: Mapping[type[SessionEvent], int] = dict.fromkeys(get_args(SessionEvent), 1)
"""The version each event is written at now."""

UPCASTERS: Mapping[tuple[str, int], Upcaster] = {}
"""(event type, version n) to the step from n to n + 1; complete for every version below now."""

STATE_UPCASTERS: Mapping[str, tuple[str, Upcaster]] = {}
"""Older snapshot codec name to the next one and the step there."""

_MESSAGE_KINDS: Mapping[type[Message], str] = {
    UserMessage: "user",
    AssistantMessage: "assistant",
    ToolMessage: "tool",
    NoteMessage: "note",
}

_encoder = msgspec.json.Encoder()
_object_decoder = msgspec.json.Decoder(JsonObject)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class _EventForm:
    """How one event type is read."""

    event: type[SessionEvent]
    version: int
    decoder: msgspec.json.Decoder[SessionEvent]


_FORMS: Mapping[str, _EventForm] = {
    event.__name__: _EventForm(event=event, version=version, decoder=msgspec.json.Decoder(event))
    for event, version in EVENT_VERSIONS.items()
}


def encode_event(event: SessionEvent) -> EventDraft:
    """Encode an event at its current version.

    Raises `InvalidArgumentError` when a text of it is not valid Unicode.
    """
    kind = type(event)
    return EventDraft(
        type=kind.__name__, version=EVENT_VERSIONS[kind], payload=_encode(event, kind.__name__)
    )


def decode_event(type_: str, version: int, payload: bytes) -> SessionEvent:
    """Decode a stored event, lifting an older version to the present one.

    Raises `SessionUnreadableError` for a type or version this program does not know and for a
    payload that is not that event.
    """
    form = _FORMS.get(type_)
    if form is None:
        raise SessionUnreadableError(f"The journal holds an event of unknown type {type_!r}.")
    if version > form.version:
        raise SessionUnreadableError(
            f"The journal holds {type_} at version {version}; this netclaw knows {form.version}."
        )
    try:
        if version == form.version:
            return form.decoder.decode(payload)
        return msgspec.convert(_lift(type_, version, form.version, payload), form.event)
    except msgspec.MsgspecError as error:
        raise SessionUnreadableError(f"A stored {type_} event cannot be read.") from error


def _lift(type_: str, version: int, current: int, payload: bytes) -> JsonObject:
    content = _object_decoder.decode(payload)
    for step in range(version, current):
        upcast = UPCASTERS.get((type_, step))
        if upcast is None:
            raise SessionUnreadableError(f"The journal holds {type_} at unknown version {step}.")
        content = upcast(content)
    return content


def encode_state(state: SessionState) -> bytes:
    """Encode a whole state as a snapshot payload of codec `STATE_CODEC`."""
    content = {name: getattr(state, name) for name in _STATE_FIELDS}
    content["history"] = [(_MESSAGE_KINDS[type(item)], item) for item in state.history]
    return _encode(content, "snapshot")


def decode_state(codec: str, payload: bytes) -> SessionState:
    """Decode a snapshot.

    Raises `SessionUnreadableError` for a codec this program does not know and for a payload that is
    not a state.
    """
    try:
        if codec == STATE_CODEC:
            record = _state_decoder.decode(payload)
        else:
            record = msgspec.convert(_lift_state(codec, payload), _StateRecord)
        values = {name: getattr(record, name) for name in _STATE_FIELDS}
        values["history"] = tuple(
            _message_decoders[kind].decode(raw) for kind, raw in values["history"]
        )
    except (msgspec.MsgspecError, KeyError) as error:
        raise SessionUnreadableError("A stored snapshot cannot be read.") from error
    return SessionState(**values)


def _lift_state(codec: str, payload: bytes) -> JsonObject:
    content = _object_decoder.decode(payload)
    while codec != STATE_CODEC:
        if codec not in STATE_UPCASTERS:
            raise SessionUnreadableError(f"A snapshot is stored in the unknown form {codec!r}.")
        codec, upcast = STATE_UPCASTERS[codec]
        content = upcast(content)
    return content


def encode_settings(settings: SessionSettings) -> bytes:
    """Encode the settings of a session process for its Welcome."""
    return _encode(settings, "settings")


def decode_settings(payload: bytes) -> SessionSettings:
    """Decode what `encode_settings` made; raises `InvalidArgumentError` when it is not that."""
    try:
        return _settings_decoder.decode(payload)
    except msgspec.MsgspecError as error:
        raise InvalidArgumentError("The settings of the session cannot be read.") from error


def _encode(value: object, what: str) -> bytes:
    try:
        return _encoder.encode(value)
    except UnicodeEncodeError:
        raise InvalidArgumentError(f"A text of the {what} is not valid Unicode.") from None


# JSON has no place for a class name, so a message in a history is a pair [kind, message]. The
# record repeats the fields of SessionState, whatever they are, and differs only there.
_STATE_FIELDS = tuple(field.name for field in dataclasses.fields(SessionState))


def _state_record() -> type[msgspec.Struct]:
    hints = get_type_hints(SessionState)
    hints["history"] = list[tuple[str, msgspec.Raw]]
    defined = []
    for field in dataclasses.fields(SessionState):
        if field.default_factory is not dataclasses.MISSING:
            default = msgspec.field(default_factory=field.default_factory)
        else:
            default = msgspec.field(default=field.default)
        defined.append((field.name, hints[field.name], default))
    return msgspec.defstruct("_StateRecord", defined, kw_only=True)


_StateRecord = _state_record()
_state_decoder = msgspec.json.Decoder(_StateRecord)
_settings_decoder = msgspec.json.Decoder(SessionSettings)
_message_decoders: Mapping[str, msgspec.json.Decoder[Message]] = {
    kind: msgspec.json.Decoder(message) for message, kind in _MESSAGE_KINDS.items()
}
