"""How a post looks at Slack: a markdown block, buttons below it, and the key that names it."""

from __future__ import annotations

from collections.abc import Mapping

from netclaw.adapters.driver import Button
from netclaw.adapters.slack.text import to_fallback, to_markdown

Json = dict[str, object]

EVENT_TYPE = "netclaw_post"
_ACTION = "netclaw_choice_"
_SECTION_LIMIT = 3_000
_LABEL_LIMIT = 75


def markdown_blocks(text: str, buttons: tuple[Button, ...]) -> list[Json]:
    """The native form."""
    return [{"type": "markdown", "text": to_markdown(text)}, *_actions(buttons)]


def plain_blocks(text: str, buttons: tuple[Button, ...]) -> list[Json]:
    """Where markdown blocks are not taken; empty if the plain text alone will do."""
    if not buttons:
        return []
    shown = to_fallback(text)
    pieces = [shown[at : at + _SECTION_LIMIT] for at in range(0, len(shown), _SECTION_LIMIT)]
    sections: list[Json] = [
        {"type": "section", "text": {"type": "mrkdwn", "text": piece}} for piece in pieces
    ]
    return sections + _actions(buttons)


def metadata(key: str) -> Json:
    """What names a post; people do not see it."""
    return {"event_type": EVENT_TYPE, "event_payload": {"key": key}}


def key_of(message: Mapping[str, object]) -> str:
    """The key that a post was made with; empty if it has none."""
    found = message.get("metadata")
    if not isinstance(found, dict) or found.get("event_type") != EVENT_TYPE:
        return ""
    payload = found.get("event_payload")
    key = payload.get("key") if isinstance(payload, dict) else None
    return key if isinstance(key, str) else ""


def token_of(action: Mapping[str, object]) -> str:
    """The token of a pressed button; empty if the button is none of ours."""
    name, value = action.get("action_id"), action.get("value")
    is_ours = isinstance(name, str) and name.startswith(_ACTION)
    return value if is_ours and isinstance(value, str) else ""


def _actions(buttons: tuple[Button, ...]) -> list[Json]:
    if not buttons:
        return []
    elements = [_button(index, button) for index, button in enumerate(buttons)]
    return [{"type": "actions", "elements": elements}]


def _button(index: int, button: Button) -> Json:
    made: Json = {
        "type": "button",
        "action_id": f"{_ACTION}{index}",
        "text": {"type": "plain_text", "text": button.label[:_LABEL_LIMIT]},
        "value": button.token,
    }
    return made | {"style": "danger"} if button.is_danger else made
