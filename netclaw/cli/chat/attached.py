"""`netclaw sessions attach` at a terminal: the conversation as it happens, a status line below."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from netclaw.cli.chat.footer import Footer
from netclaw.cli.chat.interrupts import POLL_S
from netclaw.cli.chat.questions import question_in
from netclaw.cli.chat.screen import Screen, columns
from netclaw.cli.streams import write_out

if TYPE_CHECKING:
    from collections.abc import Iterator

    from netclaw.cli.app import App
    from netclaw.cli.chat.feed import SessionFeed
    from netclaw.cli.chat.interrupts import Interrupts
    from netclaw.cli.chat.questions import Question
    from netclaw.cli.client import DaemonClient
    from netclaw.wire.v1.common_pb2 import Output
    from netclaw.wire.v1.gateway_pb2 import SessionDetail

DRAW_EVERY_S = 0.05
"""A burst of outputs draws the rows below no more often than that."""
HINT = "Ctrl-C leaves, the session stays"


class AttachedView:
    """Shows one session to somebody who only watches."""

    def __init__(self, app: App, session_id: str) -> None:
        self._session_id = session_id
        self._screen = Screen(write=self._write, has_colours=app.has_colours())
        # A terminal that cannot move its cursor is told of phases line by line.
        has_cursor = app.environ.get("TERM") != "dumb"
        self._footer = Footer(write_out, columns, self._screen.dim) if has_cursor else None
        self._drawn_at = 0.0
        self._listed: set[tuple[str, int]] = set()
        """Consent requests that a list showed; the stream may bring them once more."""

    def tell(self, line: str) -> None:
        """A remark of this program, such as a lost connection."""
        self._screen.tell(line)

    def run(self, feed: SessionFeed, detail: SessionDetail, interrupts: Interrupts) -> None:
        """Show outputs until Ctrl-C."""
        feed.on_again = lambda found: self._begin(feed, found)
        try:
            self._begin(feed, detail)
            self._draw()
            for output in feed.watch(lambda: POLL_S):
                if interrupts.count:
                    return
                if output is not None:
                    self._show(output)
                if output is None or time.monotonic() - self._drawn_at >= DRAW_EVERY_S:
                    self._draw()
        except KeyboardInterrupt:
            return
        finally:
            self._screen.settle()
            if self._footer is not None:
                self._footer.erase()

    def _begin(self, feed: SessionFeed, detail: SessionDetail) -> None:
        """Take over what the session is like now; what waits for a decision is shown."""
        self._screen.gauge.begin(detail)
        self._listed.clear()
        if detail.open_approvals:
            for question in open_questions(feed.client, self._session_id):
                self._listed.add((question.call_id, question.seq))
                self._screen.question(question)

    def _show(self, output: Output) -> None:
        if (output.call_id, output.seq) in self._listed and output.type == "consent_request":
            return
        self._screen.show(output)
        if self._footer is None and output.type == "processing":
            queued = f", {output.buffered_inputs} waiting" if output.buffered_inputs else ""
            self._screen.tell(f"[{output.phase}{queued}]")

    def _write(self, line: str) -> None:
        if self._footer is None:
            write_out(line + "\n")
        else:
            self._footer.above(line)

    def _draw(self) -> None:
        if self._footer is None:
            return
        self._drawn_at = time.monotonic()
        status = self._screen.status(self._session_id, hint=HINT)
        self._footer.draw(self._screen.growing().splitlines(), status)


def open_questions(client: DaemonClient, session_id: str) -> Iterator[Question]:
    """The consent requests that are open in a session, the oldest first."""
    from netclaw.wire.v1.gateway_pb2 import ListApprovalsRequest

    request = ListApprovalsRequest(session_id=session_id)
    while True:
        page = client.call(client.gateway.ListApprovals, request)
        yield from map(question_in, page.approvals)
        if not page.more:
            return
        request.after = page.approvals[-1].position
