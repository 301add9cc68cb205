"""Shows consent requests in their threads and takes the answers (reference "consent").

A request is one prompt in the thread of its session, a child run's in its parent's. The prompt's
key follows from the request, so that another start of this process finds it again; the tokens of
its buttons are random, good for one answer and known to this start alone. A person's answer is
durable before the token is used up, and the prompt becomes its result when the session has taken
the answer up. What ends a request elsewhere ends its prompt in the same way.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine

from netclaw.adapters.acl import Refusal, judge
from netclaw.adapters.bounded import bounded
from netclaw.adapters.consent_results import result_of
from netclaw.adapters.driver import (
    Clicked,
    FatalFailure,
    Received,
    RefusedFailure,
    Thread,
    TransientFailure,
)
from netclaw.adapters.letters import Choice, Unclear, read_reply
from netclaw.adapters.names import source_kind_of
from netclaw.adapters.notes import Notes
from netclaw.adapters.parts import HostContext
from netclaw.adapters.prompt import Prompt, is_anybodys, is_edited, key_in, key_of, may_answer
from netclaw.adapters.prompt_text import NOT_ONE, NOT_YOURS, STALE, asked_again, refusal_of
from netclaw.core.authority import Authenticity
from netclaw.core.errors import (
    DaemonDownError,
    DeniedByPolicyError,
    NetclawError,
    NotFoundError,
    NotRequesterError,
    UnauthenticatedError,
)
from netclaw.wire.v1.common_pb2 import Sender
from netclaw.wire.v1.gateway_pb2 import (
    AnswerApprovalRequest,
    ListApprovalsRequest,
    PendingApproval,
)

_log = logging.getLogger(__name__)

SIDE_BY_SIDE = 16
"""Prompts that are being posted at once."""
FIRST_DELAY_S = 1.0
LONGEST_DELAY_S = 60.0
CLOSING_ATTEMPTS = 10
REMEMBERED = 1000
"""Letters that are known again when they are delivered twice."""
UNSHOWN = "A consent request could not be shown and was refused: "


class ConsentPrompts:
    """The consent requests of one channel; implements `parts.Prompts`."""

    def __init__(
        self,
        context: HostContext,
        *,
        on_closed: Callable[[str], None] = lambda _: None,
        first_delay_s: float = FIRST_DELAY_S,
    ) -> None:
        """`on_closed` hears the address of a thread whose session may go on."""
        self._context = context
        self._on_closed = on_closed
        self._driver = context.driver
        self._link = context.link
        self._source = source_kind_of(context.config.name).value
        self._first_delay_s = first_delay_s
        self._started_at_ms = context.now_ms()
        self._prompts: dict[str, Prompt] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._posting = asyncio.Semaphore(SIDE_BY_SIDE)
        self._wake = asyncio.Event()
        self._is_known = asyncio.Event()
        """What is open was listed at least once."""
        self._round = 0
        self._notes = Notes(context.driver)
        self._letters: deque[str] = deque(maxlen=REMEMBERED)
        self._end: FatalFailure | NetclawError | None = None

    async def run(self) -> None:
        """Show what is open and end what is over, until cancelled; raises what makes it useless."""
        try:
            while self._end is None:
                self._wake.clear()
                timeout_s = await self._look_through()
                try:
                    async with asyncio.timeout(timeout_s):
                        await self._wake.wait()
                except TimeoutError:
                    continue
            raise self._end
        finally:
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

    def look(self) -> None:
        """List what is open again."""
        self._wake.set()

    # What is open ---------------------------------------------------------------------------

    async def _look_through(self) -> float | None:
        """Compare what is open with what is shown; in how many seconds to do it again."""
        self._round += 1
        try:
            listed = await self._list()
        except (DaemonDownError, UnauthenticatedError):
            raise
        except NetclawError as error:
            _log.warning("consent requests cannot be listed: %s", error.sentence)
            return self._first_delay_s
        for key, prompt in self._prompts.items():
            if key not in listed:
                prompt.miss()
            elif prompt.is_gone.is_set() or self._is_reopened(prompt):
                self._reopen(prompt)
        for key, approval in listed.items():
            if key not in self._prompts and self._has_turn(approval):
                self._begin(approval)
        for approval in self._context.unfinished.take_left(listed):
            self._begin(approval, is_left=True).miss()
        self._is_known.set()
        return None

    async def _list(self) -> dict[str, PendingApproval]:
        """Everything that is open and that somebody here may answer, by key, oldest first."""
        found: dict[str, PendingApproval] = {}
        request = ListApprovalsRequest()
        while True:
            page = await self._link.list_approvals(request)
            for approval in page.approvals:
                if approval.requester.source_kind == self._source or is_anybodys(approval):
                    found[key_of(approval)] = approval
            if not page.more or not page.approvals:
                return found
            request.after = page.approvals[-1].position

    def _is_reopened(self, prompt: Prompt) -> bool:
        """Whether it is open although it was answered: the session did not count the answer."""
        return prompt.given is not None and self._round > prompt.given_round

    def _reopen(self, prompt: Prompt) -> None:
        prompt.given = None
        prompt.list()
        self._start(self._shown(prompt), prompt.key)

    def _has_turn(self, approval: PendingApproval) -> bool:
        """Without buttons one request of a thread is asked at a time: a letter names no request."""
        return self._driver.abilities.has_buttons or not any(
            prompt.approval.session_id == approval.session_id for prompt in self._prompts.values()
        )

    def _begin(self, approval: PendingApproval, *, is_left: bool = False) -> Prompt:
        is_old = is_left or approval.asked_at_ms <= self._started_at_ms
        prompt = Prompt(approval, may_be_posted=is_old, unfinished=self._context.unfinished)
        prompt.list()
        self._prompts[prompt.key] = prompt
        self._start(self._live(prompt), prompt.key)
        return prompt

    def _start(self, work: Coroutine[None, None, None], key: str) -> None:
        task = asyncio.create_task(self._guarded(work), name=f"prompt {key}")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _guarded(self, work: Coroutine[None, None, None]) -> None:
        try:
            await work
        except (FatalFailure, NetclawError) as error:
            self._end = error
            self._wake.set()

    # One prompt -----------------------------------------------------------------------------

    async def _live(self, prompt: Prompt) -> None:
        """From the request to the result that its post shows."""
        try:
            await self._shown(prompt)
            end = None
            while end is None:
                await prompt.is_gone.wait()
                end = await self._end_of(prompt)
            await self._tried(prompt, lambda: prompt.close(self._driver, end), is_closing=True)
        finally:
            self._on_closed(prompt.thread.address)
            self._prompts.pop(prompt.key, None)
            self._wake.set()

    async def _shown(self, prompt: Prompt) -> None:
        """Show it; what cannot be shown is refused, the only refusal that nobody chose."""
        try:
            await self._tried(prompt, lambda: prompt.show(self._driver, self._context.now_ms()))
        except RefusedFailure as failure:
            _log.error("request %s was refused unseen: %s", prompt.key, failure.sentence)
            self._context.report_failure(UNSHOWN + failure.sentence)
            await self._refuse(prompt)

    async def _tried(
        self, prompt: Prompt, work: Callable[[], Awaitable[None]], *, is_closing: bool = False
    ) -> None:
        """Do it until it is done, or, unless that is what it is about, until the request is over.

        A result that cannot be shown is given up in time: by then a press is answered as stale.
        """
        delay_s, attempts = self._first_delay_s, 0
        while is_closing or not prompt.is_gone.is_set():
            attempts += 1
            try:
                async with self._posting:
                    await work()
            except TransientFailure as failure:
                _log.info("prompt %s again: %s", prompt.key, failure.sentence)
                self._context.report_failure(failure.sentence)
                wait_s = max(delay_s, failure.retry_after_s or 0.0)
            except RefusedFailure:
                if not is_closing:
                    raise
                return
            except (FatalFailure, NetclawError):
                raise
            except Exception:  # noqa: BLE001 - a driver's fault concerns this prompt alone
                _log.exception("prompt %s was not dealt with", prompt.key)
                wait_s = delay_s
            else:
                return
            if is_closing and attempts >= CLOSING_ATTEMPTS:
                return
            delay_s = min(delay_s * 2, LONGEST_DELAY_S)
            await asyncio.sleep(wait_s)

    async def _end_of(self, prompt: Prompt) -> str | None:
        """How it ended, as its session says; None if it is open again."""
        watching = asyncio.create_task(result_of(self._link, prompt.approval))
        listing = asyncio.create_task(prompt.is_listed.wait())
        try:
            await asyncio.wait((watching, listing), return_when=asyncio.FIRST_COMPLETED)
            return watching.result() if watching.done() else None
        finally:
            watching.cancel()
            listing.cancel()
            await asyncio.gather(watching, listing, return_exceptions=True)

    async def _refuse(self, prompt: Prompt) -> None:
        requester = prompt.approval.requester
        key = refusal_of(prompt.approval)
        choice = next((item for item in prompt.choices if item.key == key), None)
        if choice is None:
            return
        sender = self._sender(requester.sender_id, requester.boundary)
        if not is_anybodys(prompt.approval):
            sender.principal = requester.principal
        while not prompt.is_gone.is_set():
            try:
                await self._give(prompt, choice, sender)
            except (NotFoundError, NotRequesterError, DeniedByPolicyError) as error:
                _log.info("request %s is not ours to refuse: %s", prompt.key, error.sentence)
                return
            except (DaemonDownError, UnauthenticatedError):
                raise
            except NetclawError as error:
                _log.warning("request %s was not refused yet: %s", prompt.key, error.sentence)
                await asyncio.sleep(self._first_delay_s)
            else:
                return

    # Answers --------------------------------------------------------------------------------

    async def click(self, clicked: Clicked) -> None:
        """Answer for whoever pressed; the token stays good until the daemon has the answer."""
        sender = self._answerer(clicked.thread, clicked.sender_id)
        if sender is None:
            return
        found = self._by_token(clicked.token)
        if found is None:
            await self._stale(clicked)
            return
        prompt, choice = found
        if not prompt.is_at(clicked):
            _log.warning("a button of prompt %s was pressed elsewhere", prompt.key)
            return
        await self._answer(prompt, choice, sender)

    async def take_letter(self, received: Received) -> bool:
        """See `parts.Prompts`."""
        if received.event_id in self._letters:
            return True
        prompts = [
            prompt
            for prompt in self._prompts.values()
            if prompt.is_open
            and prompt.thread.address == received.thread.address
            and may_answer(prompt.approval, received.sender_id, received.thread.boundary)
        ]
        sender = self._answerer(received.thread, received.sender_id)
        if not prompts or sender is None or received.attachments:
            return False
        prompt = prompts[0]
        text = received.text.replace(received.mention, " ") if received.mention else received.text
        reply = read_reply(text, prompt.choices)
        if reply is None:
            return False
        if len(prompts) > 1:
            await self._notes.say(prompt.thread, NOT_ONE)
        elif isinstance(reply, Unclear) or prompt.is_later_than(received):
            await self._notes.say(prompt.thread, asked_again(prompt.approval))
        elif not await self._answer(prompt, reply, sender):
            await self._notes.say(prompt.thread, STALE)
        self._letters.append(received.event_id)
        return True

    def _by_token(self, token: str) -> tuple[Prompt, Choice] | None:
        prompt = self._prompts.get(key_in(token))
        choice = prompt.tokens.get(token) if prompt is not None else None
        return None if prompt is None or choice is None else (prompt, choice)

    def _answerer(self, thread: Thread, sender_id: str) -> Sender | None:
        """Whoever answers, as the access list knows them; None for whom it does not serve."""
        asked = Received(event_id="", thread=thread, sender_id=sender_id, text="", at_ms=0)
        standing = judge(self._context.config, asked)
        if isinstance(standing, Refusal):
            _log.info("an answer was not taken: %s", standing.value)
            return None
        sender = self._sender(sender_id, thread.boundary)
        sender.principal = standing.principal.value
        return sender

    def _sender(self, sender_id: str, boundary: str) -> Sender:
        return Sender(
            sender_id=sender_id,
            source_kind=self._source,
            authenticity=Authenticity.VERIFIED.value,
            boundary=boundary,
        )

    async def _answer(self, prompt: Prompt, choice: Choice, sender: Sender) -> bool:
        """Give an answer; False if the request was not open any more."""
        if not may_answer(prompt.approval, sender.sender_id, sender.boundary):
            await self._notes.say_once(prompt.thread, f"{prompt.key}.{sender.sender_id}", NOT_YOURS)
            return True
        try:
            await self._give(prompt, choice, sender)
        except NotFoundError:
            self.look()
            return False
        except (NotRequesterError, DeniedByPolicyError):
            await self._notes.say_once(prompt.thread, f"{prompt.key}.{sender.sender_id}", NOT_YOURS)
        return True

    async def _give(self, prompt: Prompt, choice: Choice, sender: Sender) -> None:
        approval = prompt.approval
        answered = await self._link.answer_approval(
            AnswerApprovalRequest(
                session_id=approval.session_id,
                call_id=approval.call_id,
                option=choice.key,
                sender=sender,
                request_seq=approval.seq,
            )
        )
        prompt.given, prompt.given_round = choice, self._round
        prompt.tokens = {}
        self.look()
        if answered.notice:
            await self._notes.say(prompt.thread, answered.notice)

    async def _stale(self, clicked: Clicked) -> None:
        """A button that answers nothing any more: of an older start, or of what is over."""
        key = key_in(clicked.token)
        await self._is_known.wait()
        prompt = self._prompts.get(key)
        if prompt is not None:
            if prompt.is_open and prompt.is_at(clicked):
                await prompt.show(self._driver, prompt.shown_at_ms)
            return
        if not key:
            _log.warning("a button that is not ours was pressed")
            return
        found = await bounded(self._driver.find_post(clicked.thread, key))
        if found == clicked.post_id and self._driver.abilities.has_edit:
            # Gone, or not to be changed any more: whoever pressed is told all the same.
            if await is_edited(self._driver, clicked.thread, found, STALE, ()):
                return
            _log.info("prompt %s is left as it is", key)
        if found in (None, clicked.post_id):
            await self._notes.say_once(clicked.thread, f"{key}.stale", STALE)
