"""What both dialects make of a request's layers: cache marks, and pictures for models that see."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import orjson
import pytest

from netclaw.core.ids import InputId
from netclaw.core.messages import AssistantMessage, MediaRef, NoteMessage, UserMessage
from netclaw.models import anthropic_request, chat_request
from netclaw.ports.model import ModelRequest, Picture
from tests.fakes.anthropic_request import complaint
from tests.models.tools import SHELL, said, settings_for

BLIND = settings_for("http://127.0.0.1:1")
SEEING = replace(BLIND, input_modalities=("text", "image"))
SEEN = MediaRef(upload_id="seen", media_type="image/png", size_bytes=3, name="a.png")
LOST = MediaRef(upload_id="lost", media_type="image/png", size_bytes=3, name="b.png")
LOOK = ModelRequest(
    messages=(UserMessage(input_id=InputId("i"), text="look", at=0, media=(SEEN, LOST)),),
    pictures={"seen": Picture(media_type="image/png", base64="AAAA")},
)
LINES = (
    "look\n[attachment: a.png, image/png, 3 bytes]\n"
    "[attachment: b.png, image/png, 3 bytes; not shown, because you cannot see it]"
)


def anthropic(request: ModelRequest, settings: Any = SEEING) -> list[dict[str, Any]]:
    body = orjson.loads(anthropic_request.render_body(settings, request))
    assert complaint(body, {"anthropic-version": "2023-06-01"}) is None
    messages: list[dict[str, Any]] = body["messages"]
    return messages


def chat(request: ModelRequest, settings: Any = SEEING) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = orjson.loads(chat_request.render_body(settings, request))[
        "messages"
    ]
    return messages


def marked(messages: list[dict[str, Any]]) -> list[str]:
    return [
        block["text"]
        for message in messages
        for block in message["content"]
        if "cache_control" in block
    ]


def talk(*ends: int) -> ModelRequest:
    answer = AssistantMessage(text="A", at=0)
    note = NoteMessage(text="block", at=0)
    return ModelRequest(
        messages=(said("U1"), answer, said("U2"), replace(answer, text="B"), note, said("U3")),
        system_prompt="prompt",
        tools=(SHELL,),
        stable_ends=ends,
    )


@pytest.mark.requirement("context.cache-marks")
def test_marks_stand_where_turns_began_and_at_the_end() -> None:
    assert marked(anthropic(talk(2, 4))) == ["A", "B", "U3"]
    assert marked(anthropic(talk(4))) == ["B", "U3"]
    assert marked(anthropic(talk())) == ["U3"]
    assert marked(anthropic(talk(6))) == ["U3"]


@pytest.mark.requirement("context.pictures")
def test_pictures_are_shown_in_both_dialects() -> None:
    (message,) = anthropic(LOOK)
    source = {"type": "base64", "media_type": "image/png", "data": "AAAA"}
    assert message["content"][0] == {"type": "image", "source": source}
    assert message["content"][1]["text"] == LINES
    (message,) = chat(LOOK)
    assert message["content"] == [
        {"type": "text", "text": LINES},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
    ]


@pytest.mark.requirement("context.modality-restored")
def test_a_model_that_cannot_see_is_told_so_in_plain_text() -> None:
    said_to_it = LINES.replace("a.png, image/png, 3 bytes]", "a.png, image/png, 3 bytes; NO]")
    said_to_it = said_to_it.replace("NO", "not shown, because you cannot see it")
    (message,) = chat(LOOK, BLIND)
    assert message["content"] == said_to_it
    (message,) = anthropic(LOOK, BLIND)
    assert [block["text"] for block in message["content"]] == [said_to_it]
