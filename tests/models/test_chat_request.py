"""The body of a model call: what is sent, under which ids, and what never is."""

from __future__ import annotations

import warnings
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from netclaw.core.ids import CallId, InputId
from netclaw.core.messages import (
    AssistantMessage,
    MediaRef,
    Message,
    NoteMessage,
    ToolMessage,
    UserMessage,
)
from netclaw.core.settings import ModelSettings, ProviderType
from netclaw.core.tool_call import ToolCall
from netclaw.models.chat_request import render_body
from netclaw.models.embedded import EMBEDDED_MAX_TOKENS, EMBEDDED_MODEL
from netclaw.models.openai_compatible import completions_url
from netclaw.ports.model import ModelRequest
from tests.fakes.model_play import complaint
from tests.models.tools import SHELL, asking, said, settings_for

SETTINGS = settings_for("http://127.0.0.1:1")


def body_of(request: ModelRequest, settings: ModelSettings = SETTINGS) -> dict[str, Any]:
    body: dict[str, Any] = orjson.loads(render_body(settings, request))
    return body


def call(call_id: str, provider_id: str = "", *, fault: str | None = None) -> ToolCall:
    return ToolCall(
        call_id=CallId(call_id),
        provider_call_id=provider_id,
        name="sh",
        arguments='{"a":1}' if fault is None else "{bad",
        argument_fault=fault,
    )


def turn(*calls: ToolCall) -> list[Message]:
    results = [ToolMessage(call_id=c.call_id, text=f"result of {c.call_id}", at=0) for c in calls]
    return [AssistantMessage(text="", at=0, thinking="secret thoughts", calls=calls), *results]


@pytest.mark.requirement("models.request")
def test_a_conversation_with_tools() -> None:
    request = ModelRequest(
        system_prompt="You are netclaw.",
        messages=(
            said("hi"),
            AssistantMessage(text="hello", at=0, thinking="hm"),
            NoteMessage(text="The turn before stopped.", at=0),
            said("list"),
            *turn(call("C1", "p1")),
        ),
        tools=(SHELL,),
    )
    assert body_of(request) == {
        "model": "m",
        "stream": True,
        "stream_options": {"include_usage": True},
        "messages": [
            {"role": "system", "content": "You are netclaw."},
            {"role": "user", "content": "hi"},
            {"role": "assistant", "content": "hello"},
            {"role": "user", "content": "The turn before stopped."},
            {"role": "user", "content": "list"},
            {
                "role": "assistant",
                "content": "",
                "tool_calls": [
                    {
                        "id": "p1",
                        "type": "function",
                        "function": {"name": "sh", "arguments": '{"a":1}'},
                    }
                ],
            },
            {"role": "tool", "tool_call_id": "p1", "content": "result of C1"},
        ],
        "tools": [
            {
                "type": "function",
                "function": {
                    "name": SHELL.name,
                    "description": SHELL.description,
                    "parameters": orjson.loads(SHELL.parameters),
                },
            }
        ],
    }


@pytest.mark.requirement("models.request")
def test_thinking_is_never_shown_back() -> None:
    assert b"secret thoughts" not in render_body(SETTINGS, asking("x", *turn(call("C1"))))


@pytest.mark.requirement("models.wire-ids")
def test_missing_and_doubled_provider_ids_are_replaced_by_our_own() -> None:
    calls = [call("C1", "x"), call("C2", "x"), call("C3")]
    messages = body_of(asking("go", *turn(*calls), *turn(call("C4", "x"))))["messages"]
    assert [c["id"] for c in messages[1]["tool_calls"]] == ["x", "C2", "C3"]
    assert [m["tool_call_id"] for m in messages[2:5]] == ["x", "C2", "C3"]
    assert messages[5]["tool_calls"][0]["id"] == messages[6]["tool_call_id"] == "C4"


@pytest.mark.requirement("models.wire-ids")
@given(
    provider_ids=st.lists(
        st.lists(st.sampled_from(["", "a", "b"]), min_size=1, max_size=3), max_size=5
    )
)
def test_a_strict_provider_accepts_any_history_and_its_start_never_changes(
    provider_ids: list[list[str]],
) -> None:
    history: list[Message] = [said("go")]
    prefix: list[Any] = []
    for number, ids in enumerate(provider_ids):
        history += turn(*(call(f"C{number}-{n}", text) for n, text in enumerate(ids)))
        body = body_of(asking(*history))
        assert complaint(body) is None
        assert body["messages"][: len(prefix)] == prefix
        prefix = body["messages"]


@pytest.mark.requirement("models.request")
def test_arguments_that_are_no_json_are_not_sent_back() -> None:
    messages = body_of(asking("go", *turn(call("C1", fault="bad"))))["messages"]
    assert messages[1]["tool_calls"][0]["function"]["arguments"] == "{}"


@pytest.mark.requirement("models.request")
def test_attachments_are_named() -> None:
    archive = MediaRef(upload_id="u", media_type="application/zip", size_bytes=12, name="a.zip")
    picture = MediaRef(upload_id="v", media_type="image/png", size_bytes=13, name="plan.png")
    message = UserMessage(input_id=InputId("i"), text="see", at=0, media=(archive, picture))
    (sent,) = body_of(asking(message))["messages"]
    assert sent["content"].splitlines() == [
        "see",
        "[attachment: a.zip, application/zip, 12 bytes]",
        "[attachment: plan.png, image/png, 13 bytes; not shown, because you cannot see it]",
    ]


@pytest.mark.requirement("models.request")
def test_a_lone_surrogate_does_not_break_the_call() -> None:
    (sent,) = body_of(asking("bad \ud800 character"))["messages"]
    assert sent["content"] == "bad ? character"


@pytest.mark.requirement("models.request")
def test_only_the_embedded_model_has_a_limit_that_nobody_named() -> None:
    local = settings_for("x", provider_type=ProviderType.LOCAL, model_id=EMBEDDED_MODEL)
    assert body_of(asking("hello"), local)["max_tokens"] == EMBEDDED_MAX_TOKENS
    own = ModelRequest(messages=(said("hello"),), max_output_tokens=7)
    assert body_of(own, local)["max_tokens"] == 7
    for other in (
        settings_for("x", provider_type=ProviderType.OLLAMA, model_id=EMBEDDED_MODEL),
        settings_for("x", provider_type=ProviderType.LOCAL, model_id="/models/large.gguf"),
    ):
        assert "max_tokens" not in body_of(asking("hello"), other)


@pytest.mark.requirement("models.request")
@pytest.mark.parametrize(
    ("provider_type", "key"),
    [
        (ProviderType.OPENAI, "max_completion_tokens"),
        (ProviderType.OLLAMA, "max_tokens"),
        (ProviderType.LOCAL, "max_tokens"),
    ],
)
def test_the_output_limit_goes_under_the_name_that_the_provider_knows(
    provider_type: ProviderType, key: str
) -> None:
    settings = settings_for("x", provider_type=provider_type, max_output_tokens=5)
    assert orjson.loads(render_body(settings, asking("x")))[key] == 5
    own = ModelRequest(messages=(said("x"),), max_output_tokens=3)
    assert orjson.loads(render_body(settings, own))[key] == 3
    assert b"max_" not in render_body(SETTINGS, asking("x"))


@pytest.mark.requirement("models.endpoint")
@pytest.mark.parametrize(
    ("endpoint", "url"),
    [
        ("http://127.0.0.1:11434", "http://127.0.0.1:11434/v1/chat/completions"),
        ("http://127.0.0.1:11434/", "http://127.0.0.1:11434/v1/chat/completions"),
        ("https://api.openai.com/v1/", "https://api.openai.com/v1/chat/completions"),
        ("https://example.org/api/openai", "https://example.org/api/openai/chat/completions"),
        (
            "https://example.org/v1/chat/completions",
            "https://example.org/v1/chat/completions",
        ),
    ],
)
def test_the_address_in_every_form_that_people_give(endpoint: str, url: str) -> None:
    assert completions_url(endpoint) == url


@pytest.mark.requirement("models.request")
def test_a_long_conversation_renders_without_complaint() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        body = render_body(SETTINGS, asking(*(["x" * 1000] * 2000)))
    assert len(body) > 2_000_000
