"""`netclaw sessions attach` at a terminal: the conversation as it happens, a status line below."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from netclaw.cli.chat.footer import Footer
from netclaw.cli.chat.interrupts import POLL_S
from netclaw.cli.chat.screen import Screen, columns
from netclaw.cli.streams import write_out

if TYPE_CHECKING:
    from netclaw.cli.app import App
    from netclaw.cli.chat.feed import SessionFeed
    from netclaw.cli.chat.interrupts import Interrupts
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

    def tell(self, line: str) -> None:
        """A remark of this program, such as a lost connection."""
        self._screen.tell(line)

    def run(self, feed: SessionFeed, detail: SessionDetail, interrupts: Interrupts) -> None:
        """Show outputs until Ctrl-C."""
        self._screen.gauge.begin(detail)
        feed.on_again = self._screen.gauge.begin
        try:
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

    def _show(self, output: Output) -> None:
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
