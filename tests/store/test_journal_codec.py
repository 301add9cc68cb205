"""The payload codec: golden bytes for ever, old versions lifted, strangers refused clearly."""

from __future__ import annotations

import dataclasses
from typing import get_args

import pytest

from netclaw.core.errors import InvalidArgumentError, SessionUnreadableError
from netclaw.core.session.events import SessionEvent, TitleSet
from netclaw.core.session.state import SessionState
from netclaw.core.settings import ModelSettings, ProviderType, SessionSettings, ToolSettings
from netclaw.wire import journal_codec
from netclaw.wire.journal_codec import (
    EVENT_VERSIONS,
    STATE_CODEC,
    JsonObject,
    decode_event,
    decode_settings,
    decode_state,
    encode_event,
    encode_settings,
    encode_state,
)
from tests.store.example_state import STATE
from tests.store.examples import EXAMPLES, GOLDEN


def golden(name: str) -> bytes:
    """The stored bytes; the file ends in a newline that is not part of them."""
    return (GOLDEN / f"{name}.json").read_bytes().removesuffix(b"\n")


@pytest.mark.requirement("store.codec-golden")
def test_every_version_of_every_event_has_an_example_and_a_golden_file() -> None:
    expected = {
        (event.__name__, version)
        for event in get_args(SessionEvent)
        for version in range(1, EVENT_VERSIONS[event] + 1)
    }
    assert set(EXAMPLES) == expected
    files = {path.stem for path in GOLDEN.glob("*.v*.json")}
    assert files == {f"{type_}.v{version}" for type_, version in expected}


@pytest.mark.requirement("store.codec-golden")
@pytest.mark.parametrize(("type_", "version"), EXAMPLES)
def test_golden_bytes_decode_to_the_event_they_always_were(type_: str, version: int) -> None:
    assert decode_event(type_, version, golden(f"{type_}.v{version}")) == EXAMPLES[type_, version]


@pytest.mark.requirement("store.codec-golden")
@pytest.mark.parametrize("event", EVENT_VERSIONS, ids=lambda event: event.__name__)
def test_an_event_encodes_to_its_golden_bytes(event: type[SessionEvent]) -> None:
    name, version = event.__name__, EVENT_VERSIONS[event]
    draft = encode_event(EXAMPLES[name, version])
    assert (draft.type, draft.version) == (name, version)
    assert draft.payload == golden(f"{name}.v{version}")


@pytest.mark.parametrize("event", EXAMPLES.values(), ids=lambda event: type(event).__name__)
def test_the_examples_leave_no_default_untested(event: SessionEvent) -> None:
    for field in dataclasses.fields(event):
        if field.default is not dataclasses.MISSING:
            assert getattr(event, field.name) != field.default, field.name


@pytest.mark.requirement("store.codec-golden")
def test_a_state_round_trips_and_matches_its_golden_bytes() -> None:
    payload = encode_state(STATE)
    assert payload == golden("SessionState.json-1")
    assert decode_state(STATE_CODEC, payload) == STATE
    assert decode_state(STATE_CODEC, encode_state(SessionState())) == SessionState()


def test_a_state_stored_before_a_field_existed_takes_its_default() -> None:
    assert decode_state(STATE_CODEC, b'{"head":3}') == SessionState(head=3)


def test_settings_round_trip() -> None:
    model = ModelSettings(
        provider="local",
        provider_type=ProviderType.OLLAMA,
        endpoint="http://127.0.0.1:1/v1",
        model_id="m",
    )
    settings = SessionSettings(main_model=model, tools=ToolSettings(writable_roots=("/a",)))
    assert decode_settings(encode_settings(settings)) == settings
    assert decode_settings(encode_settings(SessionSettings())) == SessionSettings()
    with pytest.raises(InvalidArgumentError):
        decode_settings(b'{"main_model":4}')


@pytest.mark.requirement("store.codec-unknown")
def test_an_unknown_type_or_a_newer_version_says_that_it_is_newer() -> None:
    with pytest.raises(SessionUnreadableError, match="GoalPostsMoved"):
        decode_event("GoalPostsMoved", 1, b"{}")
    with pytest.raises(SessionUnreadableError, match="version 2"):
        decode_event("TitleSet", 2, b"{}")
    with pytest.raises(SessionUnreadableError, match="json/9"):
        decode_state("json/9", b"{}")


@pytest.mark.requirement("store.codec-unknown")
@pytest.mark.parametrize(
    "payload", [b"", b"{", b"[]", b'{"title":1,"actor":"x"}', b'{"title":"x"}']
)
def test_a_damaged_payload_says_that_it_is_damaged(payload: bytes) -> None:
    with pytest.raises(SessionUnreadableError, match="TitleSet"):
        decode_event("TitleSet", 1, payload)


@pytest.mark.requirement("store.codec-unknown")
@pytest.mark.parametrize("payload", [b"", b"[]", b'{"history":[["alien",{}]]}', b'{"head":"x"}'])
def test_a_damaged_snapshot_says_that_it_is_damaged(payload: bytes) -> None:
    with pytest.raises(SessionUnreadableError, match="snapshot"):
        decode_state(STATE_CODEC, payload)


def test_a_text_that_is_no_unicode_is_refused_as_the_callers_mistake() -> None:
    with pytest.raises(InvalidArgumentError, match="TitleSet"):
        encode_event(TitleSet(title="\ud800", actor="model"))


@pytest.mark.requirement("store.codec-upcast")
def test_older_versions_are_lifted_step_by_step(monkeypatch: pytest.MonkeyPatch) -> None:
    def rename(content: JsonObject) -> JsonObject:
        content["title"] = content.pop("name")
        return content

    def add_actor(content: JsonObject) -> JsonObject:
        return {**content, "actor": "model"}

    form = dataclasses.replace(journal_codec._FORMS["TitleSet"], version=3)
    monkeypatch.setattr(journal_codec, "_FORMS", {"TitleSet": form})
    steps = {("TitleSet", 1): rename, ("TitleSet", 2): add_actor}
    monkeypatch.setattr(journal_codec, "UPCASTERS", steps)
    lifted = TitleSet(title="Files", actor="model")
    assert decode_event("TitleSet", 1, b'{"name":"Files"}') == lifted
    assert decode_event("TitleSet", 2, b'{"title":"Files"}') == lifted
    with pytest.raises(SessionUnreadableError, match="version 0"):
        decode_event("TitleSet", 0, b"{}")


@pytest.mark.requirement("store.codec-upcast")
def test_older_snapshots_are_lifted(monkeypatch: pytest.MonkeyPatch) -> None:
    def number(content: JsonObject) -> JsonObject:
        content["head"] = int(str(content["head"]))
        return content

    monkeypatch.setattr(journal_codec, "STATE_UPCASTERS", {"json/0": (STATE_CODEC, number)})
    assert decode_state("json/0", b'{"head":"7"}') == SessionState(head=7)
