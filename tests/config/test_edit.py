"""`config get|set|unset`: what is set is read back, what is wrong changes nothing."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netclaw.config import text_edit
from netclaw.config.edit import get_key, json_schema, set_key, show, try_key, undo, unset_key
from netclaw.config.jsonc_tree import Json, parse, plain
from netclaw.config.secret_store import set_secret
from netclaw.core.errors import InvalidArgumentError, NetclawError, NotFoundError
from tests.config.homes import ONE_MODEL, TempHome
from tests.config.test_jsonc_tree import documents
from tests.config.values import leaves

LEAVES = dict(leaves())
REMARKED = """\
// the head
{
  /* before */ "configVersion": 1, // after the version
  "session": {
    // about idle time
    "idleTimeout": "00:20:00", // a remark
    "Tuning": { "SnapshotInterval": 9 }
  },
  "Tools": {
    "HardDenyPatterns": [
      "rm -rf /", // never
    ],
  },
  // the end
}
"""
COMMENTS = ("the head", "before", "after the version", "about idle", "a remark", "never", "the end")


@st.composite
def settings_of_one_key(draw: st.DrawFn) -> tuple[str, Json]:
    """A key of the schema and a value that it takes."""
    key = draw(st.sampled_from(sorted(LEAVES)))
    return key, draw(LEAVES[key])


def as_text(value: Json) -> str:
    """A value as it is typed."""
    return value if isinstance(value, str) else json.dumps(value)


def test_the_schema_has_keys_enough_for_the_property() -> None:
    assert len(LEAVES) > 100
    assert {"Session.IdleTimeout", "Signals.WakeReplies", "Tools.Sandbox.MemoryMiB"} <= set(LEAVES)


@pytest.mark.requirement("config.round-trip")
@settings(max_examples=40)
@given(case=settings_of_one_key())
def test_what_is_set_is_read_back_and_comments_stay(
    tmp_path_factory: pytest.TempPathFactory, case: tuple[str, Json]
) -> None:
    key, value = case
    temp = TempHome(tmp_path_factory.mktemp("set"))
    temp.write(REMARKED)
    before = show(temp.home, temp.environ)
    set_key(temp.home, temp.environ, key, as_text(value))
    assert get_key(temp.home, temp.environ, key) == value
    kept = [comment for comment in COMMENTS if comment in temp.text]
    is_list_replaced = key == "Tools.HardDenyPatterns"
    assert kept == [c for c in COMMENTS if not (is_list_replaced and c == "never")]
    unset_key(temp.home, temp.environ, key)
    after = show(temp.home, temp.environ)
    changed = {name for name in after if after[name] != before.get(name)}
    assert changed <= {key.split(".", maxsplit=1)[0]}
    with pytest.raises(NotFoundError):
        unset_key(temp.home, temp.environ, key)


@pytest.mark.requirement("config.set-validates")
@given(
    key=st.sampled_from(sorted(LEAVES)) | st.text(max_size=20) | st.just("Providers.x.Type"),
    value=st.text(max_size=30)
    | st.sampled_from(["null", "[]", "{}", "-1", "1e999", '{"a":'])
    | documents.map(json.dumps),
)
def test_rubbish_leaves_the_file_untouched(
    tmp_path_factory: pytest.TempPathFactory, key: str, value: str
) -> None:
    temp = TempHome(tmp_path_factory.mktemp("rubbish"))
    temp.write(REMARKED)
    said = ""
    try:
        set_key(temp.home, temp.environ, key, value)
    except NetclawError as error:
        said = error.sentence
    if said:
        assert "\n" not in said
        assert temp.text == REMARKED
    else:
        temp.load()


@given(document=documents, data=st.data())
def test_an_edit_of_text_means_what_it_should(document: Json, data: st.DataObject) -> None:
    text = json.dumps(document, indent=data.draw(st.sampled_from([None, 2, 4])))
    if data.draw(st.booleans()):
        text = text.replace(",\n", ", // remark, {\n").replace("[\n", "[ /* a */\n")
    path = draw_path(document, random.Random(data.draw(st.integers())))
    if path:
        wanted = replaced(document, path, "new")
        edited = text_edit.replace(text, parse(text), path, "new")
        assert plain(parse(edited)) == wanted
        is_whole = edited.count("{") + edited.count("[") == text.count("{") + text.count("[")
        assert not is_whole or edited.count("remark") == text.count("remark")
        removed = text_edit.remove(edited, parse(edited), path)
        assert plain(parse(removed)) == dropped(wanted, path)
        assert removed.count("remark") <= text.count("remark")


def draw_path(value: Json, chance: random.Random) -> text_edit.Path:
    """A path to something that is in the document."""
    path: list[str | int] = []
    while isinstance(value, dict | list) and value and (not path or chance.random() < 0.7):
        if isinstance(value, dict):
            key = chance.choice(sorted(value))
            path.append(key)
            value = value[key]
        else:
            at = chance.randrange(len(value))
            path.append(at)
            value = value[at]
    return tuple(path)


def replaced(value: Json, path: text_edit.Path, new: Json) -> Json:
    """The document with another value at a path that is there."""
    if not path:
        return new
    if isinstance(value, dict):
        return value | {str(path[0]): replaced(value[str(path[0])], path[1:], new)}
    assert isinstance(value, list)
    items = list(value)
    items[int(path[0])] = replaced(items[int(path[0])], path[1:], new)
    return items


def dropped(value: Json, path: text_edit.Path) -> Json:
    """The document without what is at a path."""
    if isinstance(value, dict):
        key = str(path[0])
        if len(path) == 1:
            return {name: item for name, item in value.items() if name != key}
        return value | {key: dropped(value[key], path[1:])}
    assert isinstance(value, list)
    at = int(path[0])
    middle = [dropped(value[at], path[1:])] if len(path) > 1 else []
    return [*value[:at], *middle, *value[at + 1 :]]


def test_new_keys_follow_the_layout(temp: TempHome) -> None:
    temp.write(REMARKED)
    set_key(temp.home, temp.environ, "session.Limits.LivenessSeconds", "4")
    set_key(temp.home, temp.environ, "Tools.HardDenyPatterns.1", "mkfs")
    set_key(temp.home, temp.environ, "Tools.ShellMode", "off")
    assert (
        temp.text
        == """\
// the head
{
  /* before */ "configVersion": 1, // after the version
  "session": {
    // about idle time
    "idleTimeout": "00:20:00", // a remark
    "Tuning": { "SnapshotInterval": 9 },
    "Limits": {
      "LivenessSeconds": 4
    }
  },
  "Tools": {
    "HardDenyPatterns": [
      "rm -rf /", // never
      "mkfs",
    ],
    "ShellMode": "off",
  },
  // the end
}
"""
    )
    unset_key(temp.home, temp.environ, "Session.Limits")
    unset_key(temp.home, temp.environ, "Tools.HardDenyPatterns.1")
    unset_key(temp.home, temp.environ, "Tools.shellmode")
    assert temp.text == REMARKED


def test_the_first_set_makes_the_file_private(temp: TempHome) -> None:
    change = set_key(temp.home, temp.environ, "Daemon.Port", "6000")
    assert json.loads(temp.text) == {"configVersion": 1, "Daemon": {"Port": 6000}}
    assert temp.home.config_file.stat().st_mode & 0o777 == 0o600
    undo(temp.home, change)
    assert not temp.home.config_file.exists()


def test_a_change_can_be_undone_to_the_letter(temp: TempHome) -> None:
    temp.write(REMARKED)
    change = set_key(temp.home, temp.environ, "Daemon.Port", "6000")
    assert temp.text != REMARKED
    undo(temp.home, change)
    assert temp.text == REMARKED


def test_a_name_that_looks_like_a_number_stays_a_name(temp: TempHome) -> None:
    temp.write(ONE_MODEL)
    set_key(temp.home, temp.environ, "Models.Definitions.main.ModelId", "4711")
    assert get_key(temp.home, temp.environ, "Models.Definitions.MAIN.modelid") == "4711"


def test_a_name_with_a_dot_is_quoted(temp: TempHome) -> None:
    temp.write(ONE_MODEL)
    key = 'Models.Definitions."gpt-4.1"'
    set_key(temp.home, temp.environ, key, '{"Provider": "fake", "ModelId": "gpt-4.1"}')
    assert get_key(temp.home, temp.environ, f"{key}.ModelId") == "gpt-4.1"


@pytest.mark.parametrize("key", ["", ".", "a.", '"a"b', "Session.IdleTimeout.x", "Daemon.Port.0"])
def test_keys_that_are_none(temp: TempHome, key: str) -> None:
    with pytest.raises(InvalidArgumentError):
        get_key(temp.home, temp.environ, key)


def test_a_list_has_numbered_entries(temp: TempHome) -> None:
    with pytest.raises(InvalidArgumentError, match=r"first is not a known key"):
        set_key(temp.home, temp.environ, "Tools.HardDenyPatterns.first", "x")
    with pytest.raises(InvalidArgumentError, match="has 0 entries"):
        set_key(temp.home, temp.environ, "Tools.HardDenyPatterns.3", "x")


@pytest.mark.requirement("config.secrets-write-only")
def test_secrets_are_neither_shown_nor_set_here(temp: TempHome) -> None:
    temp.write(ONE_MODEL)
    set_secret(temp.home, "Providers.fake.ApiKey", "sk-secret-value")
    assert get_key(temp.home, temp.environ, "Providers.fake.ApiKey") == "(set)"
    assert "sk-secret-value" not in json.dumps(show(temp.home, temp.environ))
    with pytest.raises(InvalidArgumentError, match="is a secret"):
        set_key(temp.home, temp.environ, "Providers.fake.ApiKey", "sk-other")
    assert "sk-other" not in temp.text


def test_one_entry_of_a_list(temp: TempHome) -> None:
    temp.write(REMARKED)
    assert get_key(temp.home, temp.environ, "Tools.HardDenyPatterns.0") == "rm -rf /"
    with pytest.raises(NotFoundError):
        get_key(temp.home, temp.environ, "Tools.HardDenyPatterns.1")


def test_an_entry_that_is_not_there(temp: TempHome) -> None:
    with pytest.raises(NotFoundError, match=r"Providers\.x is not set"):
        get_key(temp.home, temp.environ, "Providers.x.Type")
    with pytest.raises(NotFoundError):
        get_key(temp.home, temp.environ, "Session.FirstTokenTimeoutSeconds")
    with pytest.raises(NotFoundError, match=r"ShellMode is not set: SandboxOnly for posture Per"):
        get_key(temp.home, temp.environ, "Tools.ShellMode")
    assert try_key(temp.home, temp.environ, "Providers.x.Type") is None


def test_unset_finds_older_places(temp: TempHome) -> None:
    temp.write('{"Session": {"SnapshotInterval": 5, "Tuning": {"SnapshotInterval": 6}}}')
    unset_key(temp.home, temp.environ, "Session.SnapshotInterval")
    assert temp.load().session.tuning.snapshot_interval_events == 20


def test_a_section_cannot_be_set_to_something_else(temp: TempHome) -> None:
    temp.write(REMARKED)
    for value in ("5", "text", "[]"):
        with pytest.raises(InvalidArgumentError):
            set_key(temp.home, temp.environ, "Session", value)
    set_key(temp.home, temp.environ, "Session", "{}")
    assert get_key(temp.home, temp.environ, "Session.IdleTimeout") == "01:00:00"


def test_a_link_to_the_configuration_is_followed(temp: TempHome, tmp_path: Path) -> None:
    elsewhere = tmp_path / "kept.json"
    elsewhere.write_text("{}")
    temp.home.config_dir.mkdir(parents=True)
    temp.home.config_file.symlink_to(elsewhere)
    set_key(temp.home, temp.environ, "Daemon.Port", "6000")
    assert temp.home.config_file.is_symlink()
    assert json.loads(elsewhere.read_text())["Daemon"] == {"Port": 6000}


def test_the_json_schema_tells_every_key_and_what_it_means() -> None:
    schema = json_schema()
    text = json.dumps(schema)
    for key in LEAVES:
        assert f'"{key.split(".")[-1]}"' in text, key
    properties = schema["properties"]
    assert isinstance(properties, dict)
    assert "Persistence" not in properties
    missing = [key for key in ("description",) if text.count(f'"{key}"') < len(LEAVES)]
    assert not missing


@pytest.mark.requirement("config.set-validates")
def test_a_number_that_json_cannot_say_is_the_values_fault(temp: TempHome) -> None:
    temp.write("{}")
    for key, text in (
        ("Storage.TimeoutSeconds", "1e999"),
        ("Supervision.BackoffSeconds", "[1e999]"),
    ):
        with pytest.raises(InvalidArgumentError) as caught:
            set_key(temp.home, {}, key, text)
        assert caught.value.sentence.startswith(f"{key} must be ")
    assert temp.home.config_file.read_text() == "{}"
