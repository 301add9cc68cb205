"""What the dialects share in telling a conversation: ids on the wire, attachments, arguments."""

from __future__ import annotations

import re
from collections.abc import Mapping

from netclaw.core.context import modality
from netclaw.core.ids import CallId
from netclaw.core.messages import UserMessage
from netclaw.core.settings import ModelSettings
from netclaw.core.tool_call import ToolCall
from netclaw.ports.model import ModelRequest, Picture

EMPTY_ARGUMENTS = "{}"

Pictures = Mapping[str, Picture]
"""By upload id."""


class WireIds:
    """The id under which each call goes to the provider.

    A provider gets back its own id, because some check its form; where it gave none, used one
    twice, or the id is another provider's and does not match `form`, netclaw's own id stands in.
    An earlier message is always rendered the same way, so the provider's prompt cache stays valid
    as the conversation grows.
    """

    def __init__(self, form: re.Pattern[str] | None = None) -> None:
        self._form = form
        self._by_call: dict[CallId, str] = {}
        self._used: set[str] = set()

    def assign(self, call: ToolCall) -> str:
        """The wire id of a call that is being told."""
        wire_id = call.provider_call_id
        if not wire_id or wire_id in self._used or not self._fits(wire_id):
            wire_id = call.call_id
        self._used.add(wire_id)
        self._by_call[call.call_id] = wire_id
        return wire_id

    def of(self, call_id: CallId) -> str:
        """The wire id that the call of this result was told under."""
        return self._by_call.get(call_id, call_id)

    def _fits(self, wire_id: str) -> bool:
        return self._form is None or self._form.fullmatch(wire_id) is not None


def arguments_of(call: ToolCall) -> str:
    """Arguments that a server can parse again: chat templates fail on malformed ones."""
    return call.arguments if call.argument_fault is None else EMPTY_ARGUMENTS


def usable_pictures(settings: ModelSettings, request: ModelRequest) -> Pictures:
    """The pictures that this model may be shown: none where it takes no images (decision 16)."""
    return request.pictures if modality.IMAGE in settings.input_modalities else {}


def pictures_of(message: UserMessage, pictures: Pictures) -> list[Picture]:
    """The pictures among what a person sent, in their order."""
    return [pictures[media.upload_id] for media in message.media if media.upload_id in pictures]


def user_text(message: UserMessage, pictures: Pictures) -> str:
    """What a person said, and a line for each attachment; it says which of them are not shown."""
    lines = (modality.line(media, is_shown=media.upload_id in pictures) for media in message.media)
    return "\n".join((message.text, *lines))
