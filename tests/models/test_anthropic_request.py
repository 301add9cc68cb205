"""The body of a call in Anthropic's dialect: roles in turn, results in place, cache marks."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from anthropic.types.message_create_params import MessageCreateParamsStreaming
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from netclaw.core.ids import CallId
from netclaw.core.messages import AssistantMessage, Message, NoteMessage, ToolMessage
from netclaw.core.settings import ModelSettings, ProviderType
from netclaw.core.tool_call import ToolCall
from netclaw.models.anthropic_request import BEGINNING, BLANK, DEFAULT_MAX_TOKENS, render_body
from netclaw.ports.model import ModelRequest
from tests.fakes.anthropic_request import complaint
from tests.models.tools import SHELL, asking, said, settings_for

SETTINGS = settings_for("http://127.0.0.1:1")
HEADERS = {"anthropic-version": "2023-06-01"}
CACHED = {"cache_control": {"type": "ephemeral"}}
VENDOR_TYPES = TypeAdapter(MessageCreateParamsStreaming)


def body_of(request: ModelRequest, settings: ModelSettings = SETTINGS) -> dict[str, Any]:
    body: dict[str, Any] = orjson.loads(render_body(settings, request))
    return body


def told(*messages: Message | str) -> list[dict[str, Any]]:
    """The messages as sent, without the marks for the cache: they move as a conversation grows."""
    sent: list[dict[str, Any]] = body_of(asking(*messages))["messages"]
    for message in sent:
        for block in message["content"]:
            block.pop("cache_control", None)
    return sent


def call(call_id: str, provider_id: str = "", **more: Any) -> ToolCall:
    fields = {"name": "sh", "arguments": '{"a":1}', **more}
    return ToolCall(call_id=CallId(call_id), provider_call_id=provider_id, **fields)


def turn(*calls: ToolCall, text: str = "") -> list[Message]:
    results = [ToolMessage(call_id=c.call_id, text=f"result of {c.call_id}", at=0) for c in calls]
    return [AssistantMessage(text=text, at=0, thinking="secret thoughts", calls=calls), *results]


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


@pytest.mark.requirement("models.request")
def test_a_conversation_with_tools() -> None:
    request = ModelRequest(
        system_prompt="You are netclaw.",
        messages=(
            said("hi"),
            AssistantMessage(text="hello", at=0, thinking="hm"),
            NoteMessage(text="The turn before stopped.", at=0),
            said("list"),
            *turn(call("C1", "p1"), call("C2", "p2"), text="I look."),
            said("and hurry"),
        ),
        tools=(SHELL,),
    )
    assert body_of(request) == {
        "model": "m",
        "max_tokens": DEFAULT_MAX_TOKENS,
        "stream": True,
        "system": [{**text("You are netclaw."), **CACHED}],
        "tools": [
            {
                "name": SHELL.name,
                "description": SHELL.description,
                "input_schema": orjson.loads(SHELL.parameters),
            }
        ],
        "messages": [
            {"role": "user", "content": [text("hi")]},
            {"role": "assistant", "content": [text("hello")]},
            {"role": "user", "content": [text("The turn before stopped."), text("list")]},
            {
                "role": "assistant",
                "content": [
                    text("I look."),
                    {"type": "tool_use", "id": "p1", "name": "sh", "input": {"a": 1}},
                    {"type": "tool_use", "id": "p2", "name": "sh", "input": {"a": 1}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "p1", "content": "result of C1"},
                    {"type": "tool_result", "tool_use_id": "p2", "content": "result of C2"},
                    {**text("and hurry"), **CACHED},
                ],
            },
        ],
    }


@pytest.mark.requirement("models.request")
def test_thinking_is_never_shown_back() -> None:
    assert b"secret thoughts" not in render_body(SETTINGS, asking("x", *turn(call("C1"))))


@pytest.mark.requirement("models.prompt-cache")
def test_without_a_system_prompt_the_tools_are_what_is_kept() -> None:
    body = body_of(asking("x", tools=(SHELL, SHELL)))
    assert "system" not in body
    assert ["cache_control" in tool for tool in body["tools"]] == [False, True]
    assert "tools" not in body_of(asking("x"))


@pytest.mark.requirement("models.request")
def test_nothing_blank_is_sent() -> None:
    sent = told(
        " \n",
        AssistantMessage(text="  ", at=0),
        AssistantMessage(text="", at=0, calls=(call("C1"),)),
        ToolMessage(call_id=CallId("C1"), text="", at=0),
    )
    assert sent == [
        {"role": "user", "content": [text(BLANK)]},
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": "C1", "name": "sh", "input": {"a": 1}}],
        },
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "C1"}]},
    ]


@pytest.mark.requirement("models.request")
def test_a_history_that_begins_with_an_answer_gets_a_beginning() -> None:
    sent = told(AssistantMessage(text="hello", at=0), "hi")
    assert sent[0] == {"role": "user", "content": [text(BEGINNING)]}


@pytest.mark.requirement("models.wire-ids")
@pytest.mark.parametrize("foreign", ["", "functions.sh:0", "a b", "ü"])
def test_ids_of_another_provider_are_replaced_by_our_own(foreign: str) -> None:
    _, asked, answered = told("go", *turn(call("C1", foreign)))
    assert asked["content"][0]["id"] == "C1"
    assert answered["content"][0]["tool_use_id"] == "C1"


@pytest.mark.requirement("models.request")
@pytest.mark.parametrize(
    ("name", "sent"), [("a.b c", "a_b_c"), ("", "_"), ("x" * 200, "x" * 64), ("ok-1_", "ok-1_")]
)
def test_names_that_a_model_made_up_are_told_in_the_form_that_is_accepted(
    name: str, sent: str
) -> None:
    assert told("go", *turn(call("C1", name=name)))[1]["content"][0]["name"] == sent


@pytest.mark.requirement("models.request")
@pytest.mark.parametrize(
    ("arguments", "fault", "sent"),
    [
        ("{bad", "bad", {}),
        ("{bad", None, {}),
        ("[1]", None, {}),
        ('{"n":12345678901234567890123}', None, {"n": 12345678901234567890123}),
    ],
)
def test_arguments_are_told_as_the_object_that_they_are(
    arguments: str, fault: str | None, sent: dict[str, Any]
) -> None:
    made = call("C1", arguments=arguments, argument_fault=fault)
    assert told("go", *turn(made))[1]["content"][0]["input"] == pytest.approx(sent)


@pytest.mark.requirement("models.request")
def test_a_lone_surrogate_does_not_break_the_call() -> None:
    (sent,) = told("bad \ud800 character")
    assert sent["content"] == [text("bad ? character")]


@pytest.mark.requirement("models.request")
@pytest.mark.parametrize(
    ("own", "setting", "window", "expected"),
    [
        (3, 5, 200_000, 3),
        (None, 5, 200_000, 5),
        (None, None, 200_000, DEFAULT_MAX_TOKENS),
        (None, None, 8192, 2048),
    ],
)
def test_the_output_limit_is_always_there(
    own: int | None, setting: int | None, window: int, expected: int
) -> None:
    settings = ModelSettings(
        provider="main",
        provider_type=ProviderType.ANTHROPIC,
        endpoint="x",
        model_id="m",
        context_window=window,
        max_output_tokens=setting,
    )
    request = ModelRequest(messages=(said("x"),), max_output_tokens=own)
    assert body_of(request, settings)["max_tokens"] == expected


SPOKEN = st.one_of(
    st.text(max_size=5).map(said),
    st.text(max_size=5).map(lambda words: NoteMessage(text=words, at=0)),
    st.text(max_size=5).map(lambda words: AssistantMessage(text=words, at=0)),
    st.lists(st.sampled_from(["", "a", "b", "c.d:0"]), min_size=1, max_size=3),
)


@pytest.mark.requirement("models.request")
@given(spoken=st.lists(SPOKEN, max_size=8), last=st.text(max_size=5))
def test_a_strict_provider_accepts_any_history_and_its_start_never_changes(
    spoken: list[Message | list[str]], last: str
) -> None:
    history: list[Message] = [said("go")]
    before: list[tuple[str, dict[str, Any]]] = []
    for number, item in enumerate([*spoken, said(last)]):
        if isinstance(item, list):
            history += turn(*(call(f"C{number}-{n}", ident) for n, ident in enumerate(item)))
        else:
            history.append(item)
        body = body_of(ModelRequest(messages=tuple(history), system_prompt="S", tools=(SHELL,)))
        assert complaint(body, HEADERS) is None
        roles = [message["role"] for message in body["messages"]]
        assert roles == [("user", "assistant")[n % 2] for n in range(len(roles))]
        blocks = [(m["role"], block) for m in told(*history) for block in m["content"]]
        assert blocks[: len(before)] == before
        before = blocks
    VENDOR_TYPES.validate_python(body_of(asking(*history, tools=(SHELL,))))
