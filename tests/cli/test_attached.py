"""`sessions attach` at a terminal, at a plain one, and where there is none."""

from __future__ import annotations

import pytest

from netclaw.wire.v1.common_pb2 import Output
from netclaw.wire.v1.gateway_pb2 import SendUserMessageRequest
from tests.cli.scripted_daemon import ScriptedDaemon, said
from tests.cli.terminal import ESCAPES, Terminal, visible
from tests.cli.test_errors import wait_for_call
from tests.cli.test_interactive import processing

pytestmark = pytest.mark.timeout(60)
WORDS = ["sessions", "attach", "notes"]


def play(daemon: ScriptedDaemon) -> None:
    """A turn with a tool, a title and a failure, and the next input waiting."""
    call = Output(type="tool_call", turn_id="t", tool_name="file_list", arguments="{}")
    result = Output(type="tool_result", turn_id="t", tool_name="file_list", outcome="Success")
    result.text, result.duration_ms = "a.txt", 30
    answer = said("the answer")(SendUserMessageRequest(), "input1")
    answer[-2].context_tokens = 2000
    daemon.publish(
        processing(),
        *(call, result, *answer),
        Output(type="title", text="Named"),
        Output(type="error", category="Timeout", text="too slow"),
        Output(type="processing", phase="processing", buffered_inputs=2),
    )


@pytest.mark.requirement("cli.attach")
@pytest.mark.requirement("operator.attach-view")
def test_attach_shows_the_session_at_work_and_leaves_a_clean_screen(
    daemon: ScriptedDaemon,
) -> None:
    daemon.row("notes")
    with Terminal(WORDS) as terminal:
        terminal.expect("Ready | notes | Ctrl-C leaves")
        wait_for_call(daemon, "Attach")
        play(daemon)
        terminal.expect("[error] Timeout: too slow")
        terminal.expect("Queued 2 | context 2.0k/8.0k (25 %) | Named | Ctrl-C leaves")
        terminal.expect(" s | Queued 2")
        terminal.interrupt()
        assert terminal.ended() == 0
        rows = visible(terminal.raw)
    assert [row for row in rows if row] == [
        "* file_list {}",
        "  ok (30 ms) a.txt",
        "the answer",
        rows[3],
        "[title] Named",
        "[error] Timeout: too slow",
    ]
    assert rows[3].endswith("s, 1 tool call, 7 in, 3 out")


@pytest.mark.requirement("operator.attach-view")
@pytest.mark.parametrize("words", [WORDS, ["chat", "--resume", "notes"]], ids=["attach", "chat"])
def test_a_daemon_that_came_back_is_asked_whether_the_session_works(
    daemon: ScriptedDaemon, words: list[str]
) -> None:
    row = daemon.row("notes")
    row.phase = "processing"
    with Terminal(words) as terminal:
        terminal.expect("Working")
        wait_for_call(daemon, "Attach")
        daemon.stop()
        terminal.expect("[connection] lost")
        row.phase = "ready"
        daemon.come_back()
        terminal.expect("[connection] back")
        terminal.expect("Ready")
        terminal.type("\x04") if words is not WORDS else terminal.interrupt()
        assert terminal.ended() == 0


@pytest.mark.requirement("operator.narrow")
def test_no_color_and_a_narrow_terminal_are_obeyed(daemon: ScriptedDaemon) -> None:
    daemon.row("notes")
    with Terminal(WORDS, columns=40, NO_COLOR="1") as terminal:
        terminal.expect("Ready | notes")
        wait_for_call(daemon, "Attach")
        play(daemon)
        terminal.expect(" | Queued 2")
        terminal.interrupt()
        assert terminal.ended() == 0
        escapes = set(ESCAPES.findall(terminal.raw))
    assert all(escape.endswith(("A", "J")) for escape in escapes), escapes


@pytest.mark.requirement("operator.narrow")
def test_a_dumb_terminal_is_told_of_phases_in_lines(daemon: ScriptedDaemon) -> None:
    daemon.row("notes")
    with Terminal(WORDS, TERM="dumb") as terminal:
        wait_for_call(daemon, "Attach")
        play(daemon)
        terminal.expect("[processing]")
        terminal.expect("the answer")
        terminal.expect("[title] Named")
        terminal.expect("[processing, 2 waiting]")
        terminal.interrupt()
        assert terminal.ended() == 0
        assert "\x1b" not in terminal.raw


@pytest.mark.requirement("operator.narrow")
@pytest.mark.usefixtures("daemon")
def test_a_conversation_without_colours_has_none() -> None:
    with Terminal(["chat", "--resume", "notes"], columns=60, NO_COLOR="1") as terminal:
        terminal.expect("Ready | notes | Ctrl-D leaves")
        terminal.type("hi\r")
        terminal.expect("hello from the script")
        terminal.type("\x04")
        assert terminal.ended() == 0
        coloured = [
            escape
            for escape in ESCAPES.findall(terminal.raw)
            if escape.endswith("m") and any(f"3{digit}" in escape for digit in "01234567")
        ]
    assert coloured == []
