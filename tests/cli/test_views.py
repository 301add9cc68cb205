"""What a person sees of a session's life: tools, compaction, titles, consent, children, ends."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import pytest

from netclaw.cli.chat.footer import Footer
from netclaw.cli.chat.gauge import Gauge, fit
from netclaw.cli.chat.screen import Screen
from netclaw.cli.words import elapsed, took
from netclaw.wire.v1.common_pb2 import ConsentOption, Output
from netclaw.wire.v1.gateway_pb2 import SessionDetail, SessionRow
from tests.cli.terminal import visible

COLOURS = re.compile(r"\x1b\[[0-9;]*m")


@dataclass
class View:
    """A screen of 80 columns that writes into a list, with a clock of its own."""

    now: float = 1000.0
    lines: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.screen = Screen(write=self.lines.append, gauge=Gauge(clock=lambda: self.now))

    def show(self, *outputs: Output) -> list[str]:
        """The lines that these outputs add, without colours."""
        before = len(self.lines)
        for output in outputs:
            self.screen.show(output)
        return COLOURS.sub("", "\n".join(self.lines[before:])).splitlines()

    def status(self, *, is_connected: bool = True, unsent: int = 0) -> str:
        """The status line."""
        return self.screen.status("notes", is_connected=is_connected, unsent=unsent)


@pytest.fixture
def view(monkeypatch: pytest.MonkeyPatch) -> View:
    """A fresh view."""
    monkeypatch.setenv("COLUMNS", "80")
    return View()


def processing(phase: str = "processing", waiting: int = 0) -> Output:
    """The phase changed."""
    return Output(type="processing", phase=phase, buffered_inputs=waiting)


def call(name: str, arguments: str = "{}") -> Output:
    """A tool is called."""
    return Output(type="tool_call", tool_name=name, arguments=arguments)


def result(name: str, text: str, *, outcome: str = "Success", ms: int = 0) -> Output:
    """A tool has answered."""
    return Output(type="tool_result", tool_name=name, outcome=outcome, text=text, duration_ms=ms)


def usage(*, context: int = 0, cached: int = 0) -> Output:
    """What the turn used so far."""
    output = Output(type="usage", context_tokens=context, context_window=32_768)
    output.usage.input_tokens, output.usage.output_tokens = 1500, 40
    output.usage.cached_input_tokens = cached
    return output


@pytest.mark.requirement("operator.view-tools")
def test_a_tool_line_says_outcome_and_duration(view: View) -> None:
    assert view.show(call("shell_execute", '{"command": "ls"}')) == [
        '* shell_execute {"command": "ls"}'
    ]
    assert view.show(result("shell_execute", "a\nb\nc\nd\ne\nf\n", ms=412)) == [
        *("  ok (0.4 s) a", "     b", "     c", "     d", "     ... 2 more lines")
    ]
    view.show(call("file_read"))
    late = result("file_read", "No answer in 90 s.", outcome="Timeout", ms=90_000)
    assert view.show(late) == ["  failed (Timeout, 1 min 30 s) No answer in 90 s."]
    view.show(call("x"))
    assert view.show(result("x", "")) == ["  ok "]


@pytest.mark.requirement("operator.view-tools")
def test_results_of_calls_side_by_side_say_whose_they_are(view: View) -> None:
    view.show(call("file_read"), call("file_list"))
    assert view.show(result("file_list", "a.txt", ms=3)) == ["  ok (file_list, 3 ms) a.txt"]
    assert view.show(result("file_read", "text")) == ["  ok text"]


@pytest.mark.requirement("operator.narrow")
def test_a_tool_line_fits_one_row(view: View, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    shown = view.show(call("shell_execute", "x" * 300), result("shell_execute", "y" * 300, ms=1200))
    assert [len(line) <= 40 for line in shown] == [True, True], shown


@pytest.mark.requirement("operator.view-ends")
def test_the_end_of_a_turn_says_what_it_took(view: View) -> None:
    view.show(processing(), call("x"), result("x", "y"), usage(context=900, cached=812))
    view.now += 75
    end = Output(type="turn_completed", outcome="completed")
    assert view.show(end) == ["1 min 15 s, 1 tool call, 1,500 in (812 cached), 40 out"]
    view.show(processing("ready"), processing())
    view.now += 2
    assert view.show(Output(type="turn_completed", outcome="stopped")) == ["[stopped] 2.0 s"]
    view.now += 1
    guard = Output(type="turn_completed", outcome="guard-ended")
    assert view.show(guard)[0].startswith("[ended] the model repeated itself or kept failing")


@pytest.mark.requirement("operator.view-ends")
def test_each_turn_is_told_what_it_took_itself(view: View) -> None:
    def of(turn_id: str, output: Output) -> Output:
        output.turn_id = turn_id
        return output

    def end(turn_id: str) -> Output:
        return Output(type="turn_completed", outcome="completed", turn_id=turn_id)

    view.show(processing(), of("1", call("x")), of("1", result("x", "y")))
    view.now += 3
    assert view.show(end("slash")) == []  # answered between two rounds of the first
    view.show(of("1", usage()))
    view.now += 1
    assert view.show(end("1")) == ["4.0 s, 1 tool call, 1,500 in, 40 out"]
    view.now += 2  # the next one was waiting: the session is at work without a pause
    assert view.show(of("2", usage()), end("2")) == ["2.0 s, 1,500 in, 40 out"]
    view.show(processing("ready"))
    view.now += 60
    assert view.show(end("slash")) == []


@pytest.mark.requirement("operator.view-notices")
def test_a_title_that_is_taken_away_is_no_line(view: View) -> None:
    assert view.show(Output(type="title", text="")) == []
    assert "notes" in view.status()


@pytest.mark.requirement("operator.view-ends")
def test_lines_of_an_answer_stay_lines(view: View) -> None:
    shown = view.show(Output(type="text", text="Turns: 2\nModel: m"))
    assert [line.rstrip() for line in shown] == ["Turns: 2", "Model: m"]


@pytest.mark.requirement("operator.view-ends")
def test_a_failure_says_category_sentence_and_reference(view: View) -> None:
    error = Output(type="error", category="Timeout", text="Too slow.", reference="r1")
    assert view.show(error) == ["[error] Timeout: Too slow. (reference r1)"]


@pytest.mark.requirement("operator.view-notices")
def test_notices_compaction_title_and_files_are_lines(view: View) -> None:
    stopping = Output(type="notice", outcome="restarting", text="netclaw is restarting.")
    assert view.show(stopping) == ["[notice] netclaw is restarting."]
    compaction = Output(type="compaction", tokens_before=25_000, tokens_after=900)
    assert view.show(compaction) == ["[compaction] 25,000 -> 900 tokens, the newest messages stay"]
    assert view.show(Output(type="title", text="Disk\x1b[31m")) == ["[title] Disk\ufffd[31m"]
    retry = Output(type="retry", text="The model's service is busy.", duration_ms=2000)
    assert view.show(retry) == ["[retry] The model's service is busy. (again in 2.0 s)"]
    assert view.show(Output(type="file", path="/a")) == ["[file] /a"]
    assert view.show(Output(type="something_new")) == []


@pytest.mark.requirement("operator.view-consent")
def test_a_consent_request_shows_what_would_run_and_what_can_be_answered(view: View) -> None:
    request = Output(
        type="consent_request",
        call_id="c1",
        tool_name="shell_execute",
        text="git push origin main",
        candidates=["git push"],
        options=[
            ConsentOption(key="approve_once", label="Once", effect="approve"),
            ConsentOption(key="deny", label="Deny", effect="refuse"),
        ],
        path="/home/anna/project",
        sender="anna",
    )
    assert view.show(request) == [
        "[consent] shell_execute asks for a decision:",
        "    git push origin main",
        "  in: /home/anna/project",
        "  not allowed yet: git push",
        "  asked for: anna",
        "  approve_once  Once",
        "  deny          Deny",
        "  answer with: netclaw approvals answer c1 KEY",
    ]
    assert view.status().startswith("Decision needed | ")
    over = Output(type="consent_update", call_id="c1", outcome="approved", sender="anna")
    assert view.show(over) == ["[consent] allowed by anna"]
    assert view.status().startswith("Ready | ")


@pytest.mark.requirement("operator.view-consent")
def test_the_end_of_a_turn_closes_its_own_requests_and_no_child_runs(view: View) -> None:
    view.show(Output(type="consent_request", call_id="c1", turn_id="t1"))
    view.show(Output(type="consent_request", call_id="c2", turn_id="r-t1", run_id="r1"))
    view.show(Output(type="turn_completed", turn_id="t1", open_child_runs=["r1"]))
    assert view.status().startswith("Decision needed | ")
    view.show(Output(type="consent_update", call_id="c2", outcome="withdrawn", run_id="r1"))
    assert view.status().startswith("Ready | ")


@pytest.mark.requirement("operator.view-children")
def test_child_runs_are_told_and_counted(view: View) -> None:
    running = Output(type="child", run_id="r1", agent="researcher", outcome="Running")
    assert view.show(running) == ["[sub-agent] researcher: Running"]
    assert view.status().startswith("Ready | Sub-agents 1 | ")
    ended = Output(
        type="child",
        run_id="r1",
        agent="researcher",
        outcome="Failed",
        text="timeout",
        path="/r.md",
    )
    assert view.show(ended) == ["[sub-agent] researcher: Failed (timeout), see /r.md"]
    view.show(Output(type="turn_completed", outcome="completed"))
    assert "Sub-agents" not in view.status(), "a turn lists the runs that are open"


@pytest.mark.requirement("operator.status-line")
def test_the_status_line_says_phase_time_queue_context_and_cache(view: View) -> None:
    assert view.status() == "Ready | notes | Ctrl-D leaves"
    view.show(processing(waiting=2))
    assert view.status(unsent=1) == "Working | Queued 3 | notes | Ctrl-C stops the turn"
    view.now += 12.7
    view.show(usage(context=12_400, cached=8100), Output(type="title", text="My notes\x1b[31m"))
    line = "Working 12 s | Queued 2 | context 12.4k/32.8k (38 %) | cached 8.1k | My notes\ufffd[31m"
    monkey_wide = view.screen.gauge.line(
        "notes", is_connected=True, unsent=0, hint="Ctrl-C stops the turn", columns=200
    )
    assert monkey_wide == f"{line} | Ctrl-C stops the turn"
    view.show(processing("compacting"))
    assert view.status().startswith("Compacting 12 s | "), "the turn's time, not the phase's"
    view.show(Output(type="compaction", tokens_before=12_400, tokens_after=1000))
    assert "context 1.0k/32.8k (3 %)" in view.status()
    view.show(processing("ready"))
    assert view.status().startswith("Ready | context")
    assert view.status(is_connected=False, unsent=1).startswith("Disconnected | Queued 1 | ")
    view.show(processing("passivating"))
    assert view.status().startswith("Winding down | ")
    view.now += 11
    assert view.status().startswith("Ready | "), "its process has ended by now"


@pytest.mark.requirement("operator.status-line")
@pytest.mark.parametrize(
    ("kind", "word"),
    [("recovering", "Recovering"), ("quarantined", "Quarantined"), ("stopped", "Ready")],
)
def test_a_process_that_died_at_work_works_no_more(view: View, kind: str, word: str) -> None:
    view.show(processing(), Output(type="notice", outcome="compaction", text="No notes."))
    assert view.status().startswith("Working | ")
    view.show(Output(type="notice", outcome=kind, text="It ended."))
    assert view.status().startswith(f"{word} | ")


@pytest.mark.requirement("operator.status-line")
def test_thinking_is_told_from_working(view: View) -> None:
    view.show(processing(), Output(type="thinking_delta", text="hm"))
    assert view.status().startswith("Thinking | ")
    view.show(Output(type="text_delta", text="So"))
    assert view.status().startswith("Working | ")


@pytest.mark.requirement("operator.status-line")
def test_the_status_line_begins_with_what_the_daemon_knows(view: View) -> None:
    row = SessionRow(phase="quarantined", title="Notes", pending_inputs=3)
    detail = SessionDetail(row=row, last_input_tokens=500, context_window=1000)
    view.screen.gauge.begin(detail)
    assert view.status() == (
        "Quarantined | Queued 3 | context 500/1.0k (50 %) | Notes | Ctrl-D leaves"
    )


def test_times_in_words() -> None:
    assert [took(s) for s in (0.03, 0.42, 12.7, 90, 3700)] == [
        *("30 ms", "0.4 s", "12 s", "1 min 30 s", "1 h 1 min")
    ]
    assert [elapsed(s) for s in (1.9, 61)] == ["1 s", "1 min 1 s"]


PARTS = [
    "Working 5 s",
    "Queued 2",
    "",
    "context 9k/32k (28 %)",
    "cached 8k",
    "A long title",
    "hint",
]


@pytest.mark.requirement("operator.narrow")
@pytest.mark.parametrize(
    ("columns", "line"),
    [
        (99, "Working 5 s | Queued 2 | context 9k/32k (28 %) | cached 8k | A long title | hint"),
        (72, "Working 5 s | Queued 2 | context 9k/32k (28 %) | A long title | hint"),
        (62, "Working 5 s | Queued 2 | context 9k/32k (28 %) | A long title"),
        (50, "Working 5 s | Queued 2 | context 9k/32k (28 %)"),
        (30, "Working 5 s | Queued 2"),
        (12, "Working 5 s"),
        (4, "Work"),
    ],
)
def test_a_narrow_terminal_is_told_what_matters_most(columns: int, line: str) -> None:
    assert fit(list(PARTS), columns) == line


@pytest.mark.requirement("operator.narrow")
def test_a_long_title_is_cut_before_it_is_left_out() -> None:
    parts = ["Ready", "", "", "context 9k/32k (28 %)", "", "A title that goes on and on", ""]
    assert fit(parts, 50) == "Ready | context 9k/32k (28 %) | A title that goes\u2026"


@pytest.mark.requirement("operator.narrow")
def test_without_colours_there_is_no_escape_at_all(view: View) -> None:
    view.screen.has_colours = False
    view.screen.greet("notes")
    view.screen.help()
    view.show(
        *(processing(), call("x"), result("x", "bad", outcome="Failure"), usage(context=5)),
        Output(type="text", text="# Head\n\n**bold** and `code`", turn_id="t"),
        Output(type="error", text="broken"),
        Output(type="turn_completed", outcome="stopped"),
    )
    assert "\x1b" not in "".join(view.lines)


def test_the_footer_is_replaced_in_place_and_leaves_nothing() -> None:
    written: list[str] = []
    footer = Footer(written.append, lambda: 20, lambda text: f"\x1b[2m{text}\x1b[0m")
    footer.draw(["growing text that is far too long"], "Working")
    assert visible("".join(written)) == ["growing text that i", "Working"]
    footer.above("a line that stays")
    footer.draw(["one", "two"], "Working 1 s")
    once = len(written)
    footer.draw(["one", "two"], "Working 1 s")
    assert len(written) == once, "what did not change is not written again"
    assert visible("".join(written)) == ["a line that stays", "one", "two", "Working 1 s"]
    footer.erase()
    footer.erase()
    assert visible("".join(written)) == ["a line that stays", ""]


@pytest.mark.requirement("jobs.cli")
def test_background_jobs_are_told(view: View) -> None:
    running = Output(type="job", job_id="j1", outcome="Running", text="make " + "x" * 90)
    (line,) = view.show(running)
    assert line.startswith("[job] j1 Running: make xxx")
    assert len(line) < 90
    failed = Output(type="job", job_id="j1", outcome="Failed", text="make", exit_code=2)
    assert view.show(failed) == ["[job] j1 Failed (2): make"]
    done = Output(type="job", job_id="j1", outcome="Completed", text="make", exit_code=0)
    assert view.show(done) == ["[job] j1 Completed: make"]
