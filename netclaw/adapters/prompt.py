"""One consent request and the post that shows it."""

from __future__ import annotations

import asyncio
import re
import secrets

from netclaw.adapters.bounded import bounded
from netclaw.adapters.driver import (
    Button,
    Clicked,
    Driver,
    Post,
    Received,
    RefusedFailure,
    Thread,
)
from netclaw.adapters.letters import Choice
from netclaw.adapters.prompt_text import DANGEROUS, choices_of, question, result
from netclaw.adapters.unfinished import Unfinished
from netclaw.wire.v1.gateway_pb2 import PendingApproval

_KEY = re.compile(r"p\.[0-9a-f]+\.[0-9]+")
_BETWEEN = "~"
_TOKEN_BYTES = 12


def key_of(approval: PendingApproval) -> str:
    """The key of a request's post: the same for every start, and never another request's."""
    return f"p.{approval.asked_at_ms:x}.{approval.position}"


def key_in(token: str) -> str:
    """The key of the prompt whose button carried a token; empty if none of ours did."""
    key = token.partition(_BETWEEN)[0]
    return key if _KEY.fullmatch(key) else ""


def may_answer(approval: PendingApproval, sender_id: str, boundary: str) -> bool:
    """Whether a person's answer can count; the daemon judges it once more (decision 48)."""
    requester = approval.requester
    if is_anybodys(approval):
        return True
    return (sender_id, boundary) == (requester.sender_id, requester.boundary)


def is_anybodys(approval: PendingApproval) -> bool:
    """Whether nobody in particular asked."""
    return not approval.requester.sender_id or approval.requester.principal == "automation"


class Prompt:
    """Where a request stands, as far as this process knows."""

    def __init__(
        self,
        approval: PendingApproval,
        *,
        may_be_posted: bool,
        unfinished: Unfinished | None = None,
    ) -> None:
        """`may_be_posted`: an earlier start or attempt may have shown it."""
        self._unfinished = unfinished or Unfinished()
        self.approval = approval
        self.key = key_of(approval)
        self.thread = Thread.at(approval.session_id)
        self.choices = choices_of(approval)
        self.post_id = ""
        self.tokens: dict[str, Choice] = {}
        self.shown_at_ms = 0
        self.given: Choice | None = None
        """The answer that the daemon has."""
        self.given_round = 0
        """The newest look at what is open when it was given."""
        self.is_listed = asyncio.Event()
        self.is_gone = asyncio.Event()
        """Not open any more; how it ended is asked of its session."""
        self._may_be_posted = may_be_posted

    @property
    def is_open(self) -> bool:
        """Whether it is shown and waits for an answer."""
        return bool(self.post_id) and self.given is None and not self.is_gone.is_set()

    def is_at(self, clicked: Clicked) -> bool:
        """Whether a button was pressed where this prompt is."""
        is_here = clicked.thread.address == self.thread.address
        return is_here and self.post_id in ("", clicked.post_id)

    def list(self) -> None:
        """It is open."""
        self.is_gone.clear()
        self.is_listed.set()

    def miss(self) -> None:
        """It is not open any more."""
        self.is_listed.clear()
        self.is_gone.set()

    async def show(self, driver: Driver, now_ms: int) -> None:
        """Post it, or find its post and give that fresh buttons; raises what the driver does."""
        self._unfinished.keep_prompt(self.key, self.approval)
        is_repeat, self._may_be_posted = self._may_be_posted, True
        *before, last = self._question(driver)
        for number, text in enumerate(before):
            post = Post(thread=self.thread, key=f"{self.key}.{number}", text=text)
            if not is_repeat or await self._find(driver, post.key) is None:
                await bounded(driver.post(post))
        # Known before anybody can press them.
        self.tokens = {self._new_token(): choice for choice in self.choices}
        buttons = self._buttons() if driver.abilities.has_buttons else ()
        found = self.post_id or (await self._find(driver, self.key) if is_repeat else None)
        self.shown_at_ms = self.approval.asked_at_ms if found else now_ms
        if found and await is_edited(driver, self.thread, found, last, buttons):
            self.post_id = found
            return
        post = Post(thread=self.thread, key=self.key, text=last, buttons=buttons)
        self.post_id = await bounded(driver.post(post))
        if is_repeat and driver.abilities.enforces_keys:
            # It may be the post of an earlier attempt, with buttons that nobody knows.
            await is_edited(driver, self.thread, self.post_id, last, buttons)

    def is_later_than(self, received: Received) -> bool:
        """Whether a letter was written before this was shown: it was meant for another one."""
        return 0 < received.at_ms < self.shown_at_ms

    async def close(self, driver: Driver, end: str) -> None:
        """Make the post its result; one that somebody deleted is left alone."""
        await self._close(driver, end)
        self._unfinished.drop(self.key)

    async def _close(self, driver: Driver, end: str) -> None:
        *_, last = self._question(driver)
        option = self.given.label if self.given else ""
        text = result(last, end, option, driver.abilities.text_limit)
        if not self.post_id and self._may_be_posted:
            self.post_id = await self._find(driver, self.key) or ""
        if not self.post_id:
            return
        if driver.abilities.has_edit:
            await is_edited(driver, self.thread, self.post_id, text, ())
            return
        post = Post(thread=self.thread, key=f"{self.key}.end", text=text)
        if await self._find(driver, post.key) is None:
            await bounded(driver.post(post))

    def _question(self, driver: Driver) -> tuple[str, ...]:
        abilities = driver.abilities
        return question(self.approval, abilities.text_limit, has_buttons=abilities.has_buttons)

    async def _find(self, driver: Driver, key: str) -> str | None:
        return await bounded(driver.find_post(self.thread, key))

    def _new_token(self) -> str:
        return f"{self.key}{_BETWEEN}{secrets.token_urlsafe(_TOKEN_BYTES)}"

    def _buttons(self) -> tuple[Button, ...]:
        return tuple(
            Button(token=token, label=choice.label, is_danger=choice.key in DANGEROUS)
            for token, choice in self.tokens.items()
        )


async def is_edited(
    driver: Driver, thread: Thread, post_id: str, text: str, buttons: tuple[Button, ...]
) -> bool:
    """Replace a post; False if it is gone, or may not be changed any more."""
    try:
        await bounded(driver.edit(thread, post_id, text, buttons))
    except RefusedFailure:
        return False
    return True
