"""How `chat -p` ends: complete, failed, stopped, by the guard, by Ctrl-C, after its sub-agents."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator

import pytest

from netclaw.wire.v1.common_pb2 import Output
from netclaw.wire.v1.gateway_pb2 import (
    GetLedgerResponse,
    LedgerEntry,
    SendUserMessageRequest,
    SessionDetail,
)
from tests.cli.runner import Cli
from tests.cli.scripted_daemon import ScriptedDaemon, completed, said

ANY = SendUserMessageRequest()


@pytest.fixture(autouse=True)
def quick_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Looks come after tenths of their seconds."""
    monkeypatch.setattr("netclaw.cli.chat.lookout.LOOK_EVERY_S", 0.2)
    monkeypatch.setattr("netclaw.cli.chat.lookout.LOOK_SOON_S", 0.05)
    monkeypatch.setattr("netclaw.cli.chat.headless.POLL_S", 0.02)


def turn(text: str, name: str, *inputs: str, runs: tuple[str, ...] = (), seq: int) -> list[Output]:
    """A turn that answers and leaves these child runs open."""
    return [
        Output(type="text", turn_id=name, text=text, seq=seq),
        Output(
            type="turn_completed",
            turn_id=name,
            input_ids=inputs,
            outcome="completed",
            open_child_runs=runs,
            seq=seq,
        ),
    ]


def script_of(*parts: Callable[[str], list[Output]]) -> Callable[..., list[Output]]:
    """A script that plays parts one after another, each made of the input's id."""
    return lambda _request, input_id: [output for part in parts for output in part(input_id)]


def known(daemon: ScriptedDaemon, outcome: str, *, runs: tuple[str, ...] = ()) -> None:
    """What the daemon says when it is asked for the message and its session."""
    entry = LedgerEntry(input_id="input1", turn_id="turn1", outcome=outcome, seq=10)
    daemon.replies["GetLedger"] = GetLedgerResponse(entries=[entry])
    daemon.replies["GetSession"] = SessionDetail(open_child_runs=runs)


@pytest.mark.requirement("operator.headless-exit")
def test_a_turn_that_the_loop_guard_ended_is_an_answer(cli: Cli, daemon: ScriptedDaemon) -> None:
    daemon.script = lambda _request, input_id: [
        Output(type="text", turn_id="turn1", text="as far as I got", seq=11),
        completed(input_id, outcome="guard-ended"),
    ]
    result = cli.ok("chat", "-p", "hi", "--json")
    assert (result.json["outcome"], result.json["response"]) == ("guard-ended", "as far as I got")
    assert "[notice] the turn was ended: the model repeated itself" in result.err


@pytest.mark.requirement("operator.headless-exit")
def test_a_turn_that_somebody_stopped_is_a_failure(cli: Cli, daemon: ScriptedDaemon) -> None:
    daemon.script = lambda _request, input_id: [completed(input_id, outcome="stopped")]
    result = cli("chat", "-p", "hi", "--json")
    assert (result.code, result.json["outcome"]) == (1, "stopped")
    assert result.json["error"]["category"] == "Interrupted"


@pytest.mark.requirement("operator.headless-exit")
def test_a_turn_that_a_restart_ended_says_so(cli: Cli, daemon: ScriptedDaemon) -> None:
    sentence = "netclaw is restarting; the work on this message was stopped."
    daemon.script = lambda _request, input_id: [
        Output(type="notice", outcome="restarting", text=sentence),
        completed(input_id, outcome=""),
    ]
    result = cli("chat", "-p", "hi", "--json")
    assert result.code == 1
    assert result.json["error"]["category"] == "Interrupted"
    assert result.json["error"]["message"] == sentence


@pytest.mark.requirement("operator.headless-notice")
@pytest.mark.parametrize(("kind", "code"), [("stopped", "interrupted"), ("quarantined",) * 2])
def test_a_notice_that_names_the_message_ends_the_wait(
    cli: Cli, daemon: ScriptedDaemon, kind: str, code: str
) -> None:
    daemon.script = lambda _request, input_id: [
        Output(type="notice", outcome=kind, text="For others.", input_ids=["other"]),
        Output(type="notice", outcome="recovering", text="Ours goes on.", input_ids=[input_id]),
        Output(type="notice", outcome=kind, text="Kept, not run.", input_ids=[input_id]),
    ]
    result = cli("chat", "-p", "hi", "--resume", "notes", "--json")
    error = result.json["error"]
    assert (result.code, error["code"], error["message"]) == (1, code, "Kept, not run.")
    assert "netclaw sessions restart notes" in error["fix"]
    assert daemon.requests("GetLedger") == [], "nothing had to be looked up"


@pytest.mark.requirement("cli.chat-child-runs")
@pytest.mark.parametrize("flags", [[], ["--json"]])
def test_the_answer_is_that_of_the_turn_that_reports_no_open_run(
    cli: Cli, daemon: ScriptedDaemon, flags: list[str]
) -> None:
    daemon.script = script_of(
        lambda mine: turn("I asked two.", "a", mine, runs=("r1", "r2"), seq=11),
        lambda _: turn("Somebody else's.", "x", "other", runs=("r1", "r2"), seq=12),
        lambda _: turn("One says yes.", "b", "child1", runs=("r2", "r3"), seq=13),
        lambda _: turn("Again somebody else's.", "y", "other", runs=("r2", "r3"), seq=14),
        lambda _: turn("Both say yes.", "c", "child2", runs=("r3",), seq=15),
        lambda _: turn("All say yes.", "d", "child3", seq=16),
    )
    result = cli.ok("chat", "-p", "hi", *flags)
    if flags:
        assert (result.json["turnId"], result.json["response"]) == ("a", "All say yes.")
    else:
        assert result.out == "I asked two.\nOne says yes.\nBoth say yes.\nAll say yes.\n"


@pytest.mark.requirement("cli.chat-child-runs")
def test_a_failed_follow_up_closes_its_run_and_fails_the_whole(
    cli: Cli, daemon: ScriptedDaemon
) -> None:
    daemon.script = script_of(
        lambda mine: turn("I asked someone.", "a", mine, runs=("r1",), seq=11),
        lambda _: [
            Output(type="error", turn_id="b", category="Timeout", text="Too slow.", seq=12),
            completed("child1", turn="b", outcome="", seq=12),
        ],
    )
    result = cli("chat", "-p", "hi", "--json")
    assert (result.code, result.json["error"]["category"]) == (1, "Timeout")
    assert result.json["response"] == "I asked someone."


@pytest.mark.requirement("cli.chat-child-runs")
def test_a_failed_turn_waits_for_the_runs_it_reports(cli: Cli, daemon: ScriptedDaemon) -> None:
    failed = completed("child1", turn="b", outcome="", seq=12)
    failed.open_child_runs.append("r2")
    daemon.script = script_of(
        lambda mine: turn("I asked two.", "a", mine, runs=("r1", "r2"), seq=11),
        lambda _: [Output(type="error", turn_id="b", category="Timeout", text="Slow."), failed],
        lambda _: turn("The other says yes.", "c", "child2", seq=13),
    )
    assert cli.ok("chat", "-p", "hi", "--json").json["response"] == "The other says yes."


@pytest.mark.requirement("cli.chat-child-runs")
def test_results_that_come_while_the_run_waits_are_told(cli: Cli, daemon: ScriptedDaemon) -> None:
    known(daemon, "completed", runs=("r1",))
    daemon.script = script_of(lambda mine: turn("I asked.", "a", mine, runs=("r1",), seq=11))
    note: Callable[..., None] = daemon.note
    looks = 0

    def answer_later(name: str, request: object, context: object) -> None:
        nonlocal looks
        note(name, request, context)
        looks += name == "GetLedger"
        if looks == 3:
            looks += 1
            daemon.publish(*turn("They say yes.", "b", "child1", seq=12))

    daemon.note = answer_later  # type: ignore[method-assign]
    result = cli.ok("chat", "-p", "hi", "--resume", "notes")
    assert result.out == "I asked.\nThey say yes.\n"
    assert "[waiting] for sub-agents: r1; the session is passive" in result.err


@pytest.mark.requirement("cli.chat-child-runs")
def test_runs_that_are_gone_without_a_word_end_the_wait(cli: Cli, daemon: ScriptedDaemon) -> None:
    known(daemon, "completed")
    daemon.script = script_of(lambda mine: turn("I asked.", "a", mine, runs=("r1",), seq=11))
    result = cli("chat", "-p", "hi", "--json")
    assert (result.code, result.json["error"]["code"]) == (1, "interrupted")
    assert "sub-agents of this turn are gone" in result.json["error"]["message"]
    assert len(daemon.requests("Attach")) == 2, "they were asked for once more"


@pytest.mark.requirement("cli.chat-child-runs")
@pytest.mark.parametrize("phase", ["passive", "processing"], ids=["live", "held"])
def test_what_was_shown_is_not_shown_again_when_the_record_is_read_once_more(
    cli: Cli, daemon: ScriptedDaemon, phase: str
) -> None:
    known(daemon, "completed")
    row = daemon.row("notes")
    row.phase = phase
    daemon.replies["GetSession"] = SessionDetail(row=row)
    called = Output(type="tool_call", turn_id="a", call_id="c1", tool_name="say", seq=11)
    daemon.script = script_of(
        lambda mine: [called, *turn("I asked.", "a", mine, runs=("r1",), seq=12)]
    )
    result = cli("chat", "-p", "hi", "--resume", "notes")
    assert len(daemon.requests("Attach")) == 2
    assert (result.out, result.err.count("[tool:call]")) == ("I asked.\n", 1)


@pytest.mark.requirement("cli.chat-child-runs")
def test_a_quarantine_ends_the_wait_for_runs(cli: Cli, daemon: ScriptedDaemon) -> None:
    known(daemon, "completed", runs=("r1",))
    daemon.script = script_of(lambda mine: turn("I asked.", "a", mine, runs=("r1",), seq=11))
    note: Callable[..., None] = daemon.note

    def then_quarantine(name: str, request: object, context: object) -> None:
        note(name, request, context)
        if name == "GetLedger":
            daemon.row("notes").quarantined = True

    daemon.note = then_quarantine  # type: ignore[method-assign]
    result = cli("chat", "-p", "hi", "--resume", "notes", "--json")
    assert (result.code, result.json["error"]["code"]) == (1, "quarantined")


@pytest.mark.requirement("operator.headless-unattended")
def test_a_call_denied_because_nobody_can_consent_is_named(
    cli: Cli, daemon: ScriptedDaemon
) -> None:
    call = Output(type="tool_call", turn_id="turn1", call_id="c1", tool_name="shell_execute")
    call.arguments = '{"command": "git push"}'
    denied = Output(type="tool_result", turn_id="turn1", call_id="c1", tool_name="shell_execute")
    denied.outcome = "AccessDenied"
    denied.text = "Denied (approval_required_unattended): nobody can give consent."
    daemon.script = lambda request, input_id: [
        call,
        denied,
        denied,
        *said("I could not.")(request, input_id),
    ]
    result = cli.ok("chat", "-p", "hi")
    assert result.out == "I could not.\n"
    line = (
        '[consent] denied, because nobody is here to decide: shell_execute {"command": "git push"}'
    )
    assert result.err.splitlines().count(line) == 2
    assert result.err.count("`netclaw approvals trust-verb 'WORDS'`") == 1


def test_what_others_decide_and_sub_agents_do_is_told(cli: Cli, daemon: ScriptedDaemon) -> None:
    def child(state: str, reason: str = "") -> Output:
        return Output(type="child", run_id="r1", agent="scout", outcome=state, text=reason)

    daemon.script = lambda request, input_id: [
        Output(type="consent_request", turn_id="t", tool_name="sh", call_id="c", text="rm x"),
        Output(type="consent_update", turn_id="t", call_id="c", outcome="refused"),
        *(child("Accepted"), child("Running"), child("Failed", "timeout")),
        Output(type="job", job_id="j1", outcome="Running", text="make"),
        Output(type="processing", phase="processing"),
        Output(type="retry", turn_id="t", text="The model's service is busy; asking again."),
        *said("done")(request, input_id),
    ]
    assert cli.ok("chat", "-p", "hi").err.splitlines()[:7] == [
        "[consent] sh waits for a decision: rm x (answer with: netclaw approvals answer c KEY)",
        "[consent]  refused",
        "[subagent:start] scout r1",
        "[subagent] scout r1: Running",
        "[subagent:done] scout r1: Failed (timeout)",
        "[job] j1 Running: make",
        "[retry] The model's service is busy; asking again.",
    ]


@pytest.fixture
def ctrl_c(daemon: ScriptedDaemon) -> Iterator[Callable[[int], None]]:
    """Presses Ctrl-C so often, each time once the daemon has seen what came of the last."""
    threads: list[threading.Thread] = []
    is_over = threading.Event()

    def press(times: int) -> None:
        def run() -> None:
            for wanted in ("GetLedger", "StopTurn")[:times]:
                while not daemon.requests(wanted):
                    if is_over.wait(0.005):
                        return
                os.kill(os.getpid(), signal.SIGINT)

        threads.append(threading.Thread(target=run))
        threads[-1].start()

    yield press
    is_over.set()
    for thread in threads:
        thread.join()


def wait_until_attached(daemon: ScriptedDaemon) -> None:
    """Publish the streamed beginning of an answer."""
    daemon.script = lambda _request, _input: [Output(type="text_delta", turn_id="turn1", text="We")]


@pytest.mark.requirement("operator.headless-ctrl-c")
def test_ctrl_c_stops_the_turn_and_waits_for_its_end(
    cli: Cli, daemon: ScriptedDaemon, ctrl_c: Callable[[int], None]
) -> None:
    known(daemon, "running")
    wait_until_attached(daemon)

    def stop(name: str) -> None:
        if name == "StopTurn":
            daemon.publish(completed("input1", outcome="stopped"))

    daemon.on_call = stop
    ctrl_c(1)
    result = cli("chat", "-p", "hi", "--json")
    assert (result.code, result.json["outcome"]) == (130, "stopped")
    assert "[stopping] at the next safe point; Ctrl-C again leaves at once" in result.err
    assert len(daemon.requests("StopTurn")) == 1


@pytest.mark.requirement("operator.headless-ctrl-c")
def test_ctrl_c_twice_leaves_at_once(
    cli: Cli, daemon: ScriptedDaemon, ctrl_c: Callable[[int], None]
) -> None:
    known(daemon, "running")
    wait_until_attached(daemon)
    ctrl_c(2)
    assert cli("chat", "-p", "hi").code == 130
    assert len(daemon.requests("StopTurn")) == 1


@pytest.mark.requirement("operator.headless-ctrl-c")
@pytest.mark.parametrize("outcome", ["waiting", "completed"])
def test_ctrl_c_stops_nobody_elses_turn(
    cli: Cli, daemon: ScriptedDaemon, ctrl_c: Callable[[int], None], outcome: str
) -> None:
    known(daemon, outcome, runs=("r1",))
    daemon.script = (
        script_of(lambda mine: turn("I asked.", "a", mine, runs=("r1",), seq=11))
        if outcome == "completed"
        else script_of()
    )
    ctrl_c(1)
    result = cli("chat", "-p", "hi")
    assert result.code == 130
    assert "[left] the session goes on by itself; the message is kept" in result.err
    assert daemon.requests("StopTurn") == []


@pytest.mark.requirement("operator.headless-ctrl-c")
def test_an_answer_that_came_all_the_same_counts(
    cli: Cli, daemon: ScriptedDaemon, ctrl_c: Callable[[int], None]
) -> None:
    known(daemon, "running")
    wait_until_attached(daemon)

    def finish(name: str) -> None:
        if name == "StopTurn":
            daemon.publish(*said("We did it")(ANY, "input1"))

    daemon.on_call = finish
    ctrl_c(1)
    assert cli("chat", "-p", "hi").code == 0
