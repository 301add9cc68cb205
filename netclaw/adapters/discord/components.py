"""How a post looks at Discord: text, rows of buttons, and the key that names it. Pure."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping

from netclaw.adapters.driver import Button
from netclaw.adapters.letters import Choice, lettered

Json = dict[str, object]

TEXT_LIMIT = 2_000
_NONCE_LIMIT = 25
_CUSTOM_ID_LIMIT = 100
_LABEL_LIMIT = 80
_ROW_LIMIT = 5
_MARK, _BETWEEN = "nc:", "|"
_ROW, _BUTTON = 1, 2
_PLAIN, _DANGER = 2, 4
_NO_PREVIEWS = 1 << 2
"""A link whose preview is shown can carry out what a model was talked into putting there."""
_MARK_BYTES = 5
_EDGE, _ZERO, _ONE = "\u200b", "\u200b", "\u200c"
_MARKED = re.compile(f"{_EDGE}[{_ZERO}{_ONE}]{{{8 * _MARK_BYTES}}}{_EDGE}\\Z")
_ASK = "Answer with one letter:"


def nonce_of(key: str) -> str:
    """A key as Discord takes it."""
    if len(key) <= _NONCE_LIMIT:
        return key
    return hashlib.sha256(key.encode()).hexdigest()[:_NONCE_LIMIT]


def content(shown: str, nonce: str, buttons: tuple[Button, ...] = ()) -> Json:
    """What a message says; nobody can make us notify more than people by name."""
    return {
        "content": shown,
        "components": rows(nonce, buttons),
        "allowed_mentions": {"parse": ["users"]},
        "flags": _NO_PREVIEWS,
    }


def named(nonce: str) -> Json:
    """What makes Discord answer a repetition with the message that is there.

    It looks back a few minutes, and tells a nonce in no history.
    """
    return {"nonce": nonce, "enforce_nonce": True}


def mark(nonce: str) -> str:
    """A key as characters without width, for a post that another process must find by it.

    Buttons hold a key where there are any, and Discord tells a nonce in no history.
    """
    digest = hashlib.sha256(nonce.encode()).digest()[:_MARK_BYTES]
    bits = f"{int.from_bytes(digest):0{8 * _MARK_BYTES}b}"
    return _EDGE + bits.translate({ord("0"): _ZERO, ord("1"): _ONE}) + _EDGE


def unmarked(shown: str) -> str:
    """What people see of a text."""
    return _MARKED.sub("", shown)


def rows(nonce: str, buttons: tuple[Button, ...]) -> list[Json]:
    """Buttons, five to a row; each holds the post's key, by which it is found for ever."""
    made = [_button(nonce, button) for button in buttons]
    return [
        {"type": _ROW, "components": made[at : at + _ROW_LIMIT]}
        for at in range(0, len(made), _ROW_LIMIT)
    ]


def letters(buttons: tuple[Button, ...]) -> str:
    """The choices as text, for a post whose buttons are not taken."""
    choices = [Choice(key=button.token, label=button.label) for button in buttons]
    return "\n".join((_ASK, *lettered(choices)))


def token_of(custom_id: str) -> str:
    """The token that a button carries."""
    if custom_id.startswith(_MARK):
        _, between, token = custom_id.partition(_BETWEEN)
        if between:
            return token
    return custom_id


def nonce_in(message: Mapping[str, object]) -> str:
    """The key of a post of ours, as far as the message tells; empty otherwise."""
    for custom_id in custom_ids(message):
        before, _, _ = custom_id.partition(_BETWEEN)
        if before.startswith(_MARK):
            return before.removeprefix(_MARK)
    found = message.get("nonce")
    return found if isinstance(found, str) else ""


def custom_ids(message: Mapping[str, object]) -> Iterator[str]:
    """What the buttons of a message carry."""
    for row in _objects(message.get("components")):
        for button in _objects(row.get("components")):
            found = button.get("custom_id")
            if isinstance(found, str):
                yield found


def _button(nonce: str, button: Button) -> Json:
    whole = f"{_MARK}{nonce}{_BETWEEN}{button.token}"
    return {
        "type": _BUTTON,
        "style": _DANGER if button.is_danger else _PLAIN,
        "label": button.label[:_LABEL_LIMIT],
        "custom_id": whole if nonce and len(whole) <= _CUSTOM_ID_LIMIT else button.token,
    }


def _objects(value: object) -> list[Json]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
