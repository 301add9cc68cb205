"""Tool calls put together from every dialect of fragments that providers are known to send."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from netclaw.models.call_assembly import MAX_CALLS, CallAssembly, TooManyCallsError
from netclaw.models.chat_reply import read_fragment


def piece(
    arguments: Any = "", *, name: Any = None, call_id: Any = None, index: Any = None
) -> dict[str, Any]:
    raw: dict[str, Any] = {"function": {"name": name, "arguments": arguments}, "id": call_id}
    return raw if index is None else {**raw, "index": index}


A, B = '{"command":"ls"}', '{"command":"pwd"}'

DIALECTS: dict[str, list[dict[str, Any]]] = {
    "indexed fragments": [
        piece(name="sh", call_id="1", index=0),
        piece('{"comm', index=0),
        piece('and":"ls"}', index=0),
        piece(name="sh", call_id="2", index=1),
        piece(B, index=1),
    ],
    "fragments of two calls interleaved": [
        piece(name="sh", call_id="1", index=0),
        piece(name="sh", call_id="2", index=1),
        piece('{"command"', index=0),
        piece('{"command"', index=1),
        piece(':"ls"}', index=0),
        piece(':"pwd"}', index=1),
    ],
    "id and name repeated in every fragment": [
        piece('{"comm', name="sh", call_id="1", index=0),
        piece('and":"ls"}', name="sh", call_id="1", index=0),
        piece("", name="sh", call_id="1", index=0),
        piece('{"comm', name="sh", call_id="2", index=1),
        piece('and":"pwd"}', name="sh", call_id="2", index=1),
    ],
    "repeated without an index": [
        piece('{"comm', name="sh", call_id="1"),
        piece('and":"ls"}', name="sh", call_id="1"),
        piece('{"comm', name="sh", call_id="2"),
        piece('and":"pwd"}', name="sh", call_id="2"),
    ],
    "whole calls without an index": [
        piece(A, name="sh", call_id="1"),
        piece(B, name="sh", call_id="2"),
    ],
    "whole calls without index and id": [piece(A, name="sh"), piece(B, name="sh")],
    "whole calls without an index, one id for all": [
        piece(A, name="sh", call_id="x"),
        piece(B, name="sh", call_id="x"),
    ],
    "whole calls, all with index 0": [
        piece(A, name="sh", call_id="1", index=0),
        piece(B, name="sh", call_id="2", index=0),
    ],
    "whole calls, all with index 0 and without id": [
        piece(A, name="sh", index=0),
        piece(B, name="sh", index=0),
    ],
    "one id for all, told apart by index": [
        piece(A, name="sh", call_id="x", index=0),
        piece(B, name="sh", call_id="x", index=1),
    ],
    "continued by id alone": [
        piece(name="sh", call_id="1"),
        piece(name="sh", call_id="2"),
        piece(A, call_id="1"),
        piece(B, call_id="2"),
    ],
    "nulls and empty chunks between": [
        piece(None, name="sh", call_id="1", index=0),
        piece(None, index=0),
        piece(A, name="", call_id="", index=0),
        {"index": 0},
        {"index": 1, "id": "2", "type": "function", "function": {"name": "sh"}},
        piece(B, index=1),
        {},
    ],
    "arguments as an object": [
        piece({"command": "ls"}, name="sh", call_id="1", index=0),
        piece({"command": "pwd"}, name="sh", call_id="2", index=1),
    ],
    "name in two fragments": [
        piece(name="s", call_id="1", index=0),
        piece(A, name="h", call_id="1", index=0),
        piece(B, name="sh", call_id="2", index=1),
    ],
    "numbers as ids": [
        piece(A, name="sh", call_id=1, index=0),
        piece(B, name="sh", call_id=2, index=1),
    ],
}


def feed(assembly: CallAssembly, raw: object) -> None:
    fragment = read_fragment(raw)
    if fragment is not None:
        assembly.feed(fragment)


def assemble(fragments: list[dict[str, Any]]) -> CallAssembly:
    assembly = CallAssembly()
    for fragment in fragments:
        feed(assembly, fragment)
    return assembly


@pytest.mark.requirement("models.tool-call-dialects")
@pytest.mark.parametrize("dialect", DIALECTS)
def test_two_calls_come_out_of_every_dialect(dialect: str) -> None:
    calls = assemble(DIALECTS[dialect]).calls()
    assert [(c.name, orjson.loads(c.arguments)) for c in calls] == [
        ("sh", {"command": "ls"}),
        ("sh", {"command": "pwd"}),
    ]
    assert [c.fault for c in calls] == [None, None]


@pytest.mark.requirement("models.tool-call-faults")
@pytest.mark.parametrize(
    ("arguments", "name", "fault"),
    [
        ("", "sh", None),
        ("  ", "sh", None),
        ("{bad", "sh", "The arguments are not a valid JSON object."),
        ("[1]", "sh", "The arguments are not a valid JSON object."),
        ('"text"', "sh", "The arguments are not a valid JSON object."),
        ('{"a":1}{"a":2}', "sh", "The arguments are not a valid JSON object."),
        ("{}", "", "The call names no tool."),
    ],
)
def test_a_call_that_cannot_be_run_carries_a_fault_and_is_not_dropped(
    arguments: str, name: str, fault: str | None
) -> None:
    (call,) = assemble([piece(arguments, name=name, call_id="1", index=0)]).calls()
    assert call.fault == fault
    assert call.arguments == (arguments if arguments.strip() else "{}")


@pytest.mark.requirement("models.tool-call-dialects")
@given(
    cuts=st.lists(st.integers(0, 60), max_size=8),
    arguments=st.dictionaries(st.text(max_size=4), st.text(max_size=8), max_size=3),
    is_indexed=st.booleans(),
    is_named_again=st.booleans(),
)
def test_arguments_survive_any_cut(
    cuts: list[int], arguments: dict[str, str], is_indexed: bool, is_named_again: bool
) -> None:
    text = orjson.dumps(arguments).decode()
    edges = [0, *sorted(min(cut, len(text)) for cut in cuts), len(text)]
    fragments = [
        piece(
            text[a:b],
            name="sh" if is_named_again or number == 0 else None,
            call_id="1" if is_named_again or number == 0 else None,
            index=0 if is_indexed else None,
        )
        for number, (a, b) in enumerate(pairwise(edges))
        if number == 0 or b > a
    ]
    (call,) = assemble(fragments).calls()
    assert (call.name, orjson.loads(call.arguments), call.fault) == ("sh", arguments, None)


@pytest.mark.requirement("models.answer-bounded")
def test_calls_without_end_are_stopped() -> None:
    fragments = [piece("{}", name="sh", index=number) for number in range(MAX_CALLS)]
    assembly = assemble(fragments)
    assert len(assembly.calls()) == MAX_CALLS
    with pytest.raises(TooManyCallsError):
        feed(assembly, piece("{}", name="sh", index=MAX_CALLS))


@pytest.mark.requirement("models.tool-call-dialects")
@given(
    fragments=st.lists(
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.text(max_size=5),
            lambda inner: (
                st.lists(inner, max_size=3)
                | st.dictionaries(
                    st.sampled_from(["index", "id", "function", "name", "arguments"]), inner
                )
            ),
            max_leaves=8,
        ),
        max_size=6,
    )
)
def test_nonsense_never_breaks_the_assembly(fragments: list[Any]) -> None:
    assembly = CallAssembly()
    for fragment in fragments:
        feed(assembly, fragment)
    for call in assembly.calls():
        assert call.fault is not None or isinstance(orjson.loads(call.arguments), dict)
