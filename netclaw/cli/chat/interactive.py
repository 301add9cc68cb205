"""`netclaw chat` with a person at the terminal."""

from __future__ import annotations

import asyncio
import shlex
import sys
from contextlib import AbstractContextManager, nullcontext, suppress
from typing import TYPE_CHECKING

from prompt_toolkit import PromptSession
from prompt_toolkit.document import Document
from prompt_toolkit.filters import Condition
from prompt_toolkit.formatted_text import ANSI, FormattedText, merge_formatted_text
from prompt_toolkit.input.vt100 import Vt100Input
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.patch_stdout import patch_stdout
from prompt_toolkit.styles import Style

from netclaw.cli.app import App
from netclaw.cli.chat.deciding import HINT, Deciding, Hands
from netclaw.cli.chat.headless import check_text, local_sender_id
from netclaw.cli.chat.link import Link
from netclaw.cli.chat.screen import Screen
from netclaw.core.errors import InvalidArgumentError, NetclawError
from netclaw.core.ids import parse_session_id

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from prompt_toolkit.buffer import Buffer
    from prompt_toolkit.formatted_text import AnyFormattedText

    from netclaw.wire.v1.gateway_pb2 import SessionDetail

RECENT_ITEMS = 20
REFRESH_S = 0.5
CALM = {
    "bottom-toolbar": "noreverse ansibrightblack",
    "prompt": "ansicyan bold",
    "decision": "ansiyellow bold",
}
PLAIN = {"bottom-toolbar": "noreverse", "prompt": "bold", "decision": "bold"}
HELP_WORD = "/help"
QUIT_WORDS = ("/quit", "/exit")
"""Answered here: the model is never asked how to leave."""
ASKED_HERE = ("consent_request", "consent_update")
"""Not merely shown: the person here decides."""


def run_chat(app: App, *, resume: str, is_to_channel: bool) -> int:
    """Hold a conversation until Ctrl-D; returns the exit code."""
    if resume:
        parse_session_id(resume)
    if is_to_channel:
        raise InvalidArgumentError(
            "--to-channel sends single messages.", fix="Use it together with -p TEXT."
        )
    return asyncio.run(Conversation(app, resume).run())


class KeyInput(Vt100Input):
    """The keyboard, never given back to the terminal's line editing while output is written.

    There a Ctrl-C would be a signal and a Ctrl-D the end of input, just because a line of the
    answer happened to be printed at that moment.
    """

    def cooked_mode(self) -> AbstractContextManager[None]:
        """Stay as it is."""
        return nullcontext()


class Line:
    """The line of the prompt as text; what is set has the cursor at its end."""

    def __init__(self, buffer: Buffer) -> None:
        self._buffer = buffer

    @property
    def text(self) -> str:
        """What stands there."""
        return self._buffer.text

    @text.setter
    def text(self, text: str) -> None:
        self._buffer.document = Document(text)


class Conversation:
    """One person, one session."""

    def __init__(self, app: App, resume: str) -> None:
        from netclaw.wire.v1.common_pb2 import Sender

        self._app = app
        self._resume = resume
        self._screen = Screen(write=print, has_colours=app.has_colours())
        person = local_sender_id()
        sender = Sender(sender_id=person, source_kind="cli", authenticity="LocalProcess")
        self._link = Link(app.home, sender, self._screen.tell)
        self._prompt: PromptSession[str] = PromptSession(
            message=self._above_prompt,
            bottom_toolbar=self._below_prompt,
            key_bindings=self._keys(),
            input=KeyInput(sys.stdin),
            multiline=False,
            refresh_interval=REFRESH_S,
            style=Style.from_dict(CALM if app.has_colours() else PLAIN),
        )
        self._tasks: set[asyncio.Task[None]] = set()
        buffer = self._prompt.default_buffer
        self._deciding = Deciding(person, self._screen, Line(buffer), self._hands())
        buffer.on_text_changed += lambda _: self._deciding.typed()

    def _hands(self) -> Hands:
        return Hands(
            answer=self._link.answer,
            run=self._run,
            sleep=asyncio.sleep,
            redraw=self._prompt.app.invalidate,
            is_connected=lambda: self._link.is_connected,
        )

    def _run(self, work: Coroutine[None, None, None]) -> None:
        """Do something beside the conversation, at most until its end."""
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def run(self) -> int:
        """Connect, then read and show until the person leaves. Raises what ends it otherwise."""
        detail = await self._link.open(self._resume)
        self._screen.gauge.begin(detail)
        self._link.on_again = self._attached_again
        try:
            with patch_stdout(raw=True):
                self._screen.greet(self._link.session_id)
                if detail.row.turns:
                    self._screen.past(await self._link.recent(RECENT_ITEMS))
                if detail.open_approvals:
                    self._deciding.take(await self._link.open_questions())
                await self._converse()
        finally:
            await self._link.close()
        self._app.say(f"go on with: netclaw chat --resume {shlex.quote(self._link.session_id)}")
        return 0

    async def _converse(self) -> None:
        """Reading, watching and sending side by side; the first to end ends the conversation."""
        reading = asyncio.create_task(self._read())
        watching = asyncio.create_task(self._watch())
        sending = asyncio.create_task(self._link.deliver(self._admitted))
        running = {reading, watching, sending}
        try:
            done, _ = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in running | self._tasks:
                task.cancel()
            await asyncio.gather(*running, *self._tasks, return_exceptions=True)
        for task in done:
            task.result()

    def _attached_again(self, detail: SessionDetail) -> None:
        self._screen.gauge.begin(detail)
        self._deciding.again(detail.open_approvals)
        if not self._deciding.knows(detail.open_approvals):
            self._run(self._look_for_questions())

    async def _look_for_questions(self) -> None:
        with suppress(NetclawError):  # what keeps it from answering ends the stream, too
            self._deciding.take(await self._link.open_questions())

    async def _read(self) -> None:
        left = ""
        while True:
            try:
                text = await self._prompt.prompt_async(default=left)
            except EOFError:
                return
            left = ""
            if not text.strip():
                continue
            word = text.strip().casefold()
            if word in QUIT_WORDS:
                return
            if word == HELP_WORD:
                self._screen.help()
                continue
            kept = self._deciding.caught(text)
            if kept is not None:
                left = kept
                continue
            try:
                check_text(text)
            except NetclawError as error:
                self._screen.tell(f"[not sent] {error.sentence}")
                continue
            self._link.send(text)

    async def _watch(self) -> None:
        async for output in self._link.outputs():
            if output.type in ASKED_HERE:
                self._screen.gauge.feed(output)
            else:
                self._screen.show(output)
            self._deciding.feed(output)
            self._prompt.app.invalidate()

    def _admitted(self, notice: str) -> None:
        if notice:
            self._screen.tell(notice)

    def _above_prompt(self) -> AnyFormattedText:
        growing = self._screen.growing()
        parts: list[AnyFormattedText] = [ANSI(f"{growing}\n")] if growing else []
        question = self._deciding.holding
        mark = ("class:prompt", "> ") if question is None else ("class:decision", question.mark)
        return merge_formatted_text([*parts, FormattedText([mark])])

    def _below_prompt(self) -> AnyFormattedText:
        return self._screen.status(
            self._link.session_id,
            is_connected=self._link.is_connected,
            unsent=self._link.unsent,
            hint=HINT if self._deciding.holding is not None else "",
        )

    def _keys(self) -> KeyBindings:
        keys = KeyBindings()
        is_deciding = Condition(lambda: self._deciding.holding is not None)

        @keys.add("c-c")
        @keys.add("<sigint>")
        def stop(event: KeyPressEvent) -> None:
            if self._screen.is_busy or self._deciding.is_asking:
                self._run(self._stop_turn())
            elif event.current_buffer.text:
                event.current_buffer.reset()
            else:
                self._screen.tell("Ctrl-D leaves; the session stays")

        @keys.add("enter", filter=is_deciding)
        def reply(event: KeyPressEvent) -> None:
            text = event.current_buffer.text
            if text.startswith("/"):  # a command of this program or of the session
                event.current_buffer.validate_and_handle()
            else:
                self._deciding.reply(text)

        @keys.add("up", filter=is_deciding)
        def before(event: KeyPressEvent) -> None:
            del event
            self._deciding.step(-1)

        @keys.add("down", filter=is_deciding)
        def after(event: KeyPressEvent) -> None:
            del event
            self._deciding.step(1)

        @keys.add("escape", filter=is_deciding, eager=True)
        def refuse(event: KeyPressEvent) -> None:
            del event
            self._deciding.refuse()

        @keys.add("escape", "enter", filter=~is_deciding)
        def newline(event: KeyPressEvent) -> None:
            event.current_buffer.insert_text("\n")

        return keys

    async def _stop_turn(self) -> None:
        if not await self._link.stop_turn():
            self._screen.tell("no turn is running")
