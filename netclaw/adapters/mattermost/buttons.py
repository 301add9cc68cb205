"""How a button looks at Mattermost, and which presses are taken.

A press comes over plain HTTP from whoever reaches us and says by itself who pressed. So each button
carries, where only the server sees it, its token with a seal made from the bot token: a press
without the seal of its channel and thread is nobody's and touches nothing. What the seal cannot
say, which post the button is in, is kept in memory.
"""

from __future__ import annotations

import hashlib
import hmac
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from enum import Enum

from netclaw.adapters.driver import Button, Thread
from netclaw.adapters.mattermost.client import part, text

Json = dict[str, object]

GOOD_FOR_S = 12 * 3600.0
MOST = 10_000
"""Tokens that are kept; the oldest goes first."""
_LONGEST_ID = 64
_LONGEST_TOKEN = 200
_PURPOSE = "netclaw button"


@dataclass(frozen=True, slots=True, kw_only=True)
class Press:
    """What the server says of a pressed button."""

    user_id: str
    channel_id: str
    post_id: str
    root: str
    token: str
    seal: str


class Verdict(Enum):
    """What a press is worth."""

    LIVE = "of a button that this process made, in its post"
    STALE = "of a button of ours that is not known any more"
    FORGED = "of no button of ours, or of another post's"


def read_press(body: object) -> Press | None:
    """What the server posts; None for what it would not."""
    if not isinstance(body, dict):
        return None
    context = part(body, "context")
    ids = [text(body, name) for name in ("user_id", "channel_id", "post_id")]
    ids.append(text(context, "root"))
    token, seal = text(context, "token"), text(context, "seal")
    is_whole = all(0 < len(found) <= _LONGEST_ID for found in (*ids, seal))
    if not is_whole or not 0 < len(token) <= _LONGEST_TOKEN:
        return None
    user_id, channel_id, post_id, root = ids
    return Press(
        user_id=user_id, channel_id=channel_id, post_id=post_id, root=root, token=token, seal=seal
    )


def seal_of(secret: str, thread: Thread, token: str) -> str:
    """What only we can make: this token was put into this thread by us."""
    words = "\n".join((_PURPOSE, thread.channel_id, thread.thread_id, token))
    return hmac.new(secret.encode(), words.encode("utf-8", "replace"), hashlib.sha256).hexdigest()


def attachments(
    buttons: tuple[Button, ...], thread: Thread, action_url: str, secret: str
) -> list[Json]:
    """The buttons of a post; the server shows nobody what their `integration` holds."""
    if not buttons or not action_url:
        return []
    actions = [
        {
            "id": f"choice{number}",  # letters and digits alone
            "name": button.label,
            "type": "button",
            "style": "danger" if button.is_danger else "default",
            "integration": {
                "url": action_url,
                "context": {
                    "token": button.token,
                    "root": thread.thread_id,
                    "seal": seal_of(secret, thread, button.token),
                },
            },
        }
        for number, button in enumerate(buttons)
    ]
    return [{"fallback": "", "actions": actions}]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Bound:
    address: str
    post_id: str
    """Empty while the post is being made."""
    ends_at: float


class Tokens:
    """The tokens of buttons that are shown, in memory alone.

    A press uses none up: the host does that when an answer counts, and its edit of the post takes
    the tokens away. Nobody can spoil a button by pressing it, or by pretending to.
    """

    def __init__(
        self, secret: str, *, monotonic: Callable[[], float] = time.monotonic, most: int = MOST
    ) -> None:
        self._secret = secret
        self._monotonic = monotonic
        self._most = most
        self._bound: dict[str, _Bound] = {}

    def offer(self, thread: Thread, buttons: Iterable[Button]) -> None:
        """Known before anybody can press them."""
        ends_at = self._monotonic() + GOOD_FOR_S
        for button in buttons:
            self._bound.pop(button.token, None)
            self._bound[button.token] = _Bound(address=thread.address, post_id="", ends_at=ends_at)
        while len(self._bound) > self._most:
            del self._bound[next(iter(self._bound))]

    def bind(self, post_id: str, buttons: tuple[Button, ...]) -> None:
        """They are in this post, and no other ones are."""
        self.forget(post_id)
        for button in buttons:
            bound = self._bound.get(button.token)
            if bound is not None:
                self._bound[button.token] = replace(bound, post_id=post_id)

    def forget(self, post_id: str) -> None:
        """The post has no buttons any more."""
        for token in [token for token, bound in self._bound.items() if bound.post_id == post_id]:
            del self._bound[token]

    def judge(self, press: Press) -> Verdict:
        """What a press is worth; changes nothing."""
        thread = Thread.at(f"{press.channel_id}/{press.root}")
        seal = seal_of(self._secret, thread, press.token)
        if not hmac.compare_digest(seal.encode(), press.seal.encode("utf-8", "replace")):
            return Verdict.FORGED
        bound = self._bound.get(press.token)
        if bound is None or bound.ends_at <= self._monotonic():
            return Verdict.STALE
        is_here = bound.address == thread.address and bound.post_id in ("", press.post_id)
        return Verdict.LIVE if is_here else Verdict.FORGED


def handed_on(press: Press, verdict: Verdict) -> str:
    """The token that the host gets to see.

    Of one that is too old it sees whose prompt it was and nothing that it could take for valid: the
    prompt is shown again with fresh buttons.
    """
    return press.token if verdict is Verdict.LIVE else f"{press.token}~old"
